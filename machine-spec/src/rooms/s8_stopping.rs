//! Alcove of room 8, Stopping: does anybody object? All stop hooks are asked at once; their answers
//! are weighed in the order of the configuration, whatever the order of arrival. Door: Decide.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::s8_decide::HookVerdict;
use super::{Answer, Decide, Finding, Next, Out, Refused, Room};
use crate::because::Because;
use crate::effect::{Effect, EffectKind, HookQuestion, Notice};
use crate::frame::Frame;
use crate::ids::{EffectId, HookId};
use crate::input::HookAnswer;

/// Does anybody object?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stopping {
    /// The hooks that were asked, in the order of the configuration.
    pub asked: Vec<Asked>,
}

/// A hook that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Asked {
    /// The hook.
    pub hook: HookId,
    /// The effect it answers.
    pub id: EffectId,
    /// What it said.
    pub reply: HookReply,
}

/// What a hook said.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookReply {
    /// Nothing yet.
    Awaited,
    /// This.
    Said(HookAnswer),
}

impl Stopping {
    /// Asks every hook that is in force.
    pub(super) fn ask(frame: &mut Frame, out: &mut Out) -> Room {
        let hooks: Vec<HookId> = frame.hooks_in_force().collect();
        let mut asked = Vec::with_capacity(hooks.len());
        for hook in hooks {
            let id = frame.open(EffectKind::AskHook);
            let question = HookQuestion::Stop {
                active: frame.counters.hook_blocks > 0,
                reentries: frame.counters.hook_blocks,
                last_text: frame.answer.text.clone(),
            };
            out.emit(Effect::AskHook { id, hook, question });
            asked.push(Asked { hook, id, reply: HookReply::Awaited });
        }
        Room::Stopping(Stopping { asked })
    }

    pub(crate) fn answer(
        mut self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        match answer {
            Answer::HookAnswered(id, answer) => {
                frame.close(id);
                for asked in self.asked.iter_mut().filter(|asked| asked.id == id) {
                    note_health(asked.hook, &answer, frame, out);
                    asked.reply = HookReply::Said(answer.clone());
                }
                if self.asked.iter().any(|asked| asked.reply == HookReply::Awaited) {
                    return Ok(Next::stay(Room::Stopping(self)));
                }
                let finding = Finding::Hooks(weigh(self.asked));
                Ok(Next::go(Decide::on(finding), Because::HooksAnswered))
            }
            Answer::ModelSaid(_)
            | Answer::ModelClosed(_)
            | Answer::ToolReturned(..)
            | Answer::Compacted(_)
            | Answer::TimerFired => Err(Refused::wrong(Room::Stopping(self))),
        }
    }
}

/// A hook that fails is not a block; after some failures in a row it is not asked again in the
/// turn (Part 7, decision 4).
fn note_health(hook: HookId, answer: &HookAnswer, frame: &mut Frame, out: &mut Out) {
    let limit = frame.config.limits.hook_failures;
    let Some(failures) = frame.counters.hook_failures.get_mut(usize::from(hook.0)) else { return };
    match answer {
        HookAnswer::Failed { problem } => {
            *failures += 1;
            out.emit(Effect::Notify(Notice::HookFailed { hook, problem: problem.clone() }));
            if *failures == limit {
                out.emit(Effect::Notify(Notice::HookDisabled { hook }));
            }
        }
        HookAnswer::Allowed
        | HookAnswer::Blocked { .. }
        | HookAnswer::Continued { .. }
        | HookAnswer::Halted { .. } => *failures = 0,
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
            HookReply::Said(HookAnswer::Blocked { reason: feedback }) => {
                (2, HookVerdict::GoOn { hook, feedback })
            }
            HookReply::Said(HookAnswer::Continued { context: feedback }) => {
                (1, HookVerdict::GoOn { hook, feedback })
            }
            HookReply::Said(HookAnswer::Allowed | HookAnswer::Failed { .. })
            | HookReply::Awaited => (0, HookVerdict::Allow),
        };
        if weight > rank {
            (verdict, rank) = (said, weight);
        }
    }
    verdict
}
