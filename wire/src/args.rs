//! The arguments of a call: are they JSON, and which arguments are they?
//!
//! The digest is of a canonical form written here, not by a JSON crate: switching on a feature of
//! that crate somewhere in a build must not change what counts as the same call.

use std::borrow::Cow;
use std::collections::BTreeMap;

use machine_spec::digest::Digest;
use machine_spec::model::ArgsVerdict;
use serde_json::value::RawValue;

/// Judges the complete argument text of a call. Nothing at all means no arguments (B008); the
/// schema of the tool is not looked at here.
#[must_use]
pub fn canonical_args(text: &str) -> ArgsVerdict {
    let text = if text.trim().is_empty() { "{}" } else { text };
    match canonical(text) {
        Ok(form) => ArgsVerdict::Valid { canonical: Digest::of(form.as_str()).0 },
        Err(fault) => ArgsVerdict::Malformed { at: fault.at as u64, problem: fault.problem },
    }
}

/// Whether a text is a complete JSON object: nothing that follows it can belong to it.
pub(crate) fn is_complete_object(text: &str) -> bool {
    text.trim_end().ends_with('}') && canonical(text).is_ok()
}

/// The canonical form of a JSON object: sorted keys, no blanks, one spelling per number. Of a
/// repeated key the last value counts, as in every JSON library that reads into a map.
fn canonical(text: &str) -> Result<String, Fault> {
    // The JSON crate judges; the walk behind it only rewrites what is known to be well formed.
    serde_json::from_str::<&RawValue>(text).map_err(|error| Fault::of(text, 0, &error))?;
    let mut walk = Walk { text, at: 0 };
    walk.skip_blanks();
    if walk.peek() != b'{' {
        let problem = format!("expected a JSON object, got {}", kind_of(walk.peek()));
        return Err(Fault { at: walk.at, problem });
    }
    walk.value(0)
}

/// What is wrong with arguments, and where.
struct Fault {
    at: usize,
    problem: String,
}

impl Fault {
    /// The words of the JSON crate, with its line and column turned into an offset.
    fn of(text: &str, base: usize, error: &serde_json::Error) -> Fault {
        let line_start = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1)
            .nth(error.line().wrapping_sub(2));
        let start = if error.line() < 2 { 0 } else { line_start.unwrap_or(0) };
        let at = (start + error.column().saturating_sub(1)).min(text.len());
        let words = error.to_string();
        let problem = words.split(" at line ").next().unwrap_or_default().to_owned();
        if error.is_eof() {
            return Fault { at: base + text.len(), problem: format!("the JSON is cut: {problem}") };
        }
        Fault { at: base + at, problem }
    }
}

fn kind_of(first: u8) -> &'static str {
    match first {
        b'[' => "an array",
        b'"' => "a string",
        b't' | b'f' => "a boolean",
        b'n' => "null",
        _ => "a number",
    }
}

/// How deep arguments may nest.
const DEPTH: u32 = 128;

/// Walks JSON that is known to be well formed, once.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    fn value(&mut self, depth: u32) -> Result<String, Fault> {
        self.skip_blanks();
        match self.peek() {
            b'{' | b'[' if depth == DEPTH => {
                let problem = format!("nested deeper than {DEPTH} levels");
                Err(Fault { at: self.at, problem })
            }
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => Ok(marked(&self.string()?)),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: u32) -> Result<String, Fault> {
        let mut fields = BTreeMap::new();
        self.at += 1;
        while self.more(b'}') {
            let key = self.string()?;
            self.skip_blanks();
            self.at += 1; // The colon.
            let value = self.value(depth + 1)?;
            fields.insert(key, value);
        }
        let mut form = String::from("{");
        for (key, value) in &fields {
            form.push_str(&marked(key));
            form.push(':');
            form.push_str(value);
            form.push(',');
        }
        form.push('}');
        Ok(form)
    }

    fn array(&mut self, depth: u32) -> Result<String, Fault> {
        let mut form = String::from("[");
        self.at += 1;
        while self.more(b']') {
            form.push_str(&self.value(depth + 1)?);
            form.push(',');
        }
        form.push(']');
        Ok(form)
    }

    /// Steps over blanks and a comma; false at the end of the list, which is stepped over too.
    fn more(&mut self, end: u8) -> bool {
        self.skip_blanks();
        if self.peek() == b',' {
            self.at += 1;
            self.skip_blanks();
        }
        let over = self.peek() == end || self.at >= self.text.len();
        self.at += usize::from(over);
        !over
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let start = self.at;
        self.at += 1;
        while let Some(step) = memchr::memchr2(b'"', b'\\', &self.text.as_bytes()[self.at..]) {
            self.at += step + 1;
            if self.text.as_bytes()[self.at - 1] == b'"' {
                break;
            }
            self.at += 1;
        }
        let quoted = &self.text[start..self.at];
        match quoted.get(1..quoted.len() - 1) {
            Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
            // Only here do halves of surrogate pairs show.
            Some(_) | None => serde_json::from_str::<String>(quoted)
                .map(Cow::Owned)
                .map_err(|error| Fault::of(quoted, start, &error)),
        }
    }

    fn scalar(&mut self) -> Result<String, Fault> {
        let at = self.at;
        match scalar(self.word()) {
            Some(form) => Ok(form.into_owned()),
            None => Err(Fault { at, problem: "number out of range".to_owned() }),
        }
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let is_end = |byte: u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
        let length = rest.bytes().position(is_end).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }
}

