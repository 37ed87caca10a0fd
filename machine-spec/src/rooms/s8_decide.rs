//! Room 8, Decide: again, or over? A pure table over the findings of the turn. Only this room leads
//! to Done. Doors: Absorb, Checking, Stopping, Awaiting, Done.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use self::guard::{Standing, standing};
use super::s7_feedback::Cut;
use super::{Absorb, Awaiting, Checking, Done, Next, Out, Room, Stopping};
use crate::because::{Because, Owner};
use crate::config::HookPoint;
use crate::frame::{Frame, Stop};
use crate::ids::HookId;
use crate::input::OutputVerdict;
use crate::model::Failure;
use crate::policy::Tasks;
use crate::terminal::{BudgetKind, Terminal};

mod again;
mod guard;
mod over;
#[cfg(test)]
mod tests;

/// Again, or over?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Decide {
    /// What the turn has come to.
    pub finding: Finding,
}

/// What the turn has come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Calls ran and their results are filed.
    Results {
        /// What cut the response, if anything did.
        cut: Cut,
    },
    /// No call of the response could be used.
    Unusable {
        /// What cut the response, if anything did.
        cut: Cut,
        /// Name of the tool in its last call.
        tool: Arc<str>,
    },
    /// The model said something and wants nothing more.
    Said,
    /// The model said something and was cut at the output limit.
    Truncated,
    /// The model said nothing that can be shown.
    Blank {
        /// Whether it was thinking.
        thinking_only: bool,
    },
    /// The provider paused the response.
    Paused,
    /// The model refused.
    Refused,
    /// A filter cut the output.
    Filtered,
    /// The stream died for good; what was complete of the text was kept.
    InPart {
        /// What broke the stream.
        failure: Failure,
    },
    /// The answer was held against the wanted schema.
    Checked(OutputVerdict),
    /// The stop hooks have answered.
    Hooks(HookVerdict),
    /// The time for background tasks is over.
    Overdue,
    /// A room met a hopeless case, or the run was interrupted.
    Over {
        /// The ending.
        end: Terminal,
    },
}

/// The answers of all stop hooks, weighed together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookVerdict {
    /// Nobody objects.
    Allow,
    /// The turn goes on with this feedback.
    GoOn {
        /// The hook that wants it.
        hook: HookId,
        /// What it says.
        feedback: String,
    },
    /// Everything stops.
    Halt {
        /// Why.
        reason: String,
    },
}

/// A verdict of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The loop runs again.
    Again {
        /// Why.
        because: Because,
        /// Who orders the request.
        owner: Owner,
    },
    /// The answer is held against the wanted schema.
    Check,
    /// The stop hooks are asked.
    Ask,
    /// The answer waits for background tasks.
    Await,
    /// The run is over.
    Over {
        /// Why.
        because: Because,
        /// How.
        end: Terminal,
    },
}

impl Decide {
    /// A hopeless case on its way out.
    pub(crate) fn over(end: Terminal) -> Room {
        Decide::on(Finding::Over { end })
    }

    /// The turn has come to this.
    pub(crate) fn on(finding: Finding) -> Room {
        Room::Decide(Box::new(Decide { finding }))
    }

    pub(crate) fn pass(self, frame: &mut Frame, out: &mut Out) -> Next {
        match decide(&self.finding, frame) {
            Verdict::Again { because, owner } => {
                again::prepare(&self.finding, because, frame, out);
                Next::go(Room::Absorb(Absorb { owner }), because)
            }
            Verdict::Check => Next::go(Checking::ask(frame, out), Because::OutputWeighed),
            Verdict::Ask => Next::go(Stopping::ask(frame, out), Because::StopAsked),
            Verdict::Await => Next::go(Awaiting::begin(frame, out), Because::TasksAwaited),
            Verdict::Over { because, end } => {
                over::leave(&end, frame, out);
                Next::go(Room::Done(Box::new(Done { terminal: end })), because)
            }
        }
    }
}

