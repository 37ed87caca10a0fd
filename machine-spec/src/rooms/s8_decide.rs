//! Room 8, Decide: again, or over? A pure table over the findings of the turn. Only this room leads
//! to Done. Doors: Absorb, Stopping, Done.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::s7_feedback::Cut;
use super::{Absorb, Done, Next, Out, Room, Stopping};
use crate::because::{Because, Owner};
use crate::effect::{Effect, Notice, OutputFault};
use crate::frame::Frame;
use crate::ids::{HookId, RuleId};
use crate::message::Origin;
use crate::model::Failure;
use crate::planted::{Defect, active};
use crate::terminal::Terminal;
use crate::wording;

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
    /// The stop hooks have answered.
    Hooks(HookVerdict),
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
    /// The stop hooks are asked.
    Ask,
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
                prepare(&self.finding, because, frame, out);
                Next::go(Room::Absorb(Absorb { owner }), because)
            }
            Verdict::Ask => Next::go(Stopping::ask(frame, out), Because::StopAsked),
            Verdict::Over { because, end } => {
                let unread: Vec<String> = frame.inbox.drain(..).map(|said| said.text).collect();
                if !unread.is_empty() && !active(Defect::LosesWords) {
                    out.emit(Effect::Notify(Notice::InputReturned { texts: unread }));
                }
                if active(Defect::FinishesTwice) {
                    out.emit(Effect::Finish(end.clone()));
                }
                out.emit(Effect::Finish(end.clone()));
                Next::go(Room::Done(Box::new(Done { terminal: end })), because)
            }
        }
    }
}

/// The decision table. Reads; changes nothing.
#[must_use]
pub fn decide(finding: &Finding, frame: &Frame) -> Verdict {
    let (limits, used) = (&frame.config.limits, &frame.counters);
    let text = || frame.answer.text.clone();
    match finding {
        Finding::Over { end } => over(over_cause(end), end.clone()),
        Finding::Results { cut: Cut::OutputLimit } | Finding::Truncated
            if used.continuations >= limits.continuations =>
        {
            let end = Terminal::OutputLimit { text: text(), continuations: used.continuations };
            over(Because::RepairExhausted, end)
        }
        Finding::Unusable { cut: Cut::OutputLimit, .. }
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
            let repairs = used.malformed_streak;
            over(
                Because::RepairExhausted,
                Terminal::MalformedToolUse { tool: String::from(&**tool), repairs },
            )
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
        Finding::Refused => over(Because::ModelRefused, Terminal::Refused { text: text() }),
        Finding::Filtered => over(Because::ModelRefused, Terminal::Filtered { text: text() }),
        Finding::InPart { failure } => {
            let end = Terminal::AnsweredInPart { text: text(), failure: failure.clone() };
            over(Because::RecoveryExhausted, end)
        }
        Finding::Said => said(frame),
        Finding::Hooks(verdict) => hooks_said(verdict, frame),
    }
}

