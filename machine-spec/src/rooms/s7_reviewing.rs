//! Alcove of room 7, Reviewing: should the model see the results? Once for each batch, after every
//! call has its result, the batch hooks see them. They may add context, or end the run; the results
//! stay in history either way (2.2). Door: Decide.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Answer, Decide, Finding, Next, Out, Refused, Room};
use crate::because::Because;
use crate::config::HookPoint;
use crate::effect::HookQuestion;
use crate::frame::{Frame, Stop};
use crate::hooking::{self, Asked, HookReply};
use crate::ids::CallId;
use crate::input::HookAnswer;
use crate::message::Origin;

/// Should the model see the results?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reviewing {
    /// The hooks that were asked.
    pub asked: Vec<Asked>,
    /// What the turn has come to.
    pub finding: Finding,
}

impl Reviewing {
    /// Asks the batch hooks, if there are any; else the finding is decided upon at once.
    pub(super) fn enter(
        finding: Finding,
        calls: Vec<CallId>,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Next {
        let question = |_: &Frame| HookQuestion::Batch { calls: calls.clone() };
        let asked = hooking::ask(HookPoint::Batch, frame, out, question);
        if asked.is_empty() {
            return Next::go(Decide::on(finding), Because::ResultsFiled);
        }
        let room = Reviewing { asked, finding };
        Next::go(Room::Reviewing(Box::new(room)), Because::BatchShown)
    }

    pub(crate) fn answer(
        mut self: Box<Self>,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        let Answer::HookAnswered(id, answer) = answer else {
            return Err(Refused::wrong(Room::Reviewing(self)));
        };
        frame.close(id);
        hooking::note(&mut self.asked, id, &answer, frame, out);
        if hooking::is_open(&self.asked) {
            return Ok(Next::stay(Room::Reviewing(self)));
        }
        weigh(&self.asked, frame);
        Ok(Next::go(Decide::on(self.finding), Because::BatchReviewed))
    }
}

/// In the order of the configuration: context is said, an objection stops the turn.
fn weigh(asked: &[Asked], frame: &mut Frame) {
    for Asked { reply, .. } in asked {
        let HookReply::Said(answer) = reply else { continue };
        match answer {
            HookAnswer::Continued { context } => {
                frame.say(Origin::HookFeedback, context.clone());
            }
            HookAnswer::Halted { reason }
            | HookAnswer::Blocked { reason }
            | HookAnswer::Denied { reason } => {
                frame.stop = Stop::Halted { reason: reason.clone() };
            }
            HookAnswer::Allowed
            | HookAnswer::Asked { .. }
            | HookAnswer::Edited { .. }
            | HookAnswer::Deferred
            | HookAnswer::Failed { .. } => {}
        }
    }
}
