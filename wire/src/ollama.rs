//! The dialect Ollama's own API: one JSON object a line.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod read;
