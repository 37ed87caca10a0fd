//! Alcove of room 6, Gate: may it run? The calls of a filed reply start as far as their order
//! allows; their judgement is [`crate::gate`]. Doors: Batch, Feedback.

use serde::{Deserialize, Serialize};

use super::{Batch, Feedback, Next, Out, Room, RoundEnd};
use crate::because::Because;
use crate::board::Board;
use crate::frame::Frame;
use crate::policy::EarlyStart;

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
        self.board.start_ready(EarlyStart::All, frame, out);
        if self.board.is_settled() {
            let feedback = Feedback { board: self.board, end: self.end };
            return Next::go(Room::Feedback(feedback), Because::NothingToRun);
        }
        let batch = Batch { board: self.board, end: self.end };
        Next::go(Room::Batch(batch), Because::CallsStarted)
    }
}
