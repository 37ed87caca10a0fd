//! Arguments that Vertex streams by path: `$.items[0].name` gets a piece of text, a number, a
//! truth. The pieces are put into one JSON value; only the whole of it is arguments.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::assembly::Fault;
use crate::lenient::Piece;

/// A piece of the arguments.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    #[serde(borrow, default)]
    json_path: Piece<'a>,
    #[serde(borrow, default)]
    string_value: Piece<'a>,
    #[serde(default)]
    number_value: Option<serde_json::Number>,
    #[serde(default)]
    bool_value: Option<bool>,
}

/// The arguments so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    value: Value,
    bytes: usize,
}

/// Elements that an index may reach ahead; more is nonsense that would fill the memory.
const REACH: usize = 4096;

/// Steps that a path may have.
const STEPS: usize = 64;

enum Step<'a> {
    Member(&'a str),
    Element(usize),
}

impl Arguments {
    /// Arguments that begin with what the header of the call holds.
    pub(super) fn new(header: Option<Value>) -> Arguments {
        Arguments { value: header.unwrap_or_else(|| Value::Object(Map::new())), bytes: 0 }
    }

    /// Puts a piece where its path says. Text is appended to text.
    pub(super) fn take(&mut self, piece: &PartialArg<'_>, limit: usize) -> Result<(), Fault> {
        let path = piece.json_path.or_empty();
        let value = match (&piece.string_value.0, &piece.number_value, piece.bool_value) {
            (Some(text), _, _) => Value::String(text.clone().into_owned()),
            (None, Some(number), _) => Value::Number(number.clone()),
            (None, None, Some(truth)) => Value::Bool(truth),
            (None, None, None) => Value::Null,
        };
        self.bytes += path.len() + value.as_str().map_or(8, str::len);
        if self.bytes > limit {
            return Err(Fault(format!("a block may hold {limit} bytes, this one is longer")));
        }
        let mut node = &mut self.value;
        for step in steps(path)? {
            node = match step {
                Step::Member(name) => member(node, name),
                Step::Element(at) => element(node, at)?,
            };
        }
        match (node, value) {
            (Value::String(text), Value::String(more)) => text.push_str(&more),
            // A piece without a value ends a text and changes nothing.
            (Value::String(_), Value::Null) => {}
            (node, value) => *node = value,
        }
        Ok(())
    }

    pub(super) fn json(&self) -> String {
        self.value.to_string()
    }
}

fn member<'a>(node: &'a mut Value, name: &str) -> &'a mut Value {
    if !node.is_object() {
        *node = Value::Object(Map::new());
    }
    match node {
        Value::Object(object) => object.entry(name).or_insert(Value::Null),
        other => other,
    }
}

fn element(node: &mut Value, at: usize) -> Result<&mut Value, Fault> {
    if !node.is_array() {
        *node = Value::Array(Vec::new());
    }
    match node {
        Value::Array(items) => {
            if at >= items.len() + REACH {
                return Err(Fault(format!("expected the next element, got index {at}")));
            }
            while items.len() <= at {
                items.push(Value::Null);
            }
            Ok(&mut items[at])
        }
        other => Ok(other),
    }
}

/// The steps of a path such as `$.a.b[2]['c.d']`.
fn steps(path: &str) -> Result<Vec<Step<'_>>, Fault> {
    let fault = || Fault(format!("expected a path such as $.a[0], got `{path}`"));
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == STEPS {
            return Err(fault());
        }
        let (step, after) = if let Some(quoted) = rest.strip_prefix("['") {
            let (name, after) = quoted.split_once("']").ok_or_else(fault)?;
            (Step::Member(name), after)
        } else if let Some(bracket) = rest.strip_prefix('[') {
            let (number, after) = bracket.split_once(']').ok_or_else(fault)?;
            (Step::Element(number.parse().map_err(|_| fault())?), after)
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return Err(fault());
            }
            (Step::Member(&name[..end]), &name[end..])
        };
        steps.push(step);
        rest = after;
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(pieces: &[(&str, &str)]) -> Result<String, Fault> {
        let mut arguments = Arguments::new(None);
        for (path, value) in pieces {
            let json = format!("{{\"jsonPath\":\"{path}\",{value}}}");
            arguments.take(&serde_json::from_str(&json).expect("JSON"), 10_000)?;
        }
        Ok(arguments.json())
    }

    #[test]
    fn pieces_find_their_place() {
        let json = take(&[
            ("$.steps[0].text", "\"stringValue\":\"go \""),
            ("$.steps[0].text", "\"stringValue\":\"on\""),
            ("$.steps[1].ok", "\"boolValue\":true"),
            ("$['a.b']", "\"numberValue\":1.5"),
            ("$.steps[0].text", "\"willContinue\":false"),
        ]);
        assert_eq!(json, Ok(r#"{"a.b":1.5,"steps":[{"text":"go on"},{"ok":true}]}"#.to_owned()));
    }

    #[test]
    fn nonsense_is_refused_before_it_fills_the_memory() {
        for path in ["$.a[4294967296]", "$.a[-1]", "$.a[", "$..a", "$.a['b"] {
            assert!(take(&[(path, "\"boolValue\":true")]).is_err(), "{path}");
        }
    }
}
