//! Token estimate, version 1: pure, and never under by design.
//!
//! No provider publishes the tokenizer of every model, so the estimate errs upwards: a CJK or
//! other wide character counts 1.3 tokens, everything else the larger of one token per two
//! characters and one per three bytes (measured against real counts in document 1, section 1.7),
//! plus a fixed price per message, block and call for the envelope that providers add. What they add
//! to a request as a whole is not known beforehand: room for it is kept free of the window
//! (`rooms/s3_govern/size.rs`), and their own count of one request corrects the estimate of the next.

use crate::config::RunConfig;
use crate::message::{Block, Entry, GateRefusal, NotApproved, Outcome, Reply, Said};

/// Tokens charged for each message, block and call besides its text.
const ENVELOPE: u64 = 6;

/// Tokens charged for an image, whose size is not known here: what the largest costs that a
/// provider does not shrink first.
const IMAGE: u64 = 1_600;

/// Estimated tokens of a text.
#[must_use]
pub fn text_tokens(text: &str) -> u64 {
    if text.is_ascii() {
        return (text.len() as u64).div_ceil(2);
    }
    let (mut wide, mut narrow, mut narrow_bytes) = (0u64, 0u64, 0u64);
    for c in text.chars() {
        if is_wide(c) {
            wide += 1;
        } else {
            narrow += 1;
            narrow_bytes += c.len_utf8() as u64;
        }
    }
    (wide * 13).div_ceil(10) + narrow.div_ceil(2).max(narrow_bytes.div_ceil(3))
}

/// Characters that tokenizers rarely pack together: CJK, Hangul, kana, emoji and beyond.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x11ff | 0x2e80..=0xa4cf | 0xac00..=0xd7ff | 0xf900..=0xfaff
        | 0xfe30..=0xfe4f | 0xff00..=0xffef | 0x1_0000..)
}

/// Estimated tokens of what every request carries: system prompt and tool schemas.
#[must_use]
pub fn fixed_tokens(config: &RunConfig) -> u64 {
    let tools = config.tools.iter().map(|tool| {
        let schema = text_tokens(&tool.input_schema);
        text_tokens(&tool.name) + text_tokens(&tool.description) + schema
    });
    text_tokens(&config.system) + tools.sum::<u64>()
}

/// Estimated tokens of an entry as a model sees it; zero for what no model sees.
#[must_use]
pub fn entry_tokens(entry: &Entry) -> u64 {
    match entry {
        Entry::Said(said) => said_tokens(said),
        Entry::Reply(reply) => reply_tokens(reply),
        Entry::Results(results) => results
            .iter()
            .map(|result| {
                let text = match &result.outcome {
                    Outcome::Succeeded { output }
                    | Outcome::Failed { output }
                    | Outcome::TimedOut { output }
                    | Outcome::Partial { output }
                    | Outcome::Unknown { output } => text_tokens(output),
                    Outcome::NotApproved { how: NotApproved::Denied { reason } }
                    | Outcome::Refused { why: GateRefusal::Denied { reason } } => {
                        text_tokens(reason)
                    }
                    Outcome::Acknowledged { .. }
                    | Outcome::NotApproved { .. }
                    | Outcome::NotStarted { .. }
                    | Outcome::Refused { .. } => 0,
                };
                let text = text + result.edited.as_deref().map_or(0, text_tokens);
                // The rendered wording round an outcome stays under sixty tokens.
                let images = IMAGE * result.images.len() as u64;
                ENVELOPE + text_tokens(&result.wire_id) + text + images + 60
            })
            .sum(),
        Entry::Aside(_) => 0,
        Entry::Boundary(boundary) => said_tokens(&boundary.said),
    }
}

fn said_tokens(said: &Said) -> u64 {
    ENVELOPE + text_tokens(&said.text) + IMAGE * said.images.len() as u64
}

fn reply_tokens(reply: &Reply) -> u64 {
    let blocks = reply.blocks.iter().map(|block| match block {
        Block::Text(text) => text_tokens(text),
        Block::Thinking(thinking) => text_tokens(&thinking.text).max(text_tokens(&thinking.seal)),
        Block::Call(call) => {
            text_tokens(&call.name) + text_tokens(&call.args) + text_tokens(&call.wire_id)
        }
        Block::Opaque(payload) => text_tokens(payload),
    });
    ENVELOPE + blocks.map(|tokens| ENVELOPE + tokens).sum::<u64>()
}
