//! Alcove of room 6, Settling: what became of what was running? After an interrupt, calls that were
//! told to stop get a short time to report; what stays silent is unknown (T5). Door: Feedback.

use serde::{Deserialize, Serialize};

use super::{Answer, Feedback, Next, Out, Refused, Room, RoomKind, RoundEnd};
use crate::because::Because;
use crate::board::Board;
use crate::effect::{Effect, EffectKind, Notice, TimerFor};
use crate::frame::Frame;
use crate::ids::EffectId;
use crate::input::InterruptedBy;

/// What became of what was running?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settling {
    /// The calls.
    pub board: Board,
    /// Who interrupted.
    pub by: InterruptedBy,
    /// The room that was interrupted.
    pub during: RoomKind,
    /// The end of the grace period.
    pub timer: EffectId,
}

/// Ends a room in which no call was started: everything open is cancelled.
pub(super) fn nothing_runs(
    during: RoomKind,
    by: InterruptedBy,
    frame: &mut Frame,
    out: &mut Out,
) -> Next {
    out.emit(Effect::Notify(Notice::TurnInterrupted));
    for id in frame.close_turn() {
        out.emit(Effect::Cancel { id });
    }
    let end = RoundEnd::Interrupted { by, during };
    let feedback = Feedback { board: Board::default(), end };
    Next::go(Room::Feedback(feedback), Because::Interrupted)
}

/// Stops the calls that run and waits for what they have to say.
pub(super) fn enter(
    mut board: Board,
    during: RoomKind,
    by: InterruptedBy,
    frame: &mut Frame,
    out: &mut Out,
) -> Next {
    out.emit(Effect::Notify(Notice::TurnInterrupted));
    board.give_up_storing(frame, out);
    if board.is_settled() {
        let feedback = Feedback { board, end: RoundEnd::Interrupted { by, during } };
        return Next::go(Room::Feedback(feedback), Because::Interrupted);
    }
    for id in board.running() {
        out.emit(Effect::Cancel { id });
    }
    let timer = frame.open(EffectKind::SetTimer);
    let after_ms = frame.config.limits.settle_grace_ms;
    out.emit(Effect::SetTimer { id: timer, after_ms, because: TimerFor::Settle });
    let settling = Settling { board, by, during, timer };
    Next::go(Room::Settling(settling), Because::Interrupted)
}

impl Settling {
    pub(crate) fn answer(
        mut self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        match answer {
            Answer::ToolReturned(id, report) => {
                frame.close(id);
                self.board.settle_inline(id, report, frame);
                if !self.board.is_settled() {
                    return Ok(Next::stay(Room::Settling(self)));
                }
                frame.close(self.timer);
                out.emit(Effect::Cancel { id: self.timer });
                Ok(self.leave(Because::Settled))
            }
            Answer::TimerFired => {
                frame.close(self.timer);
                self.board.give_up_running(frame);
                Ok(self.leave(Because::GraceOver))
            }
            Answer::ModelSaid(_)
            | Answer::ModelClosed(_)
            | Answer::Compacted(_)
            | Answer::MemoryRecalled(_)
            | Answer::MemoryFlushed(_)
            | Answer::CredentialRefreshed(_)
            | Answer::ApprovalGiven(..)
            | Answer::ResultStored(..)
            | Answer::OutputChecked(_)
            | Answer::HookAnswered(..) => Err(Refused::wrong(Room::Settling(self))),
        }
    }

    /// A second interrupt does not wait any longer.
    pub(crate) fn hurry(mut self, frame: &mut Frame, out: &mut Out) -> Next {
        frame.close(self.timer);
        out.emit(Effect::Cancel { id: self.timer });
        self.board.give_up_running(frame);
        self.leave(Because::Interrupted)
    }

    fn leave(self, because: Because) -> Next {
        let end = RoundEnd::Interrupted { by: self.by, during: self.during };
        Next::go(Room::Feedback(Feedback { board: self.board, end }), because)
    }
}
