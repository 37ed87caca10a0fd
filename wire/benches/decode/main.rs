//! How fast bytes become events, against what else could be done with the same bytes in the same
//! run. Every decoding row is checked: the accumulated message must be the one that was written.
//!
//! Limits: `raw-value` only skips the JSON; `owned` and `flat` only parse it. Rival: `sse-stream`
//! with borrowed structs, the fastest combination of crates. All of them stand without what ours
//! does beside it: completion proofs, argument verdicts, usage, errors, bounds.

mod bodies;
mod rivals;

use bytes::Bytes;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use machine_spec::model::{BlockKind, ModelEvent};
use serde_json::value::RawValue;
use wire::{DecodeLimits, Decoder, Dialect};

use self::bodies::{Bodies, Part, Spelling};

/// Pieces of a body as a socket gives them.
fn pieces(bodies: &Bodies, size: usize) -> Vec<Vec<Bytes>> {
    let cut = |body: &Vec<u8>| body.chunks(size).map(Bytes::copy_from_slice).collect();
    bodies.responses.iter().map(cut).collect()
}

/// One piece per event.
fn events(bodies: &Bodies, end: &str) -> Vec<Vec<Bytes>> {
    let cut = |body: &Vec<u8>| {
        let text = std::str::from_utf8(body).expect("UTF-8");
        text.split_inclusive(end).map(|event| Bytes::copy_from_slice(event.as_bytes())).collect()
    };
    bodies.responses.iter().map(cut).collect()
}

/// A whole response by our decoder, accumulated as a consumer would.
fn ours(dialect: Dialect, pieces: &[Bytes]) -> Vec<Part> {
    let mut decoder = Decoder::new(dialect, DecodeLimits::default());
    let mut events = Vec::new();
    let mut message = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
        for event in events.drain(..) {
            add(&mut message, event);
        }
    }
    decoder.finish(&mut events);
    assert!(matches!(events.last(), Some(ModelEvent::Finished { .. }) | None));
    message
}

fn add(message: &mut Vec<Part>, event: ModelEvent) {
    match event {
        ModelEvent::BlockBegan { kind, .. } => message.push(match kind {
            BlockKind::Call { wire_id: id, name } => Part::Call { id, name, args: String::new() },
            BlockKind::Text | BlockKind::Thinking | BlockKind::Opaque => Part::Text(String::new()),
        }),
        ModelEvent::Delta { block, text } => match message.get_mut(block as usize) {
            Some(Part::Text(all) | Part::Call { args: all, .. }) => all.push_str(&text),
            None => {}
        },
        ModelEvent::Failed(failure) => panic!("{failure:?}"),
        ModelEvent::Began { .. }
        | ModelEvent::BlockDone { .. }
        | ModelEvent::Usage(_)
        | ModelEvent::Finished { .. } => {}
    }
}

/// A row that reads every response and checks what came of it.
fn row<F>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    bodies: &Bodies,
    all: &[Vec<Bytes>],
    read: F,
) where
    F: Fn(&[Bytes]) -> Vec<Part>,
{
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            for (pieces, expected) in all.iter().zip(&bodies.messages) {
                assert!(read(pieces) == *expected, "{name} reads something else");
            }
        });
    });
}

fn decode(criterion: &mut Criterion, dialect: Dialect, spelling: Spelling, label: &str) {
    let is_chat = dialect == Dialect::OpenAiChat;
    let bodies = if is_chat { bodies::chat(6, spelling) } else { bodies::anthropic(6, spelling) };
    let rival = if is_chat { rivals::add_chunk } else { rivals::add_event };
    let end = if spelling == Spelling::Plain { "\n\n" } else { "\r\n\r\n" };
    let mut group = criterion.benchmark_group(format!("{dialect}/{label}"));
    group.throughput(Throughput::Bytes(bodies.bytes() as u64));
    group.sample_size(10);
    let (large, single) = (pieces(&bodies, 16 << 10), events(&bodies, end));
    row(&mut group, "ours 16K", &bodies, &large, |pieces| ours(dialect, pieces));
    row(&mut group, "ours per event", &bodies, &single, |pieces| ours(dialect, pieces));
    row(&mut group, "sse-stream flat 16K", &bodies, &large, |pieces| rivals::read(pieces, rival));
    row(&mut group, "eventsource-stream flat 16K", &bodies, &large, |pieces| {
        rivals::read_usual(pieces, rival)
    });
    row(&mut group, "sse-stream flat per event", &bodies, &single, |pieces| {
        rivals::read(pieces, rival)
    });
    parse_only(&mut group, &bodies, is_chat);
    if spelling == Spelling::Adverse {
        let bytes = pieces(&bodies, 1);
        row(&mut group, "ours 1 byte", &bodies, &bytes, |pieces| ours(dialect, pieces));
        row(&mut group, "sse-stream flat 1 byte", &bodies, &bytes, |pieces| {
            rivals::read(pieces, rival)
        });
    }
    group.finish();
}

