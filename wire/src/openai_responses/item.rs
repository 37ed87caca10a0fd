//! Items of a Responses stream: a message, a call, reasoning, or something of the provider's own.

use std::borrow::Cow;

use machine_spec::model::Proof;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assembly::{Assembly, Fault};
use crate::json::Node;
use crate::lenient::Piece;

/// An item that was begun.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) index: Option<i64>,
    pub(super) id: String,
    pub(super) block: u32,
    kind: Kind,
    /// Whether any of it was said.
    said: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Call,
    Reasoning,
    Opaque,
}

/// What an item says about itself from the beginning.
#[derive(Deserialize)]
pub(super) struct Head<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Piece<'a>,
    #[serde(borrow, default)]
    pub(super) id: Piece<'a>,
    #[serde(borrow, default)]
    call_id: Piece<'a>,
    #[serde(borrow, default)]
    name: Piece<'a>,
    #[serde(borrow, default)]
    phase: Piece<'a>,
}

/// An item as it stands at its end.
pub(super) struct Full<'a> {
    pub(super) head: Head<'a>,
    body: Body<'a>,
}

#[derive(Default, Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    status: Piece<'a>,
    #[serde(borrow, default)]
    arguments: Piece<'a>,
    #[serde(borrow, default)]
    content: Option<Vec<Part<'a>>>,
    #[serde(borrow, default)]
    summary: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Piece<'a>,
    #[serde(borrow, default)]
    refusal: Piece<'a>,
}

impl<'a> Head<'a> {
    /// The head of an item that was never added, by what its first piece tells. It keeps the id,
    /// so that the next piece finds it.
    pub(super) fn named(kind: &'a str, id: &'a str) -> Head<'a> {
        let absent = Piece::default;
        let known = |text| Piece(Some(Cow::Borrowed(text)));
        Head {
            kind: known(kind),
            id: known(id),
            call_id: absent(),
            name: absent(),
            phase: absent(),
        }
    }
}

impl<'a> Full<'a> {
    pub(super) fn read(raw: &'a RawValue) -> Result<Full<'a>, Fault> {
        let fault = |error| Fault(format!("expected an item, got: {error}"));
        let head: Head<'a> = serde_json::from_str(raw.get()).map_err(fault)?;
        // Of the provider's own items the members may be of any type.
        let body = match head.kind() {
            Kind::Opaque => Body::default(),
            Kind::Message | Kind::Call | Kind::Reasoning => {
                serde_json::from_str(raw.get()).map_err(fault)?
            }
        };
        Ok(Full { head, body })
    }

    pub(super) fn has_refusal(&self) -> bool {
        let parts = self.body.content.iter().flatten();
        self.head.kind() == Kind::Message
            && parts.into_iter().any(|part| part.refusal.text().is_some())
    }
}

impl Item {
    /// Opens the block of an item.
    pub(super) fn open(
        index: Option<i64>,
        head: &Head<'_>,
        assembly: &mut Assembly,
    ) -> Result<Item, Fault> {
        let kind = head.kind();
        let block = match kind {
            Kind::Message => {
                // Which part of the answer a message is must go back with it
                // (openai/ai-openai-phase-1).
                if let Some(phase) = head.phase.text() {
                    assembly.adorn("phase", Node::Text(phase.to_owned()))?;
                }
                assembly.open_text()?
            }
            Kind::Call => assembly.open_call(head.call_id.or_empty(), head.name.or_empty())?,
            Kind::Reasoning => assembly.open_thinking()?,
            Kind::Opaque => assembly.open_opaque()?,
        };
        Ok(Item { index, id: head.id.or_empty().to_owned(), block, kind, said: false })
    }

    pub(super) fn is_call(&self) -> bool {
        self.kind == Kind::Call
    }

    /// More of the item.
    pub(super) fn say(&mut self, text: Cow<'_, str>, assembly: &mut Assembly) -> Result<(), Fault> {
        self.said |= !text.is_empty();
        assembly.delta(self.block, text)
    }

    /// The item is done. What it holds is said now if it did not stream.
    pub(super) fn close(
        &mut self,
        raw: &RawValue,
        full: Full<'_>,
        proof: Proof,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        let Body { status, arguments, content, summary } = full.body;
        if !self.said {
            let texts = summary.into_iter().chain(content).flatten();
            for text in texts.flat_map(|part| [part.text.0, part.refusal.0]).flatten() {
                self.say(text, assembly)?;
            }
            self.say(arguments.0.unwrap_or_default(), assembly)?;
        }
        match self.kind {
            Kind::Message => assembly.close_text(self.block, proof),
            // The output limit ends items too; they then say that they are not whole.
            Kind::Call if status.or_empty() == "incomplete" => {
                assembly.close_cut_call(self.block, proof);
            }
            Kind::Call => assembly.close_call(self.block, proof),
            Kind::Reasoning => {
                assembly.close_thinking(self.block, proof, raw.get().to_owned())?;
            }
            Kind::Opaque => assembly.close_opaque(self.block, proof, raw.get().to_owned())?,
        }
        Ok(())
    }

    /// The response is complete: so is its text, whether or not its item was done.
    pub(super) fn end(&self, assembly: &mut Assembly) {
        match self.kind {
            Kind::Message => assembly.close_text(self.block, Proof::FinishReason),
            Kind::Call | Kind::Reasoning | Kind::Opaque => {}
        }
    }
}

impl Head<'_> {
    fn kind(&self) -> Kind {
        match self.kind.or_empty() {
            "message" => Kind::Message,
            "function_call" => Kind::Call,
            "reasoning" => Kind::Reasoning,
            // Also `custom_tool_call`: we declare no such tool, so it is the provider's own
            // (xai/ai-xai-x-search-tool).
            _ => Kind::Opaque,
        }
    }
}
