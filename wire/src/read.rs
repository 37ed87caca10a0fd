//! From a request body back to what it says: the conversation, the tools, the parameters.
//!
//! It reads bodies that other clients sent, so that a session can be taken over from them or
//! judged. Reading is not judging: what is unlawful stays unlawful, unless it cannot be said in
//! our words at all. What our vocabulary has no place for (files, sounds, a system prompt in the
//! middle) is left out and listed.

mod raw;
mod teller;

use std::fmt;

use machine_spec::config::{Candidate, ToolKind, ToolSpec};
use machine_spec::effect::ToolChoice;
use machine_spec::{RunConfig, Transcript};
use serde_json::{Map, Value};

pub(crate) use self::raw::Raw;
pub(crate) use self::teller::{Teller, object, outcome, outcome_of_text};

use crate::{Dialect, EncodeOptions, Images};
use crate::{anthropic, gemini, ollama, openai_chat, openai_responses};

/// What a request says.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadRequest {
    /// The model that is asked; empty where the body does not name it.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The tools of the client, in its order.
    pub tools: Vec<ToolSpec>,
    /// Which of them may be called.
    pub choice: ToolChoice,
    /// Every other parameter.
    pub options: EncodeOptions,
    /// The conversation. It may be unpaired: [`Transcript::first_unpaired`] tells.
    pub history: Transcript,
    /// The bytes of the images in it.
    pub images: Images,
    /// What could not be said in our words, in the order of the body.
    pub left_out: Vec<LeftOut>,
}

/// A part of a request that could not be said in our words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it stands, as a JSON pointer.
    pub at: String,
    /// What it is: the provider's own word for it.
    pub what: String,
}

/// A body that is not a request of the dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Where, as a JSON pointer; empty for the whole body.
    pub at: String,
    /// What should stand there.
    pub expected: &'static str,
    /// What stands there.
    pub got: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadError { at, expected, got } = self;
        let place = if at.is_empty() { "the body" } else { at };
        write!(f, "expected {expected} at {place}, got {got}")
    }
}

impl std::error::Error for ReadError {}

/// Reads the body of a request.
///
/// `name` is the name of the endpoint it was sent to: together with the model it names the maker
/// of the replies in it, to whom their private parts may go back. `model` helps where the dialect
/// names the model in the address only (Gemini).
pub fn read(
    dialect: Dialect,
    body: &[u8],
    name: &str,
    model: Option<&str>,
) -> Result<ReadRequest, ReadError> {
    let body = Raw::body(body)?;
    let named = body.get("model").and_then(|model| model.string());
    let model = model.map(ToOwned::to_owned).or(named).unwrap_or_default();
    let teller = Teller::new(format!("{name}/{model}"));
    let mut request = match dialect {
        Dialect::Anthropic => anthropic::read::read(&body, teller),
        Dialect::OpenAiChat => openai_chat::read::read(&body, teller),
        Dialect::OpenAiResponses => openai_responses::read::read(&body, teller),
        Dialect::Gemini => gemini::read::read(&body, teller),
        Dialect::Ollama => ollama::read::read(&body, teller),
    }?;
    request.model = model;
    Ok(request)
}

impl ReadRequest {
    /// A configuration under which the request would have been sent to the endpoint `name`.
    #[must_use]
    pub fn config(&self, name: &str) -> RunConfig {
        let candidate = Candidate {
            name: name.to_owned(),
            model: self.model.clone(),
            context_window: 0,
            max_output: 0,
            price: None,
            refreshable: false,
        };
        RunConfig {
            candidates: vec![candidate],
            tools: self.tools.clone(),
            system: self.system.clone(),
            ..RunConfig::default()
        }
    }
}

/// Parts of a request that are collected while it is read.
pub(crate) struct Parts {
    pub(crate) system: String,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) choice: ToolChoice,
    pub(crate) options: EncodeOptions,
}

impl Default for Parts {
    fn default() -> Parts {
        Parts {
            system: String::new(),
            tools: Vec::new(),
            choice: ToolChoice::Auto,
            options: EncodeOptions::default(),
        }
    }
}

impl Parts {
    /// Adds to the system prompt, as a paragraph of its own.
    pub(crate) fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() && !text.is_empty() {
            self.system.push_str("\n\n");
        }
        self.system.push_str(text);
    }

    /// Adds a tool of the client.
    pub(crate) fn add_tool(&mut self, name: &Raw<'_>, description: Option<Raw<'_>>, schema: &str) {
        self.tools.push(ToolSpec {
            name: name.string().unwrap_or_default(),
            description: description.and_then(|text| text.string()).unwrap_or_default(),
            input_schema: schema.to_owned(),
            read_only: false,
            kind: ToolKind::Plain,
        });
    }

    /// Takes every member that is not read elsewhere as a parameter.
    pub(crate) fn take_extra(&mut self, body: &Raw<'_>, known: &[&str]) {
        for (key, member) in body.members() {
            if !known.contains(&key.as_str()) && !member.is_null() {
                self.options.extra.insert(key, member.value());
            }
        }
    }

    pub(crate) fn finish(self, teller: Teller) -> ReadRequest {
        let Parts { system, tools, choice, options } = self;
        let (history, images, left_out) = teller.finish();
        let model = String::new();
        ReadRequest { model, system, tools, choice, options, history, images, left_out }
    }
}

/// Takes a member out of a parameter that is an object, and the parameter with it if nothing else
/// is left in it.
pub(crate) fn take_member(extra: &mut Map<String, Value>, parameter: &str, member: &str) {
    let Some(Value::Object(members)) = extra.get_mut(parameter) else { return };
    members.remove(member);
    if members.is_empty() {
        extra.remove(parameter);
    }
}

/// Moves the sampling temperature out of an object of parameters.
pub(crate) fn take_temperature(from: &mut Map<String, Value>) -> Option<f64> {
    let temperature = from.get("temperature").and_then(Value::as_f64)?;
    from.remove("temperature");
    Some(temperature)
}
