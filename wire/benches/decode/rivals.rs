//! What one would write instead: a maintained parser of events, serde structs, and an accumulator.

use std::borrow::Cow;

use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt, stream};
use serde::Deserialize;
use sse_stream::SseByteStream;

use crate::bodies::Part;

/// The usual shape of a client library: tagged enums, owned strings.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "a client library parses what nobody here reads")]
pub(crate) enum Owned {
    MessageStart { message: serde_json::Value },
    ContentBlockStart { index: usize, content_block: OwnedBlock },
    ContentBlockDelta { index: usize, delta: OwnedDelta },
    ContentBlockStop { index: usize },
    MessageDelta { delta: serde_json::Value, usage: serde_json::Value },
    MessageStop,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "a client library parses what nobody here reads")]
pub(crate) enum OwnedBlock {
    Text { text: String },
    ToolUse { id: String, name: String, input: serde_json::Value },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OwnedDelta {
    TextDelta { text: String },
    InputJsonDelta { partial_json: String },
}

/// The fastest shape: flat and borrowed.
#[derive(Deserialize)]
pub(crate) struct Flat<'a> {
    #[serde(default)]
    index: usize,
    #[serde(borrow, default)]
    delta: Option<FlatDelta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<FlatBlock<'a>>,
}

#[derive(Deserialize)]
struct FlatDelta<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    partial_json: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct FlatBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
}

/// A chunk of a chat stream, owned, with the members a client library has.
#[derive(Deserialize)]
#[expect(dead_code, reason = "a client library parses what nobody here reads")]
pub(crate) struct OwnedChunk {
    id: String,
    object: String,
    created: u64,
    model: String,
    service_tier: Option<String>,
    system_fingerprint: Option<String>,
    choices: Vec<OwnedChoice>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a client library parses what nobody here reads")]
struct OwnedChoice {
    index: usize,
    delta: OwnedChoiceDelta,
    logprobs: Option<serde_json::Value>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a client library parses what nobody here reads")]
struct OwnedChoiceDelta {
    role: Option<String>,
    content: Option<String>,
    tool_calls: Option<Vec<OwnedCall>>,
}

#[derive(Deserialize)]
struct OwnedCall {
    index: usize,
    id: Option<String>,
    function: Option<OwnedFunction>,
}

#[derive(Deserialize)]
struct OwnedFunction {
    name: Option<String>,
    arguments: Option<String>,
}

/// A chunk of a chat stream, borrowed.
#[derive(Deserialize)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: ChoiceDelta<'a>,
}

#[derive(Deserialize)]
struct ChoiceDelta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    index: usize,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<Cow<'a, str>>,
}

/// Adds an Anthropic event to a message.
pub(crate) fn add_event(message: &mut Vec<Part>, data: &[u8]) {
    grow_by_event(message, serde_json::from_slice(data).expect("JSON"));
}

/// Adds an Anthropic event, whoever parsed it.
pub(crate) fn grow_by_event(message: &mut Vec<Part>, event: Flat<'_>) {
    if let Some(block) = event.content_block {
        message.push(match &*block.kind {
            "text" => Part::Text(String::new()),
            _ => Part::Call {
                id: block.id.unwrap_or_default().into_owned(),
                name: block.name.unwrap_or_default().into_owned(),
                args: String::new(),
            },
        });
    } else if let Some(delta) = event.delta
        && let Some(text) = delta.text.or(delta.partial_json)
        && let Some(part) = message.get_mut(event.index)
    {
        part.push(&text);
    }
}

/// Adds an Anthropic event as client libraries parse it.
pub(crate) fn add_owned_event(message: &mut Vec<Part>, data: &[u8]) {
    match serde_json::from_slice(data).expect("JSON") {
        Owned::ContentBlockStart { content_block: OwnedBlock::Text { .. }, .. } => {
            message.push(Part::Text(String::new()));
        }
        Owned::ContentBlockStart {
            content_block: OwnedBlock::ToolUse { id, name, .. }, ..
        } => message.push(Part::Call { id, name, args: String::new() }),
        Owned::ContentBlockDelta {
            index,
            delta:
                OwnedDelta::TextDelta { text } | OwnedDelta::InputJsonDelta { partial_json: text },
        } => message[index].push(&text),
        Owned::MessageStart { .. }
        | Owned::ContentBlockStop { .. }
        | Owned::MessageDelta { .. }
        | Owned::MessageStop => {}
    }
}

