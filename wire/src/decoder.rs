//! Bytes of a response, cut anywhere, to the events of [`machine_spec::model`].
//!
//! A decoder never panics and never waits. What a provider says outside of its own dialect ends
//! the response with one event of class `garbled` that names the byte and the event.

use std::borrow::Cow;

use machine_spec::model::{ErrorClass, Failure, ModelEvent, Usage};

use crate::assembly::{Assembly, Fault};
use crate::dialect::Dialect;
use crate::framing::Framing;
use crate::limits::{BadUtf8, DecodeLimits};
use crate::predict::{Noise, Prediction};
use crate::sse::Frame;
use crate::stray::Stray;
use crate::{anthropic, gemini, ollama, openai_chat, openai_responses};

/// Reads one response of one dialect.
#[derive(Clone, Debug)]
pub struct Decoder {
    framing: Framing,
    reader: Reader,
    assembly: Assembly,
    stray: Stray,
    prediction: Prediction,
    /// Bytes taken before the piece at hand.
    taken: u64,
    /// Bytes up to the end of the last event: where the next one begins, however it is cut.
    mark: u64,
}

/// The part of a decoder that knows the words of a dialect.
#[derive(Clone, Debug)]
enum Reader {
    Anthropic(anthropic::decode::Reader),
    OpenAiChat(openai_chat::decode::Reader),
    OpenAiResponses(openai_responses::decode::Reader),
    Gemini(gemini::decode::Reader),
    Ollama(ollama::decode::Reader),
}

impl Decoder {
    /// A decoder for one response.
    #[must_use]
    pub fn new(dialect: Dialect, limits: DecodeLimits) -> Decoder {
        Decoder {
            framing: Framing::new(dialect, limits.event_bytes),
            reader: Reader::new(dialect),
            assembly: Assembly::new(limits),
            stray: Stray::new(dialect),
            prediction: Prediction::new(Reader::noise(dialect)),
            taken: 0,
            mark: 0,
        }
    }

    /// A decoder that parses every event, also those it could recognise. It says the same, slower;
    /// tests compare the two.
    #[must_use]
    pub fn parsing_everything(mut self) -> Decoder {
        self.prediction.switch_off();
        self
    }

    /// How many events were recognised as the one before with another text, and not parsed.
    #[must_use]
    pub fn recognised(&self) -> u64 {
        self.prediction.hits()
    }

    /// The bounds of what it reads.
    #[must_use]
    pub fn limits(&self) -> DecodeLimits {
        *self.assembly.limits()
    }

    /// Takes the next bytes of the body and appends what they say.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) {
        if self.is_over() {
            return;
        }
        std::mem::swap(out, &mut self.assembly.events);
        self.read(bytes);
        std::mem::swap(out, &mut self.assembly.events);
    }

    /// The body is over, however it came to that: its end, a reset, silence. Appends what was
    /// complete but held back. Whether the message is complete is for the machine to judge: it is
    /// if `Finished` was said.
    pub fn finish(&mut self, out: &mut Vec<ModelEvent>) {
        if self.is_over() {
            return;
        }
        std::mem::swap(out, &mut self.assembly.events);
        self.flush();
        std::mem::swap(out, &mut self.assembly.events);
    }

    /// Whether the wire's own end was seen, or an error that ends it: nothing more can come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.assembly.is_over()
    }

    /// The usage in the provider's own numbers, last report first; the events carry comparable
    /// ones. For people who compare with an invoice.
    #[must_use]
    pub fn reported_usage(&self) -> Usage {
        *self.assembly.reported()
    }

    fn read(&mut self, bytes: &[u8]) {
        let mut at = 0;
        let limit = self.assembly.limits().total_bytes;
        let allowed = usize::try_from(limit.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let piece = &bytes[..bytes.len().min(allowed)];
        while let Some(frame) = self.framing.next(piece, &mut at) {
            let place = self.mark;
            self.mark = self.taken + at as u64;
            if let Frame::Event { data, .. } = &frame
                && let Some((block, text)) = self.prediction.fit(data)
                && self.assembly.delta(block, text).is_ok()
            {
                continue;
            }
            self.assembly.lesson = None;
            heed(&frame, place, &mut self.reader, &mut self.assembly, &mut self.stray);
            if let Frame::Event { data, .. } = frame {
                self.prediction.learn(data, self.assembly.lesson);
            }
            if self.assembly.is_over() {
                return;
            }
        }
        self.taken += piece.len() as u64;
        if piece.len() < bytes.len() {
            let fault = Fault(format!("a response may have {limit} bytes, this one has more"));
            self.assembly.fail(garbled(self.mark, b"", &fault));
        }
    }

    fn flush(&mut self) {
        while let Some(frame) = self.framing.finish() {
            // An event that was never closed may be cut; only its JSON can tell.
            if let Frame::Event { data, .. } = &frame
                && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_err()
                && data.trim_ascii() != b"[DONE]"
            {
                break;
            }
            heed(&frame, self.mark, &mut self.reader, &mut self.assembly, &mut self.stray);
            if self.assembly.is_over() {
                return;
            }
        }
        if let Some(failure) = self.stray.finish() {
            self.assembly.fail(failure);
            return;
        }
        match self.reader.finish(&mut self.assembly) {
            Ok(()) => self.assembly.conclude(),
            Err(fault) => self.assembly.fail(garbled(self.mark, b"", &fault)),
        }
    }
}

