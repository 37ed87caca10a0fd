//! Alcove of room 6, Gate: may it run? The calls of a filed reply are vetted, and start as
//! far as their order allows; their judgement is [`crate::gate`]. Doors: Batch, Feedback.

use serde::{Deserialize, Serialize};

use super::{Batch, Feedback, Next, Out, Room, RoundEnd};
use crate::because::Because;
use crate::board::{Board, Message};
use crate::frame::Frame;

/// May it run?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gate {
    /// The calls.
    pub board: Board,
    /// How the response ended.
    pub end: RoundEnd,
}

impl Gate {
    pub(crate) fn pass(mut self, frame: &mut Frame, out: &mut Out) -> Next {
        // The message is over, so nothing is early any more.
        self.board.advance(Message::Over, frame, out);
        if self.board.is_settled() {
            let feedback = Feedback { board: self.board, end: self.end };
            return Next::go(Room::Feedback(feedback), Because::NothingToRun);
        }
        let batch = Batch { board: self.board, end: self.end };
        Next::go(Room::Batch(batch), Because::CallsStarted)
    }
}
