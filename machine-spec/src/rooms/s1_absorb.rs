//! Room 1, Absorb: what is new? Queued words become part of the transcript: the user's first, then
//! those of notifications. Doors: View, Recalling.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{BuildView, Next, Out, Pressure, Recalling, Room};
use crate::because::{Because, Owner};
use crate::effect::{Effect, EffectKind, Notice};
use crate::frame::{ActiveRule, Frame, Waiting};
use crate::ids::RuleId;
use crate::message::{Entry, Origin, Said};

/// What is new?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Absorb {
    /// Who orders the request that follows.
    pub owner: Owner,
}

impl Absorb {
    pub(crate) fn pass(self, frame: &mut Frame, out: &mut Out) -> Next {
        let waiting = core::mem::take(&mut frame.inbox);
        if waiting.is_empty() {
            return Next::go(view(self.owner), Because::NothingNew);
        }
        out.emit(Effect::Notify(Notice::InputAbsorbed { count: waiting.len() as u32 }));
        let (words, notices): (Vec<Waiting>, Vec<Waiting>) =
            waiting.into_iter().partition(|waiting| waiting.origin.is_user());
        let query: Vec<&str> = words.iter().map(|said| said.text.as_str()).collect();
        let query = query.join("\n");
        if !words.is_empty() {
            absorb_words(words, frame);
        }
        for notice in notices {
            frame.say(notice.origin, notice.text);
        }
        if frame.config.policy.recall && !query.is_empty() {
            return recall(self.owner, query, frame, out);
        }
        Next::go(view(self.owner), Because::InputAbsorbed)
    }
}

pub(super) fn view(owner: Owner) -> Room {
    Room::View(BuildView { owner, pressure: Pressure::None })
}

/// Only the user's own words are searched for: not notifications, and not what hooks say (B036).
fn recall(owner: Owner, query: String, frame: &mut Frame, out: &mut Out) -> Next {
    let id = frame.open(EffectKind::RecallMemory);
    out.emit(Effect::RecallMemory { id, query });
    Next::go(Room::Recalling(Recalling { id, owner }), Because::MemoryAsked)
}

fn absorb_words(words: Vec<Waiting>, frame: &mut Frame) {
    for message in words {
        let first = frame.counters.responses == 0 && frame.counters.model_calls == 0;
        let origin = if first { Origin::User } else { Origin::Steer };
        let Waiting { text, images, .. } = message;
        frame.append(Entry::Said(Said { images, ..Said::words(origin, text) }));
        message.rules.into_iter().for_each(|rule| activate(rule, frame));
    }
    // Only the user's own words reset what stop hooks have used up (Part 7, decision 4).
    frame.counters.hook_blocks = 0;
    frame.doom.clear();
}

/// A rule that is active already keeps its count: asking twice grants no second budget.
fn activate(rule: RuleId, frame: &mut Frame) {
    let known = usize::from(rule.0) < frame.config.rules.len();
    let active = frame.guard.active.iter().any(|active| active.rule == rule);
    if known && !active {
        frame.guard.active.push(ActiveRule { rule, reminders: 0 });
    }
}
