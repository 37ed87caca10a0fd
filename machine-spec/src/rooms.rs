//! The rooms: one enum, one kind, one exhaustive dispatch.
//!
//! A room passes or waits, never both. Passing rooms take no input; waiting rooms take one. Both
//! are consumed: what a room does not hand on is gone.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::because::Because;
use crate::effect::Effect;
use crate::frame::Frame;
use crate::ids::EffectId;
use crate::input::{Compaction, HookAnswer, InputKind, InterruptedBy, ToolReport};
use crate::model::{Closure, ModelEvent, closed_enum};
use crate::rejection::Cause;

mod s0_idle;
mod s1_absorb;
mod s2_view;
mod s3_compacting;
mod s3_govern;
mod s4_freeze;
mod s5_backoff;
mod s5_parse;
mod s5_recover;
mod s6_batch;
mod s6_gate;
mod s6_settling;
mod s7_feedback;
pub mod s8_decide;
mod s8_stopping;
mod s9_done;

pub use s0_idle::Idle;
pub use s1_absorb::Absorb;
pub use s2_view::BuildView;
pub use s3_compacting::Compacting;
pub use s3_govern::{Govern, Pressure};
pub use s4_freeze::Freeze;
pub use s5_backoff::Backoff;
pub use s5_parse::Parse;
pub use s5_recover::Recover;
pub use s6_batch::Batch;
pub use s6_gate::Gate;
pub use s6_settling::Settling;
pub use s7_feedback::{Feedback, RoundEnd};
pub use s8_decide::{Decide, Finding};
pub use s8_stopping::Stopping;
pub use s9_done::Done;

/// The room a run stands in, with what that room alone must know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// Nothing was said yet.
    Idle(Idle),
    /// s1: what is new?
    Absorb(Absorb),
    /// s2: what does the model see?
    View(BuildView),
    /// s3: does it fit?
    Govern(Govern),
    /// s3, alcove: what came back?
    Compacting(Compacting),
    /// s4: with what exactly?
    Freeze(Freeze),
    /// s5: what did it say?
    Parse(Box<Parse>),
    /// s5, alcove: whose failure is it?
    Recover(Box<Recover>),
    /// s5, alcove: is it time?
    Backoff(Backoff),
    /// s6, alcove: may it run?
    Gate(Gate),
    /// s6: what must run, in which order?
    Batch(Batch),
    /// s6, alcove: what became of what was running?
    Settling(Settling),
    /// s7: is every call answered?
    Feedback(Feedback),
    /// s8: again, or over?
    Decide(Box<Decide>),
    /// s8, alcove: does anybody object?
    Stopping(Stopping),
    /// The run is over.
    Done(Box<Done>),
}

closed_enum! {
    /// The bare kinds of rooms, in the order of an iteration. Alcoves follow their room.
    RoomKind {
        /// See [`Room::Idle`].
        Idle = "idle",
        /// See [`Room::Absorb`].
        Absorb = "absorb",
        /// See [`Room::View`].
        View = "view",
        /// See [`Room::Govern`].
        Govern = "govern",
        /// See [`Room::Compacting`].
        Compacting = "compacting",
        /// See [`Room::Freeze`].
        Freeze = "freeze",
        /// See [`Room::Parse`].
        Parse = "parse",
        /// See [`Room::Recover`].
        Recover = "recover",
        /// See [`Room::Backoff`].
        Backoff = "backoff",
        /// See [`Room::Gate`].
        Gate = "gate",
        /// See [`Room::Batch`].
        Batch = "batch",
        /// See [`Room::Settling`].
        Settling = "settling",
        /// See [`Room::Feedback`].
        Feedback = "feedback",
        /// See [`Room::Decide`].
        Decide = "decide",
        /// See [`Room::Stopping`].
        Stopping = "stopping",
        /// See [`Room::Done`].
        Done = "done",
    }
}

impl RoomKind {
    /// Whether the room waits for an input; the others are walked through.
    #[must_use]
    pub const fn waits(self) -> bool {
        match self {
            RoomKind::Idle
            | RoomKind::Compacting
            | RoomKind::Parse
            | RoomKind::Backoff
            | RoomKind::Batch
            | RoomKind::Settling
            | RoomKind::Stopping
            | RoomKind::Done => true,
            RoomKind::Absorb
            | RoomKind::View
            | RoomKind::Govern
            | RoomKind::Freeze
            | RoomKind::Recover
            | RoomKind::Gate
            | RoomKind::Feedback
            | RoomKind::Decide => false,
        }
    }

    /// What the room is welcome to hear.
    #[must_use]
    pub const fn welcomes(self) -> &'static [InputKind] {
        use InputKind::{
            Compacted, HookAnswered, Interrupted, ModelClosed, ModelSaid, TimerFired, ToolReturned,
            UserSaid,
        };
        match self {
            RoomKind::Idle => &[UserSaid, Interrupted],
            RoomKind::Compacting => &[UserSaid, Interrupted, Compacted],
            RoomKind::Parse => &[UserSaid, Interrupted, ModelSaid, ModelClosed, ToolReturned],
            RoomKind::Backoff => &[UserSaid, Interrupted, TimerFired],
            RoomKind::Batch => &[UserSaid, Interrupted, ToolReturned],
            RoomKind::Settling => &[UserSaid, Interrupted, ToolReturned, TimerFired],
            RoomKind::Stopping => &[UserSaid, Interrupted, HookAnswered],
            RoomKind::Absorb
            | RoomKind::View
            | RoomKind::Govern
            | RoomKind::Freeze
            | RoomKind::Recover
            | RoomKind::Gate
            | RoomKind::Feedback
            | RoomKind::Decide
            | RoomKind::Done => &[],
        }
    }
}