/// A string with its length in front: unambiguous without escapes.
fn marked(text: &str) -> String {
    format!("{}\"{text}", text.len())
}

/// One spelling per value: whole numbers without fraction and exponent, others as the shortest
/// digits that read back the same. Words, and whole numbers, stay as written. A number that no
/// reader can hold is none.
fn scalar(json: &str) -> Option<Cow<'_, str>> {
    let Ok(value) = json.parse::<f64>() else { return Some(Cow::Borrowed(json)) };
    let fraction = json.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    match value {
        _ if !value.is_finite() => None,
        _ if !fraction && json != "-0" => Some(Cow::Borrowed(json)),
        _ if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 => {
            Some(Cow::Owned((value as i64).to_string()))
        }
        _ => Some(Cow::Owned(format!("{value:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> u64 {
        match canonical_args(text) {
            ArgsVerdict::Valid { canonical } => canonical,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn fault(text: &str) -> (u64, String) {
        match canonical_args(text) {
            ArgsVerdict::Malformed { at, problem } => (at, problem),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn equal_arguments_have_equal_digests() {
        for same in [
            [r#"{"a":1,"b":[true,null]}"#, " { \"b\" : [ true , null ] , \"a\" : 1.0 } "],
            [r#"{"a":"\u00e9\n"}"#, "{\"a\":\"é\\n\"}"],
            [r#"{"a":0.1}"#, r#"{"a":1e-1}"#],
            [r#"{"a":1,"a":2}"#, r#"{"a":2}"#],
            ["", "{}"],
            [" \n\t", "{ }"],
            [r#"{"a":-0}"#, r#"{"a":0}"#],
        ] {
            assert_eq!(digest(same[0]), digest(same[1]), "{same:?}");
        }
    }

    #[test]
    fn different_arguments_have_different_digests() {
        let texts = [
            "{}",
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"a":[1]}"#,
            r#"{"a":[[1]]}"#,
            r#"{"a":["x","y"]}"#,
            r#"{"a":["x\",1\"y"]}"#,
            r#"{"a":null}"#,
            r#"{"a":{}}"#,
            r#"{"a":18446744073709551615}"#,
            r#"{"a":18446744073709551616}"#,
        ];
        let digests: std::collections::BTreeSet<u64> = texts.map(digest).into();
        assert_eq!(digests.len(), texts.len());
    }

    #[test]
    fn a_cut_text_is_not_empty_and_stays_an_error() {
        assert_eq!(fault("{\"q").0, 3);
        assert!(fault("{\"path\":\"a").1.starts_with("the JSON is cut"));
        assert!(fault("{\"a\":1").1.starts_with("the JSON is cut"));
    }

    #[test]
    fn faults_name_their_offset() {
        assert_eq!(fault("{\"a\":1}x").0, 7);
        assert_eq!(fault("{\"a\":4e444}"), (5, "number out of range".to_owned()));
        assert_eq!(fault(&format!("{{\"a\":{}}}", "9".repeat(400))).0, 5);
        assert_eq!(fault("{\n\"a\":\n 01}").0, 9);
        assert_eq!(fault("[1]"), (0, "expected a JSON object, got an array".to_owned()));
        assert_eq!(fault(" null").0, 1);
        assert!(fault(r#"{"a":"\ud83d"}"#).1.contains("hex escape"));
    }

    #[test]
    fn depth_is_bounded_and_the_stack_survives() {
        let deep = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(canonical(&deep(127)).is_ok());
        let (at, problem) = fault(&deep(10_000));
        assert_eq!(problem, "nested deeper than 128 levels");
        assert_eq!(at, 5 + 127);
    }

    #[test]
    fn completeness_is_of_objects_only() {
        assert!(is_complete_object("{\"a\":{}} "));
        for text in ["", "{", "{\"a\":{}", "{}}", "1", "[]", "{} {}"] {
            assert!(!is_complete_object(text), "{text}");
        }
    }
}
