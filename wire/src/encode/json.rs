//! Writing JSON whose bytes never depend on anything but the values.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Appending to a body.
pub(crate) trait Out {
    /// Appends JSON as it is.
    fn put(&mut self, json: &str);
    /// Appends a string with its quotes.
    fn string(&mut self, text: &str);
    /// Appends the inside of a string, to be closed later.
    fn escaped(&mut self, text: &str);
}

impl Out for Vec<u8> {
    fn put(&mut self, json: &str) {
        self.extend_from_slice(json.as_bytes());
    }

    fn string(&mut self, text: &str) {
        self.push(b'"');
        self.escaped(text);
        self.push(b'"');
    }

    fn escaped(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.reserve(bytes.len());
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| NEEDS_ESCAPE[usize::from(*byte)]) {
            self.extend_from_slice(&rest[..at]);
            match rest[at] {
                b'"' => self.put("\\\""),
                b'\\' => self.put("\\\\"),
                b'\n' => self.put("\\n"),
                b'\r' => self.put("\\r"),
                b'\t' => self.put("\\t"),
                0x08 => self.put("\\b"),
                0x0c => self.put("\\f"),
                control => self.put(&format!("\\u{control:04x}")),
            }
            rest = &rest[at + 1..];
        }
        self.extend_from_slice(rest);
    }
}

/// The bytes that cannot stand in a string as they are.
const NEEDS_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

/// Appends a value with the keys of its objects sorted, whatever order the map keeps.
pub(crate) fn value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.put("null"),
        Value::Bool(true) => out.put("true"),
        Value::Bool(false) => out.put("false"),
        Value::Number(number) => out.put(&number.to_string()),
        Value::String(text) => out.string(text),
        Value::Array(items) => {
            out.put("[");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.put(",");
                }
                self::value(out, item);
            }
            out.put("]");
        }
        Value::Object(object) => {
            out.put("{");
            let mut members = Members::inside(out);
            for (key, member) in sorted(object) {
                members.own(key, |out| self::value(out, member));
            }
            out.put("}");
        }
    }
}

/// The members of an object, by key.
pub(crate) fn sorted(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    members
}

/// The members of an object that is being written.
pub(crate) struct Members<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> Members<'a> {
    /// The brace was opened by the caller and nothing stands behind it yet.
    pub(crate) fn inside(out: &'a mut Vec<u8>) -> Members<'a> {
        Members { out, first: true }
    }

    /// Writes a member.
    pub(crate) fn own(&mut self, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.first {
            self.out.put(",");
        }
        self.first = false;
        self.out.string(key);
        self.out.put(":");
        write(self.out);
    }

    /// Writes a member unless the user's own parameters have it.
    pub(crate) fn unless(
        &mut self,
        extra: &Map<String, Value>,
        key: &str,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if !extra.contains_key(key) {
            self.own(key, write);
        }
    }

    /// Writes the user's own parameters, without those that this crate answers for and those that
    /// are written `elsewhere` in the request.
    pub(crate) fn extra(
        &mut self,
        extra: &Map<String, Value>,
        reserved: &[&str],
        elsewhere: &[&str],
    ) {
        for (key, member) in sorted(extra) {
            if !reserved.contains(&key.as_str()) && !elsewhere.contains(&key.as_str()) {
                self.own(key, |out| value(out, member));
            }
        }
    }
}

/// The text of a JSON object, byte for byte; `None` for everything else.
pub(crate) fn raw_object(text: &str) -> Option<&str> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    raw.get().starts_with('{').then_some(raw.get())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let text = r#"{"b":{"z":1,"a":[{"y":null,"x":0.5}]},"a":"é\u0001"}"#;
        let mut out = Vec::new();
        value(&mut out, &serde_json::from_str(text).expect("JSON"));
        let sorted = r#"{"a":"é\u0001","b":{"a":[{"x":0.5,"y":null}],"z":1}}"#;
        assert_eq!(String::from_utf8(out).expect("UTF-8"), sorted);
    }

    #[test]
    fn only_an_object_goes_in_as_it_is() {
        assert_eq!(raw_object(" {\"a\" : 1}\n"), Some("{\"a\" : 1}"));
        for text in ["", "{", "[1]", "\"x\"", "{\"a\":1} x", "null", "{\"a\":01}"] {
            assert_eq!(raw_object(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_string_reads_back(text in any::<String>()) {
            let mut out = Vec::new();
            out.string(&text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).expect("a string"), text);
        }
    }
}