/// An answer to a live effect, as a waiting room takes it.
pub(crate) enum Answer {
    ModelSaid(ModelEvent),
    ModelClosed(Closure),
    ToolReturned(EffectId, ToolReport),
    Compacted(Compaction),
    HookAnswered(EffectId, HookAnswer),
    TimerFired,
}

/// Where to go next. Built only by `go` and `stay`.
pub(crate) struct Next {
    pub(crate) room: Room,
    pub(crate) door: Option<Because>,
}

impl Next {
    pub(crate) fn go(room: Room, because: Because) -> Next {
        Next { room, door: Some(because) }
    }

    pub(crate) fn stay(room: Room) -> Next {
        Next { room, door: None }
    }
}

/// A refusal by a room; the room comes back as it was.
pub(crate) struct Refused {
    pub(crate) room: Room,
    pub(crate) cause: Cause,
}

impl Refused {
    /// An answer this room does not wait for. It cannot happen while the ledger is right, and is
    /// refused like any other input that does not fit.
    pub(crate) fn wrong(room: Room) -> Refused {
        Refused { room, cause: Cause::WrongRoom }
    }
}

/// Where a room puts its orders. It can do one thing.
#[derive(Default)]
pub(crate) struct Out {
    pub(crate) effects: Vec<Effect>,
}

impl Out {
    pub(crate) fn emit(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}

impl Room {
    /// The kind of this room.
    #[must_use]
    pub const fn kind(&self) -> RoomKind {
        match self {
            Room::Idle(_) => RoomKind::Idle,
            Room::Absorb(_) => RoomKind::Absorb,
            Room::View(_) => RoomKind::View,
            Room::Govern(_) => RoomKind::Govern,
            Room::Compacting(_) => RoomKind::Compacting,
            Room::Freeze(_) => RoomKind::Freeze,
            Room::Parse(_) => RoomKind::Parse,
            Room::Recover(_) => RoomKind::Recover,
            Room::Backoff(_) => RoomKind::Backoff,
            Room::Gate(_) => RoomKind::Gate,
            Room::Batch(_) => RoomKind::Batch,
            Room::Settling(_) => RoomKind::Settling,
            Room::Feedback(_) => RoomKind::Feedback,
            Room::Decide(_) => RoomKind::Decide,
            Room::Stopping(_) => RoomKind::Stopping,
            Room::Done(_) => RoomKind::Done,
        }
    }

    /// Walks through a passing room; a waiting room stays.
    pub(crate) fn pass(self, frame: &mut Frame, out: &mut Out) -> Next {
        match self {
            Room::Absorb(room) => room.pass(frame, out),
            Room::View(room) => room.pass(frame, out),
            Room::Govern(room) => room.pass(frame, out),
            Room::Freeze(room) => room.pass(frame, out),
            Room::Recover(room) => room.pass(frame, out),
            Room::Gate(room) => room.pass(frame, out),
            Room::Feedback(room) => room.pass(frame, out),
            Room::Decide(room) => room.pass(frame, out),
            Room::Idle(_)
            | Room::Compacting(_)
            | Room::Parse(_)
            | Room::Backoff(_)
            | Room::Batch(_)
            | Room::Settling(_)
            | Room::Stopping(_)
            | Room::Done(_) => Next::stay(self),
        }
    }

    /// Hands an answer to a live effect to the room that waits for it.
    pub(crate) fn answer(
        self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        match self {
            Room::Compacting(room) => room.answer(answer, frame, out),
            Room::Parse(room) => room.answer(answer, frame, out),
            Room::Backoff(room) => room.answer(answer, frame, out),
            Room::Batch(room) => room.answer(answer, frame, out),
            Room::Settling(room) => room.answer(answer, frame, out),
            Room::Stopping(room) => room.answer(answer, frame, out),
            Room::Idle(_)
            | Room::Absorb(_)
            | Room::View(_)
            | Room::Govern(_)
            | Room::Freeze(_)
            | Room::Recover(_)
            | Room::Gate(_)
            | Room::Feedback(_)
            | Room::Decide(_)
            | Room::Done(_) => Err(Refused::wrong(self)),
        }
    }

    /// The user, a parent or the process wants the run to stop.
    pub(crate) fn interrupt(self, by: InterruptedBy, frame: &mut Frame, out: &mut Out) -> Next {
        match self {
            Room::Parse(room) => room.interrupt(by, frame, out),
            Room::Batch(room) => room.interrupt(by, frame, out),
            Room::Settling(room) => room.hurry(frame, out),
            Room::Idle(_)
            | Room::Absorb(_)
            | Room::View(_)
            | Room::Govern(_)
            | Room::Compacting(_)
            | Room::Freeze(_)
            | Room::Recover(_)
            | Room::Backoff(_)
            | Room::Gate(_)
            | Room::Feedback(_)
            | Room::Decide(_)
            | Room::Stopping(_)
            | Room::Done(_) => s6_settling::nothing_runs(self.kind(), by, frame, out),
        }
    }
}
