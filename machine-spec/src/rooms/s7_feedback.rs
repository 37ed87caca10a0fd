//! Room 7, Feedback: is every call answered? Results are filed in call order, whatever the order of
//! completion (T3). Door: Decide.

use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Decide, Finding, Next, Out, RoomKind};
use crate::because::Because;
use crate::board::Board;
use crate::frame::Frame;
use crate::input::InterruptedBy;
use crate::message::{CallResult, Entry, NotStarted, Outcome};
use crate::terminal::Terminal;

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
    pub(crate) fn pass(self, frame: &mut Frame, _: &mut Out) -> Next {
        frame.doom.note(&self.board.slots);
        let results = self.board.into_results();
        note_successes(&results, frame);
        let usable = results.iter().any(|result| is_usable(&result.outcome));
        let tool = results.last().map(|result| result.name.clone()).unwrap_or_default();
        let (settled, unknown) = count_truths(&results);
        if !results.is_empty() {
            frame.append(Entry::Results(results));
        }
        let cut = match self.end {
            RoundEnd::Whole => Cut::No,
            RoundEnd::Truncated => Cut::OutputLimit,
            RoundEnd::Sealed => Cut::StreamFailed,
            RoundEnd::Interrupted { by, during } => {
                let end = Terminal::Interrupted { by, during, settled, unknown };
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
        Next::go(Decide::on(finding), Because::ResultsFiled)
    }
}

/// Only a successful call satisfies a requirement (Part 7, decision 8).
fn note_successes(results: &[CallResult], frame: &mut Frame) {
    for result in results.iter().filter(|result| result.outcome.is_success()) {
        let required = frame
            .config
            .rules
            .iter()
            .any(|rule| rule.tools.iter().any(|tool| **tool == *result.name));
        if required {
            frame.guard.succeeded.insert(Arc::clone(&result.name));
        }
    }
}

/// Whether a call was more than a mistake of the model: it passed the gate.
fn is_usable(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Refused { .. } => false,
        Outcome::NotStarted { why } => match why {
            // A cut call is neither usable nor malformed (B014).
            NotStarted::OutputLimit | NotStarted::Interrupted => false,
            // The calls before it were fine; it is the cycle that is judged, not the call.
            NotStarted::DoomLoop => true,
        },
        Outcome::Succeeded { .. }
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
            Outcome::Succeeded { .. } | Outcome::Failed { .. } | Outcome::TimedOut { .. } => {
                settled += 1;
            }
            Outcome::Unknown { .. } => unknown += 1,
            Outcome::NotStarted { .. } | Outcome::Refused { .. } => {}
        }
    }
    (settled, unknown)
}
