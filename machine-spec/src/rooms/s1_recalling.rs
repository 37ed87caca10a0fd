//! Alcove of room 1, Recalling: what is known about it? What memory says stands behind the user's
//! words for this turn and leaves the history with it. A memory that fails is told and not missed.
//! Door: View.

use serde::{Deserialize, Serialize};

use super::{Answer, Next, Out, Refused, Room, s1_absorb};
use crate::because::{Because, Owner};
use crate::effect::{Effect, Notice};
use crate::frame::Frame;
use crate::ids::EffectId;
use crate::input::Recall;
use crate::message::Origin;
use crate::wording;

/// What is known about it?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Recalling {
    /// The question that is waited for.
    pub id: EffectId,
    /// Who orders the request that follows.
    pub owner: Owner,
}

impl Recalling {
    pub(crate) fn answer(
        self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        let Answer::MemoryRecalled(result) = answer else {
            return Err(Refused::wrong(Room::Recalling(self)));
        };
        frame.close(self.id);
        match result {
            Recall::Found { text } => frame.say(Origin::Memory, wording::recalled(&text)),
            Recall::Nothing => {}
            Recall::Failed { problem } => {
                out.emit(Effect::Notify(Notice::MemoryFailed { problem }));
            }
        }
        Ok(Next::go(s1_absorb::view(self.owner), Because::MemoryAnswered))
    }
}
