//! Where the loop guard stands, and its reminder.

use alloc::string::String;
use alloc::vec::Vec;

use crate::effect::{Effect, Notice};
use crate::frame::Frame;
use crate::ids::RuleId;
use crate::message::Origin;
use crate::rooms::Out;
use crate::wording;

/// Where the loop guard stands.
pub(super) enum Standing {
    /// Nothing is missing.
    Clear,
    /// This rule misses something and has reminders left.
    Remind(RuleId),
    /// These tools are missing and no rule has reminders left.
    Exhausted(Vec<String>),
}

pub(super) fn standing(frame: &Frame) -> Standing {
    let mut missing = Vec::new();
    for active in &frame.guard.active {
        let tools = frame.missing(active.rule);
        if !tools.is_empty() && active.reminders < frame.config.limits.guard_retries {
            return Standing::Remind(active.rule);
        }
        for tool in tools {
            if !missing.contains(&tool) {
                missing.push(tool);
            }
        }
    }
    if missing.is_empty() { Standing::Clear } else { Standing::Exhausted(missing) }
}

pub(super) fn remind(rule: RuleId, frame: &mut Frame, out: &mut Out) {
    let missing = frame.missing(rule);
    let mut n = 0;
    for active in frame.guard.active.iter_mut().filter(|active| active.rule == rule) {
        active.reminders += 1;
        n = active.reminders;
    }
    let tool = missing.first().cloned().unwrap_or_default();
    frame.say(Origin::Guard, wording::guard_reminder(&missing));
    out.emit(Effect::Notify(Notice::GuardReminded { rule, tool, n }));
}
