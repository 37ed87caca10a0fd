//! Framing of server-sent events: bytes cut anywhere in, events out.
//!
//! No I/O and no async. An event whose lines lie whole in the piece at hand costs no copy. What the
//! standard drops but providers use all the same (a line with an unknown field, a bare JSON body)
//! is handed out as [`Frame::Stray`], for a decoder to judge.

use crate::lines::{Found, Lines};

/// What the framing found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An event with data. One without data is none, as the standard has it.
    Event {
        /// The last `event:` field before it; empty when there was none.
        name: &'a [u8],
        /// Its `data:` lines, joined by newlines.
        data: &'a [u8],
    },
    /// A line whose field the standard does not know.
    Stray(&'a [u8]),
    /// A line or an event exceeded the limit; nothing of it was kept.
    TooLong,
}

/// Splits a stream into events.
///
/// ```
/// use wire::sse::{Frame, Framer};
///
/// let mut framer = Framer::new(1024);
/// let piece = b"event: ping\ndata: {}\n\ndata: cut he";
/// let mut at = 0;
/// assert_eq!(
///     framer.next(piece, &mut at),
///     Some(Frame::Event { name: b"ping", data: b"{}" })
/// );
/// assert_eq!(framer.next(piece, &mut at), None);
/// let mut at = 0;
/// assert_eq!(
///     framer.next(b"re\n\n", &mut at),
///     Some(Frame::Event { name: b"", data: b"cut here" })
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Framer {
    lines: Lines,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The fields above were handed out; they are cleared at the next call.
    spent: bool,
    limit: usize,
}

/// What a line means, with the offset of its value.
enum Field {
    Blank,
    Data(usize),
    Name(usize),
    Ignored,
    Stray,
    TooLong,
}

impl Framer {
    /// A framing that refuses lines and events of more than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Framer {
        Framer {
            lines: Lines::new(limit),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            spent: false,
            limit,
        }
    }

    /// The next frame of `input` from `pos` on; `None` when more bytes are needed, in which case
    /// all of `input` was taken.
    pub fn next<'a>(&'a mut self, input: &'a [u8], pos: &mut usize) -> Option<Frame<'a>> {
        self.forget_spent();
        loop {
            let found = self.lines.next(input, pos)?;
            match self.field(input, &found) {
                Field::TooLong => return Some(Frame::TooLong),
                Field::Ignored => {}
                Field::Name(at) => {
                    self.name.clear();
                    self.name.extend_from_slice(&line(&self.lines, input, &found)[at..]);
                }
                Field::Data(at) => {
                    if !self.has_data && self.lines.take_blank(input, pos) {
                        self.spent = true;
                        let data = &line(&self.lines, input, &found)[at..];
                        return Some(Frame::Event { name: &self.name, data });
                    }
                    if !self.keep(input, &found, at) {
                        return Some(Frame::TooLong);
                    }
                }
                Field::Blank if self.has_data => {
                    self.spent = true;
                    return Some(Frame::Event { name: &self.name, data: &self.data });
                }
                Field::Blank => self.name.clear(),
                Field::Stray => return Some(Frame::Stray(line(&self.lines, input, &found))),
            }
        }
    }

    /// What is left at the end of the body. The standard drops an event that no blank line closed;
    /// providers forget that line, so it is handed out, and only its content can tell whether it
    /// is whole. Call it until it returns `None`.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        self.forget_spent();
        if let Some(found) = self.lines.finish() {
            match self.field(&[], &found) {
                Field::TooLong => return Some(Frame::TooLong),
                Field::Data(at) if !self.keep(&[], &found, at) => return Some(Frame::TooLong),
                Field::Stray => return Some(Frame::Stray(self.lines.carried())),
                Field::Data(_) | Field::Ignored | Field::Name(_) | Field::Blank => {}
            }
        }
        if !self.has_data {
            return None;
        }
        self.spent = true;
        Some(Frame::Event { name: &self.name, data: &self.data })
    }

    fn field(&self, input: &[u8], found: &Found) -> Field {
        match found {
            Found::Here(_) | Found::Carried => field(line(&self.lines, input, found)),
            Found::TooLong => Field::TooLong,
        }
    }

    /// Adds a data line to the event; false if that makes it too long.
    fn keep(&mut self, input: &[u8], found: &Found, at: usize) -> bool {
        let value = &line(&self.lines, input, found)[at..];
        if self.data.len() + value.len() >= self.limit {
            return false;
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
        true
    }

    fn forget_spent(&mut self) {
        if self.spent {
            self.spent = false;
            self.has_data = false;
            self.data.clear();
            self.name.clear();
        }
    }
}

fn line<'a>(lines: &'a Lines, input: &'a [u8], found: &Found) -> &'a [u8] {
    match found {
        Found::Here(range) => &input[range.clone()],
        Found::Carried => lines.carried(),
        Found::TooLong => &[],
    }
}

/// What a line means, with the offset of its value.
fn field(line: &[u8]) -> Field {
    if line.starts_with(b"data:") {
        return Field::Data(value_at(line, 5));
    }
    if line.starts_with(b"event:") {
        return Field::Name(value_at(line, 6));
    }
    match line {
        b"" => Field::Blank,
        b"data" => Field::Data(4),
        b"event" => Field::Name(5),
        b"id" | b"retry" => Field::Ignored,
        _ if line[0] == b':' || line.starts_with(b"id:") || line.starts_with(b"retry:") => {
            Field::Ignored
        }
        _ => Field::Stray,
    }
}

/// One blank after the colon belongs to the framing.
fn value_at(line: &[u8], colon: usize) -> usize {
    colon + usize::from(line.get(colon) == Some(&b' '))
}
