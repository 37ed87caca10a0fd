//! Chat Completions, bytes to events: chunks with deltas, a finish reason, usage, `[DONE]`.
//!
//! The wire has no end of a block. A call is complete when a later one has begun and its arguments
//! are whole, or when a finish reason came; without that it is not (B019).

use std::borrow::Cow;

use machine_spec::model::{Proof, StopReason};
use serde_json::value::RawValue;

use super::calls::Calls;
use super::chunk::{CallDelta, Choice, Chunk, Content, Counts, Delta, Part};
use super::thought::{Spelling, Thought, details};
use crate::assembly::{Assembly, Fault};
use crate::dialect::Dialect;
use crate::error_body::classify;
use crate::fill::fill;
use crate::lenient::Index;

/// What is known of the response between two events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// The choice that is read; the others are nobody's.
    choice: Option<Index>,
    current: Current,
    calls: Calls,
    legacy: Calls,
    /// The block that the last fragment of a call was added to.
    fragment: Option<u32>,
    refused: bool,
    has_usage: bool,
}

/// The text or thinking that is being said.
#[derive(Clone, Debug, Default)]
enum Current {
    #[default]
    Nothing,
    Text(u32),
    Refusal(u32),
    Thinking(u32, Thought),
}

impl Reader {
    pub(crate) fn event(
        &mut self,
        name: &[u8],
        data: &str,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            self.done(assembly)?;
            return Ok(());
        }
        let mut chunk = Chunk::default();
        fill(&mut chunk, data)?;
        if is_error(&chunk, name) {
            let failure = classify(Dialect::OpenAiChat, 200, &[], data.as_bytes(), None);
            assembly.fail(failure);
            return Ok(());
        }
        assembly.began(chunk.model.or_empty(), chunk.id.or_empty());
        let usage_only = chunk.choices.0.is_none() && chunk.usage.is_some();
        if let Some(choice) = chunk.choices.0 {
            self.choice(choice, assembly)?;
        }
        if chunk.usage.is_some() || chunk.x_groq.is_some() {
            assembly.lesson = None;
        }
        if let Some(raw) = chunk.usage {
            self.usage(raw, assembly);
        }
        if let Some(counts) = chunk.x_groq.filter(|_| !self.has_usage).and_then(Counts::of_groq) {
            assembly.usage(counts.comparable(), counts.own());
        }
        if usage_only {
            // Asked for, it comes last; there is no need to wait for the end of the wire.
            assembly.conclude();
        }
        Ok(())
    }

    fn usage(&mut self, raw: &RawValue, assembly: &mut Assembly) {
        if let Some(counts) = Counts::read(raw) {
            self.has_usage = true;
            assembly.usage(counts.comparable(), counts.own());
        }
    }

    fn choice(&mut self, choice: Choice<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        if *self.choice.get_or_insert(choice.index) != choice.index {
            return Ok(());
        }
        let only = choice.delta.only().filter(|_| choice.finish_reason.text().is_none());
        self.delta(choice.delta, assembly)?;
        let block = match self.current {
            Current::Nothing => self.fragment,
            Current::Text(block) | Current::Thinking(block, _) => Some(block),
            Current::Refusal(_) => None,
        };
        if let (Some(member), Some(block)) = (only, block) {
            assembly.teach(member, block);
        }
        if let Some(raw) = choice.usage {
            self.usage(raw, assembly);
        }
        // An empty finish reason is none (B008).
        if let Some(word) = choice.finish_reason.text() {
            let cut = choice.native_finish_reason.text().is_some_and(is_output_limit);
            self.finish(word, cut, assembly)?;
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        let spelled = [
            (Spelling::ReasoningContent, delta.reasoning_content),
            (Spelling::Reasoning, delta.reasoning),
        ];
        // Gateways may spell one thought twice; it is meant once (in no recorded stream).
        let thought = spelled.into_iter().find(|(_, piece)| piece.text().is_some());
        let has_text = thought.is_some();
        if let Some((spelling, piece)) = thought {
            self.think(spelling, piece.0.unwrap_or_default(), assembly)?;
        }
        if let Some(raw) = delta.reasoning_details {
            let (items, text) = details(raw)?;
            if !items.is_empty() {
                let text = if has_text { String::new() } else { text };
                self.think(Spelling::Details, text.into(), assembly)?;
                if let Current::Thinking(_, thought) = &mut self.current {
                    thought.take(items, assembly.limits().block_bytes)?;
                }
            }
        }
        match delta.content {
            Content::Absent => {}
            Content::Text(text) => self.say(text, assembly)?,
            Content::Parts(parts) => self.parts(parts, assembly)?,
        }
        if delta.refusal.text().is_some() {
            self.refuse(delta.refusal.0.unwrap_or_default(), assembly)?;
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.leave(Proof::NextBlock, assembly)?;
            self.fragment = self.calls.take(call, assembly)?;
        }
        if let Some(function) = delta.function_call {
            self.leave(Proof::NextBlock, assembly)?;
            // The form before there were several calls: one, without id.
            let call = CallDelta {
                index: Index(Some(0)),
                id: Default::default(),
                function: Some(function),
                extra_content: None,
            };
            self.legacy.take(call, assembly)?;
        }
        Ok(())
    }

    fn parts(&mut self, parts: Vec<Part<'_>>, assembly: &mut Assembly) -> Result<(), Fault> {
        for part in parts {
            match part.kind.or_empty() {
                "thinking" => {
                    for piece in part.thinking.unwrap_or_default() {
                        let text = piece.text.0.unwrap_or_default();
                        if !text.is_empty() {
                            self.think(Spelling::Part, text, assembly)?;
                        }
                    }
                }
                _ => self.say(part.text.0.unwrap_or_default(), assembly)?,
            }
        }
        Ok(())
    }

    fn say(&mut self, text: Cow<'_, str>, assembly: &mut Assembly) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        let block = match self.current {
            Current::Text(block) => block,
            Current::Nothing | Current::Refusal(_) | Current::Thinking(..) => {
                self.leave(Proof::NextBlock, assembly)?;
                let block = assembly.open_text()?;
                self.current = Current::Text(block);
                block
            }
        };
        assembly.delta(block, text)
    }

    fn refuse(&mut self, text: Cow<'_, str>, assembly: &mut Assembly) -> Result<(), Fault> {
        self.refused = true;
        let block = match self.current {
            Current::Refusal(block) => block,
            Current::Nothing | Current::Text(_) | Current::Thinking(..) => {
                self.leave(Proof::NextBlock, assembly)?;
                let block = assembly.open_text()?;
                self.current = Current::Refusal(block);
                block
            }
        };
        assembly.delta(block, text)
    }

    fn think(
        &mut self,
        spelling: Spelling,
        text: Cow<'_, str>,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        let block = match &mut self.current {
            Current::Thinking(block, thought) => {
                thought.spelled(spelling);
                *block
            }
            Current::Nothing | Current::Text(_) | Current::Refusal(_) => {
                self.leave(Proof::NextBlock, assembly)?;
                let block = assembly.open_thinking()?;
                self.current = Current::Thinking(block, Thought::new(spelling));
                block
            }
        };
        assembly.delta(block, text)
    }

    /// What was being said is complete.
    fn leave(&mut self, proof: Proof, assembly: &mut Assembly) -> Result<(), Fault> {
        match std::mem::take(&mut self.current) {
            Current::Nothing => {}
            Current::Text(block) | Current::Refusal(block) => assembly.close_text(block, proof),
            Current::Thinking(block, thought) => {
                let seal = thought.seal(assembly.text(block));
                assembly.close_thinking(block, proof, seal)?;
            }
        }
        Ok(())
    }

    /// A finish reason came. It may come again.
    fn finish(&mut self, word: &str, cut: bool, assembly: &mut Assembly) -> Result<(), Fault> {
        self.leave(Proof::FinishReason, assembly)?;
        let reason = match stop_reason(word) {
            // OpenRouter says `tool_calls` where the model behind it says it ran out of room
            // (openrouter/rig-streaming-gpt41-low-agent).
            _ if cut => StopReason::OutputLimit,
            StopReason::EndOfTurn if self.refused => StopReason::Refused,
            reason => reason,
        };
        let cut = reason == StopReason::OutputLimit || reason == StopReason::WindowExceeded;
        self.legacy.finish(cut, assembly)?;
        self.calls.finish(cut, assembly)?;
        assembly.stop(reason, word);
        Ok(())
    }

    /// `[DONE]`. With no finish reason before it, it proves that a text is whole
    /// (snowflake/pai-test-snowflake-model-streaming), but not that a call is.
    fn done(&mut self, assembly: &mut Assembly) -> Result<(), Fault> {
        let calls = self.calls.any_open(assembly) || self.legacy.any_open(assembly);
        let said = !matches!(self.current, Current::Nothing);
        if said && !calls && !assembly.has_stopped() {
            self.leave(Proof::BlockStop, assembly)?;
            let reason = if self.refused { StopReason::Refused } else { StopReason::EndOfTurn };
            assembly.stop(reason, "");
        }
        assembly.end();
        Ok(())
    }
}

