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
pub(crate) enum Owned {
    MessageStart {
        #[expect(dead_code)]
        message: serde_json::Value,
    },
    ContentBlockStart {
        #[expect(dead_code)]
        index: usize,
        #[expect(dead_code)]
        content_block: OwnedBlock,
    },
    ContentBlockDelta {
        #[expect(dead_code)]
        index: usize,
        #[expect(dead_code)]
        delta: OwnedDelta,
    },
    ContentBlockStop {
        #[expect(dead_code)]
        index: usize,
    },
    MessageDelta {
        #[expect(dead_code)]
        delta: serde_json::Value,
        #[expect(dead_code)]
        usage: serde_json::Value,
    },
    MessageStop,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OwnedBlock {
    Text {
        #[expect(dead_code)]
        text: String,
    },
    ToolUse {
        #[expect(dead_code)]
        id: String,
        #[expect(dead_code)]
        name: String,
        #[expect(dead_code)]
        input: serde_json::Value,
    },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OwnedDelta {
    TextDelta {
        #[expect(dead_code)]
        text: String,
    },
    InputJsonDelta {
        #[expect(dead_code)]
        partial_json: String,
    },
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
#[expect(dead_code)]
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
#[expect(dead_code)]
struct OwnedChoice {
    index: usize,
    delta: OwnedChoiceDelta,
    logprobs: Option<serde_json::Value>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code)]
struct OwnedChoiceDelta {
    role: Option<String>,
    content: Option<String>,
    tool_calls: Option<Vec<OwnedCall>>,
}

#[derive(Deserialize)]
#[expect(dead_code)]
struct OwnedCall {
    index: usize,
    id: Option<String>,
    function: Option<OwnedFunction>,
}

#[derive(Deserialize)]
#[expect(dead_code)]
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
    let event: Flat<'_> = serde_json::from_slice(data).expect("JSON");
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
        && let Some(Part::Text(all) | Part::Call { args: all, .. }) = message.get_mut(event.index)
    {
        all.push_str(&text);
    }
}

/// Adds a chunk of a chat stream to a message.
pub(crate) fn add_chunk(message: &mut Vec<Part>, data: &[u8]) {
    if data == b"[DONE]" {
        return;
    }
    let chunk: Chunk<'_> = serde_json::from_slice(data).expect("JSON");
    for choice in chunk.choices {
        if let Some(text) = choice.delta.content {
            if message.is_empty() {
                message.push(Part::Text(String::new()));
            }
            if let Some(Part::Text(all)) = message.first_mut() {
                all.push_str(&text);
            }
        }
        for call in choice.delta.tool_calls.into_iter().flatten() {
            if message.len() <= 1 + call.index {
                message.push(Part::Call {
                    id: call.id.unwrap_or_default().into_owned(),
                    name: call.function.name.unwrap_or_default().into_owned(),
                    args: String::new(),
                });
            }
            if let (Some(Part::Call { args, .. }), Some(text)) =
                (message.get_mut(1 + call.index), call.function.arguments)
            {
                args.push_str(&text);
            }
        }
    }
}

/// A whole response by `sse-stream` and borrowed structs.
pub(crate) fn read(pieces: &[bytes::Bytes], add: fn(&mut Vec<Part>, &[u8])) -> Vec<Part> {
    let pieces = pieces.iter().cloned().map(Ok::<_, std::convert::Infallible>);
    let mut events = SseByteStream::new(stream::iter(pieces));
    let mut message = Vec::new();
    while let Some(event) = events.next().now_or_never().flatten() {
        if let Some(data) = event.expect("an event").data {
            add(&mut message, data.as_bytes());
        }
    }
    message
}

/// A whole response by `eventsource-stream`, which most crates use, and borrowed structs.
pub(crate) fn read_usual(pieces: &[bytes::Bytes], add: fn(&mut Vec<Part>, &[u8])) -> Vec<Part> {
    let pieces = pieces.iter().cloned().map(Ok::<_, std::convert::Infallible>);
    let mut events = stream::iter(pieces).eventsource();
    let mut message = Vec::new();
    while let Some(event) = events.next().now_or_never().flatten() {
        add(&mut message, event.expect("an event").data.as_bytes());
    }
    message
}
