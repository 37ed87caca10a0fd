//! Alcove of room 8, Checking: has the answer the wanted shape? A schema is judged at the edge, and
//! the verdict is recorded. Door: Decide.

use serde::{Deserialize, Serialize};

use super::{Answer, Decide, Finding, Next, Out, Refused, Room};
use crate::because::Because;
use crate::effect::{Effect, EffectKind};
use crate::frame::Frame;
use crate::ids::EffectId;

/// Has the answer the wanted shape?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Checking {
    /// The judgement that is waited for.
    pub id: EffectId,
}

impl Checking {
    /// Has the answer judged.
    pub(super) fn ask(frame: &mut Frame, out: &mut Out) -> Room {
        let id = frame.open(EffectKind::CheckOutput);
        out.emit(Effect::CheckOutput { id, text: frame.answer.text.clone() });
        Room::Checking(Checking { id })
    }

    pub(crate) fn answer(
        self,
        answer: Answer,
        frame: &mut Frame,
        _: &mut Out,
    ) -> Result<Next, Refused> {
        let Answer::OutputChecked(verdict) = answer else {
            return Err(Refused::wrong(Room::Checking(self)));
        };
        frame.close(self.id);
        Ok(Next::go(Decide::on(Finding::Checked(verdict)), Because::OutputJudged))
    }
}