/// JSON without framing and without a message: what parsing alone costs.
fn parse_only(group: &mut BenchmarkGroup<'_, WallTime>, bodies: &Bodies, is_chat: bool) {
    let payloads = bodies.payloads();
    group.bench_function("raw-value", |bencher| {
        bencher.iter(|| {
            let skip =
                |data: &&[u8]| serde_json::from_slice::<&RawValue>(data).expect("JSON").get().len();
            payloads.iter().map(skip).sum::<usize>()
        });
    });
    group.bench_function("owned", |bencher| {
        bencher.iter(|| {
            for data in &payloads {
                if is_chat {
                    let chunk = serde_json::from_slice::<rivals::OwnedChunk>(data);
                    std::hint::black_box(chunk.expect("JSON"));
                } else {
                    let event = serde_json::from_slice::<rivals::Owned>(data);
                    std::hint::black_box(event.expect("JSON"));
                }
            }
        });
    });
    group.bench_function("flat", |bencher| {
        bencher.iter(|| {
            for data in &payloads {
                if is_chat {
                    let chunk = serde_json::from_slice::<rivals::Chunk<'_>>(data);
                    std::hint::black_box(chunk.expect("JSON"));
                } else {
                    let event = serde_json::from_slice::<rivals::Flat<'_>>(data);
                    std::hint::black_box(event.expect("JSON"));
                }
            }
        });
    });
}

/// How the time grows with the length of one response, up to 200 MB.
fn length(criterion: &mut Criterion, dialect: Dialect) {
    let (start, event): (&str, &str) = match dialect {
        Dialect::Anthropic => (
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
             \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{\"type\":\"text_delta\",\"text\":\"some more words\"}}\n\n",
        ),
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Gemini | Dialect::Ollama => (
            "",
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{\"index\":0,\"delta\":{\"content\":\"some more words\"},\
             \"finish_reason\":null}]}\n\n",
        ),
    };
    let mut group = criterion.benchmark_group(format!("{dialect}/length"));
    group.sample_size(10);
    for megabytes in [2u64, 20, 200] {
        let count = megabytes * 1_000_000 / event.len() as u64;
        let piece = event.repeat(500);
        group.throughput(Throughput::Bytes(count / 500 * piece.len() as u64));
        group.bench_function(format!("{megabytes} MB"), |bencher| {
            bencher.iter(|| {
                let mut decoder = Decoder::new(dialect, DecodeLimits::default());
                let (mut events, mut length) = (Vec::new(), 0);
                decoder.push(start.as_bytes(), &mut events);
                for _ in 0..count / 500 {
                    decoder.push(piece.as_bytes(), &mut events);
                    for event in events.drain(..) {
                        if let ModelEvent::Delta { text, .. } = event {
                            length += text.len() as u64;
                        }
                    }
                }
                assert_eq!(length, count / 500 * 500 * "some more words".len() as u64);
            });
        });
    }
    group.finish();
}

fn all(criterion: &mut Criterion) {
    for dialect in [Dialect::Anthropic, Dialect::OpenAiChat] {
        decode(criterion, dialect, Spelling::Plain, "plain");
        decode(criterion, dialect, Spelling::Adverse, "adverse");
        length(criterion, dialect);
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
