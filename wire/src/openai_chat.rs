//! The dialect OpenAI Chat Completions, and every compatible vendor's spelling of it.

mod calls;
mod chunk;
pub(crate) mod decode;
mod thought;
