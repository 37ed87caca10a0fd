//! Room 7, Feedback: is every call answered? Results are filed in call order, whatever the order of
//! completion (T3). Doors: Decide, Reviewing.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Decide, Finding, Next, Out, Reviewing, RoomKind};
use crate::because::Because;
use crate::board::Board;
use crate::frame::Frame;
use crate::ids::CallId;
use crate::input::InterruptedBy;
use crate::message::{CallResult, Entry, GateRefusal, NotStarted, Origin, Outcome};
use crate::terminal::{BudgetKind, Terminal};
use crate::wording;

/// Is every call answered?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Feedback {
    /// The calls, all settled.
    pub board: Board,
    /// How the response ended.
    pub end: RoundEnd,
}

/// How the response ended whose calls are answered here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundEnd {
    /// It was whole.
    Whole,
    /// The output limit cut it.
    Truncated,
    /// Its stream died after a call had started or was complete.
    Sealed,
    /// The run was interrupted.
    Interrupted {
        /// By whom.
        by: InterruptedBy,
        /// Where.
        during: RoomKind,
    },
}

/// What cut a response whose calls were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Nothing.
    No,
    /// The output limit.
    OutputLimit,
    /// Its stream.
    StreamFailed,
}

impl Feedback {
    pub(crate) fn pass(self, frame: &mut Frame, out: &mut Out) -> Next {
        // The calls of a message that was cut come again because it was cut (B014).
        if self.end != RoundEnd::Truncated {
            frame.doom.note(&self.board.slots);
        }
        let (mut results, resumed) = (Vec::new(), self.board.resumed);
        for (result, lacks) in self.board.into_results() {
            if result.outcome.is_success() {
                frame.note_success(&result.name, &lacks);
            }
            results.push(result);
        }
        let usable = results.iter().any(|result| is_usable(&result.outcome));
        let tool = results.last().map(|result| result.name.clone()).unwrap_or_default();
        let (settled, unknown) = count_truths(&results);
        let calls: Vec<CallId> = results.iter().map(|result| result.call).collect();
        file(results, resumed, frame);
        let cut = match self.end {
            RoundEnd::Whole => Cut::No,
            RoundEnd::Truncated => Cut::OutputLimit,
            RoundEnd::Sealed => Cut::StreamFailed,
            RoundEnd::Interrupted { by, during } => {
                let end = interrupted(by, during, settled, unknown, frame);
                return Next::go(Decide::over(end), Because::ResultsFiled);
            }
        };
        let finding = if usable {
            frame.counters.tool_rounds += 1;
            frame.counters.malformed_streak = 0;
            Finding::Results { cut }
        } else {
            Finding::Unusable { cut, tool }
        };
        Reviewing::enter(finding, calls, frame, out)
    }
}

/// The results stand behind their reply. A call that an earlier run left pending has its answer
/// there already, so how it went comes as a notification.
fn file(results: Vec<CallResult>, resumed: bool, frame: &mut Frame) {
    if resumed {
        for result in &results {
            frame.say(Origin::Notification, wording::deferred_report(result));
        }
    } else if !results.is_empty() {
        frame.append(Entry::Results(results));
    }
}

/// The machine's own timer ends a run like an interrupt, but that is no one's wish: it is a budget.
fn interrupted(
    by: InterruptedBy,
    during: RoomKind,
    settled: u32,
    unknown: u32,
    frame: &Frame,
) -> Terminal {
    match by {
        InterruptedBy::User | InterruptedBy::Parent | InterruptedBy::Shutdown => {
            Terminal::Interrupted { by, during, settled, unknown }
        }
        InterruptedBy::TimeLimit => {
            let (kind, limit) = (BudgetKind::Time, frame.config.limits.wall_ms);
            Terminal::BudgetExhausted { kind, limit }
        }
    }
}

/// Whether a call was more than a mistake of the model: it passed the gate.
fn is_usable(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Refused { why } => match why {
            GateRefusal::UnknownTool { .. }
            | GateRefusal::OutOfScope
            | GateRefusal::MalformedArgs { .. }
            | GateRefusal::InvalidArgs { .. } => false,
            // Nothing is wrong with the call; it may just not run, or not now.
            GateRefusal::Denied { .. }
            | GateRefusal::OutOfOrder { .. }
            | GateRefusal::TooManyTasks { .. }
            | GateRefusal::TooDeep { .. } => true,
        },
        Outcome::NotStarted { why } => match why {
            // A cut call is neither usable nor malformed (B014).
            NotStarted::OutputLimit | NotStarted::Interrupted => false,
            // The calls before it were fine; it is the cycle that is judged, not the call.
            NotStarted::DoomLoop
            | NotStarted::BatchDenied
            | NotStarted::Halted
            | NotStarted::Deferred => true,
        },
        Outcome::Acknowledged { .. }
        | Outcome::Partial { .. }
        | Outcome::NotApproved { .. }
        | Outcome::Succeeded { .. }
        | Outcome::Failed { .. }
        | Outcome::TimedOut { .. }
        | Outcome::Unknown { .. } => true,
    }
}

/// Of the calls that were started: how many have a real result, and of how many nobody knows.
fn count_truths(results: &[CallResult]) -> (u32, u32) {
    let (mut settled, mut unknown) = (0, 0);
    for result in results {
        match result.outcome {
            Outcome::Succeeded { .. }
            | Outcome::Failed { .. }
            | Outcome::TimedOut { .. }
            | Outcome::Partial { .. } => settled += 1,
            Outcome::Unknown { .. } => unknown += 1,
            Outcome::Acknowledged { .. }
            | Outcome::NotApproved { .. }
            | Outcome::NotStarted { .. }
            | Outcome::Refused { .. } => {}
        }
    }
    (settled, unknown)
}
