//! One scribe per dialect, and the place where they are told apart.

use machine_spec::effect::{ToolChoice, Transport};
use machine_spec::view::Seen;

use super::For;
use crate::Dialect;
use crate::{anthropic, gemini, ollama, openai_chat, openai_responses};

/// Where the writing of a list of messages stands, in the dialect it is written in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scribe {
    Anthropic(anthropic::encode::Scribe),
    OpenAiChat(openai_chat::encode::Scribe),
    OpenAiResponses(openai_responses::encode::Scribe),
    Gemini(gemini::encode::Scribe),
    Ollama(ollama::encode::Scribe),
}

macro_rules! each {
    ($scribe:expr, $own:ident => $do:expr) => {
        match $scribe {
            Scribe::Anthropic($own) => $do,
            Scribe::OpenAiChat($own) => $do,
            Scribe::OpenAiResponses($own) => $do,
            Scribe::Gemini($own) => $do,
            Scribe::Ollama($own) => $do,
        }
    };
}

impl Scribe {
    /// A scribe that has written nothing yet.
    pub(super) fn of(dialect: Dialect) -> Scribe {
        match dialect {
            Dialect::Anthropic => Scribe::Anthropic(anthropic::encode::Scribe::default()),
            Dialect::OpenAiChat => Scribe::OpenAiChat(openai_chat::encode::Scribe::default()),
            Dialect::OpenAiResponses => {
                Scribe::OpenAiResponses(openai_responses::encode::Scribe::default())
            }
            Dialect::Gemini => Scribe::Gemini(gemini::encode::Scribe::default()),
            Dialect::Ollama => Scribe::Ollama(ollama::encode::Scribe::default()),
        }
    }

    /// Appends a message; what was written before stays as it is.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, seen: Seen<'_>, to: &For<'_>) {
        each!(self, scribe => scribe.write(out, seen, to));
    }

    /// Whether the request declares tools.
    pub(super) fn offers_tools(self, to: &For<'_>, choice: &ToolChoice) -> bool {
        each!(self, scribe => scribe.offers_tools(to, choice))
    }

    /// Whether a cache mark of ours stands before the first message.
    pub(super) fn marks_head(self, to: &For<'_>) -> bool {
        match self {
            Scribe::Anthropic(scribe) => scribe.marks_head(to),
            Scribe::OpenAiChat(_)
            | Scribe::OpenAiResponses(_)
            | Scribe::Gemini(_)
            | Scribe::Ollama(_) => false,
        }
    }

    /// Appends everything before the first message.
    pub(super) fn head(self, out: &mut Vec<u8>, to: &For<'_>, offered: bool) {
        each!(self, scribe => scribe.head(out, to, offered));
    }

    /// Appends the messages and everything behind them.
    pub(super) fn close(
        self,
        body: &mut Vec<u8>,
        messages: &[u8],
        to: &For<'_>,
        choice: &ToolChoice,
    ) {
        each!(self, scribe => scribe.close(body, messages, to, choice));
    }
}

/// The path of a request for this model.
pub(super) fn path(dialect: Dialect, model: &str, transport: Transport) -> String {
    match dialect {
        Dialect::Anthropic => "/v1/messages".to_owned(),
        Dialect::OpenAiChat => "/v1/chat/completions".to_owned(),
        Dialect::OpenAiResponses => "/v1/responses".to_owned(),
        Dialect::Gemini => gemini::encode::path(model, transport),
        Dialect::Ollama => "/api/chat".to_owned(),
    }
}
