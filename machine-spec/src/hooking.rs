//! How hooks are asked and listened to, whatever they are asked about.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::config::HookPoint;
use crate::effect::{Effect, EffectKind, HookQuestion, Notice};
use crate::frame::Frame;
use crate::ids::{EffectId, HookId};
use crate::input::HookAnswer;
use crate::rooms::Out;

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

/// Asks every hook of a kind that is in force, all at once.
pub(crate) fn ask(
    point: HookPoint,
    frame: &mut Frame,
    out: &mut Out,
    question: impl Fn(&Frame) -> HookQuestion,
) -> Vec<Asked> {
    let hooks = frame.hooks_in_force(point);
    let mut asked = Vec::with_capacity(hooks.len());
    for hook in hooks {
        let id = frame.open(EffectKind::AskHook);
        out.emit(Effect::AskHook { id, hook, question: question(frame) });
        asked.push(Asked { hook, id, reply: HookReply::Awaited });
    }
    asked
}

/// Takes an answer down; says whether it was meant for one of these.
pub(crate) fn note(
    asked: &mut [Asked],
    id: EffectId,
    answer: &HookAnswer,
    frame: &mut Frame,
    out: &mut Out,
) -> bool {
    let Some(asked) = asked.iter_mut().find(|asked| asked.id == id) else { return false };
    note_health(asked.hook, answer, frame, out);
    asked.reply = HookReply::Said(answer.clone());
    true
}

/// The effects that are still awaited.
pub(crate) fn awaited(asked: &[Asked]) -> impl Iterator<Item = EffectId> {
    asked.iter().filter(|asked| asked.reply == HookReply::Awaited).map(|asked| asked.id)
}

/// Whether an answer is still awaited.
pub(crate) fn is_open(asked: &[Asked]) -> bool {
    awaited(asked).next().is_some()
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
        | HookAnswer::Denied { .. }
        | HookAnswer::Asked { .. }
        | HookAnswer::Edited { .. }
        | HookAnswer::Deferred
        | HookAnswer::Halted { .. } => *failures = 0,
    }
}
