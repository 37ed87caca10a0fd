//! The lines of a recording, one after the other.

use machine_spec::Input;
use machine_spec::flags::Flags;
use serde::de::DeserializeOwned;

use super::{AlteredPart, Expected, ReadError, ReadFault, TornTail, piece};
use crate::code::Code;
use crate::format::v1::{AnyHeader, Aside, FlagsOnly, Frame, Header, Line};
use crate::format::{Chain, CheckFault, NAME, ReadLimits, Version};

/// How many bytes before and after a place are shown.
const AROUND: usize = 24;

/// Reads the lines of a recording in memory; what it holds itself does not grow.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    bytes: &'a [u8],
    limits: ReadLimits,
    header: Header,
    chain: Chain,
    /// Where the next line begins.
    at: usize,
    /// Its number, from 1.
    line: u64,
    /// The number of the next frame.
    seq: u64,
    sound: usize,
    newline: bool,
    over: bool,
    suspect: Option<Box<Frame>>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A frame.
    Frame(Box<Frame>),
    /// What stands between frames.
    Aside(Box<Aside>),
    /// A last line that was not written to its end.
    Torn(Box<TornTail>),
}

impl<'a> Frames<'a> {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// The first line is no header that this release understands.
    pub fn new(bytes: &'a [u8], limits: ReadLimits) -> Result<Frames<'a>, Box<ReadError>> {
        let (line, newline) = cut_line(bytes, 0, limits, 1)?;
        let header = read_header(line)?;
        let mut chain = Chain::new();
        chain.verify(line).map_err(|fault| at_line(check_fault(fault, None), 1, 0, None))?;
        let at = line.len() + usize::from(newline);
        Ok(Frames {
            bytes,
            limits,
            header,
            chain,
            at,
            line: 2,
            seq: 0,
            sound: at,
            newline,
            over: false,
            suspect: None,
        })
    }

    /// The header.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn into_header(self) -> Header {
        self.header
    }

    /// The chain after the last sound line.
    #[must_use]
    pub const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Bytes up to the end of the last sound line, with its newline if it has one.
    #[must_use]
    pub const fn sound_bytes(&self) -> u64 {
        self.sound as u64
    }

    /// Whether the last sound line has its newline.
    #[must_use]
    pub const fn ends_with_newline(&self) -> bool {
        self.newline
    }

    /// After an altered line: the frame that stands there now, if it is one. Re-driving it may tell
    /// what was changed.
    #[must_use]
    pub fn suspect(&self) -> Option<&Frame> {
        self.suspect.as_deref()
    }

    /// The number of the line that was read last, from 1.
    #[must_use]
    pub const fn line(&self) -> u64 {
        self.line - 1
    }

    /// The next line. Nothing comes after an error or a torn line.
    ///
    /// # Errors
    ///
    /// The line is not what was written, or no line of a recording.
    pub fn next_item(&mut self) -> Option<Result<Item, Box<ReadError>>> {
        if self.over || self.at >= self.bytes.len() {
            return None;
        }
        let item = self.read_line();
        match &item {
            Ok(Item::Frame(_) | Item::Aside(_)) => {}
            Ok(Item::Torn(_)) | Err(_) => self.over = true,
        }
        Some(item)
    }

    fn read_line(&mut self) -> Result<Item, Box<ReadError>> {
        let begin = self.at;
        let (line, newline) = cut_line(self.bytes, begin, self.limits, self.line)?;
        let content = match self.chain.verify(line) {
            Ok(content) => content,
            Err(_) if !newline && is_torn(line) => {
                return Ok(Item::Torn(Box::new(self.torn(line))));
            }
            Err(fault) => return Err(self.altered(line, fault)),
        };
        let item = match piece::read(content).filter(|frame| frame.seq == self.seq) {
            Some(frame) if self.seq > 0 => {
                self.seq += 1;
                Item::Frame(Box::new(frame))
            }
            Some(_) | None => {
                let parsed = parse(line, Expected::Frame).map_err(|error| self.place(error))?;
                self.judge(parsed)?
            }
        };
        self.at = begin + line.len() + usize::from(newline);
        (self.sound, self.newline) = (self.at, newline);
        self.line += 1;
        Ok(item)
    }

