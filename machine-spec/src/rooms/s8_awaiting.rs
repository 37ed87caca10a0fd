//! Alcove of room 8, Awaiting: what still runs? The answer is there, but background tasks are not
//! over; the run waits for the next report, for more of the user's words, or until its time is up.
//! Doors: Absorb, Decide.

use serde::{Deserialize, Serialize};

use super::{Absorb, Answer, Decide, Finding, Next, Out, Refused, Room};
use crate::because::{Because, Owner};
use crate::effect::{Effect, EffectKind, TimerFor};
use crate::frame::Frame;
use crate::ids::EffectId;

/// What still runs?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Awaiting {
    /// When the waiting is over.
    pub timer: EffectId,
}

impl Awaiting {
    /// Waits for the background tasks that still run.
    pub(super) fn begin(frame: &mut Frame, out: &mut Out) -> Room {
        let (timer, after_ms) =
            (frame.open(EffectKind::SetTimer), frame.config.limits.task_wait_ms);
        out.emit(Effect::SetTimer { id: timer, after_ms, because: TimerFor::Tasks });
        Room::Awaiting(Awaiting { timer })
    }

    /// There is something to hear: the turn goes on.
    pub(crate) fn wake(
        self,
        because: Because,
        owner: Owner,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Next {
        frame.close(self.timer);
        out.emit(Effect::Cancel { id: self.timer });
        frame.answer.text.clear();
        Next::go(Room::Absorb(Absorb { owner }), because)
    }

    pub(crate) fn answer(
        self,
        answer: Answer,
        frame: &mut Frame,
        _: &mut Out,
    ) -> Result<Next, Refused> {
        let Answer::TimerFired = answer else {
            return Err(Refused::wrong(Room::Awaiting(self)));
        };
        frame.close(self.timer);
        Ok(Next::go(Decide::on(Finding::Overdue), Because::TasksOverdue))
    }
}
