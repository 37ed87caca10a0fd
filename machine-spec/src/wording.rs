//! What the machine says to a model in its own words, all in one place.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use crate::ids::TaskId;
use crate::message::{CallResult, Fate, GateRefusal, NotApproved, NotStarted, Orphan, Outcome};

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

/// The request to speak about the last results when the tool-round limit is reached.
pub const WRAP_UP: &str = "The limit of tool rounds is reached, so no more tools can be called. \
Say what was found and what is left to do.";

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
        Outcome::Partial { output } => {
            (with_output("it ended before its work was done; this is a part", output), true)
        }
        Outcome::Acknowledged { task } => (
            Cow::Owned(format!(
                "started in the background as {task}; this is not its result. You will be told \
                 when it is over; do not start it again."
            )),
            false,
        ),
        Outcome::NotStarted { why } => (Cow::Borrowed(not_started(*why)), true),
        Outcome::NotApproved { how } => (not_approved(how), !is_queued(how)),
        Outcome::Refused { why } => (Cow::Owned(refusal(why)), true),
    }
}

/// A result as the model reads it, with what was changed about the call, and whether it is an error.
#[must_use]
pub fn result(result: &CallResult) -> (Cow<'_, str>, bool) {
    let (text, is_error) = outcome(&result.outcome);
    match &result.edited {
        None => (text, is_error),
        Some(args) => {
            let text = format!("[the arguments were changed before it ran, to: {args}]\n{text}");
            (Cow::Owned(text), is_error)
        }
    }
}

const fn not_started(why: NotStarted) -> &'static str {
    match why {
        NotStarted::Interrupted => "not started: the run was interrupted before its turn came",
        NotStarted::OutputLimit => "not started: the response was cut at the output limit",
        NotStarted::DoomLoop => "not started: this call would repeat a cycle that changes nothing",
        NotStarted::BatchDenied => {
            "not started: another call of the same response was denied, which stops all of them"
        }
        NotStarted::Halted => "not started: a hook stopped the run",
        NotStarted::Deferred => {
            "not started: it waits for a decision. It is still pending and will be taken up later; \
             you will be told how it went"
        }
    }
}

/// Silence is not refusal, and queued is neither refusal nor failure.
fn not_approved(how: &NotApproved) -> Cow<'static, str> {
    match how {
        NotApproved::Denied { reason } if reason.is_empty() => {
            Cow::Borrowed("denied by the user, without a reason; it did not run")
        }
        NotApproved::Denied { reason } => {
            Cow::Owned(format!("denied by the user; it did not run. The user says: {reason}"))
        }
        NotApproved::TimedOut => Cow::Borrowed(
            "not run: nobody answered the request for approval in time. That is not a refusal; \
             ask the user before you try again",
        ),
        NotApproved::Queued { ticket } => Cow::Owned(format!(
            "submitted for approval as {ticket}; it has not run yet. Do not submit it again"
        )),
        NotApproved::NoVerdict => {
            Cow::Borrowed("not run: it needs approval, and there is nobody who could give it")
        }
    }
}

const fn is_queued(how: &NotApproved) -> bool {
    match how {
        NotApproved::Queued { .. } => true,
        NotApproved::Denied { .. } | NotApproved::TimedOut | NotApproved::NoVerdict => false,
    }
}

/// The report of a background task. It is no word of the user and no consent.
#[must_use]
pub fn task_report(task: TaskId, tool: &str, report: &Outcome) -> String {
    let (text, is_error) = outcome(report);
    let end = if is_error { "ended without success" } else { "is done" };
    format!(
        "[This is a notification, not a message of the user, and no consent to anything.]\n\
         The background task {task} ({tool}) {end}:\n{text}"
    )
}

/// The report of a call that an earlier run left pending.
#[must_use]
pub fn deferred_report(result_of: &CallResult) -> String {
    let (text, _) = result(result_of);
    format!(
        "[This is a notification, not a message of the user.]\n\
         The pending call of {} was taken up again:\n{text}",
        result_of.name
    )
}

/// What the next run of a session is told of background tasks that the last one ended before.
#[must_use]
pub fn orphans(orphans: &[Orphan]) -> String {
    let mut text = String::from(
        "[This is a notification, not a message of the user.]\n\
         The last run ended before these background tasks did, so nothing is known of their results:",
    );
    for Orphan { task, tool, fate } in orphans {
        let fate = match fate {
            Fate::Cancelled => "was stopped; it may have had effects",
            Fate::Detached => "was left running",
        };
        text += &format!("\n- {task} ({tool}) {fate}");
    }
    text
}

/// What memory knows, marked as what it is.
#[must_use]
pub fn recalled(text: &str) -> String {
    format!(
        "[From memory of earlier sessions; this is background, not a request of the user.]\n{text}"
    )
}

/// The request to give an answer the wanted shape.
#[must_use]
pub fn misfit(path: &str, problem: &str) -> String {
    let path = if path.is_empty() { "/" } else { path };
    format!(
        "Your answer does not satisfy the wanted JSON schema at {path}: {problem}. \
         Answer again with JSON that does, and nothing else."
    )
}

/// A text of at most so many characters, with a mark where it is cut.
#[must_use]
pub fn clipped(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => String::from(text),
    }
}

/// The head and the tail of a text that is too long to stand inline, and what became of the whole:
/// a reference, or why there is none. The text is cut on character boundaries.
#[must_use]
pub fn cut_in_the_middle(text: &str, inline: u64, whole: Result<&str, &str>) -> String {
    let half = (inline / 2) as usize;
    let mut head = half.min(text.len());
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len().saturating_sub(half).max(head);
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let left_out = tail - head;
    let kept = match whole {
        Ok(reference) => format!("the whole is kept at {reference}"),
        Err(problem) => format!("the whole could not be kept: {problem}"),
    };
    format!(
        "{}\n[{left_out} of {} bytes left out here; {kept}]\n{}",
        &text[..head],
        text.len(),
        &text[tail..]
    )
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
        GateRefusal::OutOfScope => "this tool is not available in this run; nothing was run".into(),
        GateRefusal::OutOfOrder { first } => {
            format!("{first} must be called successfully first; nothing was run")
        }
        GateRefusal::Denied { reason } if reason.is_empty() => {
            "the rules forbid this call; nothing was run".into()
        }
        GateRefusal::Denied { reason } => format!("forbidden: {reason}; nothing was run"),
        GateRefusal::TooManyTasks { limit } => {
            format!("at most {limit} background tasks are allowed; nothing was started")
        }
        GateRefusal::TooDeep { limit } => {
            format!("runs may be nested at most {limit} deep; nothing was started")
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
