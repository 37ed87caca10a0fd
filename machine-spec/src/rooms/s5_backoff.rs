//! Alcove of room 5, Backoff: is it time? The same view is frozen again, so the request is the same
//! byte for byte (B005). Door: Freeze.

use serde::{Deserialize, Serialize};

use super::{Answer, Freeze, Next, Out, Refused, Room};
use crate::because::{Because, Owner};
use crate::frame::Frame;
use crate::ids::EffectId;
use crate::view::View;

/// Is it time?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Backoff {
    /// Who repeats the request.
    pub owner: Owner,
    /// The timer that is waited for.
    pub timer: EffectId,
}

impl Backoff {
    pub(crate) fn answer(
        self,
        answer: Answer,
        frame: &mut Frame,
        _: &mut Out,
    ) -> Result<Next, Refused> {
        let Answer::TimerFired = answer else {
            return Err(Refused::wrong(Room::Backoff(self)));
        };
        frame.close(self.timer);
        // Nothing was appended since the failure, so this is the view that failed.
        let view = View::of(&frame.transcript);
        Ok(Next::go(Room::Freeze(Freeze { owner: self.owner, view }), Because::RetryDue))
    }
}
