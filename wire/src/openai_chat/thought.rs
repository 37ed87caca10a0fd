//! Thinking on the chat wire, in five spellings, and the members of the message in which it must
//! go back: `reasoning_content`, `reasoning`, `reasoning_details`, a content part of type
//! `thinking`. (The fifth, tags inside the text, is text.)

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::assembly::Fault;

/// Which member carried the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    ReasoningContent,
    Reasoning,
    /// Only `reasoning_details` (snowflake/pai-test-snowflake-thinking-streaming).
    Details,
    /// A part of a content list (mistral/ai-mistral-reasoning).
    Part,
}

/// What a thinking block must remember beside its text.
#[derive(Clone, Debug)]
pub(super) struct Thought {
    spelling: Spelling,
    details: Vec<BTreeMap<String, Value>>,
}

impl Thought {
    pub(super) fn new(spelling: Spelling) -> Thought {
        Thought { spelling, details: Vec::new() }
    }

    /// The text may change its spelling from nothing to something, as when a redaction came first.
    pub(super) fn spelled(&mut self, spelling: Spelling) {
        if self.spelling == Spelling::Details {
            self.spelling = spelling;
        }
    }

    /// Takes pieces of `reasoning_details`. Pieces of one text come one after the other, with the
    /// same type and index; whatever else comes is an item of its own.
    pub(super) fn take(&mut self, items: Vec<BTreeMap<String, Value>>) {
        for item in items {
            match self.details.last_mut() {
                Some(last) if continues(last, &item) => merge(last, item),
                Some(_) | None => self.details.push(item),
            }
        }
    }

    /// The members of the assistant message that hold this thinking; empty if there are none.
    pub(super) fn seal(self, text: &str) -> String {
        let mut members: BTreeMap<&str, Value> = BTreeMap::new();
        match self.spelling {
            _ if text.is_empty() => {}
            Spelling::ReasoningContent => drop(members.insert("reasoning_content", text.into())),
            Spelling::Reasoning => drop(members.insert("reasoning", text.into())),
            Spelling::Part => {
                let part = BTreeMap::from([("text", text), ("type", "text")]);
                members.insert("thinking", serde_json::json!([part]));
                members.insert("type", "thinking".into());
            }
            Spelling::Details => {}
        }
        if !self.details.is_empty() {
            members.insert("reasoning_details", serde_json::json!(self.details));
        }
        if members.is_empty() {
            return String::new();
        }
        serde_json::json!(members).to_string()
    }
}

/// The items of `reasoning_details`, and the text they carry.
pub(super) fn details(raw: &RawValue) -> Result<(Vec<BTreeMap<String, Value>>, String), Fault> {
    let value: Value = serde_json::from_str(raw.get())
        .map_err(|error| Fault(format!("expected `reasoning_details`, got: {error}")))?;
    let Value::Array(values) = value else { return Ok((Vec::new(), String::new())) };
    let mut items = Vec::new();
    let mut text = String::new();
    for value in values {
        let Value::Object(object) = value else { continue };
        for member in ["text", "summary"] {
            text.push_str(object.get(member).and_then(Value::as_str).unwrap_or_default());
        }
        items.push(object.into_iter().collect());
    }
    Ok((items, text))
}

fn continues(last: &BTreeMap<String, Value>, next: &BTreeMap<String, Value>) -> bool {
    let kind = next.get("type").and_then(Value::as_str);
    let streamed = matches!(kind, Some("reasoning.text" | "reasoning.summary"));
    let same = |member: &str| last.get(member) == next.get(member);
    // A signature closes a text; what has none and an index of its own goes on.
    streamed && same("type") && same("index")
}

fn merge(last: &mut BTreeMap<String, Value>, next: BTreeMap<String, Value>) {
    for (name, value) in next {
        match (last.get_mut(&name), value) {
            (Some(Value::String(text)), Value::String(more))
                if matches!(name.as_str(), "text" | "summary") =>
            {
                text.push_str(&more);
            }
            // Absent, null or empty does not overwrite.
            (Some(_), Value::Null) => {}
            (Some(_), Value::String(more)) if more.is_empty() => {}
            (Some(_) | None, value) => drop(last.insert(name, value)),
        }
    }
}
