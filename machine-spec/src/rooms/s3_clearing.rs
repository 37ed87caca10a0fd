//! Alcove of room 3, Clearing: may the head go? Before a part of the conversation leaves the view,
//! memory is shown it and the compact hooks are asked, all at once. A hook that blocks keeps the
//! head; if the provider refused the view already, its error surfaces then (2.6). Doors: Compacting,
//! Govern, Decide.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::s3_compacting::{Compacting, Order};
use super::{Answer, Next, Out, Refused, Room};
use crate::because::Because;
use crate::compact::head;
use crate::config::HookPoint;
use crate::effect::{Effect, EffectKind, HookQuestion, Notice};
use crate::frame::{Frame, Stop};
use crate::hooking::{self, Asked, HookReply};
use crate::ids::EffectId;
use crate::input::{HookAnswer, Stored};

/// May the head go?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Clearing {
    /// The compaction that waits.
    pub order: Order,
    /// The hooks that were asked.
    pub asked: Vec<Asked>,
    /// What memory was shown, while it has not answered.
    pub flush: Option<EffectId>,
}

impl Clearing {
    /// Asks everybody who wants to see the head before it goes; straight on if nobody does.
    pub(super) fn enter(order: Order, frame: &mut Frame, out: &mut Out) -> Next {
        let (dropped, overflowed) = (order.dropped, order.is_overflow());
        let asked = hooking::ask(HookPoint::Compact, frame, out, |_| HookQuestion::Compact {
            dropped,
            overflowed,
        });
        let flush = frame.config.policy.flush.then(|| frame.open(EffectKind::FlushMemory));
        if let Some(id) = flush {
            out.emit(Effect::FlushMemory { id, head: head(frame, order.kept, 0) });
        }
        if asked.is_empty() && flush.is_none() {
            return Compacting::enter(order, Because::OverBudget, frame, out);
        }
        Next::go(Room::Clearing(Clearing { order, asked, flush }), Because::HeadShown)
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
                hooking::note(&mut self.asked, id, &answer, frame, out);
            }
            Answer::MemoryFlushed(result) => {
                self.flush.take().into_iter().for_each(|id| frame.close(id));
                if let Stored::Failed { problem } = result {
                    out.emit(Effect::Notify(Notice::MemoryFailed { problem }));
                }
            }
            Answer::ModelSaid(_)
            | Answer::ModelClosed(_)
            | Answer::ToolReturned(..)
            | Answer::Compacted(_)
            | Answer::MemoryRecalled(_)
            | Answer::CredentialRefreshed(_)
            | Answer::ApprovalGiven(..)
            | Answer::ResultStored(..)
            | Answer::OutputChecked(_)
            | Answer::TimerFired => return Err(Refused::wrong(Room::Clearing(self))),
        }
        let waits = self.flush.is_some() || hooking::is_open(&self.asked);
        Ok(if waits { Next::stay(Room::Clearing(self)) } else { self.leave(frame, out) })
    }

    fn leave(self, frame: &mut Frame, out: &mut Out) -> Next {
        let Clearing { order, asked, .. } = self;
        match veto(&asked, frame) {
            None => Compacting::enter(order, Because::HeadCleared, frame, out),
            Some(reason) => {
                let reason = format!("a hook forbids it: {reason}");
                order.give_up(reason, Because::CompactionVetoed, frame)
            }
        }
    }
}

/// The first objection. A hook that wants everything to stop forbids it too, and stops the turn at
/// its next decision.
fn veto(asked: &[Asked], frame: &mut Frame) -> Option<String> {
    let mut found = None;
    for Asked { reply, .. } in asked {
        let HookReply::Said(answer) = reply else { continue };
        match answer {
            HookAnswer::Halted { reason } => {
                frame.stop = Stop::Halted { reason: reason.clone() };
                found.get_or_insert_with(|| reason.clone());
            }
            HookAnswer::Blocked { reason } | HookAnswer::Denied { reason } => {
                found.get_or_insert_with(|| reason.clone());
            }
            HookAnswer::Allowed
            | HookAnswer::Continued { .. }
            | HookAnswer::Asked { .. }
            | HookAnswer::Edited { .. }
            | HookAnswer::Deferred
            | HookAnswer::Failed { .. } => {}
        }
    }
    found
}
