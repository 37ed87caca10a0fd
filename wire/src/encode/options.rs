//! What an endpoint is asked with besides the conversation, and what it may not know.

use std::collections::BTreeSet;

use machine_spec::model::{ErrorClass, Failure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::OutputShape;
use crate::{DecodeLimits, Dialect};
use crate::{anthropic, gemini, ollama, openai_chat, openai_responses};

/// Parameters of the requests to one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EncodeOptions {
    /// Output tokens of one response; without it, what the candidate reserves of its window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tools that the provider runs itself (web search and the like), as it spells them. They stand
    /// in front of our own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server_tools: Vec<Value>,
    /// Further members of the request body, as the provider spells them. Those that this crate
    /// answers for are not taken from here; see [`EncodeOptions::reserved_extras`].
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// The shape that answers must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputShape>,
    /// Whether calls that the model wrote into its text are recovered (B011). It is about the
    /// answers, and stands here because it is a property of the endpoint like everything else here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recover_text_calls: bool,
    /// Whether the model is told of such a call when it is not recovered: it is asked once more,
    /// as after a malformed call. Recordings from before there was a choice say no.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tell_text_calls: bool,
    /// What the endpoint is known not to know. What a run finds out itself stands in each of its
    /// requests instead (B040).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub degraded: BTreeSet<Degradation>,
    /// The bounds of its responses.
    #[serde(skip_serializing_if = "DecodeLimits::are_default")]
    pub decode_limits: DecodeLimits,
}

/// A parameter that an endpoint does not know, by what is done instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Degradation {
    /// `stream_options` is left out; usage becomes unknown.
    StreamOptions,
    /// The output limit is called `max_completion_tokens` instead of `max_tokens`.
    MaxTokensName,
    /// `tool_choice` is left out: a forced tool is only asked for by the required-tool guard, and
    /// where no tool may be called none is declared.
    ToolChoice,
    /// `temperature` is left out.
    Temperature,
    /// Thinking is not sent back, not even to its maker.
    Reasoning,
    /// Encrypted reasoning is not asked for.
    EncryptedReasoning,
    /// Prompt-cache marks are left out.
    CacheMarks,
    /// Call ids have nine letters or digits.
    ShortCallIds,
    /// The shape of the answer is not asked for.
    OutputShape,
}

impl Degradation {
    /// Every degradation.
    pub const ALL: &[Degradation] = &[
        Degradation::StreamOptions,
        Degradation::MaxTokensName,
        Degradation::ToolChoice,
        Degradation::Temperature,
        Degradation::Reasoning,
        Degradation::EncryptedReasoning,
        Degradation::CacheMarks,
        Degradation::ShortCallIds,
        Degradation::OutputShape,
    ];

    /// The fixed word used in recordings and events.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Degradation::StreamOptions => "stream_options",
            Degradation::MaxTokensName => "max_tokens_name",
            Degradation::ToolChoice => "tool_choice",
            Degradation::Temperature => "temperature",
            Degradation::Reasoning => "reasoning",
            Degradation::EncryptedReasoning => "encrypted_reasoning",
            Degradation::CacheMarks => "cache_marks",
            Degradation::ShortCallIds => "short_call_ids",
            Degradation::OutputShape => "output_shape",
        }
    }

    /// Words of a refusal that complain about it.
    const fn complaints(self) -> &'static [&'static str] {
        match self {
            Degradation::StreamOptions => &["stream_options"],
            Degradation::MaxTokensName => &["max_tokens", "max_completion_tokens"],
            Degradation::ToolChoice => &["tool_choice"],
            Degradation::Temperature => &["temperature"],
            Degradation::Reasoning => &["reasoning_content", "reasoning_details"],
            Degradation::EncryptedReasoning => &["encrypted content", "encrypted_content"],
            Degradation::CacheMarks => &["cache_control"],
            Degradation::ShortCallIds => &["tool call id"],
            Degradation::OutputShape => {
                &["response_format", "text.format", "output_config", "responsejsonschema"]
            }
        }
    }

    /// The degradation with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Degradation> {
        Degradation::ALL.iter().copied().find(|degradation| degradation.word() == word)
    }

    /// The one parameter that a refusal complains about, by what can be done instead. Whether it
    /// was done before is for the machine to know: it says with each request what is left out.
    #[must_use]
    pub fn mending(dialect: Dialect, failure: &Failure) -> Option<Degradation> {
        let refused = matches!(failure.class, ErrorClass::ParamRejected | ErrorClass::BadRequest);
        let message = failure.message.to_lowercase();
        Degradation::ALL.iter().copied().find(|degradation| {
            // The shape of an id is a wrong value, every other complaint is an unknown parameter.
            let class_fits = match degradation {
                Degradation::ShortCallIds => refused,
                Degradation::StreamOptions
                | Degradation::MaxTokensName
                | Degradation::ToolChoice
                | Degradation::Temperature
                | Degradation::Reasoning
                | Degradation::EncryptedReasoning
                | Degradation::CacheMarks
                | Degradation::OutputShape => failure.class == ErrorClass::ParamRejected,
            };
            class_fits
                && degradation.concerns(dialect)
                && degradation.complaints().iter().any(|word| message.contains(word))
        })
    }

    /// Whether a dialect has the parameter.
    const fn concerns(self, dialect: Dialect) -> bool {
        match self {
            Degradation::StreamOptions
            | Degradation::MaxTokensName
            | Degradation::Reasoning
            | Degradation::ShortCallIds => matches!(dialect, Dialect::OpenAiChat),
            Degradation::EncryptedReasoning => matches!(dialect, Dialect::OpenAiResponses),
            Degradation::CacheMarks => matches!(dialect, Dialect::Anthropic),
            Degradation::ToolChoice => !matches!(dialect, Dialect::Ollama),
            Degradation::Temperature | Degradation::OutputShape => true,
        }
    }
}

impl EncodeOptions {
    /// Whether a request changes when this is left out of it: not where it is left out already,
    /// where it was never asked for, or where the configuration spells the parameter itself.
    #[must_use]
    pub fn can_leave_out(&self, degradation: Degradation) -> bool {
        let given = |key: &str| self.extra.contains_key(key);
        let sent = match degradation {
            Degradation::StreamOptions => !given("stream_options"),
            Degradation::Temperature => self.temperature.is_some() && !given("temperature"),
            Degradation::EncryptedReasoning => !given("include"),
            Degradation::MaxTokensName
            | Degradation::ToolChoice
            | Degradation::Reasoning
            | Degradation::CacheMarks
            | Degradation::ShortCallIds => true,
            Degradation::OutputShape => self.output.is_some(),
        };
        sent && !self.degraded.contains(&degradation)
    }

    /// The keys of `extra` that will not be sent, because the request has a member of that name
    /// that depends on the conversation. A configuration should refuse them.
    #[must_use]
    pub fn reserved_extras(&self, dialect: Dialect) -> Vec<&str> {
        let reserved = match dialect {
            Dialect::Anthropic => anthropic::encode::RESERVED,
            Dialect::OpenAiChat => openai_chat::encode::RESERVED,
            Dialect::OpenAiResponses => openai_responses::encode::RESERVED,
            Dialect::Gemini => gemini::encode::RESERVED,
            Dialect::Ollama => ollama::encode::RESERVED,
        };
        let keys = self.extra.keys().map(String::as_str);
        let mut found: Vec<&str> = keys.filter(|key| reserved.contains(key)).collect();
        found.sort_unstable();
        found
    }
}
