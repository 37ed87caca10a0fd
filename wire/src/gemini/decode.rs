//! Gemini, bytes to events: chunks with parts of the first candidate, a finish reason, usage.
//!
//! The wire has no end but the end of the body, and older models repeat the finish reason in every
//! chunk; so what the finish reason completes is said when the body is over.

use std::borrow::Cow;

use machine_spec::model::{ErrorClass, Failure, Proof, StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::partial::{Arguments, PartialArg};
use crate::assembly::{Assembly, Fault};
use crate::dialect::Dialect;
use crate::error_body::classify;
use crate::json::{Node, object};
use crate::lenient::{Count, Few, Index, Piece};

/// What is known of the response between two chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    current: Current,
    called: bool,
}

/// What is being said.
#[derive(Clone, Debug, Default)]
enum Current {
    #[default]
    Nothing,
    Text(u32),
    Thinking {
        block: u32,
        signature: String,
    },
    /// A call whose arguments arrive in pieces.
    Call {
        block: u32,
        arguments: Arguments,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    candidates: Few<Candidate<'a>>,
    #[serde(default)]
    usage_metadata: Option<Counts>,
    #[serde(borrow, default)]
    model_version: Piece<'a>,
    #[serde(borrow, default)]
    response_id: Piece<'a>,
    #[serde(borrow, default)]
    prompt_feedback: Option<Feedback<'a>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow, default)]
    block_reason: Piece<'a>,
    #[serde(borrow, default)]
    block_reason_message: Piece<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: Index,
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_message: Piece<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Few<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Piece<'a>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(borrow, default)]
    thought_signature: Piece<'a>,
    #[serde(borrow, default)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCall<'a> {
    #[serde(borrow, default)]
    id: Piece<'a>,
    #[serde(borrow, default)]
    name: Piece<'a>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    partial_args: Option<Vec<PartialArg<'a>>>,
    #[serde(default)]
    will_continue: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Counts {
    prompt_token_count: Count,
    candidates_token_count: Count,
    cached_content_token_count: Count,
    thoughts_token_count: Count,
    tool_use_prompt_token_count: Count,
}

impl Reader {
    pub(crate) fn event(&mut self, data: &str, assembly: &mut Assembly) -> Result<(), Fault> {
        let chunk: Chunk<'_> = serde_json::from_str(data)
            .map_err(|error| Fault(format!("expected a chunk, got: {error}")))?;
        if chunk.error.is_some() {
            assembly.fail(classify(Dialect::Gemini, 200, &[], data.as_bytes(), None));
            return Ok(());
        }
        assembly.began(chunk.model_version.or_empty(), chunk.response_id.or_empty());
        let first = |candidate: &Candidate<'_>| candidate.index.0.unwrap_or(0) == 0;
        for candidate in chunk.candidates.into_iter().filter(first) {
            for raw in candidate.content.into_iter().flat_map(|content| content.parts) {
                self.part(raw, assembly)?;
            }
            if let Some(word) = candidate.finish_reason.map(word).filter(|word| !word.is_empty()) {
                let message = candidate.finish_message.or_empty();
                assembly.stop_with(self.reason(&word), &word, "", message);
            }
        }
        if let Some(counts) = &chunk.usage_metadata {
            counts.report(assembly);
        }
        let feedback =
            chunk.prompt_feedback.filter(|feedback| feedback.block_reason.text().is_some());
        if let Some(feedback) = feedback {
            assembly.fail(blocked(&feedback));
        }
        Ok(())
    }

    /// The body is over. With a finish reason, what was being said is complete.
    pub(crate) fn finish(&mut self, assembly: &mut Assembly) -> Result<(), Fault> {
        if assembly.has_stopped() { self.leave(Proof::FinishReason, assembly) } else { Ok(()) }
    }

    fn part(&mut self, raw: &RawValue, assembly: &mut Assembly) -> Result<(), Fault> {
        let part: Part<'_> = serde_json::from_str(raw.get())
            .map_err(|error| Fault(format!("expected a part, got: {error}")))?;
        let signature = part.thought_signature.or_empty();
        if let Some(call) = part.function_call {
            return self.call(call, signature, assembly);
        }
        let is_thought = part.thought == Some(true);
        match part.text.0 {
            Some(text) if is_thought => self.think(text, signature, assembly),
            // A signature alone stands behind the text it seals; it goes back as it came.
            Some(text) if text.is_empty() && signature.is_empty() => Ok(()),
            Some(text) if !text.is_empty() => self.say(text, signature, assembly),
            Some(_) | None => {
                self.leave(Proof::NextBlock, assembly)?;
                assembly.opaque(Proof::WholePart, raw.get())
            }
        }
    }

    fn say(
        &mut self,
        text: Cow<'_, str>,
        signature: &str,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        if !signature.is_empty() {
            // A signed part must not be joined with its neighbours.
            self.leave(Proof::NextBlock, assembly)?;
            adorn(signature, assembly)?;
            let block = assembly.open_text()?;
            assembly.delta(block, text)?;
            assembly.close_text(block, Proof::WholePart);
            return Ok(());
        }
        let block = match self.current {
            Current::Text(block) => block,
            Current::Nothing | Current::Thinking { .. } | Current::Call { .. } => {
                self.leave(Proof::NextBlock, assembly)?;
                let block = assembly.open_text()?;
                self.current = Current::Text(block);
                block
            }
        };
        assembly.delta(block, text)
    }

    fn think(
        &mut self,
        text: Cow<'_, str>,
        sign: &str,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        if !matches!(self.current, Current::Thinking { .. }) {
            self.leave(Proof::NextBlock, assembly)?;
            let block = assembly.open_thinking()?;
            self.current = Current::Thinking { block, signature: String::new() };
        }
        if let Current::Thinking { block, signature } = &mut self.current {
            signature.push_str(sign);
            assembly.delta(*block, text)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: FunctionCall<'_>,
        signature: &str,
        assembly: &mut Assembly,
    ) -> Result<(), Fault> {
        if let Some(name) = call.name.text() {
            self.leave(Proof::NextBlock, assembly)?;
            self.called = true;
            adorn(signature, assembly)?;
            let block = assembly.open_call(call.id.or_empty(), name)?;
            let streams = call.will_continue == Some(true) || call.partial_args.is_some();
            if !streams {
                let args = call.args.map(RawValue::get).unwrap_or_default();
                assembly.delta(block, Cow::Borrowed(args))?;
                assembly.close_call(block, Proof::WholePart);
                return Ok(());
            }
            let header = call.args.map(Node::members).transpose()?.unwrap_or_default();
            self.current = Current::Call { block, arguments: Arguments::new(header) };
        }
        let limit = assembly.limits().block_bytes;
        if let Current::Call { arguments, .. } = &mut self.current {
            for piece in call.partial_args.iter().flatten() {
                arguments.take(piece, limit)?;
            }
            // A part with nothing in it ends the call.
            if call.will_continue != Some(true) && call.name.text().is_none() {
                return self.leave(Proof::BlockStop, assembly);
            }
        }
        Ok(())
    }

    /// What was being said is complete.
    fn leave(&mut self, proof: Proof, assembly: &mut Assembly) -> Result<(), Fault> {
        match std::mem::take(&mut self.current) {
            Current::Nothing => {}
            Current::Text(block) => assembly.close_text(block, proof),
            Current::Thinking { block, signature } => {
                let seal = match signature.as_str() {
                    "" => String::new(),
                    _ => object([
                        ("text", Node::Text(assembly.text(block).to_owned())),
                        ("thought", Node::Json("true".to_owned())),
                        ("thoughtSignature", Node::Text(signature)),
                    ])
                    .json(),
                };
                assembly.close_thinking(block, proof, seal)?;
            }
            Current::Call { block, arguments } => {
                assembly.delta(block, Cow::Owned(arguments.json()))?;
                assembly.close_call(block, proof);
            }
        }
        Ok(())
    }

    /// The wire has one word for the end of a turn, with calls or without.
    fn reason(&self, word: &str) -> StopReason {
        match word {
            // Some Vertex bodies carry the number of the word
            // (google-vertex/oinf-test-gemini-token-counts-streaming).
            "STOP" | "1" if self.called => StopReason::ToolUse,
            "STOP" | "1" => StopReason::EndOfTurn,
            "MAX_TOKENS" | "2" => StopReason::OutputLimit,
            "SAFETY"
            | "3"
            | "RECITATION"
            | "4"
            | "BLOCKLIST"
            | "6"
            | "PROHIBITED_CONTENT"
            | "7"
            | "SPII"
            | "8"
            | "LANGUAGE"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => StopReason::Filtered,
            _ => StopReason::Other,
        }
    }
}

impl Counts {
    fn report(&self, assembly: &mut Assembly) {
        let own = Usage {
            input: self.prompt_token_count.0,
            output: self.candidates_token_count.0,
            cache_read: self.cached_content_token_count.0,
            cache_write: None,
            reasoning: self.thoughts_token_count.0,
        };
        // Thoughts are counted beside the output, results of the provider's own tools beside the
        // input, the cache within it. Zero is left out on this wire.
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        let input = add(own.input, self.tool_use_prompt_token_count.0)
            .map(|input| input.saturating_sub(own.cache_read.unwrap_or(0)));
        let output = add(own.output, own.reasoning);
        assembly.usage(Usage { input, output, ..own }, own);
    }
}

/// A signature that belongs to the next block.
fn adorn(signature: &str, assembly: &mut Assembly) -> Result<(), Fault> {
    if signature.is_empty() {
        return Ok(());
    }
    assembly.adorn("thoughtSignature", Node::Text(signature.to_owned()))
}

/// The prompt was refused before anything was generated.
fn blocked(feedback: &Feedback<'_>) -> Failure {
    let reason = feedback.block_reason.or_empty();
    let message = match feedback.block_reason_message.text() {
        Some(message) => message.to_owned(),
        None => format!("the prompt was blocked: {reason}"),
    };
    Failure { code: reason.to_owned(), ..Failure::new(ErrorClass::ContentRefused, message) }
}

/// A finish reason, which may be a word or its number.
fn word(raw: &RawValue) -> String {
    raw.get().trim_matches('"').to_owned()
}
