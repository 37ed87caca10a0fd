//! Thinking on the chat wire, in five spellings, and the members of the message in which it must
//! go back: `reasoning_content`, `reasoning`, `reasoning_details`, a content part of type
//! `thinking`. (The fifth, tags inside the text, is text.)

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::assembly::Fault;
use crate::json::{Node, object, parse};

/// An item of `reasoning_details`, by its members.
#[derive(Clone, Debug, Default)]
pub(super) struct Item(BTreeMap<String, Node>);

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
    details: Vec<Item>,
    /// Bytes that the details hold.
    bytes: usize,
}

impl Thought {
    pub(super) fn new(spelling: Spelling) -> Thought {
        Thought { spelling, details: Vec::new(), bytes: 0 }
    }

    /// The text may change its spelling from nothing to something, as when a redaction came first.
    pub(super) fn spelled(&mut self, spelling: Spelling) {
        if self.spelling == Spelling::Details {
            self.spelling = spelling;
        }
    }

    /// Takes pieces of `reasoning_details`. Pieces of one text come one after the other, with the
    /// same type and index; whatever else comes is an item of its own.
    pub(super) fn take(&mut self, items: Vec<Item>, limit: usize) -> Result<(), Fault> {
        for item in items {
            self.bytes += item.bytes();
            match self.details.last_mut() {
                Some(last) if continues(last, &item) => merge(last, item),
                Some(_) | None => self.details.push(item),
            }
        }
        if self.bytes > limit {
            return Err(Fault(format!("a block may hold {limit} bytes, this one is longer")));
        }
        Ok(())
    }

    /// The members of the assistant message that hold this thinking; empty if there are none.
    pub(super) fn seal(self, text: &str) -> String {
        let text = Node::Text(text.to_owned());
        let mut members = BTreeMap::new();
        match self.spelling {
            _ if text.len() == 0 => {}
            Spelling::ReasoningContent => drop(members.insert("reasoning_content".into(), text)),
            Spelling::Reasoning => drop(members.insert("reasoning".into(), text)),
            Spelling::Part => {
                let kind = |kind: &str| Node::Text(kind.to_owned());
                let part = object([("type", kind("text")), ("text", text)]);
                members.insert("type".into(), kind("thinking"));
                members.insert("thinking".into(), Node::List(vec![part]));
            }
            Spelling::Details => {}
        }
        if !self.details.is_empty() {
            let items = self.details.into_iter().map(|item| Node::Object(item.0)).collect();
            members.insert("reasoning_details".into(), Node::List(items));
        }
        if members.is_empty() { String::new() } else { Node::Object(members).json() }
    }
}

/// The items of `reasoning_details`, and the text they carry.
pub(super) fn details(raw: &RawValue) -> Result<(Vec<Item>, String), Fault> {
    if !raw.get().starts_with('[') {
        return Ok((Vec::new(), String::new()));
    }
    let raws: Vec<&RawValue> = parse(raw.get())?;
    let mut items = Vec::new();
    let mut text = String::new();
    for raw in raws {
        let item = Item(Node::members(raw)?);
        for member in ["text", "summary"] {
            text.push_str(item.text(member).unwrap_or_default());
        }
        items.push(item);
    }
    Ok((items, text))
}

impl Item {
    fn text(&self, member: &str) -> Option<&str> {
        self.0.get(member).and_then(Node::text)
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(name, node)| name.len() + node.len()).sum()
    }
}

fn continues(last: &Item, next: &Item) -> bool {
    let streamed = matches!(next.text("type"), Some("reasoning.text" | "reasoning.summary"));
    let same = |member: &str| last.0.get(member) == next.0.get(member);
    streamed && same("type") && same("index")
}

fn merge(last: &mut Item, next: Item) {
    for (name, node) in next.0 {
        match (last.0.get_mut(&name), node) {
            (Some(Node::Text(text)), Node::Text(more)) if matches!(&*name, "text" | "summary") => {
                text.push_str(&more);
            }
            // Absent, null or empty does not overwrite.
            (Some(_), Node::Text(more)) if more.is_empty() => {}
            (Some(_), Node::Json(raw)) if raw == "null" => {}
            (Some(_) | None, node) => drop(last.0.insert(name, node)),
        }
    }
}
