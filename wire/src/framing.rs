//! How a dialect cuts its body into events.

use crate::dialect::Dialect;
use crate::lines::{BOM, Found, Lines};
use crate::objects::{Object, Objects};
use crate::sse::{Frame, Framer};

/// The framing of a body.
#[derive(Clone, Debug)]
pub(crate) enum Framing {
    /// Server-sent events.
    Sse(Framer),
    /// One JSON value a line.
    Lines(Lines),
    /// One JSON array of objects.
    Array(Objects),
    /// Server-sent events or an array; the first byte will tell.
    Open {
        /// Bytes that one event may have.
        limit: usize,
    },
}

impl Framing {
    pub(crate) fn new(dialect: Dialect, limit: usize) -> Framing {
        match dialect {
            Dialect::Anthropic | Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                Framing::Sse(Framer::new(limit))
            }
            Dialect::Gemini => Framing::Open { limit },
            Dialect::Ollama => Framing::Lines(Lines::new(limit)),
        }
    }

    /// The next frame of `input` from `pos` on.
    pub(crate) fn next<'a>(&'a mut self, input: &'a [u8], pos: &mut usize) -> Option<Frame<'a>> {
        if let Framing::Open { limit } = *self {
            // Blanks and the bytes of a BOM are stepped over one by one, so that a cut between
            // them changes nothing.
            let skipped = |byte: &u8| byte.is_ascii_whitespace() || BOM.contains(byte);
            let first = input[*pos..].iter().position(|byte| !skipped(byte));
            *pos = first.map_or(input.len(), |first| *pos + first);
            *self = match *input.get(*pos)? {
                b'[' => Framing::Array(Objects::new(limit)),
                _ => Framing::Sse(Framer::new(limit)),
            };
        }
        match self {
            Framing::Open { .. } => None,
            Framing::Sse(framer) => framer.next(input, pos),
            Framing::Lines(lines) => {
                let data = loop {
                    match lines.next(input, pos)? {
                        Found::TooLong => return Some(Frame::TooLong),
                        Found::Here(range) if range.is_empty() => {}
                        Found::Here(range) => break &input[range],
                        Found::Carried => break lines.carried(),
                    }
                };
                Some(Frame::Event { name: b"", data })
            }
            Framing::Array(objects) => Some(match objects.next(input, pos)? {
                Object::TooLong => Frame::TooLong,
                Object::Here(range) => Frame::Event { name: b"", data: &input[range] },
                Object::Carried => Frame::Event { name: b"", data: objects.carried() },
            }),
        }
    }

    /// What is left at the end of the body, until it is `None`.
    pub(crate) fn finish(&mut self) -> Option<Frame<'_>> {
        match self {
            Framing::Open { .. } | Framing::Array(_) => None,
            Framing::Sse(framer) => framer.finish(),
            Framing::Lines(lines) => match lines.finish()? {
                Found::TooLong => Some(Frame::TooLong),
                Found::Here(_) | Found::Carried => {
                    Some(Frame::Event { name: b"", data: lines.carried() })
                }
            },
        }
    }
}
