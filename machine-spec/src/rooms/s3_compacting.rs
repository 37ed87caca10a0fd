//! Alcove of room 3, Compacting: what came back? The head becomes a summary; a failure leaves the
//! view as it was, byte for byte (T11). Doors: View, Govern, Decide.

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::s3_govern::{Pressure, exhausted, request_tokens};
use super::{Answer, BuildView, Decide, Govern, Next, Out, Refused, Room};
use crate::because::{Because, Owner};
use crate::compact::{Cut, ORIGIN, boundary_text, lost_task};
use crate::effect::{Effect, Notice};
use crate::frame::Frame;
use crate::ids::EffectId;
use crate::input::Compaction;
use crate::message::{Boundary, BoundaryKind, Entry, Said};
use crate::terminal::Terminal;
use crate::view::View;

/// A summary shorter than this many characters is a failure.
const SHORTEST_SUMMARY: usize = 20;

/// What came back?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Compacting {
    /// The order that is waited for.
    pub id: EffectId,
    /// Who ordered the request that waits for it.
    pub owner: Owner,
    /// Why it is compacted.
    pub pressure: Pressure,
    /// Entries that stay visible behind the cut.
    pub kept: u32,
    /// Visible entries before it.
    pub dropped: u32,
}

impl Compacting {
    pub(crate) fn answer(
        self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        match answer {
            Answer::Compacted(result) => {
                frame.close(self.id);
                Ok(match result {
                    Compaction::Summarised { text } if text.chars().count() >= SHORTEST_SUMMARY => {
                        self.summarised(&text, frame, out)
                    }
                    Compaction::Summarised { text } => {
                        let length = text.chars().count();
                        self.failed(format!("a summary of {length} characters"), frame, out)
                    }
                    Compaction::Failed { problem } => self.failed(problem, frame, out),
                })
            }
            Answer::ModelSaid(_)
            | Answer::ModelClosed(_)
            | Answer::ToolReturned(..)
            | Answer::HookAnswered(..)
            | Answer::TimerFired => Err(Refused::wrong(Room::Compacting(self))),
        }
    }

    fn summarised(self, summary: &str, frame: &mut Frame, out: &mut Out) -> Next {
        let before = request_tokens(&View::of(&frame.transcript), frame);
        let cut = Cut { kept: self.kept, dropped: self.dropped };
        place_boundary(summary, BoundaryKind::Summarised, cut, frame);
        let after = request_tokens(&View::of(&frame.transcript), frame);
        out.emit(Effect::Notify(Notice::Compacted { before, after, dropped: self.dropped }));
        let state = &mut frame.compactions;
        let at_once = state.done > 0 && frame.counters.responses.saturating_sub(state.last_at) <= 1;
        state.refills = if at_once { state.refills + 1 } else { 0 };
        state.done += 1;
        state.failures = 0;
        state.last_at = frame.counters.responses;
        // Less than a twentieth saved is no progress (B026).
        let shrank = after.saturating_mul(20) <= before.saturating_mul(19);
        if !shrank || state.refills >= frame.config.limits.rapid_refills {
            let end = Terminal::CompactionThrash { before, after };
            return Next::go(Decide::over(end), Because::CompactionUseless);
        }
        let view = BuildView { owner: Owner::ContextCompact, pressure: Pressure::None };
        Next::go(Room::View(view), Because::Compacted)
    }

    fn failed(self, problem: String, frame: &mut Frame, out: &mut Out) -> Next {
        frame.compactions.failures += 1;
        out.emit(Effect::Notify(Notice::CompactionFailed { problem: problem.clone() }));
        match self.pressure {
            Pressure::Overflow { failure } => {
                let end = exhausted(&failure, problem, frame);
                Next::go(Decide::over(end), Because::CompactionFailed)
            }
            Pressure::None | Pressure::GaveUp => {
                let view = View::of(&frame.transcript);
                let govern = Govern { owner: self.owner, view, pressure: Pressure::GaveUp };
                Next::go(Room::Govern(govern), Because::CompactionFailed)
            }
        }
    }
}

/// Puts a boundary at the end of the transcript.
pub(super) fn place_boundary(summary: &str, kind: BoundaryKind, cut: Cut, frame: &mut Frame) {
    let task = lost_task(&frame.transcript, cut.kept);
    let said = Said::words(ORIGIN, boundary_text(summary, task));
    let Cut { kept, dropped } = cut;
    frame.append(Entry::Boundary(Boundary { said, kind, kept, dropped }));
}
