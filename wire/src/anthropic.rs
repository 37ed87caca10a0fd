//! The dialect Anthropic Messages.

mod blocks;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod read;
