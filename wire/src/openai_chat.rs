//! The dialect OpenAI Chat Completions, and every compatible vendor's spelling of it.

mod assistant;
mod calls;
mod chunk;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod read;
mod thought;

pub(crate) use self::assistant::Assistant;
