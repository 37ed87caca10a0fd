//! Room 6, Batch: what must run, in which order? Answers of tools, hooks and people move the board
//! on until every call has its outcome. Doors: Feedback; interrupted: Settling.

use serde::{Deserialize, Serialize};

use super::{Answer, Feedback, Next, Out, Refused, Room, RoomKind, RoundEnd, s6_settling};
use crate::because::Because;
use crate::board::{Board, Message};
use crate::frame::Frame;
use crate::input::InterruptedBy;
use crate::message::NotStarted;

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
        if self.board.hear(answer, frame, out).is_err() {
            return Err(Refused::wrong(Room::Batch(self)));
        }
        self.board.advance(Message::Over, frame, out);
        if !self.board.is_settled() {
            return Ok(Next::stay(Room::Batch(self)));
        }
        let feedback = Feedback { board: self.board, end: self.end };
        Ok(Next::go(Room::Feedback(feedback), Because::BatchComplete))
    }

    pub(crate) fn interrupt(mut self, by: InterruptedBy, frame: &mut Frame, out: &mut Out) -> Next {
        self.board.give_up_pending(NotStarted::Interrupted, frame, out);
        s6_settling::enter(self.board, RoomKind::Batch, by, frame, out)
    }
}