    /// A sound line: is it the one that comes next?
    fn judge(&mut self, line: Line) -> Result<Item, Box<ReadError>> {
        let (seq, aside) = (line.seq, line.aside);
        let fault = match (seq, aside, &line.input) {
            (None, Some(aside), _) => return Ok(Item::Aside(Box::new(aside))),
            (Some(found), None, _) if found != self.seq => {
                let fault = ReadFault::Sequence { expected: self.seq, found };
                return Err(self.fault(Code::BadSequence, fault));
            }
            (Some(0), None, Some(_)) => unexpected(Expected::Start, "found an input in it"),
            (Some(1..), None, None) => unexpected(Expected::Input, "found none"),
            (Some(seq), None, _) => {
                let Line { input, effects, trail, digest, note, .. } = line;
                self.seq += 1;
                let frame = Frame { seq, input, effects, trail, digest, note };
                return Ok(Item::Frame(Box::new(frame)));
            }
            (Some(_), Some(_), _) => unexpected(Expected::Frame, "found both in one line"),
            (None, None, _) => unexpected(Expected::Frame, "found neither"),
        };
        Err(self.fault(Code::BadFrame, fault))
    }

    fn fault(&self, code: Code, fault: ReadFault) -> Box<ReadError> {
        let mut error = ReadError::whole(code, fault);
        (error.line, error.byte, error.seq) = (self.line, self.at as u64, Some(self.seq));
        error
    }

    fn place(&self, mut error: Box<ReadError>) -> Box<ReadError> {
        error.line = self.line;
        error.byte = self.at as u64 + error.column.saturating_sub(1);
        error.seq = Some(self.seq);
        error
    }

    fn altered(&mut self, line: &[u8], fault: CheckFault) -> Box<ReadError> {
        let parsed: Result<Line, Box<ReadError>> = parse(line, Expected::Frame);
        let (problem, column) = match parsed {
            Ok(Line { seq: Some(seq), input, effects, trail, digest, note, aside: None }) => {
                let frame = Frame { seq, input, effects, trail, digest, note };
                self.suspect = (seq == self.seq).then(|| Box::new(frame));
                (None, 0)
            }
            Ok(_) => (None, 0),
            Err(error) => (Some(error.fault.to_string()), error.column),
        };
        let mut fault = check_fault(fault, problem);
        if let ReadFault::Altered { written, computed, part, around, .. } = &mut fault {
            *part = self.altered_part(line, written, computed);
            *around = text_around(line, column);
        }
        let mut error = at_line(fault, self.line, self.at, Some(self.seq));
        error.column = column;
        error.byte += column.saturating_sub(1);
        error
    }

    /// The line behind an altered one was chained to what stood there before. So it tells which
    /// part of the line has changed.
    fn altered_part(&self, line: &[u8], written: &str, computed: &str) -> AlteredPart {
        let behind = (self.at + line.len() + 1).min(self.bytes.len());
        let Ok((next, _)) = cut_line(self.bytes, behind, self.limits, self.line + 1) else {
            return AlteredPart::Unknown;
        };
        let follows = |check: &str| Chain::after(check).is_some_and(|mut c| c.verify(next).is_ok());
        if follows(written) {
            AlteredPart::Content
        } else if follows(computed) {
            AlteredPart::Check
        } else {
            AlteredPart::Unknown
        }
    }

    fn torn(&self, line: &[u8]) -> TornTail {
        let (seq, input) = torn_parts(line);
        TornTail {
            line: self.line,
            byte: self.at as u64,
            length: line.len() as u64,
            seq,
            input: input.filter(|_| seq == Some(self.seq)),
        }
    }
}

/// Cuts the next line off; tells whether a newline ends it.
fn cut_line(
    bytes: &[u8],
    from: usize,
    limits: ReadLimits,
    number: u64,
) -> Result<(&[u8], bool), Box<ReadError>> {
    let rest = &bytes[from..];
    let window = &rest[..rest.len().min(limits.line_bytes.saturating_add(1))];
    let (length, newline) = match memchr::memchr(b'\n', window) {
        Some(at) => (at, true),
        None => (window.len(), false),
    };
    if length > limits.line_bytes {
        let fault = ReadFault::LineTooLong { size: length as u64, limit: limits.line_bytes as u64 };
        let mut error = ReadError::whole(Code::TooLarge, fault);
        (error.line, error.byte) = (number, from as u64);
        return Err(error);
    }
    Ok((&rest[..length], newline))
}