impl Reader {
    fn new(dialect: Dialect) -> Reader {
        match dialect {
            Dialect::Anthropic => Reader::Anthropic(Default::default()),
            Dialect::OpenAiChat => Reader::OpenAiChat(Default::default()),
            Dialect::OpenAiResponses => Reader::OpenAiResponses(Default::default()),
            Dialect::Gemini => Reader::Gemini(Default::default()),
            Dialect::Ollama => Reader::Ollama(Default::default()),
        }
    }

    /// What changes from event to event and is read by no reader of the dialect.
    fn noise(dialect: Dialect) -> &'static [Noise] {
        match dialect {
            Dialect::Anthropic | Dialect::Gemini => &[],
            // Padding against eavesdroppers who count bytes: OpenAI's
            // (azure-openai/ddpy-completion-azure-stream) and Mistral's
            // (mistral/cagent-testexec-mistral).
            Dialect::OpenAiChat => &[Noise::Text("obfuscation"), Noise::Text("p")],
            Dialect::OpenAiResponses => {
                &[Noise::Number("sequence_number"), Noise::Text("obfuscation")]
            }
            Dialect::Ollama => &[Noise::Text("created_at")],
        }
    }

    fn event(&mut self, name: &[u8], data: &str, assembly: &mut Assembly) -> Result<(), Fault> {
        match self {
            Reader::Anthropic(reader) => reader.event(name, data, assembly),
            Reader::OpenAiChat(reader) => reader.event(name, data, assembly),
            Reader::OpenAiResponses(reader) => reader.event(name, data, assembly),
            Reader::Gemini(reader) => reader.event(data, assembly),
            Reader::Ollama(reader) => reader.event(data, assembly),
        }
    }

    /// The body is over; only one wire has something to say then.
    fn finish(&mut self, assembly: &mut Assembly) -> Result<(), Fault> {
        match self {
            Reader::Gemini(reader) => reader.finish(assembly),
            Reader::Anthropic(_)
            | Reader::OpenAiChat(_)
            | Reader::OpenAiResponses(_)
            | Reader::Ollama(_) => Ok(()),
        }
    }
}

/// One frame, read and taken down.
fn heed(
    frame: &Frame<'_>,
    place: u64,
    reader: &mut Reader,
    assembly: &mut Assembly,
    stray: &mut Stray,
) {
    match frame {
        Frame::Event { data, .. } if data.trim_ascii().is_empty() => {}
        Frame::Event { name, data } => {
            let heard = text_of(data, assembly.limits().bad_utf8)
                .and_then(|text| reader.event(name, &text, assembly));
            if let Err(fault) = heard {
                assembly.fail(garbled(place, name, &fault));
            }
        }
        Frame::Stray(line) => {
            if let Some(failure) = stray.line(line) {
                assembly.fail(failure);
            }
        }
        Frame::TooLong => {
            let limit = assembly.limits().event_bytes;
            let fault = Fault(format!("an event may have {limit} bytes, this one is longer"));
            assembly.fail(garbled(place, b"", &fault));
        }
    }
}

fn text_of(data: &[u8], policy: BadUtf8) -> Result<Cow<'_, str>, Fault> {
    match (std::str::from_utf8(data), policy) {
        (Ok(text), _) => Ok(Cow::Borrowed(text)),
        (Err(_), BadUtf8::Replace) => Ok(String::from_utf8_lossy(data)),
        (Err(error), BadUtf8::Fail) => {
            let at = error.valid_up_to();
            Err(Fault(format!("expected UTF-8, got a bad byte at {at} of its data")))
        }
    }
}

fn garbled(place: u64, name: &[u8], fault: &Fault) -> Failure {
    let name = String::from_utf8_lossy(&name[..name.len().min(80)]);
    let event = if name.is_empty() { String::new() } else { format!(" (event `{name}`)") };
    let message = format!("garbled stream after byte {place}{event}: {}", fault.0);
    Failure::new(ErrorClass::Garbled, message)
}
