//! What the machine says to a model in its own words, all in one place.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use crate::message::{GateRefusal, NotStarted, Outcome};

/// The nudge after a response with nothing to show.
pub const NUDGE: &str = "Your last response contained nothing that can be shown. \
Please answer in text, or call a tool.";

/// The request to go on where the output limit cut a text.
pub const GO_ON: &str = "Your response was cut at the output limit. \
Continue exactly where it stopped; do not repeat anything.";

/// The request to be shorter after the output limit cut a call.
pub const CUT_CALL: &str = "Your last response was cut at the output limit, so its last call was \
not complete and did not run. Repeat that call in smaller pieces.";

/// The notice after a stream failed and its completed part was kept.
pub const STREAM_FAILED: &str = "The stream of your last response failed before it was complete. \
Its completed calls ran once and their results stand above; continue from here.";

/// The request to mend calls none of which could be used.
pub const MEND_CALLS: &str = "None of your calls could be used; see the error results. \
Call one of the declared tools with arguments that satisfy its schema, or answer in text.";

/// The reminder of required tools.
#[must_use]
pub fn guard_reminder(tools: &[String]) -> String {
    format!(
        "Before this can be answered, the following must be called successfully: {}. \
         Call it now instead of describing what you would do.",
        tools.join(", ")
    )
}

/// The one warning about a cycle of calls that changes nothing.
#[must_use]
pub fn doom_warning(cycle: &[String]) -> String {
    format!(
        "You have repeated the same calls with the same arguments and the same results three times: \
         {}. Repeating them again will end this turn. Do something else, or answer.",
        cycle.join(", ")
    )
}

/// A result as the model reads it, and whether it is an error.
#[must_use]
pub fn outcome(outcome: &Outcome) -> (Cow<'_, str>, bool) {
    match outcome {
        Outcome::Succeeded { output } => (Cow::Borrowed(output), false),
        Outcome::Failed { output } => (Cow::Borrowed(output), true),
        Outcome::TimedOut { output } => {
            (with_output("timed out and was stopped; it may have had effects", output), true)
        }
        Outcome::Unknown { output } => {
            (with_output("interrupted while running; it may have had effects", output), true)
        }
        Outcome::NotStarted { why: NotStarted::Interrupted } => {
            (Cow::Borrowed("not started: the run was interrupted before its turn came"), true)
        }
        Outcome::NotStarted { why: NotStarted::OutputLimit } => {
            (Cow::Borrowed("not started: the response was cut at the output limit"), true)
        }
        Outcome::NotStarted { why: NotStarted::DoomLoop } => (
            Cow::Borrowed("not started: this call would repeat a cycle that changes nothing"),
            true,
        ),
        Outcome::Refused { why } => (Cow::Owned(refusal(why)), true),
    }
}

fn with_output(what: &str, output: &str) -> Cow<'static, str> {
    if output.is_empty() {
        Cow::Owned(format!("{what}; no output so far"))
    } else {
        Cow::Owned(format!("{what}; output so far:\n{output}"))
    }
}

fn refusal(why: &GateRefusal) -> String {
    match why {
        GateRefusal::UnknownTool { nearest } if nearest.is_empty() => {
            "no such tool; no tool is available".into()
        }
        GateRefusal::UnknownTool { nearest } => {
            format!("no such tool; did you mean {}? Available: {}", nearest[0], nearest.join(", "))
        }
        GateRefusal::MalformedArgs { at, problem } => {
            format!("the arguments are not valid JSON at byte {at}: {problem}; nothing was run")
        }
        GateRefusal::InvalidArgs { path, problem } => {
            let path = if path.is_empty() { "/" } else { path };
            format!("the arguments do not fit the schema at {path}: {problem}; nothing was run")
        }
    }
}
