//! The dialect OpenAI Responses.

pub(crate) mod encode;