/// The answer is there. The guard comes first: it may still want a call. Then the user, who may
/// have said more. Then the hooks, who may object.
fn said(frame: &Frame) -> Verdict {
    match guard_standing(frame) {
        GuardStanding::Remind(_) => again(Because::GuardReminded, Owner::LoopGuard),
        GuardStanding::Clear | GuardStanding::Exhausted(_) if !frame.inbox.is_empty() => {
            again(Because::Steered, Owner::UserInput)
        }
        GuardStanding::Exhausted(missing) => {
            let text = frame.answer.text.clone();
            over(Because::GuardExhausted, Terminal::RequiredToolMissing { missing, text })
        }
        GuardStanding::Clear if frame.hooks_in_force().next().is_some() => Verdict::Ask,
        GuardStanding::Clear => answered(frame),
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
        // The user has said more: that keeps the turn going and opens a new budget.
        HookVerdict::GoOn { .. } if used >= limit => again(Because::Steered, Owner::UserInput),
        HookVerdict::GoOn { .. } => again(Because::HookBlocked, Owner::HookReentry),
        HookVerdict::Allow if !frame.inbox.is_empty() => again(Because::Steered, Owner::UserInput),
        HookVerdict::Allow => answered(frame),
    }
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

fn over_cause(end: &Terminal) -> Because {
    match end {
        Terminal::Interrupted { .. } => Because::Interrupted,
        Terminal::MaxTurns { .. } | Terminal::BudgetExhausted { .. } => Because::LimitReached,
        Terminal::ContextExhausted { .. } => Because::OverBudget,
        Terminal::CompactionThrash { .. } => Because::CompactionUseless,
        Terminal::RateLimited { .. } | Terminal::ProviderFailed { .. } => {
            Because::RecoveryExhausted
        }
        Terminal::Answered { .. } => Because::GoalReached,
        Terminal::AnsweredInPart { .. } => Because::RecoveryExhausted,
        Terminal::RequiredToolMissing { .. } => Because::GuardExhausted,
        Terminal::StopHookLimit { .. } => Because::LimitReached,
        Terminal::HookStopped { .. } => Because::HookHalted,
        Terminal::MalformedToolUse { .. }
        | Terminal::NoVisibleOutput { .. }
        | Terminal::OutputLimit { .. }
        | Terminal::PauseLimit { .. } => Because::RepairExhausted,
        Terminal::DoomLoop { .. } => Because::DoomProven,
        Terminal::Refused { .. } | Terminal::Filtered { .. } | Terminal::ConfigRefused { .. } => {
            Because::ModelRefused
        }
    }
}

/// Where the loop guard stands.
enum GuardStanding {
    /// Nothing is missing.
    Clear,
    /// This rule misses something and has reminders left.
    Remind(RuleId),
    /// These tools are missing and no rule has reminders left.
    Exhausted(Vec<String>),
}

fn guard_standing(frame: &Frame) -> GuardStanding {
    let mut missing = Vec::new();
    for active in &frame.guard.active {
        let tools = frame.missing(active.rule);
        if !tools.is_empty() && active.reminders < frame.config.limits.guard_retries {
            return GuardStanding::Remind(active.rule);
        }
        for tool in tools {
            if !missing.contains(&tool) {
                missing.push(tool);
            }
        }
    }
    if missing.is_empty() { GuardStanding::Clear } else { GuardStanding::Exhausted(missing) }
}

/// Counts the repetition for its owner and says to the model what it must know.
fn prepare(finding: &Finding, because: Because, frame: &mut Frame, out: &mut Out) {
    match finding {
        Finding::Results { cut } | Finding::Unusable { cut, .. } => match cut {
            Cut::OutputLimit => {
                frame.counters.continuations += 1;
                ask(OutputFault::Truncated, frame.counters.continuations, out);
                frame.say(Origin::Continuation, wording::CUT_CALL);
            }
            Cut::StreamFailed => frame.say(Origin::Repair, wording::STREAM_FAILED),
            Cut::No => {}
        },
        Finding::Truncated => {
            frame.counters.continuations += 1;
            ask(OutputFault::Truncated, frame.counters.continuations, out);
            frame.say(Origin::Continuation, wording::GO_ON);
        }
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
        Finding::Said => frame.answer.text.clear(),
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
        Finding::Refused | Finding::Filtered | Finding::InPart { .. } | Finding::Over { .. } => {}
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
        && let GuardStanding::Remind(rule) = guard_standing(frame)
    {
        remind(rule, frame, out);
    }
}

fn ask(fault: OutputFault, n: u32, out: &mut Out) {
    out.emit(Effect::Notify(Notice::RepairAsked { fault, n }));
}

fn remind(rule: RuleId, frame: &mut Frame, out: &mut Out) {
    let missing = frame.missing(rule);
    let mut n = 0;
    for active in frame.guard.active.iter_mut().filter(|active| active.rule == rule) {
        active.reminders += 1;
        n = active.reminders;
    }
    let tool = missing.first().cloned().unwrap_or_default();
    frame.say(Origin::Guard, wording::guard_reminder(&missing));
    out.emit(Effect::Notify(Notice::GuardReminded { rule, tool, n }));
}
