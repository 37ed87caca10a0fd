//! Room 5, Parse: what did it say? Events are taken down block by block; a call may start as soon
//! as its own block is complete. Doors: Gate, Decide, Recover.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use self::ending::{conclude, contradicts, is_cut, is_refusal};
use super::{
    Answer, Decide, Gate, Next, Out, Recover, Refused, Room, RoomKind, RoundEnd, s6_settling,
};
use crate::because::Because;
use crate::board::Message;
use crate::draft::{Draft, Ending, Heard};
use crate::effect::{Effect, Notice};
use crate::frame::Frame;
use crate::ids::{AttemptId, EffectId};
use crate::input::InterruptedBy;
use crate::message::{Entry, NotStarted, Wholeness};
use crate::model::{Closure, ErrorClass, Failure, ModelEvent, StopReason};

mod ending;

/// What did it say?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parse {
    /// The request that is being answered.
    pub call: EffectId,
    /// What was said so far.
    pub draft: Draft,
}

impl Parse {
    pub(crate) fn new(call: EffectId, attempt: AttemptId) -> Parse {
        Parse { call, draft: Draft::new(attempt) }
    }

    pub(crate) fn answer(
        mut self: Box<Self>,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        match answer {
            Answer::ModelSaid(event) => self.hear(event, frame, out),
            Answer::ModelClosed(closure) => {
                frame.close(self.call);
                Ok(self.close(closure, frame, out))
            }
            answer @ (Answer::ToolReturned(..)
            | Answer::ResultStored(..)
            | Answer::HookAnswered(..)
            | Answer::ApprovalGiven(..)
            | Answer::Compacted(_)
            | Answer::MemoryRecalled(_)
            | Answer::MemoryFlushed(_)
            | Answer::CredentialRefreshed(_)
            | Answer::OutputChecked(_)
            | Answer::TimerFired) => match self.draft.board.hear(answer, frame, out) {
                Ok(()) => {
                    self.start_early(frame, out);
                    Ok(Next::stay(Room::Parse(self)))
                }
                Err(()) => Err(Refused::wrong(Room::Parse(self))),
            },
        }
    }

    fn hear(
        mut self: Box<Self>,
        event: ModelEvent,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        match self.draft.hear(event, frame) {
            Heard::Fine => Ok(Next::stay(Room::Parse(self))),
            Heard::CallComplete => {
                self.start_early(frame, out);
                Ok(Next::stay(Room::Parse(self)))
            }
            Heard::Unfit(cause) => Err(Refused { room: Room::Parse(self), cause }),
            Heard::Broke(failure) => {
                // An error event ends the response although the socket may stay open (B021).
                frame.close(self.call);
                out.emit(Effect::Cancel { id: self.call });
                Ok(self.close(Closure::Failed(failure), frame, out))
            }
        }
    }

    fn start_early(&mut self, frame: &mut Frame, out: &mut Out) {
        let early = frame.config.policy.early_start;
        self.draft.board.advance(Message::Open(early), frame, out);
    }

    fn close(self, closure: Closure, frame: &mut Frame, out: &mut Out) -> Next {
        match (&self.draft.ending, closure) {
            // Once the message is complete, whatever happens to the connection is no loss.
            (Ending::Said { reason, word, details }, _) => {
                frame.answer.stop.clone_from(word);
                frame.answer.details.clone_from(details);
                let reason = *reason;
                self.complete(reason, frame, out)
            }
            (Ending::Pending, Closure::Failed(failure)) => self.broke(failure),
            (Ending::Pending, Closure::Ended) => {
                let message = "the stream ended before the message was complete";
                self.broke(Failure::new(ErrorClass::Incomplete, message))
            }
        }
    }

    fn broke(self, failure: Failure) -> Next {
        let recover = Recover { phase: self.draft.phase(), failure, draft: self.draft };
        Next::go(Room::Recover(Box::new(recover)), Because::StreamBroke)
    }

    fn complete(mut self, reason: StopReason, frame: &mut Frame, out: &mut Out) -> Next {
        let cut = is_cut(reason);
        if cut {
            // A call that stands where the output was cut may itself be cut (Part 7, decision 5).
            self.draft.give_up_last_call(frame, out);
        }
        if is_refusal(reason) && !self.draft.board.has_started() {
            self.draft.board.discard(frame, out);
        }
        let calls = self.draft.board.slots.len() as u32;
        if contradicts(reason, calls) {
            out.emit(Effect::Notify(Notice::Contradiction { stop: reason, calls }));
        }
        frame.count_response(&self.draft.usage, self.draft.said_tokens());
        let (reply, board) = self.draft.file(Wholeness::Whole, frame);
        if calls > 0 {
            frame.answer.text = if frame.is_wrapping_up() { reply.text() } else { String::new() };
            frame.append(Entry::Reply(reply));
            let end = if cut { RoundEnd::Truncated } else { RoundEnd::Whole };
            return Next::go(Room::Gate(Gate { board, end }), Because::CallsRequested);
        }
        let finding = conclude(reply, reason, frame);
        Next::go(Decide::on(finding), Because::NoCalls)
    }

    pub(crate) fn interrupt(mut self, by: InterruptedBy, frame: &mut Frame, out: &mut Out) -> Next {
        if !self.draft.board.has_started() {
            // A half-streamed message is not committed, so it owes nothing.
            super::s5_recover::retract(&self.draft, out);
            self.draft.charge(frame);
            return s6_settling::nothing_runs(RoomKind::Parse, by, frame, out);
        }
        frame.close(self.call);
        out.emit(Effect::Cancel { id: self.call });
        frame.count_response(&self.draft.usage, self.draft.said_tokens());
        self.draft.board.give_up_pending(NotStarted::Interrupted, frame, out);
        let (reply, board) = self.draft.file(Wholeness::Interrupted, frame);
        frame.append(Entry::Reply(reply));
        s6_settling::enter(board, RoomKind::Parse, by, frame, out)
    }
}
