//! One response, read as its request asked: a decoder, and behind it the look-out for calls that
//! the model wrote into its text, where they are to be recovered.
//!
//! Whoever reads a response for a run reads it through here, live or again: so both hear the same.

use machine_spec::RunConfig;
use machine_spec::effect::ToolChoice;
use machine_spec::model::ModelEvent;

use crate::{DecodeLimits, Decoder, Dialect, EncodeOptions, TextCalls, decode_whole};

/// Reads one response.
#[derive(Clone, Debug)]
pub struct ResponseReader {
    dialect: Dialect,
    decoder: Decoder,
    /// Who looks out for calls that the model writes into its text; `None` where they are text like
    /// any other.
    written: Option<TextCalls>,
    fresh: Vec<ModelEvent>,
}

impl ResponseReader {
    /// A reader for the response to one request. Written calls are recovered if the endpoint is
    /// configured so and the request declared tools that may be called; or else the model is told of
    /// them, if the endpoint is configured so.
    #[must_use]
    pub fn new(
        dialect: Dialect,
        options: &EncodeOptions,
        config: &RunConfig,
        choice: &ToolChoice,
    ) -> ResponseReader {
        let callable = !config.tools.is_empty() && *choice != ToolChoice::None;
        let written = match (options.recover_text_calls, options.tell_text_calls) {
            (true, _) if callable => Some(TextCalls::new(&config.tools)),
            (false, true) if callable => Some(TextCalls::refusing(&config.tools)),
            (true | false, _) => None,
        };
        ResponseReader {
            dialect,
            decoder: Decoder::new(dialect, options.decode_limits),
            written,
            fresh: Vec::new(),
        }
    }

    /// Takes the next bytes of the body and appends what they say.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) {
        let Some(written) = &mut self.written else {
            return self.decoder.push(bytes, out);
        };
        self.decoder.push(bytes, &mut self.fresh);
        written.sift(&mut self.fresh);
        out.append(&mut self.fresh);
    }

    /// The body is over; see [`Decoder::finish`].
    pub fn finish(&mut self, out: &mut Vec<ModelEvent>) {
        let mut last = Vec::new();
        self.decoder.finish(&mut last);
        self.conclude(&mut last);
        out.append(&mut last);
    }

    /// What a response in one piece says; `ended` tells whether its body came to its end. See
    /// [`decode_whole`].
    #[must_use]
    pub fn read_whole(&mut self, body: &[u8], ended: bool) -> Vec<ModelEvent> {
        let mut events = decode_whole(self.dialect, self.limits(), body, ended);
        self.conclude(&mut events);
        events
    }

    /// Looks through the last events of a response.
    fn conclude(&mut self, last: &mut Vec<ModelEvent>) {
        if let Some(written) = &mut self.written {
            written.sift(last);
            written.finish(last);
        }
    }

    /// The bounds of what it reads.
    #[must_use]
    pub fn limits(&self) -> DecodeLimits {
        self.decoder.limits()
    }

    /// Whether nothing more can come; see [`Decoder::is_over`].
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.decoder.is_over()
    }

    /// Whether the end of a text is held back: the provider has said that it is complete, and only
    /// the end of the message is missing.
    #[must_use]
    pub fn holds_an_end(&self) -> bool {
        self.written.as_ref().is_some_and(TextCalls::holds_an_end)
    }
}