/// An error inside a stream: OpenRouter puts it beside the choices
/// (openrouter/pai-test-openrouter-stream-error), Groq into an event of its own
/// (groq/pai-test-tool-use-failed-error-streaming), vLLM calls it an object (documented, in no
/// recorded stream).
fn is_error(chunk: &Chunk<'_>, name: &[u8]) -> bool {
    let said = chunk.error.is_some_and(|raw| !matches!(raw.get(), "\"\"" | "{}" | "false"));
    said || chunk.object.or_empty() == "error" || (name == b"error" && chunk.choices.0.is_none())
}

fn is_output_limit(word: &str) -> bool {
    let limits = ["length", "max_tokens", "max_output_tokens"];
    limits.iter().any(|limit| word.eq_ignore_ascii_case(limit))
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        // `eos` is Together's
        // (together/openllmetry-js-should-set-attributes-in-span-for-streaming-chat-7290445).
        "stop" | "eos" | "end_turn" => StopReason::EndOfTurn,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        "length" | "max_tokens" => StopReason::OutputLimit,
        // Mistral: the window is full (documented, in no recorded stream).
        "model_length" => StopReason::WindowExceeded,
        "content_filter" => StopReason::Filtered,
        "refusal" => StopReason::Refused,
        "stop_sequence" => StopReason::StopSequence,
        _ => StopReason::Other,
    }
}