/// Adds a chunk of a chat stream to a message.
pub(crate) fn add_chunk(message: &mut Vec<Part>, data: &[u8]) {
    if data != b"[DONE]" {
        grow_by_chunk(message, serde_json::from_slice(data).expect("JSON"));
    }
}

/// Adds a chunk of a chat stream, whoever parsed it.
pub(crate) fn grow_by_chunk(message: &mut Vec<Part>, chunk: Chunk<'_>) {
    for choice in chunk.choices {
        if let Some(text) = choice.delta.content {
            grow_text(message, &text);
        }
        for call in choice.delta.tool_calls.into_iter().flatten() {
            let Function { name, arguments } = call.function;
            let head = || (call.id.map(Cow::into_owned), name.map(Cow::into_owned));
            grow_call(message, call.index, head, arguments.as_deref());
        }
    }
}

/// Adds a chunk of a chat stream as client libraries parse it.
pub(crate) fn add_owned_chunk(message: &mut Vec<Part>, data: &[u8]) {
    if data == b"[DONE]" {
        return;
    }
    let chunk: OwnedChunk = serde_json::from_slice(data).expect("JSON");
    for choice in chunk.choices {
        if let Some(text) = choice.delta.content {
            grow_text(message, &text);
        }
        for call in choice.delta.tool_calls.into_iter().flatten() {
            let Some(OwnedFunction { name, arguments }) = call.function else { continue };
            grow_call(message, call.index, || (call.id, name), arguments.as_deref());
        }
    }
}

/// The text of a chat message, which comes first.
pub(crate) fn grow_text(message: &mut Vec<Part>, text: &str) {
    if message.is_empty() {
        message.push(Part::Text(String::new()));
    }
    message[0].push(text);
}

/// A call of a chat message; `head` has its id and its name when it is new.
pub(crate) fn grow_call(
    message: &mut Vec<Part>,
    index: usize,
    head: impl FnOnce() -> (Option<String>, Option<String>),
    text: Option<&str>,
) {
    if message.len() <= 1 + index {
        let (id, name) = head();
        let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
        message.push(Part::Call { id, name, args: String::new() });
    }
    message[1 + index].push(text.unwrap_or_default());
}

/// Adds what the data of an event says to a message.
pub(crate) type Add = fn(&mut Vec<Part>, &[u8]);

/// A whole response by `sse-stream`.
pub(crate) fn sse_stream(pieces: &[bytes::Bytes], add: Add) -> Vec<Part> {
    let mut events = SseByteStream::new(stream::iter(pieces.iter().cloned().map(whole)));
    let mut message = Vec::new();
    while let Some(event) = events.next().now_or_never().flatten() {
        if let Some(data) = event.expect("an event").data {
            add(&mut message, data.as_bytes());
        }
    }
    message
}

/// A whole response by `eventsource-stream`, which most crates use.
pub(crate) fn eventsource_stream(pieces: &[bytes::Bytes], add: Add) -> Vec<Part> {
    let mut events = stream::iter(pieces.iter().cloned().map(whole)).eventsource();
    let mut message = Vec::new();
    while let Some(event) = events.next().now_or_never().flatten() {
        add(&mut message, event.expect("an event").data.as_bytes());
    }
    message
}

/// The payloads of a whole body, with nothing but `memchr`: what framing costs at least.
pub(crate) fn payloads(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    let lines = memchr::memchr_iter(b'\n', body).map(move |end| {
        let line = &body[from..end];
        from = end + 1;
        line.strip_suffix(b"\r").unwrap_or(line)
    });
    lines.filter_map(|line| line.strip_prefix(b"data: "))
}

/// A whole response by `memchr` alone.
pub(crate) fn memchr_only(body: &[u8], add: Add) -> Vec<Part> {
    let mut message = Vec::new();
    payloads(body).for_each(|data| add(&mut message, data));
    message
}

/// A piece of a connection that never fails.
pub(crate) fn whole(piece: bytes::Bytes) -> Result<bytes::Bytes, std::convert::Infallible> {
    Ok(piece)
}