fn read_header(line: &[u8]) -> Result<Header, Box<ReadError>> {
    if line.is_empty() {
        return Err(first_line(ReadError::whole(Code::NotARecording, ReadFault::Empty)));
    }
    let any: AnyHeader = parse(line, Expected::Header).map_err(|mut error| {
        error.code = Code::NotARecording;
        first_line(error)
    })?;
    if any.format.major != Version::CURRENT.major {
        let known = format!("{NAME}/{}.x", Version::CURRENT.major);
        let fault = ReadFault::NewerFormat { found: any.format.to_string(), known };
        return Err(first_line(ReadError::whole(Code::NewerFormat, fault)));
    }
    let bad = |mut error: Box<ReadError>| {
        error.code = Code::BadHeader;
        first_line(error)
    };
    let FlagsOnly { flags } = parse(line, Expected::Header).map_err(bad)?;
    if !flags.known() {
        let fault = ReadFault::UnknownFlags { found: flags.0, known: Flags::CURRENT.0 };
        return Err(first_line(ReadError::whole(Code::UnknownFlags, fault)));
    }
    let header: Header = parse(line, Expected::Header).map_err(bad)?;
    if header.config.flags != header.flags {
        let fault =
            unexpected(Expected::Header, "found flags that are not those of its configuration");
        return Err(first_line(ReadError::whole(Code::BadHeader, fault)));
    }
    Ok(header)
}

fn first_line(mut error: Box<ReadError>) -> Box<ReadError> {
    error.line = 1;
    error.byte = error.column.saturating_sub(1);
    error
}

fn parse<T: DeserializeOwned>(line: &[u8], expected: Expected) -> Result<T, Box<ReadError>> {
    let told = |problem: String, column: usize| {
        let fault = ReadFault::Unexpected { expected, problem };
        let mut error = ReadError::whole(Code::BadFrame, fault);
        error.column = column as u64;
        error
    };
    // Checked once for the line instead of once for every text in it.
    let text = std::str::from_utf8(line)
        .map_err(|error| told("found bytes that are not UTF-8".into(), error.valid_up_to() + 1))?;
    serde_json::from_str(text).map_err(|error| {
        let mut problem = error.to_string();
        // The place is told beside the message, in the terms of the file.
        if let Some(at) = problem.rfind(" at line ") {
            problem.truncate(at);
        }
        told(problem, error.column())
    })
}

fn unexpected(expected: Expected, problem: &str) -> ReadFault {
    ReadFault::Unexpected { expected, problem: problem.into() }
}

fn check_fault(fault: CheckFault, problem: Option<String>) -> ReadFault {
    match fault {
        CheckFault::Missing => ReadFault::CheckMissing,
        CheckFault::Differs { written, computed } => ReadFault::Altered {
            written: written.to_string(),
            computed: computed.to_string(),
            part: AlteredPart::Unknown,
            problem,
            around: String::new(),
        },
    }
}

/// What stands around a column, from 1; nothing for the line as a whole.
fn text_around(line: &[u8], column: u64) -> String {
    let Some(at) = usize::try_from(column).ok().and_then(|column| column.checked_sub(1)) else {
        return String::new();
    };
    let at = at.min(line.len());
    let (from, to) = (at.saturating_sub(AROUND), (at + AROUND).min(line.len()));
    let before = if from > 0 { "…" } else { "" };
    let after = if to < line.len() { "…" } else { "" };
    format!("{before}{}{after}", String::from_utf8_lossy(&line[from..to]))
}

fn at_line(fault: ReadFault, line: u64, byte: usize, seq: Option<u64>) -> Box<ReadError> {
    let mut error = ReadError::whole(Code::FrameAltered, fault);
    (error.line, error.byte, error.seq) = (line, byte as u64, seq);
    error
}

/// Whether a line without newline is the beginning of a line: JSON that ends too early.
fn is_torn(line: &[u8]) -> bool {
    match serde_json::from_slice::<serde::de::IgnoredAny>(line) {
        Ok(_) => false,
        Err(error) => error.is_eof(),
    }
}

/// What is whole of the beginning of a frame.
fn torn_parts(line: &[u8]) -> (Option<u64>, Option<Input>) {
    let Some(rest) = line.strip_prefix(b"{\"seq\":") else { return (None, None) };
    let Some(comma) = memchr::memchr(b',', rest) else { return (None, None) };
    let seq = std::str::from_utf8(&rest[..comma]).ok().and_then(|digits| digits.parse().ok());
    let Some(rest) = rest[comma..].strip_prefix(b",\"input\":") else { return (seq, None) };
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Input>();
    (seq, values.next().and_then(Result::ok))
}
