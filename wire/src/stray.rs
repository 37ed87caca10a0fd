//! What stands in a body outside of any event: a bare JSON error after (or instead of) events, or
//! a field of the provider's own.
//!
//! The standard says to ignore such lines, and so they are, unless they spell an error: a reader
//! that drops those waits for a message that was cancelled
//! (google-vertex/fbvx-streaming-failure-error-mid-stream,
//! gpustack/ruby_llm-chat-with-extended-thinking-gpustack-qwen3-streams-think).

use machine_spec::model::Failure;
use serde_json::Value;

use crate::dialect::Dialect;
use crate::error_body::classify;

/// No error is longer than this; what is, is no error.
const LIMIT: usize = 64 << 10;

/// Collects stray lines.
#[derive(Clone, Debug)]
pub(crate) struct Stray {
    dialect: Dialect,
    text: Vec<u8>,
}

impl Stray {
    pub(crate) fn new(dialect: Dialect) -> Stray {
        Stray { dialect, text: Vec::new() }
    }

    /// Takes a line; an error if it completes one.
    pub(crate) fn line(&mut self, line: &[u8]) -> Option<Failure> {
        let value = line.strip_prefix(b"error:").unwrap_or(line);
        if self.text.is_empty() && !value.trim_ascii().starts_with(b"{") {
            return None;
        }
        if self.text.len() + value.len() >= LIMIT {
            self.text.clear();
            return None;
        }
        self.text.extend_from_slice(value);
        self.text.push(b'\n');
        // An object that spans lines ends with a brace at the margin.
        let may_end = value.trim_ascii_end() == b"}" || self.text.len() == value.len() + 1;
        if may_end { self.finish() } else { None }
    }

    /// The error that the lines so far spell, if they do.
    pub(crate) fn finish(&mut self) -> Option<Failure> {
        let value = serde_json::from_slice::<Value>(&self.text).ok()?;
        let spells_error = value.get("error").is_some_and(|error| !error.is_null());
        let failure = spells_error.then(|| classify(self.dialect, 200, &[], &self.text, None));
        self.text.clear();
        failure
    }
}
