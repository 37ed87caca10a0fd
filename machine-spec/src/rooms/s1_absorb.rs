//! Room 1, Absorb: what is new? Queued words become part of the transcript. Door: View.

use serde::{Deserialize, Serialize};

use super::{BuildView, Next, Out, Pressure, Room};
use crate::because::{Because, Owner};
use crate::effect::{Effect, Notice};
use crate::frame::{ActiveRule, Frame};
use crate::ids::RuleId;
use crate::message::Origin;

/// What is new?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Absorb {
    /// Who orders the request that follows.
    pub owner: Owner,
}

impl Absorb {
    pub(crate) fn pass(self, frame: &mut Frame, out: &mut Out) -> Next {
        let view = Room::View(BuildView { owner: self.owner, pressure: Pressure::None });
        let waiting = core::mem::take(&mut frame.inbox);
        if waiting.is_empty() {
            return Next::go(view, Because::NothingNew);
        }
        out.emit(Effect::Notify(Notice::InputAbsorbed { count: waiting.len() as u32 }));
        for message in waiting {
            let first = frame.counters.responses == 0 && frame.counters.model_calls == 0;
            frame.say(if first { Origin::User } else { Origin::Steer }, message.text);
            message.rules.into_iter().for_each(|rule| activate(rule, frame));
        }
        // Only the user's own words reset what stop hooks have used up (Part 7, decision 4).
        frame.counters.hook_blocks = 0;
        frame.doom.clear();
        Next::go(view, Because::InputAbsorbed)
    }
}

/// A rule that is active already keeps its count: asking twice grants no second budget.
fn activate(rule: RuleId, frame: &mut Frame) {
    let known = usize::from(rule.0) < frame.config.rules.len();
    let active = frame.guard.active.iter().any(|active| active.rule == rule);
    if known && !active {
        frame.guard.active.push(ActiveRule { rule, reminders: 0 });
    }
}
