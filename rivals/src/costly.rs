//! Rivals that cost something to build: `sseer`, `sonic-rs`, `simd-json` and the types of
//! `async-openai`.

use std::hint::black_box;

use async_openai::types::chat::CreateChatCompletionStreamResponse as TheirChunk;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};

use crate::bodies::Part;
use crate::course::{Course, Wire, only};
use crate::race::Race;
use crate::rivals::{self, Add, Chunk, Flat, grow_by_chunk, grow_by_event, grow_call, grow_text};

/// The fastest combinations of crates.
pub(crate) const COMBINATIONS: [&str; 3] = [
    "sseer + serde_json, flat, 16 KB",
    "sseer + sonic-rs, flat, 16 KB",
    "sse-stream + serde_json, flat, 16 KB",
];

/// Adds their rows.
pub(crate) fn rivals<'r>(course: &'r Course<'_>, race: &mut Race<'r>) {
    let flat = course.wire.flat();
    let sonic: Add = match course.wire {
        Wire::Anthropic => |message, data| {
            grow_by_event(message, sonic_rs::from_slice(data).expect("JSON"));
        },
        Wire::Chat => |message, data| {
            if data != b"[DONE]" {
                grow_by_chunk(message, sonic_rs::from_slice(data).expect("JSON"));
            }
        },
    };
    let mut cuts = vec![("16 KB", &course.large), ("per event", &course.events)];
    cuts.extend(course.bytes.as_ref().map(|bytes| ("1 byte", bytes)));
    for (cut, all) in cuts {
        for (json, add) in [("serde_json", flat), ("sonic-rs", sonic)] {
            let name = format!("sseer + {json}, flat, {cut}");
            course.row(race, &name, all, move |pieces| sseer(pieces, add));
        }
    }
    let owned = course.wire.owned();
    let name = "sseer + serde_json, owned, 16 KB";
    course.row(race, name, &course.large, move |pieces| sseer(pieces, owned));
    if course.wire == Wire::Chat {
        let name = "eventsource-stream + async-openai types, 16 KB";
        course.row(race, name, &course.large, |pieces| {
            rivals::eventsource_stream(pieces, add_their_chunk)
        });
    }
}

/// Adds rows that only parse.
pub(crate) fn parsing<'r>(wire: Wire, race: &mut Race<'r>, payloads: &'r [&'r [u8]]) {
    let (mut copy, mut buffers) = (Vec::new(), simd_json::Buffers::default());
    match wire {
        Wire::Anthropic => {
            only(race, "only sonic-rs, flat structs", payloads, |data| {
                black_box(sonic_rs::from_slice::<Flat<'_>>(data).expect("JSON"));
            });
            only(race, "only simd-json, flat structs, with its copy", payloads, move |data| {
                copy.clear();
                copy.extend_from_slice(data);
                let event = simd_json::serde::from_slice_with_buffers(&mut copy, &mut buffers);
                black_box::<Flat<'_>>(event.expect("JSON"));
            });
        }
        Wire::Chat => {
            only(race, "only serde_json, async-openai types", payloads, |data| {
                black_box(serde_json::from_slice::<TheirChunk>(data).expect("JSON"));
            });
            only(race, "only sonic-rs, flat structs", payloads, |data| {
                black_box(sonic_rs::from_slice::<Chunk<'_>>(data).expect("JSON"));
            });
            only(race, "only simd-json, flat structs, with its copy", payloads, move |data| {
                copy.clear();
                copy.extend_from_slice(data);
                let chunk = simd_json::serde::from_slice_with_buffers(&mut copy, &mut buffers);
                black_box::<Chunk<'_>>(chunk.expect("JSON"));
            });
        }
    }
}

/// A whole response by `sseer`.
fn sseer(pieces: &[Bytes], add: Add) -> Vec<Part> {
    let pieces = stream::iter(pieces.iter().cloned().map(rivals::whole));
    let mut events = sseer::EventStream::new(pieces);
    let mut message = Vec::new();
    while let Some(event) = events.next().now_or_never().flatten() {
        add(&mut message, event.expect("an event").data.as_bytes());
    }
    message
}

/// Adds a chunk as `async-openai` has it.
fn add_their_chunk(message: &mut Vec<Part>, data: &[u8]) {
    if data == b"[DONE]" {
        return;
    }
    let chunk: TheirChunk = serde_json::from_slice(data).expect("JSON");
    for choice in chunk.choices {
        if let Some(text) = choice.delta.content {
            grow_text(message, &text);
        }
        for call in choice.delta.tool_calls.into_iter().flatten() {
            let function = call.function.expect("a function");
            let head = || (call.id, function.name);
            grow_call(message, call.index as usize, head, function.arguments.as_deref());
        }
    }
}
