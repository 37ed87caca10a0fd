//! The dialect OpenAI Responses.

pub(crate) mod decode;
pub(crate) mod encode;
mod item;
pub(crate) mod read;