/// The decision table. Reads; changes nothing. What stops the turn comes first; then the table; then
/// the breaker that no owner's budget replaces: too many rounds in a row that went wrong.
#[must_use]
pub fn decide(finding: &Finding, frame: &Frame) -> Verdict {
    if let Finding::Over { end } = finding {
        return over(over::cause(end), end.clone());
    }
    match &frame.stop {
        Stop::Halted { reason } => {
            return over(Because::HookHalted, Terminal::HookStopped { reason: reason.clone() });
        }
        Stop::Deferred { call } => {
            return over(Because::CallDeferred, Terminal::ToolDeferred { call: call.clone() });
        }
        Stop::Nothing => {}
    }
    let (limits, used) = (&frame.config.limits, &frame.counters);
    if frame.is_wrapping_up() {
        let (limit, used) = (limits.tool_rounds, used.tool_rounds);
        let end = Terminal::MaxTurns { limit, used, text: frame.answer.text.clone() };
        return over(Because::LimitReached, end);
    }
    let verdict = table(finding, frame);
    let limit = u64::from(limits.anomalies);
    let piled_up = limit > 0 && u64::from(used.anomalies) >= limit;
    match verdict {
        Verdict::Again { because, .. } if piled_up && is_anomaly(finding, because) => {
            let end = Terminal::BudgetExhausted { kind: BudgetKind::Anomalies, limit };
            over(Because::AnomaliesPiledUp, end)
        }
        Verdict::Again { .. }
        | Verdict::Check
        | Verdict::Ask
        | Verdict::Await
        | Verdict::Over { .. } => verdict,
    }
}

fn table(finding: &Finding, frame: &Frame) -> Verdict {
    let (limits, used) = (&frame.config.limits, &frame.counters);
    let text = || frame.answer.text.clone();
    match finding {
        Finding::Over { end } => over(over::cause(end), end.clone()),
        Finding::Results { cut: Cut::OutputLimit }
        | Finding::Unusable { cut: Cut::OutputLimit, .. }
        | Finding::Truncated
            if used.continuations >= limits.continuations =>
        {
            let end = Terminal::OutputLimit { text: text(), continuations: used.continuations };
            over(Because::RepairExhausted, end)
        }
        Finding::Results { cut: Cut::OutputLimit }
        | Finding::Unusable { cut: Cut::OutputLimit, .. }
        | Finding::Truncated => again(Because::Continued, Owner::OutputRepair),
        Finding::Results { cut: Cut::No | Cut::StreamFailed } => match frame.doom.cycle() {
            Some(cycle) if frame.doom.warned => {
                over(Because::DoomProven, Terminal::DoomLoop { cycle })
            }
            Some(_) => again(Because::DoomWarned, Owner::DoomBreaker),
            None => again(Because::MoreWork, Owner::ToolFeedback),
        },
        Finding::Unusable { tool, .. } if used.malformed_streak >= limits.malformed_repairs => {
            let (tool, repairs) = (String::from(&**tool), used.malformed_streak);
            over(Because::RepairExhausted, Terminal::MalformedToolUse { tool, repairs })
        }
        Finding::Unusable { .. } => again(Because::RepairAsked, Owner::OutputRepair),
        Finding::Blank { thinking_only } if used.blank_nudges >= limits.blank_nudges => {
            let (thinking_only, nudges) = (*thinking_only, used.blank_nudges);
            over(Because::RepairExhausted, Terminal::NoVisibleOutput { thinking_only, nudges })
        }
        Finding::Blank { .. } => again(Because::Nudged, Owner::OutputRepair),
        Finding::Paused if used.pauses >= limits.pauses => {
            over(Because::RepairExhausted, Terminal::PauseLimit { pauses: used.pauses })
        }
        Finding::Paused => again(Because::PauseResumed, Owner::OutputRepair),
        Finding::Refused => {
            let end = Terminal::Refused { text: text(), details: frame.answer.details.clone() };
            over(Because::ModelRefused, end)
        }
        Finding::Filtered => {
            let end = Terminal::Filtered { text: text(), details: frame.answer.details.clone() };
            over(Because::ModelRefused, end)
        }
        Finding::InPart { failure } => {
            let end = Terminal::AnsweredInPart { text: text(), failure: failure.clone() };
            over(Because::RecoveryExhausted, end)
        }
        Finding::Said => said(frame),
        Finding::Checked(verdict) => checked(verdict, frame),
        Finding::Hooks(verdict) => hooks_said(verdict, frame),
        Finding::Overdue => answered(frame),
    }
}

