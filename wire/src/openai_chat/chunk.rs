//! A chunk of a chat stream, in the spellings of all vendors at once.

use std::borrow::Cow;
use std::fmt;

use machine_spec::model::Usage;
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::assembly::Fault;
use crate::counts;
use crate::fill::{Fill, Filling};
use crate::json::parse;
use crate::lenient::{Count, Index, Piece, absent_otherwise};

#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Piece<'a>,
    pub(super) model: Piece<'a>,
    pub(super) object: Piece<'a>,
    pub(super) choices: Choices<'a>,
    /// Read apart: it is rare.
    pub(super) usage: Option<&'a RawValue>,
    pub(super) x_groq: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
}

impl<'de> Fill<'de> for Chunk<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "choices" => map.next_value_seed(&mut self.choices)?,
            "id" => self.id = map.next_value()?,
            "model" => self.model = map.next_value()?,
            "object" => self.object = map.next_value()?,
            "usage" => self.usage = map.next_value()?,
            "x_groq" => self.x_groq = map.next_value()?,
            "error" => self.error = map.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Groq's own place for usage (groq/rig-streaming-probe).
#[derive(Deserialize)]
struct XGroq {
    #[serde(default)]
    usage: Option<Counts>,
}

/// The choice with the lowest index of a chunk; of several choices only one is the answer.
#[derive(Default)]
pub(super) struct Choices<'a>(pub(super) Option<Choice<'a>>);

#[derive(Default)]
pub(super) struct Choice<'a> {
    pub(super) index: Index,
    pub(super) delta: Delta<'a>,
    pub(super) finish_reason: Piece<'a>,
    pub(super) native_finish_reason: Piece<'a>,
    /// Moonshot's place for usage.
    pub(super) usage: Option<&'a RawValue>,
}

impl<'de> Fill<'de> for Choice<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "index" => self.index = map.next_value()?,
            "delta" => map.next_value_seed(Filling(&mut self.delta))?,
            "finish_reason" => self.finish_reason = map.next_value()?,
            "native_finish_reason" => self.native_finish_reason = map.next_value()?,
            "usage" => self.usage = map.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[derive(Default)]
pub(super) struct Delta<'a> {
    pub(super) content: Content<'a>,
    pub(super) reasoning_content: Piece<'a>,
    pub(super) reasoning: Piece<'a>,
    pub(super) reasoning_details: Option<&'a RawValue>,
    pub(super) refusal: Piece<'a>,
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    pub(super) function_call: Option<FunctionDelta<'a>>,
}

impl<'de> Fill<'de> for Delta<'de> {
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "content" => self.content = map.next_value()?,
            "reasoning_content" => self.reasoning_content = map.next_value()?,
            "reasoning" => self.reasoning = map.next_value()?,
            "reasoning_details" => self.reasoning_details = map.next_value()?,
            "refusal" => self.refusal = map.next_value()?,
            "tool_calls" => self.tool_calls = map.next_value()?,
            "function_call" => self.function_call = map.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Text, or a list of typed parts (mistral/ai-mistral-reasoning).
#[derive(Default)]
pub(super) enum Content<'a> {
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Deserialize)]
pub(super) struct Part<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Piece<'a>,
    #[serde(borrow, default)]
    pub(super) text: Piece<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    pub(super) index: Index,
    #[serde(borrow, default)]
    pub(super) id: Piece<'a>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionDelta<'a>>,
    /// Google's place for a signature that must go back with the call.
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub(super) name: Piece<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl Delta<'_> {
    /// The member that holds text, if the delta adds one text and does nothing else.
    pub(super) fn only(&self) -> Option<&'static str> {
        let details = self.reasoning_details.is_some_and(|raw| raw.get() != "[]");
        let calls = self.tool_calls.as_deref().unwrap_or_default();
        let (content, parts) = match &self.content {
            Content::Absent => (false, false),
            Content::Text(text) => (!text.is_empty(), false),
            Content::Parts(_) => (false, true),
        };
        let others = details || parts || self.refusal.text().is_some();
        if others || self.function_call.is_some() || calls.len() > 1 {
            return None;
        }
        let fragment = calls.first().map(CallDelta::is_fragment);
        let members = [
            ("reasoning_content", self.reasoning_content.text().is_some()),
            ("reasoning", self.reasoning.text().is_some()),
            ("content", content),
            ("arguments", fragment == Some(true)),
            ("", fragment == Some(false)),
        ];
        let mut present = members.iter().filter(|(_, is)| *is).map(|(member, _)| *member);
        present.next().filter(|member| !member.is_empty() && present.next().is_none())
    }
}

