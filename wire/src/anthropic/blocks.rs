//! Blocks of an Anthropic message while they grow, and the JSON in which they must go back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use machine_spec::model::Proof;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::decode::Delta;
use crate::assembly::{Assembly, Fault};
use crate::json::{Node, parse};
use crate::lenient::Piece;

/// A block as `content_block_start` gives it.
pub(super) struct Started<'a> {
    raw: &'a RawValue,
    head: Head<'a>,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Piece<'a>,
    #[serde(borrow, default)]
    id: Piece<'a>,
    #[serde(borrow, default)]
    name: Piece<'a>,
    #[serde(borrow, default)]
    text: Piece<'a>,
    #[serde(borrow, default)]
    thinking: Piece<'a>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

/// A block that was begun and not stopped.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    block: u32,
    part: Part,
}

#[derive(Clone, Debug)]
enum Part {
    Text,
    /// Thinking. `fields` is what must go back beside its text.
    Thinking {
        fields: Fields,
    },
    /// Thinking that is not shown to us.
    Redacted {
        verbatim: String,
    },
    /// A call. `whole` are the arguments the start gave; they count if no deltas follow.
    Call {
        whole: Option<String>,
    },
    Opaque {
        fields: Fields,
    },
}

/// The members of a block, each as JSON, strings as their text.
#[derive(Clone, Debug, Default)]
struct Fields {
    /// The block as it came, while no delta changed it.
    verbatim: String,
    members: BTreeMap<String, Node>,
}

impl<'a> Started<'a> {
    pub(super) fn read(raw: &'a RawValue) -> Result<Started<'a>, Fault> {
        Ok(Started { raw, head: parse(raw.get())? })
    }

    /// Opens the block and says what its start already holds.
    pub(super) fn open(self, assembly: &mut Assembly) -> Result<Growing, Fault> {
        let Started { raw, head } = self;
        match head.kind.or_empty() {
            "text" => {
                let block = assembly.open_text()?;
                assembly.delta(block, head.text.0.unwrap_or_default())?;
                Ok(Growing { block, part: Part::Text })
            }
            "thinking" => {
                let block = assembly.open_thinking()?;
                assembly.delta(block, head.thinking.0.unwrap_or_default())?;
                let mut fields = Fields::of(raw);
                fields.spread()?;
                fields.members.remove("thinking");
                Ok(Growing { block, part: Part::Thinking { fields } })
            }
            "redacted_thinking" => {
                let block = assembly.open_thinking()?;
                Ok(Growing { block, part: Part::Redacted { verbatim: raw.get().to_owned() } })
            }
            "tool_use" => {
                let block = assembly.open_call(head.id.or_empty(), head.name.or_empty())?;
                let input = head.input.map(RawValue::get).filter(|input| is_filled(input));
                Ok(Growing { block, part: Part::Call { whole: input.map(str::to_owned) } })
            }
            _ => {
                let block = assembly.open_opaque()?;
                Ok(Growing { block, part: Part::Opaque { fields: Fields::of(raw) } })
            }
        }
    }
}

/// Whether the input of a block start is more than the placeholder `{}`.
fn is_filled(input: &str) -> bool {
    input.starts_with('{') && !input[1..].trim_start().starts_with('}')
}

impl Growing {
    /// Takes a delta of the block.
    pub(super) fn grow(
        &mut self,
        delta: Delta<'_>,
        data: &str,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        let (member, text) = match &mut self.part {
            Part::Text => ("text", delta.text),
            Part::Thinking { fields } => {
                if let Some(signature) = delta.signature.text() {
                    fields.set("signature", Node::Text(signature.to_owned()));
                    return assembly.delta(self.block, delta.thinking.0.unwrap_or_default());
                }
                ("thinking", delta.thinking)
            }
            Part::Call { whole } => {
                if delta.partial_json.text().is_some() {
                    *whole = None;
                }
                ("partial_json", delta.partial_json)
            }
            Part::Redacted { .. } => return Ok(()),
            Part::Opaque { fields } => {
                return fields.fold(data, assembly.limits().block_bytes);
            }
        };
        if text.text().is_some() {
            assembly.teach(member, self.block);
        }
        assembly.delta(self.block, text.0.unwrap_or_default())
    }

