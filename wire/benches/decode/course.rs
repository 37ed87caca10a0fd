//! The bodies of a wire, cut as a connection would cut them, and who runs over them.

use std::fmt;
use std::hint::black_box;

use bytes::Bytes;
use machine_spec::model::{BlockKind, ModelEvent};
use serde_json::value::RawValue;
use wire::{DecodeLimits, Decoder, Dialect};

use crate::bodies::{self, Bodies, Part, Spelling};
use crate::race::Race;
use crate::rivals::{self, Add};

/// The two wires of the comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    Chat,
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dialect().fmt(f)
    }
}

impl Wire {
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Wire::Anthropic => Dialect::Anthropic,
            Wire::Chat => Dialect::OpenAiChat,
        }
    }

    pub(crate) fn bodies(self, responses: usize, spelling: Spelling) -> Bodies {
        match self {
            Wire::Anthropic => bodies::anthropic(responses, spelling),
            Wire::Chat => bodies::chat(responses, spelling),
        }
    }

    /// The fastest structs of serde_json.
    pub(crate) fn flat(self) -> Add {
        match self {
            Wire::Anthropic => rivals::add_event,
            Wire::Chat => rivals::add_chunk,
        }
    }

    /// The structs of a client library.
    pub(crate) fn owned(self) -> Add {
        match self {
            Wire::Anthropic => rivals::add_owned_event,
            Wire::Chat => rivals::add_owned_chunk,
        }
    }
}

/// One kind of bodies, cut.
pub(crate) struct Course<'a> {
    pub(crate) wire: Wire,
    pub(crate) bodies: &'a Bodies,
    pub(crate) large: Vec<Vec<Bytes>>,
    pub(crate) events: Vec<Vec<Bytes>>,
    /// Byte by byte; only where nothing repeats.
    pub(crate) bytes: Option<Vec<Vec<Bytes>>>,
}

impl<'a> Course<'a> {
    pub(crate) fn new(wire: Wire, spelling: Spelling, bodies: &'a Bodies) -> Course<'a> {
        let (large, events) = (pieces(bodies, 16 << 10), events(bodies, spelling.end()));
        let bytes = (spelling == Spelling::Adverse).then(|| pieces(bodies, 1));
        Course { wire, bodies, large, events, bytes }
    }

    /// A row that reads every response and checks what came of it.
    pub(crate) fn row<'r, F>(
        &'r self,
        race: &mut Race<'r>,
        name: &str,
        all: &'r [Vec<Bytes>],
        read: F,
    ) where
        F: Fn(&[Bytes]) -> Vec<Part> + 'r,
    {
        let told = name.to_owned();
        race.row(name, move || {
            for (pieces, expected) in all.iter().zip(&self.bodies.messages) {
                assert!(read(pieces) == *expected, "{told} reads something else");
            }
        });
    }

    /// Our decoder, first of all rows.
    pub(crate) fn ours<'r>(&'r self, race: &mut Race<'r>) {
        let dialect = self.wire.dialect();
        let read = move |pieces: &[Bytes]| ours(dialect, pieces);
        self.row(race, "ours, 16 KB", &self.large, read);
        self.row(race, "ours, per event", &self.events, read);
        if let Some(bytes) = &self.bytes {
            self.row(race, "ours, 1 byte", bytes, read);
        }
    }

    /// The parsers of event streams that cost nothing to build.
    pub(crate) fn cheap_rivals<'r>(&'r self, race: &mut Race<'r>) {
        let (flat, owned) = (self.wire.flat(), self.wire.owned());
        for (cut, all) in [("16 KB", &self.large), ("per event", &self.events)] {
            for (structs, add) in [("owned", owned), ("flat", flat)] {
                let name = format!("eventsource-stream + serde_json, {structs}, {cut}");
                let read = move |pieces: &[Bytes]| rivals::eventsource_stream(pieces, add);
                self.row(race, &name, all, read);
                let name = format!("sse-stream + serde_json, {structs}, {cut}");
                self.row(race, &name, all, move |pieces| rivals::sse_stream(pieces, add));
            }
        }
        if let Some(bytes) = &self.bytes {
            let name = "sse-stream + serde_json, flat, 1 byte";
            self.row(race, name, bytes, move |pieces| rivals::sse_stream(pieces, flat));
        }
        let bodies = self.bodies;
        race.row("framing by memchr + serde_json, flat, whole", move || {
            for (body, expected) in bodies.responses.iter().zip(&bodies.messages) {
                assert!(
                    rivals::memchr_only(body, flat) == *expected,
                    "memchr reads something else"
                );
            }
        });
    }

    /// JSON without framing and without a message: what parsing alone costs.
    pub(crate) fn parsing<'r>(&'r self, race: &mut Race<'r>, payloads: &'r [&'r [u8]]) {
        race.row("only serde_json, RawValue", move || {
            for data in payloads {
                black_box(serde_json::from_slice::<&RawValue>(data).expect("JSON"));
            }
        });
        match self.wire {
            Wire::Anthropic => {
                only(race, "only serde_json, owned structs", payloads, |data| {
                    black_box(serde_json::from_slice::<rivals::Owned>(data).expect("JSON"));
                });
                only(race, "only serde_json, flat structs", payloads, |data| {
                    black_box(serde_json::from_slice::<rivals::Flat<'_>>(data).expect("JSON"));
                });
            }
            Wire::Chat => {
                only(race, "only serde_json, owned structs", payloads, |data| {
                    black_box(serde_json::from_slice::<rivals::OwnedChunk>(data).expect("JSON"));
                });
                only(race, "only serde_json, flat structs", payloads, |data| {
                    black_box(serde_json::from_slice::<rivals::Chunk<'_>>(data).expect("JSON"));
                });
            }
        }
    }
}

/// A row that only parses.
pub(crate) fn only<'r>(
    race: &mut Race<'r>,
    name: &str,
    payloads: &'r [&'r [u8]],
    mut parse: impl FnMut(&[u8]) + 'r,
) {
    race.row(name, move || payloads.iter().for_each(|data| parse(data)));
}

/// Pieces of a body as a socket gives them.
fn pieces(bodies: &Bodies, size: usize) -> Vec<Vec<Bytes>> {
    let cut = |body: &Vec<u8>| {
        let whole = Bytes::copy_from_slice(body);
        (0..whole.len())
            .step_by(size)
            .map(|at| whole.slice(at..(at + size).min(whole.len())))
            .collect()
    };
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
pub(crate) fn ours(dialect: Dialect, pieces: &[Bytes]) -> Vec<Part> {
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
        ModelEvent::Delta { block, text } => message[block as usize].push(&text),
        ModelEvent::Failed(failure) => panic!("{failure:?}"),
        ModelEvent::Began { .. }
        | ModelEvent::BlockDone { .. }
        | ModelEvent::Usage(_)
        | ModelEvent::Finished { .. } => {}
    }
}
