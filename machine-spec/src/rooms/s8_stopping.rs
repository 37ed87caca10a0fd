//! Alcove of room 8, Stopping: does anybody object? All stop hooks are asked at once; their answers
//! are weighed in the order of the configuration, whatever the order of arrival. Door: Decide.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::s8_decide::HookVerdict;
use super::{Answer, Decide, Finding, Next, Out, Refused, Room};
use crate::because::Because;
use crate::config::HookPoint;
use crate::effect::HookQuestion;
use crate::frame::Frame;
use crate::hooking::{self, Asked, HookReply};
use crate::input::HookAnswer;

/// Does anybody object?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stopping {
    /// The hooks that were asked, in the order of the configuration.
    pub asked: Vec<Asked>,
}

impl Stopping {
    /// Asks every hook that is in force.
    pub(super) fn ask(frame: &mut Frame, out: &mut Out) -> Room {
        let asked = hooking::ask(HookPoint::Stop, frame, out, |frame| HookQuestion::Stop {
            active: frame.counters.hook_blocks > 0,
            reentries: frame.counters.hook_blocks,
            last_text: frame.answer.text.clone(),
            tasks: frame.tasks.iter().map(|task| task.task).collect(),
        });
        Room::Stopping(Stopping { asked })
    }

    pub(crate) fn answer(
        mut self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        let Answer::HookAnswered(id, answer) = answer else {
            return Err(Refused::wrong(Room::Stopping(self)));
        };
        frame.close(id);
        hooking::note(&mut self.asked, id, &answer, frame, out);
        if hooking::is_open(&self.asked) {
            return Ok(Next::stay(Room::Stopping(self)));
        }
        let finding = Finding::Hooks(weigh(self.asked));
        Ok(Next::go(Decide::on(finding), Because::HooksAnswered))
    }
}

/// The most restrictive answer wins: halt, then block, then context, then nothing. Among equals
/// the first hook of the configuration speaks.
fn weigh(asked: Vec<Asked>) -> HookVerdict {
    let mut verdict = HookVerdict::Allow;
    let mut rank = 0;
    for Asked { hook, reply, .. } in asked {
        let (weight, said) = match reply {
            HookReply::Said(HookAnswer::Halted { reason }) => (3, HookVerdict::Halt { reason }),
            HookReply::Said(
                HookAnswer::Blocked { reason: feedback } | HookAnswer::Denied { reason: feedback },
            ) => (2, HookVerdict::GoOn { hook, feedback }),
            HookReply::Said(HookAnswer::Continued { context: feedback }) => {
                (1, HookVerdict::GoOn { hook, feedback })
            }
            HookReply::Said(
                HookAnswer::Allowed
                | HookAnswer::Asked { .. }
                | HookAnswer::Edited { .. }
                | HookAnswer::Deferred
                | HookAnswer::Failed { .. },
            )
            | HookReply::Awaited => (0, HookVerdict::Allow),
        };
        if weight > rank {
            (verdict, rank) = (said, weight);
        }
    }
    verdict
}
