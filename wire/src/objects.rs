//! Objects out of one long JSON array whose bytes are cut anywhere.
//!
//! Gemini streams such an array when it is not asked for SSE. Each object is handed out as soon as
//! its last brace is there.

use std::ops::Range;

/// Splits an array into its objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// The beginning of an object whose end has not come.
    partial: Vec<u8>,
    carried: Vec<u8>,
    depth: u32,
    in_string: bool,
    escaped: bool,
    limit: usize,
}

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// In the piece at hand.
    Here(Range<usize>),
    /// In [`Objects::carried`]: it was cut.
    Carried,
    /// Nowhere: it is longer than the limit.
    TooLong,
}

impl Objects {
    pub(crate) fn new(limit: usize) -> Objects {
        Objects { limit, ..Objects::default() }
    }

    pub(crate) fn carried(&self) -> &[u8] {
        &self.carried
    }

    /// The next object of `input` from `pos` on; `None` when more bytes are needed.
    pub(crate) fn next(&mut self, input: &[u8], pos: &mut usize) -> Option<Object> {
        if self.depth == 0 {
            // Between objects there are blanks, commas and the brackets of the array.
            match memchr::memchr(b'{', &input[*pos..]) {
                Some(step) => *pos += step,
                None => {
                    *pos = input.len();
                    return None;
                }
            }
        }
        let start = *pos;
        let Some(length) = self.end_of_object(&input[start..]) else {
            *pos = input.len();
            if self.partial.len() + input.len() - start > self.limit {
                return Some(Object::TooLong);
            }
            self.partial.extend_from_slice(&input[start..]);
            return None;
        };
        *pos = start + length;
        if self.partial.len() + length > self.limit {
            return Some(Object::TooLong);
        }
        if self.partial.is_empty() {
            return Some(Object::Here(start..*pos));
        }
        self.partial.extend_from_slice(&input[start..*pos]);
        std::mem::swap(&mut self.partial, &mut self.carried);
        self.partial.clear();
        Some(Object::Carried)
    }

    /// How many bytes the object still has, if its end is among them.
    fn end_of_object(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.in_string && !self.escaped {
                // Most of a stream is text: step over it.
                at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
            }
            let byte = bytes[at];
            at += 1;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<String> {
        let mut objects = Objects::new(1000);
        let mut found = Vec::new();
        for piece in pieces {
            let mut at = 0;
            while let Some(object) = objects.next(piece, &mut at) {
                found.push(match object {
                    Object::Here(range) => String::from_utf8_lossy(&piece[range]).into_owned(),
                    Object::Carried => String::from_utf8_lossy(objects.carried()).into_owned(),
                    other => format!("{other:?}"),
                });
            }
        }
        found
    }

    #[test]
    fn objects_are_found_however_they_are_cut() {
        let body = br#"[{"a":"}]{\"\\"},
            {"b":[{},[{"c":"\\\""}]]} , {} ]"#;
        let whole = split(&[body]);
        assert_eq!(whole, [r#"{"a":"}]{\"\\"}"#, r#"{"b":[{},[{"c":"\\\""}]]}"#, "{}"]);
        for at in 0..body.len() {
            assert_eq!(split(&[&body[..at], &body[at..]]), whole, "cut at {at}");
        }
        assert_eq!(split(&body.chunks(1).collect::<Vec<_>>()), whole);
    }

    #[test]
    fn objects_are_bounded() {
        let long = format!("[{{\"a\":\"{}\"}}", "x".repeat(1000));
        assert_eq!(split(&[long.as_bytes()]), ["TooLong"]);
        assert!(split(&long.as_bytes().chunks(7).collect::<Vec<_>>()).contains(&"TooLong".into()));
    }
}