/// The answer is there. The guard comes first: it may still want a call. Then whoever has said more,
/// then the wanted shape, then the hooks, then the tasks that still run.
fn said(frame: &Frame) -> Verdict {
    match standing(frame) {
        Standing::Remind(_) => again(Because::GuardReminded, Owner::LoopGuard),
        Standing::Clear | Standing::Exhausted(_) if !frame.inbox.is_empty() => more(frame),
        Standing::Exhausted(missing) => {
            let text = frame.answer.text.clone();
            over(Because::GuardExhausted, Terminal::RequiredToolMissing { missing, text })
        }
        Standing::Clear if !frame.config.output_schema.is_empty() => Verdict::Check,
        Standing::Clear => stands(frame),
    }
}

fn checked(verdict: &OutputVerdict, frame: &Frame) -> Verdict {
    let (limit, retries) =
        (frame.config.limits.structured_retries, frame.counters.structured_retries);
    match verdict {
        OutputVerdict::Fits if !frame.inbox.is_empty() => more(frame),
        OutputVerdict::Fits => stands(frame),
        OutputVerdict::Misfits { .. } if retries < limit => {
            again(Because::OutputMisfit, Owner::OutputRepair)
        }
        OutputVerdict::Misfits { problem, .. } => {
            let (text, problem) = (frame.answer.text.clone(), problem.clone());
            let end = Terminal::StructuredOutputInvalid { text, problem, retries };
            over(Because::RepairExhausted, end)
        }
    }
}

fn hooks_said(verdict: &HookVerdict, frame: &Frame) -> Verdict {
    let (limit, used) = (frame.config.limits.stop_hook_blocks, frame.counters.hook_blocks);
    match verdict {
        HookVerdict::Halt { reason } => {
            over(Because::HookHalted, Terminal::HookStopped { reason: reason.clone() })
        }
        HookVerdict::GoOn { feedback, .. } if used >= limit && frame.inbox.is_empty() => {
            let (last_feedback, text) = (feedback.clone(), frame.answer.text.clone());
            over(Because::LimitReached, Terminal::StopHookLimit { limit, last_feedback, text })
        }
        // Somebody has said more: that keeps the turn going, and the user's words open a new budget.
        HookVerdict::GoOn { .. } if used >= limit => more(frame),
        HookVerdict::GoOn { .. } => again(Because::HookBlocked, Owner::HookReentry),
        HookVerdict::Allow if !frame.inbox.is_empty() => more(frame),
        HookVerdict::Allow => settled(frame),
    }
}

/// Queued words keep the turn going: the user's, or the report of a background task.
fn more(frame: &Frame) -> Verdict {
    if frame.inbox.iter().any(|waiting| waiting.origin.is_user()) {
        again(Because::Steered, Owner::UserInput)
    } else {
        again(Because::TaskReported, Owner::Supervisor)
    }
}

/// The answer has the wanted shape: the hooks may object.
fn stands(frame: &Frame) -> Verdict {
    if frame.hooks_in_force(HookPoint::Stop).is_empty() { settled(frame) } else { Verdict::Ask }
}

/// Nobody objects: background tasks may still be waited for.
fn settled(frame: &Frame) -> Verdict {
    let waits = frame.config.policy.tasks == Tasks::Wait && !frame.tasks.is_empty();
    if waits { Verdict::Await } else { answered(frame) }
}

fn answered(frame: &Frame) -> Verdict {
    let (text, stop) = (frame.answer.text.clone(), frame.answer.stop.clone());
    over(Because::GoalReached, Terminal::Answered { text, stop })
}

fn again(because: Because, owner: Owner) -> Verdict {
    Verdict::Again { because, owner }
}

fn over(because: Because, end: Terminal) -> Verdict {
    Verdict::Over { because, end }
}

/// Whether the loop goes on because something went wrong.
fn is_anomaly(finding: &Finding, because: Because) -> bool {
    let sealed = matches!(finding, Finding::Results { cut: Cut::StreamFailed });
    let repaired = matches!(because, Because::RepairAsked | Because::Nudged | Because::DoomWarned);
    sealed || repaired
}
