//! Room 5, Parse: what did it say? Events are taken down block by block; a call may start as soon
//! as its own block is complete. Doors: Gate, Decide, Recover.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{
    Answer, Decide, Finding, Gate, Next, Out, Recover, Refused, Room, RoomKind, RoundEnd,
    s6_settling,
};
use crate::because::Because;
use crate::board::Status;
use crate::draft::{Draft, Ending, Heard};
use crate::effect::{Effect, Notice, SealedRequest};
use crate::frame::Frame;
use crate::ids::{AttemptId, EffectId};
use crate::input::InterruptedBy;
use crate::message::Outcome;
use crate::message::{Aside, Block, Entry, NotStarted, Reply, Wholeness};
use crate::model::{Closure, ErrorClass, Failure, ModelEvent, StopReason};
use crate::policy::EarlyStart;

/// What did it say?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parse {
    /// The request that is being answered.
    pub call: EffectId,
    /// What was said so far.
    pub draft: Draft,
}

impl Parse {
    pub(crate) fn new(call: EffectId, attempt: AttemptId, _: &SealedRequest) -> Parse {
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
            Answer::ToolReturned(id, report) => {
                frame.close(id);
                self.draft.board.settle(id, report);
                self.start_early(frame, out);
                Ok(Next::stay(Room::Parse(self)))
            }
            Answer::Compacted(_) | Answer::HookAnswered(..) | Answer::TimerFired => {
                Err(Refused::wrong(Room::Parse(self)))
            }
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
        if early != EarlyStart::Off {
            self.draft.board.start_ready(early, frame, out);
        }
    }

    fn close(self, closure: Closure, frame: &mut Frame, out: &mut Out) -> Next {
        match (&self.draft.ending, closure) {
            // Once the message is complete, whatever happens to the connection is no loss.
            (Ending::Said { reason, word }, _) => {
                let (reason, word) = (*reason, word.clone());
                self.complete(reason, word, frame, out)
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

    fn complete(
        mut self,
        reason: StopReason,
        word: String,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Next {
        let cut = is_cut(reason);
        if let Some(last) = self.draft.last_block_call().filter(|_| cut)
            && last.status == Status::Queued
        {
            // A call that stands where the output was cut may itself be cut (Part 7, decision 5).
            let outcome = Outcome::NotStarted { why: NotStarted::OutputLimit };
            last.status = Status::Settled { ran: false, outcome };
        }
        if is_refusal(reason) && !self.draft.board.has_started() {
            self.draft.board.slots.clear();
        }
        let calls = self.draft.board.slots.len() as u32;
        if contradicts(reason, calls) {
            out.emit(Effect::Notify(Notice::Contradiction { stop: reason, calls }));
        }
        frame.count_response(&self.draft.usage);
        frame.answer.stop = word;
        let (reply, board) = self.draft.file(Wholeness::Whole, frame);
        if calls > 0 {
            frame.answer.text.clear();
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
            frame.counters.usage.add(&self.draft.usage);
            return s6_settling::nothing_runs(RoomKind::Parse, by, frame, out);
        }
        frame.close(self.call);
        out.emit(Effect::Cancel { id: self.call });
        frame.count_response(&self.draft.usage);
        self.draft.board.give_up_queued(NotStarted::Interrupted);
        let (reply, board) = self.draft.file(Wholeness::Interrupted, frame);
        frame.append(Entry::Reply(reply));
        s6_settling::enter(board, RoomKind::Parse, by, frame, out)
    }
}

fn is_cut(reason: StopReason) -> bool {
    match reason {
        StopReason::OutputLimit | StopReason::WindowExceeded => true,
        StopReason::EndOfTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Paused
        | StopReason::Refused
        | StopReason::Filtered
        | StopReason::Other => false,
    }
}

fn is_refusal(reason: StopReason) -> bool {
    match reason {
        StopReason::Refused | StopReason::Filtered => true,
        StopReason::EndOfTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::OutputLimit
        | StopReason::WindowExceeded
        | StopReason::Paused
        | StopReason::Other => false,
    }
}

/// Whether what the model said about its end contradicts the calls it sent; the calls count (B017).
fn contradicts(reason: StopReason, calls: u32) -> bool {
    match reason {
        StopReason::ToolUse => calls == 0,
        StopReason::EndOfTurn
        | StopReason::StopSequence
        | StopReason::Refused
        | StopReason::Filtered => calls > 0,
        StopReason::OutputLimit
        | StopReason::WindowExceeded
        | StopReason::Paused
        | StopReason::Other => false,
    }
}

/// Files a reply without calls where it belongs and says what it amounts to.
fn conclude(reply: Reply, reason: StopReason, frame: &mut Frame) -> Finding {
    let text = reply.text();
    let thinking_only = reply.blocks.iter().any(|block| matches!(block, Block::Thinking(_)));
    let finding = match reason {
        StopReason::Refused => Finding::Refused,
        StopReason::Filtered => Finding::Filtered,
        StopReason::Paused => Finding::Paused,
        StopReason::EndOfTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::OutputLimit
        | StopReason::WindowExceeded
        | StopReason::Other => {
            if text.trim().is_empty() {
                Finding::Blank { thinking_only }
            } else if is_cut(reason) {
                Finding::Truncated
            } else {
                Finding::Said
            }
        }
    };
    let entry = match finding {
        Finding::Refused | Finding::Filtered => Entry::Aside(Aside::RefusedReply(reply)),
        Finding::Blank { .. } => Entry::Aside(Aside::BlankReply(reply)),
        Finding::Paused if reply.blocks.is_empty() => Entry::Aside(Aside::BlankReply(reply)),
        Finding::Paused
        | Finding::Truncated
        | Finding::Said
        | Finding::Results { .. }
        | Finding::Unusable { .. }
        | Finding::InPart { .. }
        | Finding::Hooks(_)
        | Finding::Over { .. } => Entry::Reply(reply),
    };
    frame.answer.text.push_str(&text);
    frame.append(entry);
    finding
}
