//! OpenAI Responses, bytes to events: items that are added, grow and are done, and a response that
//! is completed, incomplete or failed.
//!
//! An item is found by its output index, then by its id: gateways change ids between events
//! (github-copilot/ai-github-copilot-id-rotation-1), others leave the index out
//! (bedrock-mantle/ruby_llm-providers-bedrock-mantle-responses-chat-streams-through).

use machine_spec::model::{Proof, StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::item::{Full, Head, Item};
use crate::assembly::{Assembly, Fault};
use crate::counts;
use crate::dialect::Dialect;
use crate::error_body::classify;
use crate::json::parse;
use crate::lenient::{Count, Index, Piece};

/// What is known of the response between two events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    items: Vec<Item>,
    called: bool,
    refused: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Piece<'a>,
    #[serde(default)]
    output_index: Index,
    #[serde(borrow, default)]
    item_id: Piece<'a>,
    #[serde(borrow, default)]
    delta: Piece<'a>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    id: Piece<'a>,
    #[serde(borrow, default)]
    model: Piece<'a>,
    #[serde(borrow, default)]
    status: Piece<'a>,
    #[serde(borrow, default)]
    incomplete_details: Option<Incomplete<'a>>,
    #[serde(borrow, default)]
    output: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow, default)]
    reason: Piece<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: Count,
    output_tokens: Count,
    total_tokens: Count,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

impl Reader {
    pub(crate) fn event(
        &mut self,
        name: &[u8],
        data: &str,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            // The end marker of another dialect
            // (openrouter/rig-openai-responses-stream-against-openrouter-completes).
            return Ok(());
        }
        let event: Event<'_> = parse(data)?;
        match event.kind.or_empty() {
            "response.output_text.delta"
            | "response.function_call_arguments.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta" => self.grow(event, assembly),
            "response.refusal.delta" => {
                self.refused = true;
                self.grow(event, assembly)
            }
            "response.output_item.added" => self.added(&event, assembly),
            "response.output_item.done" => self.done(&event, assembly),
            "response.created" | "response.in_progress" => {
                if let Some(raw) = event.response {
                    let response: Response<'_> = parse(raw.get())?;
                    assembly.began(response.model.or_empty(), response.id.or_empty());
                }
                Ok(())
            }
            "response.completed" | "response.incomplete" => self.ended(event.response, assembly),
            kind => {
                if matches!(kind, "error" | "response.failed" | "response.error")
                    || event.error.is_some()
                    || name == b"error"
                {
                    let body = data.as_bytes();
                    assembly.fail(classify(Dialect::OpenAiResponses, 200, &[], body, None));
                }
                Ok(())
            }
        }
    }

    fn added(&mut self, event: &Event<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(raw) = event.item else { return Ok(()) };
        let head: Head<'_> = parse(raw.get())?;
        self.open(event.output_index, &head, assembly)?;
        Ok(())
    }

    fn open(
        &mut self,
        index: Index,
        head: &Head<'_>,
        assembly: &mut Assembly,
    ) -> Result<usize, Fault> {
        let item = Item::open(index.0, head, assembly)?;
        self.called |= item.is_call();
        self.items.push(item);
        Ok(self.items.len() - 1)
    }

    fn grow(&mut self, event: Event<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        let id = event.item_id.or_empty();
        let at = match self.find(event.output_index, id) {
            Some(at) => at,
            // An item that was never added: its deltas say what it is.
            None => match event.kind.or_empty() {
                "response.function_call_arguments.delta" => {
                    return Err(Fault("expected an item for arguments, got none".into()));
                }
                "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                    self.open(event.output_index, &Head::named("reasoning", id), assembly)?
                }
                _ => self.open(event.output_index, &Head::named("message", id), assembly)?,
            },
        };
        let item = &mut self.items[at];
        if event.delta.text().is_some() {
            assembly.teach("delta", item.block);
        }
        item.say(event.delta.0.unwrap_or_default(), assembly)
    }

    fn done(&mut self, event: &Event<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(raw) = event.item else { return Ok(()) };
        let full = Full::read(raw)?;
        let at = match self.find(event.output_index, full.head.id.or_empty()) {
            Some(at) => at,
            None => self.open(event.output_index, &full.head, assembly)?,
        };
        self.refused |= full.has_refusal();
        self.items[at].close(raw, full, Proof::BlockStop, assembly)
    }

    /// The response is over. Items that only stand here are taken from here.
    fn ended(&mut self, raw: Option<&RawValue>, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(raw) = raw else { return Ok(()) };
        let response: Response<'_> = parse(raw.get())?;
        assembly.began(response.model.or_empty(), response.id.or_empty());
        for (index, raw) in response.output.unwrap_or_default().into_iter().enumerate() {
            let full = Full::read(raw)?;
            let index = Index(i64::try_from(index).ok());
            if self.find(index, full.head.id.or_empty()).is_none() {
                let at = self.open(index, &full.head, assembly)?;
                self.refused |= full.has_refusal();
                self.items[at].close(raw, full, Proof::WholePart, assembly)?;
            }
        }
        for item in &mut self.items {
            item.end(assembly);
        }
        if let Some(counts) = &response.usage {
            let own = counts.own();
            assembly.usage(counts::comparable(own, counts.total_tokens.0), own);
        }
        let status = response.status.or_empty();
        match response.incomplete_details.as_ref().and_then(|details| details.reason.text()) {
            Some(reason) => {
                assembly.stop(incomplete(reason), &format!("incomplete:{reason}"));
            }
            None if status == "incomplete" => assembly.stop(StopReason::Other, status),
            None => assembly.stop(self.completed(), status),
        }
        assembly.end();
        Ok(())
    }

    /// This wire says only that the response is complete; what it holds says the rest.
    fn completed(&self) -> StopReason {
        match (self.refused, self.called) {
            (true, _) => StopReason::Refused,
            (false, true) => StopReason::ToolUse,
            (false, false) => StopReason::EndOfTurn,
        }
    }

    fn find(&self, index: Index, id: &str) -> Option<usize> {
        let by_index = || self.items.iter().rposition(|item| item.index == index.0);
        let by_id = || self.items.iter().rposition(|item| item.id == id);
        match index.0 {
            Some(_) => by_index(),
            None if id.is_empty() => self.items.len().checked_sub(1),
            None => by_id(),
        }
    }
}

impl Counts {
    fn own(&self) -> Usage {
        let input = self.input_tokens_details.as_ref();
        let output = self.output_tokens_details.as_ref();
        Usage {
            input: self.input_tokens.0,
            output: self.output_tokens.0,
            cache_read: input.and_then(|details| details.cached_tokens.0),
            cache_write: input.and_then(|details| details.cache_write_tokens.0),
            reasoning: output.and_then(|details| details.reasoning_tokens.0),
        }
    }
}

fn incomplete(reason: &str) -> StopReason {
    match reason {
        "max_output_tokens" | "max_tokens" => StopReason::OutputLimit,
        "content_filter" => StopReason::Filtered,
        _ => StopReason::Other,
    }
}
