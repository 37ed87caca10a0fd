//! The way out: what is still open is closed and told, and the cause of every ending.

use alloc::string::String;
use alloc::vec::Vec;

use crate::because::Because;
use crate::effect::{Effect, Notice};
use crate::frame::Frame;
use crate::message::{Aside, Entry, Fate, Origin, Orphan};
use crate::planted::{Defect, active};
use crate::policy::Tasks;
use crate::rooms::Out;
use crate::terminal::{BudgetKind, Terminal};

/// Closes what outlived the turn, hands back what was not read, and ends the run.
pub(super) fn leave(end: &Terminal, frame: &mut Frame, out: &mut Out) {
    if let Some(id) = frame.deadline.take() {
        frame.close(id);
        out.emit(Effect::Cancel { id });
    }
    leave_tasks(frame, out);
    let mut unread: Vec<String> = Vec::new();
    for waiting in core::mem::take(&mut frame.inbox) {
        match waiting.origin {
            Origin::User | Origin::Steer => unread.push(waiting.text),
            // A report that came too late for this run is in the history of the next one (B036).
            Origin::Notification => frame.say(Origin::Notification, waiting.text),
            Origin::HookFeedback
            | Origin::Repair
            | Origin::Guard
            | Origin::Continuation
            | Origin::Summary
            | Origin::Memory => {}
        }
    }
    if !unread.is_empty() && !active(Defect::LosesWords) {
        out.emit(Effect::Notify(Notice::InputReturned { texts: unread }));
    }
    if active(Defect::FinishesTwice) {
        out.emit(Effect::Finish(end.clone()));
    }
    out.emit(Effect::Finish(end.clone()));
}

/// Every task that still runs is listed, and the next run of the session is told of it.
fn leave_tasks(frame: &mut Frame, out: &mut Out) {
    let mut orphans = Vec::new();
    for task in core::mem::take(&mut frame.tasks) {
        frame.close(task.effect);
        let fate = match frame.config.policy.tasks {
            Tasks::Wait | Tasks::Cancel => {
                out.emit(Effect::Cancel { id: task.effect });
                Fate::Cancelled
            }
            Tasks::Leave => {
                out.emit(Effect::Detach { id: task.effect });
                Fate::Detached
            }
        };
        orphans.push(Orphan { task: task.task, tool: task.tool, fate });
    }
    if !orphans.is_empty() {
        out.emit(Effect::Notify(Notice::TasksLeft { orphans: orphans.clone() }));
        frame.append(Entry::Aside(Aside::Orphans(orphans)));
    }
}

/// Why a run ends so.
pub(super) fn cause(end: &Terminal) -> Because {
    match end {
        Terminal::Interrupted { .. } => Because::Interrupted,
        Terminal::BudgetExhausted { kind: BudgetKind::Anomalies, .. } => Because::AnomaliesPiledUp,
        Terminal::MaxTurns { .. } | Terminal::BudgetExhausted { .. } => Because::LimitReached,
        Terminal::ContextExhausted { .. } => Because::OverBudget,
        Terminal::CompactionThrash { .. } => Because::CompactionUseless,
        Terminal::RateLimited { .. } | Terminal::ProviderFailed { .. } => {
            Because::RecoveryExhausted
        }
        Terminal::Answered { .. } => Because::GoalReached,
        Terminal::AnsweredInPart { .. } => Because::RecoveryExhausted,
        Terminal::RequiredToolMissing { .. } => Because::GuardExhausted,
        Terminal::StopHookLimit { .. } => Because::LimitReached,
        Terminal::HookStopped { .. } => Because::HookHalted,
        Terminal::ToolDeferred { .. } => Because::CallDeferred,
        Terminal::ToolDeferredUnavailable { .. } => Because::DeferredToolGone,
        Terminal::MalformedToolUse { .. }
        | Terminal::NoVisibleOutput { .. }
        | Terminal::StructuredOutputInvalid { .. }
        | Terminal::OutputLimit { .. }
        | Terminal::PauseLimit { .. } => Because::RepairExhausted,
        Terminal::DoomLoop { .. } => Because::DoomProven,
        Terminal::Refused { .. } | Terminal::Filtered { .. } | Terminal::ConfigRefused { .. } => {
            Because::ModelRefused
        }
    }
}
