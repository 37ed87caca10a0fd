//! What a decoder refuses to hold. A stream is a stranger's: whatever it says, memory stays bounded.

use serde::{Deserialize, Serialize};

/// Bounds of one response. Exceeding one ends the response with a failure of class `garbled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecodeLimits {
    /// Bytes of one event, or of one line of it. Default 32 MiB: an image comes as one event.
    pub event_bytes: usize,
    /// Bytes of one response. Default 1 GiB.
    pub total_bytes: u64,
    /// Blocks of one response. Default 4096.
    pub blocks: u32,
    /// Bytes of one block that must be held until its end: arguments, thinking, opaque items.
    /// Default 32 MiB.
    pub block_bytes: usize,
    /// Nesting of JSON that is kept (opaque items). Default 128. Arguments have the same bound;
    /// what is skipped has none.
    pub depth: u32,
    /// What becomes of bytes that are not UTF-8. Default: the response fails.
    pub bad_utf8: BadUtf8,
}

/// What becomes of bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BadUtf8 {
    /// The response fails: a call whose arguments were altered on the way must not run.
    Fail,
    /// Each bad sequence becomes U+FFFD.
    Replace,
}

impl DecodeLimits {
    /// Whether these are the bounds that nobody has changed.
    #[must_use]
    pub fn are_default(&self) -> bool {
        *self == DecodeLimits::default()
    }
}

impl Default for DecodeLimits {
    fn default() -> DecodeLimits {
        DecodeLimits {
            event_bytes: 32 << 20,
            total_bytes: 1 << 30,
            blocks: 4096,
            block_bytes: 32 << 20,
            depth: 128,
            bad_utf8: BadUtf8::Fail,
        }
    }
}
