//! JSON that is kept: verbatim where it came whole, assembled where it came in pieces.
//!
//! What goes back to a provider, and what is digested, is written here and not by a JSON crate:
//! the order of members and the spelling of numbers must not depend on which features of that
//! crate somewhere in a build are switched on.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::assembly::Fault;

/// A value under assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A value as it came.
    Json(String),
    /// A string, by its text.
    Text(String),
    /// JSON text that arrives in pieces.
    Streamed(String),
    /// A list.
    List(Vec<Node>),
    /// An object; its members are written by name, `type` first.
    Object(BTreeMap<String, Node>),
}

impl Node {
    /// A value: a string by its text, anything else verbatim.
    pub(crate) fn of(raw: &RawValue) -> Result<Node, Fault> {
        if raw.get().starts_with('"') {
            return Ok(Node::Text(parse(raw.get())?));
        }
        Ok(Node::Json(raw.get().to_owned()))
    }

    /// The members of an object, each a value; none if it is no object.
    pub(crate) fn members(raw: &RawValue) -> Result<BTreeMap<String, Node>, Fault> {
        if !raw.get().starts_with('{') {
            return Ok(BTreeMap::new());
        }
        let raws: BTreeMap<String, &RawValue> = parse(raw.get())?;
        raws.into_iter().map(|(name, raw)| Ok((name, Node::of(raw)?))).collect()
    }

    /// The text, if it is a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            Node::Json(_) | Node::Streamed(_) | Node::List(_) | Node::Object(_) => None,
        }
    }

    /// Bytes that are held.
    pub(crate) fn len(&self) -> usize {
        match self {
            Node::Json(text) | Node::Text(text) | Node::Streamed(text) => text.len(),
            Node::List(list) => list.iter().map(Node::len).sum(),
            Node::Object(members) => {
                members.iter().map(|(name, node)| name.len() + node.len()).sum()
            }
        }
    }

    /// The JSON text.
    pub(crate) fn json(&self) -> String {
        let mut json = String::new();
        self.write(&mut json);
        json
    }

    fn write(&self, json: &mut String) {
        match self {
            Node::Json(raw) => json.push_str(raw),
            Node::Text(text) => write_string(text, json),
            // What streamed in may be cut; then only its text can be kept.
            Node::Streamed(text) => match serde_json::from_str::<&RawValue>(text) {
                Ok(_) => json.push_str(text),
                Err(_) => write_string(text, json),
            },
            Node::List(list) => {
                json.push('[');
                for (index, node) in list.iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    node.write(json);
                }
                json.push(']');
            }
            Node::Object(members) => write_object(members, json),
        }
    }
}

fn write_object(members: &BTreeMap<String, Node>, json: &mut String) {
    let (types, others): (Vec<_>, Vec<_>) = members.iter().partition(|(name, _)| *name == "type");
    json.push('{');
    for (index, (name, node)) in types.into_iter().chain(others).enumerate() {
        if index > 0 {
            json.push(',');
        }
        write_string(name, json);
        json.push(':');
        node.write(json);
    }
    json.push('}');
}

/// A string as JSON. Control characters are escaped, nothing else is.
fn write_string(text: &str, json: &mut String) {
    use std::fmt::Write;
    json.push('"');
    for letter in text.chars() {
        match letter {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(json, "\\u{:04x}", control as u32);
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

/// The JSON of an object.
pub(crate) fn object<const N: usize>(members: [(&str, Node); N]) -> Node {
    Node::Object(members.into_iter().map(|(name, node)| (name.to_owned(), node)).collect())
}

/// Reads JSON, or says what is wrong with it.
pub(crate) fn parse<'a, T: serde::Deserialize<'a>>(json: &'a str) -> Result<T, Fault> {
    serde_json::from_str(json).map_err(|error| Fault(format!("expected JSON, got: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_written_as_every_reader_reads_them() {
        let text = "a\"\\\n\r\t\u{1}\u{7f}é\u{2028}🦀/";
        let json = Node::Text(text.to_owned()).json();
        assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some(text));
        assert!(json.contains("\\u0001"));
    }

    #[test]
    fn members_stand_by_name_and_values_as_they_came() {
        let json = r#"{"z":1.10,"type":"t","a":{"y":1,"x":2},"s":"\u00e9"}"#;
        let raw: &RawValue = serde_json::from_str(json).expect("JSON");
        let node = Node::Object(Node::members(raw).expect("members"));
        assert_eq!(node.json(), r#"{"type":"t","a":{"y":1,"x":2},"s":"é","z":1.10}"#);
    }

    #[test]
    fn what_streamed_in_and_was_cut_stays_text() {
        assert_eq!(Node::Streamed("{\"a\":1}".into()).json(), "{\"a\":1}");
        assert_eq!(Node::Streamed("{\"a\":".into()).json(), "\"{\\\"a\\\":\"");
    }
}
