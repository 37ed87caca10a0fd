//! What the loop does before it runs again: the repetition is counted for its owner, and the model
//! is told what it must know.

use super::guard::{Standing, remind, standing};
use super::{Finding, HookVerdict, is_anomaly};
use crate::because::Because;
use crate::effect::{Effect, Notice, OutputFault};
use crate::frame::Frame;
use crate::input::OutputVerdict;
use crate::message::Origin;
use crate::rooms::Out;
use crate::rooms::s7_feedback::Cut;
use crate::wording;

/// Counts the repetition for its owner and says to the model what it must know.
pub(super) fn prepare(finding: &Finding, because: Because, frame: &mut Frame, out: &mut Out) {
    count_anomaly(finding, because, frame);
    match finding {
        Finding::Results { cut } | Finding::Unusable { cut, .. } => cut_short(*cut, frame, out),
        Finding::Truncated => go_on(wording::GO_ON, frame, out),
        Finding::Blank { thinking_only } => {
            frame.counters.blank_nudges += 1;
            let fault = if *thinking_only { OutputFault::ThinkingOnly } else { OutputFault::Empty };
            ask(fault, frame.counters.blank_nudges, out);
            frame.say(Origin::Repair, wording::NUDGE);
        }
        Finding::Paused => {
            frame.counters.pauses += 1;
            ask(OutputFault::Paused, frame.counters.pauses, out);
        }
        Finding::Said | Finding::Checked(OutputVerdict::Fits) => frame.answer.text.clear(),
        Finding::Checked(OutputVerdict::Misfits { path, problem }) => {
            frame.answer.text.clear();
            frame.counters.structured_retries += 1;
            ask(OutputFault::WrongShape, frame.counters.structured_retries, out);
            frame.say(Origin::Repair, wording::misfit(path, problem));
        }
        Finding::Hooks(HookVerdict::GoOn { hook, feedback }) => {
            frame.answer.text.clear();
            if because == Because::HookBlocked {
                frame.counters.hook_blocks += 1;
                let n = frame.counters.hook_blocks;
                out.emit(Effect::Notify(Notice::HookBlocked { hook: *hook, n }));
            }
            frame.say(Origin::HookFeedback, feedback.clone());
        }
        Finding::Hooks(HookVerdict::Allow | HookVerdict::Halt { .. }) => frame.answer.text.clear(),
        Finding::Refused
        | Finding::Filtered
        | Finding::InPart { .. }
        | Finding::Overdue
        | Finding::Over { .. } => {}
    }
    if let Finding::Unusable { cut: Cut::No | Cut::StreamFailed, .. } = finding {
        frame.counters.malformed_streak += 1;
        ask(OutputFault::MalformedCall, frame.counters.malformed_streak, out);
        frame.say(Origin::Repair, wording::MEND_CALLS);
    }
    if because == Because::DoomWarned {
        let cycle = frame.doom.cycle().unwrap_or_default();
        frame.doom.warned = true;
        frame.say(Origin::Repair, wording::doom_warning(&cycle));
        out.emit(Effect::Notify(Notice::DoomWarned { cycle }));
    }
    if because == Because::GuardReminded
        && let Standing::Remind(rule) = standing(frame)
    {
        remind(rule, frame, out);
    }
}

/// A normal tool round or a text ends a row of rounds that went wrong.
fn count_anomaly(finding: &Finding, because: Because, frame: &mut Frame) {
    if is_anomaly(finding, because) {
        frame.counters.anomalies += 1;
    } else if matches!(finding, Finding::Results { .. } | Finding::Said) {
        frame.counters.anomalies = 0;
    }
}

fn cut_short(cut: Cut, frame: &mut Frame, out: &mut Out) {
    match cut {
        Cut::OutputLimit => go_on(wording::CUT_CALL, frame, out),
        Cut::StreamFailed => frame.say(Origin::Repair, wording::STREAM_FAILED),
        Cut::No => {}
    }
}

fn go_on(words: &str, frame: &mut Frame, out: &mut Out) {
    frame.counters.continuations += 1;
    ask(OutputFault::Truncated, frame.counters.continuations, out);
    frame.say(Origin::Continuation, words);
}

fn ask(fault: OutputFault, n: u32, out: &mut Out) {
    out.emit(Effect::Notify(Notice::RepairAsked { fault, n }));
}
