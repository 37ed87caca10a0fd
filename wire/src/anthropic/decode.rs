//! Anthropic Messages, bytes to events: `message_start`, blocks, `message_delta`, `message_stop`.
//!
//! A block is complete when `content_block_stop` says so; nothing else proves it. The event is told
//! by the `type` inside its data, not by the `event:` line.

use machine_spec::model::{Proof, StopReason, Usage};
use serde::Deserialize;
use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::blocks::{Growing, Started};
use crate::assembly::{Assembly, Fault};
use crate::dialect::Dialect;
use crate::error_body::classify;
use crate::fill::{Fill, Filling, fill};
use crate::json::parse;
use crate::lenient::{Count, Index, Piece};

/// What is known of the response between two events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// Blocks that were begun and not stopped, by the provider's index.
    open: Vec<(i64, Growing)>,
}

#[derive(Default)]
struct Event<'a> {
    kind: Piece<'a>,
    index: Index,
    delta: Delta<'a>,
    content_block: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    usage: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'de> Fill<'de> for Event<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "type" => self.kind = map.next_value()?,
            "index" => self.index = map.next_value()?,
            "delta" => map.next_value_seed(Filling(&mut self.delta))?,
            "content_block" => self.content_block = map.next_value()?,
            "message" => self.message = map.next_value()?,
            "usage" => self.usage = map.next_value()?,
            "error" => self.error = map.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[derive(Default)]
pub(super) struct Delta<'a> {
    pub(super) kind: Piece<'a>,
    pub(super) text: Piece<'a>,
    pub(super) thinking: Piece<'a>,
    pub(super) partial_json: Piece<'a>,
    pub(super) signature: Piece<'a>,
    stop_reason: Piece<'a>,
    stop_details: Option<&'a RawValue>,
}

impl<'de> Fill<'de> for Delta<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "type" => self.kind = map.next_value()?,
            "text" => self.text = map.next_value()?,
            "thinking" => self.thinking = map.next_value()?,
            "partial_json" => self.partial_json = map.next_value()?,
            "signature" => self.signature = map.next_value()?,
            "stop_reason" => self.stop_reason = map.next_value()?,
            "stop_details" => self.stop_details = map.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Why a response was refused (B018).
#[derive(Default, Deserialize)]
#[serde(default)]
struct Details<'a> {
    #[serde(borrow)]
    category: Piece<'a>,
    #[serde(borrow)]
    explanation: Piece<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Piece<'a>,
    #[serde(borrow, default)]
    model: Piece<'a>,
    #[serde(borrow, default)]
    stop_reason: Piece<'a>,
    #[serde(borrow, default)]
    stop_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Counts {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cache_read_input_tokens: Count,
    #[serde(default)]
    cache_creation_input_tokens: Count,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default)]
    thinking_tokens: Count,
}

impl Reader {
    pub(crate) fn event(
        &mut self,
        name: &[u8],
        data: &str,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            // The end marker of another dialect, said after the end of this one
            // (anthropic/rig-gateway-message-delta-metadata).
            return Ok(());
        }
        let mut event = Event::default();
        fill(&mut event, data)?;
        match event.kind.or_empty() {
            "content_block_delta" => self.grow(event.index, event.delta, data, assembly),
            "content_block_start" => self.begin(&event, assembly),
            "content_block_stop" => self.end(event.index, assembly),
            "message_start" => self.start(event.message, assembly),
            "message_delta" => {
                if let Some(raw) = event.usage {
                    parse::<Counts>(raw.get())?.report(assembly);
                }
                stop(&event.delta.stop_reason, event.delta.stop_details, assembly);
                Ok(())
            }
            "message_stop" => {
                assembly.end();
                Ok(())
            }
            "ping" => Ok(()),
            kind => {
                if kind == "error" || event.error.is_some() || name == b"error" {
                    let failure = classify(Dialect::Anthropic, 200, &[], data.as_bytes(), None);
                    assembly.fail(failure);
                }
                Ok(())
            }
        }
    }

    fn start(&mut self, raw: Option<&RawValue>, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(raw) = raw else { return Ok(()) };
        let message: Message<'_> = parse(raw.get())?;
        assembly.began(message.model.or_empty(), message.id.or_empty());
        if let Some(counts) = &message.usage {
            counts.report(assembly);
        }
        // A block may stand whole in the start, and a stop reason beside it
        // (anthropic/ai-anthropic-programmatic-tool-calling-1-i1).
        for raw in message.content.unwrap_or_default() {
            let block = Started::read(raw)?.open(assembly)?;
            block.close(Proof::WholePart, assembly)?;
        }
        stop(&message.stop_reason, message.stop_details, assembly);
        Ok(())
    }

    fn begin(&mut self, event: &Event<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(raw) = event.content_block else {
            return Err(Fault("expected `content_block`, got none".into()));
        };
        let index = event.index.0.unwrap_or_default();
        // An index that comes again belongs to the new block; the old one was never completed
        // (anthropic/ai-spliced-message-start).
        self.open.retain(|(open, _)| *open != index);
        let block = Started::read(raw)?.open(assembly)?;
        self.open.push((index, block));
        Ok(())
    }

    fn grow(
        &mut self,
        index: Index,
        delta: Delta<'_>,
        data: &str,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        let index = index.0.unwrap_or_default();
        match self.open.iter_mut().rev().find(|(open, _)| *open == index) {
            Some((_, block)) => block.grow(delta, data, assembly),
            None if matches!(delta.kind.or_empty(), "text_delta" | "input_json_delta") => {
                let kind = delta.kind.or_empty();
                Err(Fault(format!("expected an open block {index} for `{kind}`, got none")))
            }
            None => Ok(()),
        }
    }

    fn end(&mut self, index: Index, assembly: &mut Assembly) -> Result<(), Fault> {
        let index = index.0.unwrap_or_default();
        match self.open.iter().rposition(|(open, _)| *open == index) {
            Some(at) => self.open.remove(at).1.close(Proof::BlockStop, assembly),
            None => Ok(()),
        }
    }
}

impl Counts {
    fn report(&self, assembly: &mut Assembly) {
        let reasoning = self.output_tokens_details.as_ref().and_then(|d| d.thinking_tokens.0);
        // This dialect counts as the machine does: the cache apart from the input, thinking
        // within the output.
        let usage = Usage {
            input: self.input_tokens.0,
            output: self.output_tokens.0,
            cache_read: self.cache_read_input_tokens.0,
            cache_write: self.cache_creation_input_tokens.0,
            reasoning,
        };
        assembly.usage(usage, usage);
    }
}

/// The reason counts even where what is said about it cannot be read.
fn stop(word: &Piece<'_>, details: Option<&RawValue>, assembly: &mut Assembly) {
    let Some(word) = word.text() else { return };
    let details = details.and_then(|raw| parse::<Option<Details<'_>>>(raw.get()).ok().flatten());
    let details = details.unwrap_or_default();
    let (category, explanation) = (details.category.or_empty(), details.explanation.or_empty());
    assembly.stop_with(stop_reason(word), word, category, explanation);
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" => StopReason::EndOfTurn,
        "tool_use" => StopReason::ToolUse,
        "stop_sequence" => StopReason::StopSequence,
        "max_tokens" => StopReason::OutputLimit,
        "model_context_window_exceeded" => StopReason::WindowExceeded,
        "pause_turn" => StopReason::Paused,
        "refusal" => StopReason::Refused,
        _ => StopReason::Other,
    }
}
