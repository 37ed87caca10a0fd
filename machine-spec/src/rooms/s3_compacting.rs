//! Alcove of room 3, Compacting: what came back? The head becomes a summary; a failure leaves the
//! view as it was, byte for byte (T11). A head that is too long for the model that sums it up is
//! tried again shorter, from its oldest side (B026). Doors: View, Govern, Compacting, Decide.

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::s3_govern::{Pressure, exhausted};
use super::{Answer, BuildView, Decide, Govern, Next, Out, Refused, Room};
use crate::because::{Because, Owner};
use crate::compact::{Cut, ORIGIN, boundary_text, head, lost_task};
use crate::effect::{Effect, EffectKind, Notice};
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
    /// What is compacted, and for whom.
    pub order: Order,
    /// How often the head was shortened.
    pub trims: u32,
}

/// A compaction, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Order {
    /// Who ordered the request that waits for it.
    pub owner: Owner,
    /// Why it is compacted.
    pub pressure: Pressure,
    /// Entries that stay visible behind the cut.
    pub kept: u32,
    /// Visible entries before it.
    pub dropped: u32,
}

impl Order {
    /// Whether the provider refused the view already.
    pub(super) fn is_overflow(&self) -> bool {
        match self.pressure {
            Pressure::Overflow { .. } => true,
            Pressure::None | Pressure::GaveUp => false,
        }
    }

    /// Goes on without it: the request is weighed again as it is, or the provider's error, withheld
    /// until now, surfaces.
    pub(super) fn give_up(self, reason: String, because: Because, frame: &Frame) -> Next {
        match self.pressure {
            Pressure::Overflow { failure } => {
                Next::go(Decide::over(exhausted(&failure, reason, frame)), because)
            }
            Pressure::None | Pressure::GaveUp => {
                let view = View::of(&frame.transcript);
                let govern = Govern { owner: self.owner, view, pressure: Pressure::GaveUp };
                Next::go(Room::Govern(govern), because)
            }
        }
    }
}

impl Compacting {
    pub(super) fn enter(order: Order, because: Because, frame: &mut Frame, out: &mut Out) -> Next {
        let id = ask(head(frame, order.kept, 0), frame, out);
        Next::go(Room::Compacting(Compacting { id, order, trims: 0 }), because)
    }

    pub(crate) fn answer(
        self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        let Answer::Compacted(result) = answer else {
            return Err(Refused::wrong(Room::Compacting(self)));
        };
        frame.close(self.id);
        Ok(match result {
            Compaction::Summarised { text, archive } => {
                let length = text.chars().count();
                if length >= SHORTEST_SUMMARY {
                    return Ok(self.summarised(&text, &archive, frame, out));
                }
                self.failed(format!("a summary of {length} characters"), frame, out)
            }
            Compaction::TooLong { problem } => self.too_long(problem, frame, out),
            Compaction::Failed { problem } => self.failed(problem, frame, out),
        })
    }

    /// Shorter by whole rounds from the oldest side, as often as the limit lets it.
    fn too_long(self, problem: String, frame: &mut Frame, out: &mut Out) -> Next {
        let trims = self.trims + 1;
        if trims > frame.config.limits.head_trims {
            return self.failed(problem, frame, out);
        }
        let shorter = head(frame, self.order.kept, trims);
        if shorter.entries >= head(frame, self.order.kept, self.trims).entries {
            return self.failed(problem, frame, out);
        }
        let id = ask(shorter, frame, out);
        let room = Compacting { id, order: self.order, trims };
        Next::go(Room::Compacting(room), Because::HeadShortened)
    }

    fn summarised(self, summary: &str, archive: &str, frame: &mut Frame, out: &mut Out) -> Next {
        let Order { kept, dropped, .. } = self.order;
        // Both by the same measure: what the provider counted is about the view before.
        let before = frame.estimate(&frame.transcript);
        let text = if archive.is_empty() {
            String::from(summary)
        } else {
            format!("{summary}\n\nThe whole of it is kept at {archive}.")
        };
        place_boundary(&text, BoundaryKind::Summarised, Cut { kept, dropped }, frame);
        let after = frame.estimate(&frame.transcript);
        out.emit(Effect::Notify(Notice::Compacted { before, after, dropped }));
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
        self.order.give_up(problem, Because::CompactionFailed, frame)
    }
}

fn ask(head: View, frame: &mut Frame, out: &mut Out) -> EffectId {
    let id = frame.open(EffectKind::Compact);
    let by = frame.config.policy.compact;
    out.emit(Effect::Compact { id, head, by });
    id
}

/// Puts a boundary at the end of the transcript. What the provider counted less than we did was
/// another conversation; what it counted more is a measure of our estimate.
pub(super) fn place_boundary(summary: &str, kind: BoundaryKind, cut: Cut, frame: &mut Frame) {
    let task = lost_task(&frame.transcript, cut.kept);
    let said = Said::words(ORIGIN, boundary_text(summary, task));
    let Cut { kept, dropped } = cut;
    frame.gauge = frame.gauge.filter(|gauge| gauge.reported > gauge.estimated);
    frame.sweep.max_output = None;
    frame.append(Entry::Boundary(Boundary { said, kind, kept, dropped }));
}