    /// The block is complete.
    pub(super) fn close(self, proof: Proof, assembly: &mut Assembly) -> Result<(), Fault> {
        let block = self.block;
        match self.part {
            Part::Text => assembly.close_text(block, proof),
            Part::Thinking { mut fields } => {
                // Thinking without a signature is not accepted back.
                let signed = fields.text("signature").is_some_and(|text| !text.is_empty());
                fields.set("thinking", Node::Text(assembly.text(block).to_owned()));
                let seal = if signed { fields.write() } else { String::new() };
                assembly.close_thinking(block, proof, seal)?;
            }
            Part::Redacted { verbatim } => assembly.close_thinking(block, proof, verbatim)?,
            Part::Call { whole } => {
                assembly.delta(block, Cow::Owned(whole.unwrap_or_default()))?;
                assembly.close_call(block, proof);
            }
            Part::Opaque { fields } => {
                assembly.close_opaque(block, proof, fields.write())?;
            }
        }
        Ok(())
    }
}

impl Fields {
    fn of(raw: &RawValue) -> Fields {
        Fields { verbatim: raw.get().to_owned(), members: BTreeMap::new() }
    }

    /// From here on the members count.
    fn spread(&mut self) -> Result<(), Fault> {
        let verbatim = std::mem::take(&mut self.verbatim);
        if !verbatim.is_empty() {
            self.members = Node::members(parse(&verbatim)?)?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, member: Node) {
        self.members.insert(name.to_owned(), member);
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Node::text)
    }

    /// Applies a delta to a block whose kind we do not know: text is appended to the member of the
    /// same name, anything else replaces it.
    fn fold(&mut self, data: &str, limit: usize) -> Result<(), Fault> {
        #[derive(Deserialize)]
        struct Event<'a> {
            #[serde(borrow)]
            delta: BTreeMap<Cow<'a, str>, &'a RawValue>,
        }
        self.spread()?;
        let event: Event<'_> = parse(data)?;
        for (name, raw) in event.delta {
            let member = Node::of(raw)?;
            match (&*name, member) {
                ("type", _) => {}
                ("partial_json", Node::Text(text)) => self.stream("input", &text),
                ("citation", node) => self.push("citations", node),
                (name, Node::Text(text)) if name != "signature" => self.append(name, &text),
                (name, member) => self.set(name, member),
            }
        }
        let bytes: usize = self.members.values().map(Node::len).sum();
        if bytes > limit {
            return Err(Fault(format!("a block may hold {limit} bytes, this one is longer")));
        }
        Ok(())
    }

    fn append(&mut self, name: &str, more: &str) {
        match self.members.get_mut(name) {
            Some(Node::Text(text)) => text.push_str(more),
            Some(_) | None => self.set(name, Node::Text(more.to_owned())),
        }
    }

    fn stream(&mut self, name: &str, more: &str) {
        match self.members.get_mut(name) {
            Some(Node::Streamed(json)) => json.push_str(more),
            // An empty piece comes first and must not replace what the start gave.
            Some(_) | None if more.is_empty() => {}
            Some(_) | None => self.set(name, Node::Streamed(more.to_owned())),
        }
    }

    fn push(&mut self, name: &str, node: Node) {
        match self.members.get_mut(name) {
            Some(Node::List(list)) => list.push(node),
            Some(_) | None => self.set(name, Node::List(vec![node])),
        }
    }

    /// The block as it must go back: as it came where nothing changed it.
    fn write(self) -> String {
        if !self.verbatim.is_empty() {
            return self.verbatim;
        }
        Node::Object(self.members).json()
    }
}
