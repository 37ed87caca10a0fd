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
use crate::input::{
    Compaction, Decision, HookAnswer, InputKind, InterruptedBy, OutputVerdict, Recall, Refresh,
    Stored, ToolReport,
};
use crate::model::{Closure, ModelEvent, closed_enum};
use crate::rejection::Cause;

mod s0_idle;
mod s1_absorb;
mod s1_recalling;
mod s2_view;
mod s3_clearing;
mod s3_compacting;
mod s3_govern;
mod s4_freeze;
mod s5_backoff;
mod s5_parse;
mod s5_recover;
mod s5_refreshing;
mod s6_batch;
mod s6_gate;
mod s6_settling;
mod s7_feedback;
mod s7_reviewing;
mod s8_awaiting;
mod s8_checking;
pub mod s8_decide;
mod s8_stopping;
mod s9_done;

pub use s0_idle::Idle;
pub use s1_absorb::Absorb;
pub use s1_recalling::Recalling;
pub use s2_view::BuildView;
pub use s3_clearing::Clearing;
pub use s3_compacting::{Compacting, Order};
pub use s3_govern::{Govern, Pressure};
pub use s4_freeze::Freeze;
pub use s5_backoff::Backoff;
pub use s5_parse::Parse;
pub use s5_recover::Recover;
pub use s5_refreshing::Refreshing;
pub use s6_batch::Batch;
pub use s6_gate::Gate;
pub use s6_settling::Settling;
pub use s7_feedback::{Feedback, RoundEnd};
pub use s7_reviewing::Reviewing;
pub use s8_awaiting::Awaiting;
pub use s8_checking::Checking;
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
    /// s1, alcove: what is known about it?
    Recalling(Recalling),
    /// s2: what does the model see?
    View(BuildView),
    /// s3: does it fit?
    Govern(Govern),
    /// s3, alcove: may the head go?
    Clearing(Clearing),
    /// s3, alcove: what came back?
    Compacting(Compacting),
    /// s4: with what exactly?
    Freeze(Freeze),
    /// s5: what did it say?
    Parse(Box<Parse>),
    /// s5, alcove: whose failure is it?
    Recover(Box<Recover>),
    /// s5, alcove: is there another credential?
    Refreshing(Box<Refreshing>),
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
    /// s7, alcove: should the model see the results?
    Reviewing(Box<Reviewing>),
    /// s8: again, or over?
    Decide(Box<Decide>),
    /// s8, alcove: has the answer the wanted shape?
    Checking(Checking),
    /// s8, alcove: does anybody object?
    Stopping(Stopping),
    /// s8, alcove: what still runs?
    Awaiting(Awaiting),
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
        /// See [`Room::Recalling`].
        Recalling = "recalling",
        /// See [`Room::View`].
        View = "view",
        /// See [`Room::Govern`].
        Govern = "govern",
        /// See [`Room::Clearing`].
        Clearing = "clearing",
        /// See [`Room::Compacting`].
        Compacting = "compacting",
        /// See [`Room::Freeze`].
        Freeze = "freeze",
        /// See [`Room::Parse`].
        Parse = "parse",
        /// See [`Room::Recover`].
        Recover = "recover",
        /// See [`Room::Refreshing`].
        Refreshing = "refreshing",
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
        /// See [`Room::Reviewing`].
        Reviewing = "reviewing",
        /// See [`Room::Decide`].
        Decide = "decide",
        /// See [`Room::Checking`].
        Checking = "checking",
        /// See [`Room::Stopping`].
        Stopping = "stopping",
        /// See [`Room::Awaiting`].
        Awaiting = "awaiting",
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
            | RoomKind::Recalling
            | RoomKind::Clearing
            | RoomKind::Compacting
            | RoomKind::Parse
            | RoomKind::Refreshing
            | RoomKind::Backoff
            | RoomKind::Batch
            | RoomKind::Settling
            | RoomKind::Reviewing
            | RoomKind::Checking
            | RoomKind::Stopping
            | RoomKind::Awaiting
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
            ApprovalGiven, Compacted, CredentialRefreshed, HookAnswered, Interrupted,
            MemoryFlushed, MemoryRecalled, ModelClosed, ModelSaid, OutputChecked, ResultStored,
            TaskEnded, TimerFired, ToolReturned, UserSaid,
        };
        match self {
            RoomKind::Idle => &[UserSaid, Interrupted],
            RoomKind::Recalling => &[UserSaid, Interrupted, TaskEnded, TimerFired, MemoryRecalled],
            RoomKind::Clearing => {
                &[UserSaid, Interrupted, TaskEnded, TimerFired, HookAnswered, MemoryFlushed]
            }
            RoomKind::Compacting => &[UserSaid, Interrupted, TaskEnded, TimerFired, Compacted],
            RoomKind::Parse => &[
                UserSaid,
                Interrupted,
                TaskEnded,
                TimerFired,
                ModelSaid,
                ModelClosed,
                ToolReturned,
                ResultStored,
                HookAnswered,
                ApprovalGiven,
            ],
            RoomKind::Refreshing => {
                &[UserSaid, Interrupted, TaskEnded, TimerFired, CredentialRefreshed]
            }
            RoomKind::Backoff | RoomKind::Awaiting => {
                &[UserSaid, Interrupted, TaskEnded, TimerFired]
            }
            RoomKind::Batch => &[
                UserSaid,
                Interrupted,
                TaskEnded,
                TimerFired,
                ToolReturned,
                ResultStored,
                HookAnswered,
                ApprovalGiven,
            ],
            RoomKind::Settling => &[UserSaid, Interrupted, TaskEnded, TimerFired, ToolReturned],
            RoomKind::Reviewing | RoomKind::Stopping => {
                &[UserSaid, Interrupted, TaskEnded, TimerFired, HookAnswered]
            }
            RoomKind::Checking => &[UserSaid, Interrupted, TaskEnded, TimerFired, OutputChecked],
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
    MemoryRecalled(Recall),
    MemoryFlushed(Stored),
    CredentialRefreshed(Refresh),
    ApprovalGiven(EffectId, Decision),
    ResultStored(EffectId, Stored),
    OutputChecked(OutputVerdict),
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
            Room::Recalling(_) => RoomKind::Recalling,
            Room::View(_) => RoomKind::View,
            Room::Govern(_) => RoomKind::Govern,
            Room::Clearing(_) => RoomKind::Clearing,
            Room::Compacting(_) => RoomKind::Compacting,
            Room::Freeze(_) => RoomKind::Freeze,
            Room::Parse(_) => RoomKind::Parse,
            Room::Recover(_) => RoomKind::Recover,
            Room::Refreshing(_) => RoomKind::Refreshing,
            Room::Backoff(_) => RoomKind::Backoff,
            Room::Gate(_) => RoomKind::Gate,
            Room::Batch(_) => RoomKind::Batch,
            Room::Settling(_) => RoomKind::Settling,
            Room::Feedback(_) => RoomKind::Feedback,
            Room::Reviewing(_) => RoomKind::Reviewing,
            Room::Decide(_) => RoomKind::Decide,
            Room::Checking(_) => RoomKind::Checking,
            Room::Stopping(_) => RoomKind::Stopping,
            Room::Awaiting(_) => RoomKind::Awaiting,
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
            | Room::Recalling(_)
            | Room::Clearing(_)
            | Room::Compacting(_)
            | Room::Parse(_)
            | Room::Refreshing(_)
            | Room::Backoff(_)
            | Room::Batch(_)
            | Room::Settling(_)
            | Room::Reviewing(_)
            | Room::Checking(_)
            | Room::Stopping(_)
            | Room::Awaiting(_)
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
            Room::Recalling(room) => room.answer(answer, frame, out),
            Room::Clearing(room) => room.answer(answer, frame, out),
            Room::Compacting(room) => room.answer(answer, frame, out),
            Room::Refreshing(room) => room.answer(answer, frame, out),
            Room::Reviewing(room) => room.answer(answer, frame, out),
            Room::Checking(room) => room.answer(answer, frame, out),
            Room::Awaiting(room) => room.answer(answer, frame, out),
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
            | Room::Recalling(_)
            | Room::Clearing(_)
            | Room::Compacting(_)
            | Room::Freeze(_)
            | Room::Recover(_)
            | Room::Refreshing(_)
            | Room::Backoff(_)
            | Room::Gate(_)
            | Room::Feedback(_)
            | Room::Reviewing(_)
            | Room::Decide(_)
            | Room::Checking(_)
            | Room::Stopping(_)
            | Room::Awaiting(_)
            | Room::Done(_) => s6_settling::nothing_runs(self.kind(), by, frame, out),
        }
    }
}
