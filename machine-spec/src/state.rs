//! The state of a run, and the result of a step.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::because::Passage;
use crate::effect::Effect;
use crate::frame::Frame;
use crate::ids::EffectId;
use crate::model::ModelEvent;
use crate::rooms::{Room, RoomKind};
use crate::terminal::Terminal;

/// Everything there is to know about a run: what all rooms share, and the room it stands in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    pub(crate) frame: Box<Frame>,
    pub(crate) room: Room,
}

impl State {
    /// What all rooms share.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The kind of the room it stands in.
    #[must_use]
    pub fn room(&self) -> RoomKind {
        self.room.kind()
    }

    /// The room it stands in.
    #[must_use]
    pub fn room_data(&self) -> &Room {
        &self.room
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.room() == RoomKind::Done
    }

    /// How the run ended, once it is over.
    #[must_use]
    pub fn terminal(&self) -> Option<&Terminal> {
        match &self.room {
            Room::Done(done) => Some(&done.terminal),
            Room::Idle(_)
            | Room::Absorb(_)
            | Room::View(_)
            | Room::Govern(_)
            | Room::Compacting(_)
            | Room::Freeze(_)
            | Room::Parse(_)
            | Room::Recover(_)
            | Room::Backoff(_)
            | Room::Gate(_)
            | Room::Batch(_)
            | Room::Settling(_)
            | Room::Feedback(_)
            | Room::Decide(_)
            | Room::Recalling(_)
            | Room::Clearing(_)
            | Room::Refreshing(_)
            | Room::Reviewing(_)
            | Room::Checking(_)
            | Room::Awaiting(_)
            | Room::Stopping(_) => None,
        }
    }

    /// Takes a piece of a response down in place, where nothing follows from it: no order, no door, no
    /// refusal. Most inputs of a run are such pieces. `false` means that nothing was done, and that
    /// [`step`](crate::step) has to judge the input; `step` itself begins with this.
    #[inline]
    pub fn take_down(&mut self, id: EffectId, event: &ModelEvent) -> bool {
        let (Room::Parse(parse), ModelEvent::Delta { block, text }) = (&mut self.room, event)
        else {
            return false;
        };
        parse.call == id && parse.draft.take_down(*block, text)
    }

    /// The stable digest of this state; its cost does not grow with the conversation.
    #[must_use]
    pub fn digest(&self) -> crate::Digest {
        crate::Digest::of(self)
    }
}

/// What a step did. All effects are here; nothing is left inside to be polled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use = "the effects of a step must be performed"]
pub struct Step {
    /// The next state.
    pub state: State,
    /// Orders to the world, in order.
    pub effects: Vec<Effect>,
    /// The doors that were walked, in order.
    pub trail: Vec<Passage>,
}
