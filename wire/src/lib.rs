//! Provider dialects without I/O: bytes in, model events out; view in, request body out.
//!
//! This crate opens no connection, reads no clock and awaits nothing. It is handed bytes, cut
//! anywhere, and says what they mean in the words of [`machine_spec::model`]; it is handed a
//! sealed request and says which bytes a provider wants to read. Everything that is peculiar to a
//! provider ends here.

pub mod anthropic;
pub mod args;
mod assembly;
pub mod cache_marks;
pub mod catalogue;
mod counts;
mod decoder;
mod dialect;
pub mod encode;
pub mod error_body;
mod fill;
mod framing;
pub mod gemini;
pub mod images;
mod json;
mod lenient;
mod limits;
mod lines;
pub mod neutral;
mod objects;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
mod predict;
pub mod read;
mod response;
pub mod sse;
mod stray;
pub mod text_calls;
mod whole;

pub use args::canonical_args;
pub use decoder::Decoder;
pub use dialect::{Dialect, UnknownDialect};
pub use encode::{Degradation, EncodeOptions, EncodedRequest, Encoder, url};
pub use error_body::classify;
pub use images::Images;
pub use limits::{BadUtf8, DecodeLimits};
pub use read::{ReadRequest, read};
pub use response::ResponseReader;
pub use text_calls::TextCalls;
pub use whole::decode_whole;
