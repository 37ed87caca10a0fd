//! What the encoders of all dialects need: for whom they write, and parts that are written alike.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use machine_spec::RunConfig;
use machine_spec::config::{Candidate, ToolSpec};
use machine_spec::effect::{ToolChoice, Transport};
use machine_spec::message::CallResult;
use machine_spec::wording;
use serde_json::{Number, Value};

use super::json::{Members, Out, value};
use super::{Degradation, EncodeOptions, OutputShape};
use crate::Images;
use crate::images::no_place;

/// The text that stands where a tool printed nothing: several providers refuse an empty result.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// What every part of a request is encoded for.
#[derive(Clone, Copy)]
pub(crate) struct For<'a> {
    /// The configuration of the run.
    pub(crate) config: &'a RunConfig,
    /// Who will read it.
    pub(crate) candidate: &'a Candidate,
    /// The same as `name/model`, as replies name their maker.
    pub(crate) maker: &'a str,
    /// The options of the endpoint.
    pub(crate) options: &'a EncodeOptions,
    /// The bytes of images.
    pub(crate) images: &'a Images,
    /// What the endpoint does not know.
    pub(crate) lacking: &'a BTreeSet<Degradation>,
    /// What is asked of this one response.
    pub(crate) ask: Ask,
}

/// What is asked of one response, besides what it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ask {
    /// How it travels.
    pub(crate) transport: Transport,
    /// Output tokens it may use, when they are fewer than usual.
    pub(crate) max_output: Option<u64>,
}

impl For<'_> {
    /// Whether a parameter was found to be unknown to the endpoint.
    pub(crate) fn lacks(&self, degradation: Degradation) -> bool {
        self.lacking.contains(&degradation)
    }

    /// The output limit where the wire demands one: the configured one, else what the window
    /// reserves.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        let reserved = (self.candidate.max_output > 0).then_some(self.candidate.max_output);
        self.stated_max_tokens().or(reserved)
    }

    /// The output limit that somebody stated: the endpoint's options, or a request that must be
    /// content with less. The reserve of the window may be more than a model can write.
    pub(crate) fn stated_max_tokens(&self) -> Option<u64> {
        match (self.options.max_tokens, self.ask.max_output) {
            (Some(usual), Some(fewer)) => Some(usual.min(fewer)),
            (usual, fewer) => usual.or(fewer),
        }
    }

    /// Whether the response comes piece by piece.
    pub(crate) fn streams(&self) -> bool {
        match self.ask.transport {
            Transport::Stream => true,
            Transport::Whole => false,
        }
    }

    /// The shape that the answer must have, if it is to be sent.
    pub(crate) fn shape(&self) -> Option<&OutputShape> {
        self.options.output.as_ref().filter(|_| !self.lacks(Degradation::OutputShape))
    }

    /// The sampling temperature, if it is to be sent.
    pub(crate) fn temperature(&self) -> Option<Value> {
        let wanted = self.options.temperature.filter(|_| !self.lacks(Degradation::Temperature))?;
        Number::from_f64(wanted).map(Value::Number)
    }
}

/// Whether tools are declared. They stay declared where none may be called, unless the endpoint
/// has no way to be told so.
pub(crate) fn offers_tools(to: &For<'_>, choice: &ToolChoice) -> bool {
    let barred = *choice == ToolChoice::None && to.lacks(Degradation::ToolChoice);
    let own = !to.config.tools.is_empty() && !barred;
    own || !to.options.server_tools.is_empty()
}

/// Whether the request says which tool to call. Without tools of our own there is nothing to say,
/// and saying "none" would bar the provider's own.
pub(crate) fn may_choose(to: &For<'_>) -> bool {
    !to.config.tools.is_empty() && !to.lacks(Degradation::ToolChoice)
}

/// Appends the list of tools: the provider's own, then ours in the order of the configuration,
/// which is sorted by name (B040).
pub(crate) fn list_tools(
    out: &mut Vec<u8>,
    to: &For<'_>,
    mut write: impl FnMut(&mut Vec<u8>, &ToolSpec),
) {
    out.put("[");
    let mut first = true;
    for tool in &to.options.server_tools {
        out.put(if first { "" } else { "," });
        first = false;
        value(out, tool);
    }
    for tool in &to.config.tools {
        out.put(if first { "" } else { "," });
        first = false;
        write(out, tool);
    }
    out.put("]");
}

/// A result for a wire that has no flag for errors: the text says it.
pub(crate) fn result_text(result: &CallResult) -> Cow<'_, str> {
    let (text, is_error) = wording::result(result);
    let text = if text.trim().is_empty() { Cow::Borrowed(NO_OUTPUT) } else { text };
    if is_error { Cow::Owned(format!("error: {text}")) } else { text }
}

/// A result for a wire whose results are text alone: what cannot be shown is told.
pub(crate) fn result_in_words(result: &CallResult) -> Cow<'_, str> {
    let text = result_text(result);
    if result.images.is_empty() {
        return text;
    }
    let told: Vec<String> = result.images.iter().map(no_place).collect();
    Cow::Owned(format!("{text}\n{}", told.join("\n")))
}

/// Appends an object of parameters: ours, as JSON, and those the user gave under the same name. The
/// user's win.
pub(crate) fn sub_object(out: &mut Vec<u8>, ours: Vec<(&str, Vec<u8>)>, given: Option<&Value>) {
    let mut object: BTreeMap<&str, Vec<u8>> = ours.into_iter().collect();
    if let Some(Value::Object(given)) = given {
        for (key, member) in given {
            let mut json = Vec::new();
            value(&mut json, member);
            object.insert(key, json);
        }
    }
    out.put("{");
    let mut members = Members::inside(out);
    for (key, json) in object {
        members.own(key, |out| out.extend_from_slice(&json));
    }
    out.put("}");
}
