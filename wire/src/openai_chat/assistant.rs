//! An assistant message of the chat wire (Ollama's has the same shape) while it is put together: text, calls, and the members
//! that only their maker understands.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::encode::{Out, Private, has_member, private};

/// An assistant message.
#[derive(Debug, Default)]
pub(crate) struct Assistant {
    /// Text and content parts, in order.
    content: Vec<Part>,
    /// Members of the message, as JSON.
    members: BTreeMap<String, String>,
    /// The calls, each as JSON.
    calls: Vec<u8>,
    /// Members that the next call gets.
    adornment: String,
}

#[derive(Debug)]
enum Part {
    Text(String),
    /// A content part as it came (Mistral's thinking).
    Private(String),
}

impl Assistant {
    /// Adds text; blank text between two parts is kept apart from nothing.
    pub(crate) fn text(&mut self, text: &str) {
        match self.content.last_mut() {
            Some(Part::Text(so_far)) => so_far.push_str(text),
            Some(Part::Private(_)) | None => self.content.push(Part::Text(text.to_owned())),
        }
    }

    /// Adds what only the maker understands: a content part, members of the message, or members of
    /// the next call.
    pub(crate) fn private(&mut self, json: &str) {
        match private(json) {
            Private::Whole(part) if has_member(part, "type") => {
                self.content.push(Part::Private(part.to_owned()));
            }
            Private::Whole(members) => self.merge(members),
            Private::Adorns(members) => members.clone_into(&mut self.adornment),
            Private::Nothing => {}
        }
    }

    fn merge(&mut self, members: &str) {
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(members).unwrap_or_default();
        for (name, raw) in members {
            if matches!(name.as_str(), "role" | "content" | "tool_calls") {
                continue;
            }
            let joined = match self.members.get(&name) {
                Some(earlier) => join(earlier, raw.get()),
                None => raw.get().to_owned(),
            };
            self.members.insert(name, joined);
        }
    }

    /// Adds a call; `write` gives its members.
    pub(crate) fn call(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.calls.put(if self.calls.is_empty() { "{" } else { ",{" });
        write(&mut self.calls);
        if !self.adornment.is_empty() {
            self.calls.put(",");
            self.calls.put(&std::mem::take(&mut self.adornment));
        }
        self.calls.put("}");
    }

    /// Whether there is anything a provider accepts as a message: text or calls.
    pub(crate) fn says_something(&self) -> bool {
        !self.calls.is_empty() || self.texts().any(|text| !text.trim().is_empty())
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Private(_) => None,
        })
    }

    /// Writes the message; `nothing` stands for the content of one that only calls.
    pub(crate) fn write(&self, out: &mut Vec<u8>, nothing: &str) {
        out.put(r#"{"role":"assistant","content":"#);
        let parts = self.content.iter().any(|part| matches!(part, Part::Private(_)));
        if parts {
            self.write_parts(out);
        } else {
            let text: String = self.texts().collect();
            if text.trim().is_empty() {
                out.put(nothing);
            } else {
                out.string(&text);
            }
        }
        for (name, json) in &self.members {
            out.put(",");
            out.string(name);
            out.put(":");
            out.put(json);
        }
        if !self.calls.is_empty() {
            out.put(r#","tool_calls":["#);
            out.extend_from_slice(&self.calls);
            out.put("]");
        }
        out.put("}");
    }

    fn write_parts(&self, out: &mut Vec<u8>) {
        out.put("[");
        let mut first = true;
        for part in &self.content {
            let blank = matches!(part, Part::Text(text) if text.trim().is_empty());
            if blank {
                continue;
            }
            out.put(if first { "" } else { "," });
            first = false;
            match part {
                Part::Text(text) => {
                    out.put(r#"{"type":"text","text":"#);
                    out.string(text);
                    out.put("}");
                }
                Part::Private(json) => out.put(json),
            }
        }
        out.put("]");
    }
}

/// Two values of one member: texts and lists are joined, of anything else the later one counts.
fn join(earlier: &str, later: &str) -> String {
    for (open, close) in [('"', '"'), ('[', ']')] {
        let halves = earlier
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
            .zip(later.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)));
        let Some((first, second)) = halves else { continue };
        let comma = open == '[' && !first.trim().is_empty() && !second.trim().is_empty();
        return format!("{open}{first}{}{second}{close}", if comma { "," } else { "" });
    }
    later.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_two_seals_are_joined() {
        let mut assistant = Assistant::default();
        assistant.private(r#"{"reasoning_content":"a\n","reasoning_details":[{"x":1}],"n":1}"#);
        assistant.private(r#"{"reasoning_content":"b","reasoning_details":[{"y":2}],"n":2}"#);
        assistant.private(r#"{"reasoning_details":[],"role":"user"}"#);
        assistant.text("ok");
        let mut out = Vec::new();
        assistant.write(&mut out, "null");
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            r#"{"role":"assistant","content":"ok","n":2,"reasoning_content":"a\nb","reasoning_details":[{"x":1},{"y":2}]}"#
        );
    }
}