impl CallDelta<'_> {
    /// Whether it is more of a call that was announced, and nothing else.
    fn is_fragment(&self) -> bool {
        let function = self.function.as_ref();
        let more = |function: &FunctionDelta<'_>| {
            function.name.text().is_none()
                && function.arguments.is_some_and(|raw| raw.get().starts_with('"'))
        };
        self.extra_content.is_none() && function.is_some_and(more)
    }
}

impl<'a> FunctionDelta<'a> {
    /// Argument text; a vendor that sends the object itself means its JSON.
    pub(super) fn arguments(&self) -> Result<Cow<'a, str>, Fault> {
        match self.arguments.map(RawValue::get) {
            None => Ok(Cow::Borrowed("")),
            Some(text) if text.starts_with('"') => {
                Ok(parse::<Piece<'a>>(text)?.0.unwrap_or_default())
            }
            Some(json) => Ok(Cow::Borrowed(json)),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek (deepseek/ddpy-deepseek-streamed-reasoning-content).
    prompt_cache_hit_tokens: Count,
    /// Together, Hugging Face (together/oinf-test-async-chat-stream).
    cached_tokens: Count,
    /// Databricks, and other gateways to Anthropic
    /// (databricks/chatlas-test-databricks-respects-turns-interface).
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    /// GitHub Copilot.
    reasoning_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

impl Counts {
    /// The counts of a chunk or a choice; none if that is no object.
    pub(super) fn read(raw: &RawValue) -> Option<Counts> {
        serde_json::from_str(raw.get()).ok().filter(|_| raw.get().starts_with('{'))
    }

    /// The counts in Groq's own place.
    pub(super) fn of_groq(raw: &RawValue) -> Option<Counts> {
        serde_json::from_str::<XGroq>(raw.get()).ok()?.usage
    }

    /// The numbers by their standard names, as they stand.
    pub(super) fn own(&self) -> Usage {
        let prompt = self.prompt_tokens_details.as_ref();
        let completion = self.completion_tokens_details.as_ref();
        Usage {
            input: self.prompt_tokens.0,
            output: self.completion_tokens.0,
            cache_read: prompt.and_then(|d| d.cached_tokens.0).or(self.prompt_cache_hit_tokens.0),
            cache_write: prompt.and_then(|d| d.cache_write_tokens.0),
            reasoning: completion.and_then(|d| d.reasoning_tokens.0),
        }
    }

    /// The numbers as the machine compares them.
    pub(super) fn comparable(&self) -> Usage {
        let own = self.own();
        let elsewhere = self.cached_tokens.0.or(self.cache_read_input_tokens.0);
        let cache_read = own.cache_read.or(elsewhere);
        let cache_write = own.cache_write.or(self.cache_creation_input_tokens.0);
        let reasoning = own.reasoning.or(self.reasoning_tokens.0);
        let all = Usage { cache_read, cache_write, reasoning, ..own };
        counts::comparable(all, self.total_tokens.0)
    }
}

impl<'de> DeserializeSeed<'de> for &mut Choices<'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Choices<'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of choices")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let lowest = self.0.insert(Choice::default());
        if seq.next_element_seed(Filling(lowest))?.is_none() {
            self.0 = None;
            return Ok(());
        }
        let mut other = Choice::default();
        while seq.next_element_seed(Filling(&mut other))?.is_some() {
            if other.index.0 < lowest.index.0 {
                std::mem::swap(&mut other, lowest);
            }
            other = Choice::default();
        }
        Ok(())
    }

    absent_otherwise!((); bool, number, string, null);
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content<'a>, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of parts")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'de>, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
            absent_otherwise!(Content::Absent; bool, number, null);
        }
        deserializer.deserialize_any(Either)
    }
}
