//! Room 6, Batch: what must run, in which order? Doors: Feedback; interrupted: Settling.

use serde::{Deserialize, Serialize};

use super::{Answer, Feedback, Next, Out, Refused, Room, RoomKind, RoundEnd, s6_settling};
use crate::because::Because;
use crate::board::Board;
use crate::frame::Frame;
use crate::input::InterruptedBy;
use crate::message::NotStarted;
use crate::policy::EarlyStart;

/// What must run, in which order?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Batch {
    /// The calls.
    pub board: Board,
    /// How the response ended.
    pub end: RoundEnd,
}

impl Batch {
    pub(crate) fn answer(
        mut self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        match answer {
            Answer::ToolReturned(id, report) => {
                frame.close(id);
                self.board.settle(id, report);
                self.board.start_ready(EarlyStart::All, frame, out);
                if !self.board.is_settled() {
                    return Ok(Next::stay(Room::Batch(self)));
                }
                let feedback = Feedback { board: self.board, end: self.end };
                Ok(Next::go(Room::Feedback(feedback), Because::BatchComplete))
            }
            Answer::ModelSaid(_)
            | Answer::ModelClosed(_)
            | Answer::Compacted(_)
            | Answer::HookAnswered(..)
            | Answer::TimerFired => Err(Refused::wrong(Room::Batch(self))),
        }
    }

    pub(crate) fn interrupt(mut self, by: InterruptedBy, frame: &mut Frame, out: &mut Out) -> Next {
        self.board.give_up_queued(NotStarted::Interrupted);
        s6_settling::enter(self.board, RoomKind::Batch, by, frame, out)
    }
}
