//! The dialect Gemini `streamGenerateContent`, as SSE or as one JSON array.

pub(crate) mod decode;
pub(crate) mod encode;
mod partial;
pub(crate) mod read;
