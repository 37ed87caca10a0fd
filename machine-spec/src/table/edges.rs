//! Every door of the house, in the order of an iteration.

use super::Edge;
use crate::because::{Because, Trigger};
use crate::effect::EffectKind::{
    self, AskApproval, AskHook, CallModel, Cancel, CheckOutput, Compact, Finish, FlushMemory,
    Notify, RecallMemory, RefreshCredential, RunTool, SetTimer, StartTask,
};
use crate::input::InputKind;
use crate::rooms::RoomKind;

const fn on(
    from: RoomKind,
    input: InputKind,
    because: Because,
    to: RoomKind,
    emits: &'static [EffectKind],
) -> Edge {
    Edge { from, on: Trigger::On(input), because, to, emits }
}

const fn onward(
    from: RoomKind,
    because: Because,
    to: RoomKind,
    emits: &'static [EffectKind],
) -> Edge {
    Edge { from, on: Trigger::Onward, because, to, emits }
}

/// Every door of the house.
#[rustfmt::skip]
pub const EDGES: &[Edge] = {
    use Because as B;
    use InputKind as I;
    use RoomKind as R;
    &[
        // Idle: nothing was said yet.
        on(R::Idle, I::UserSaid, B::UserSpoke, R::Absorb, &[SetTimer]),
        on(R::Idle, I::UserSaid, B::CallResumed, R::Gate, &[SetTimer]),
        on(R::Idle, I::UserSaid, B::DeferredToolGone, R::Decide, &[SetTimer]),
        on(R::Idle, I::Interrupted, B::Interrupted, R::Feedback, &[Notify]),
        // s1: what is new?
        onward(R::Absorb, B::InputAbsorbed, R::View, &[Notify]),
        onward(R::Absorb, B::NothingNew, R::View, &[]),
        onward(R::Absorb, B::MemoryAsked, R::Recalling, &[RecallMemory, Notify]),
        // s1, alcove: what is known about it?
        on(R::Recalling, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Recalling, I::MemoryRecalled, B::MemoryAnswered, R::View, &[Notify]),
        on(R::Recalling, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s2: what does the model see?
        onward(R::View, B::ViewBuilt, R::Govern, &[]),
        // s3: does it fit?
        onward(R::Govern, B::WithinBudget, R::Freeze, &[]),
        onward(R::Govern, B::OverBudget, R::Compacting, &[Compact]),
        onward(R::Govern, B::OverBudget, R::Decide, &[Notify]),
        onward(R::Govern, B::HeadShown, R::Clearing, &[FlushMemory, AskHook]),
        onward(R::Govern, B::ContextTruncated, R::Freeze, &[Notify]),
        onward(R::Govern, B::OutputShrunk, R::Freeze, &[Notify]),
        onward(R::Govern, B::WrapUpAsked, R::Freeze, &[Notify]),
        onward(R::Govern, B::LimitReached, R::Decide, &[]),
        // s3, alcove: may the head go?
        on(R::Clearing, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Clearing, I::MemoryFlushed, B::HeadCleared, R::Compacting, &[Compact, Notify]),
        on(R::Clearing, I::MemoryFlushed, B::CompactionVetoed, R::Govern, &[Notify]),
        on(R::Clearing, I::MemoryFlushed, B::CompactionVetoed, R::Decide, &[Notify]),
        on(R::Clearing, I::HookAnswered, B::HeadCleared, R::Compacting, &[Compact, Notify]),
        on(R::Clearing, I::HookAnswered, B::CompactionVetoed, R::Govern, &[Notify]),
        on(R::Clearing, I::HookAnswered, B::CompactionVetoed, R::Decide, &[Notify]),
        on(R::Clearing, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s3, alcove: what came back?
        on(R::Compacting, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Compacting, I::Compacted, B::HeadShortened, R::Compacting, &[Compact]),
        on(R::Compacting, I::Compacted, B::Compacted, R::View, &[Notify]),
        on(R::Compacting, I::Compacted, B::CompactionFailed, R::Govern, &[Notify]),
        on(R::Compacting, I::Compacted, B::CompactionFailed, R::Decide, &[Notify]),
        on(R::Compacting, I::Compacted, B::CompactionUseless, R::Decide, &[Notify]),
        on(R::Compacting, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s4: with what exactly?
        onward(R::Freeze, B::RequestSealed, R::Parse, &[CallModel]),
        // s5: what did it say?
        on(R::Parse, I::Interrupted, B::Interrupted, R::Settling, &[SetTimer, Cancel, Notify]),
        on(R::Parse, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Parse, I::ModelSaid, B::CallsRequested, R::Gate, &[Cancel, Notify]),
        on(R::Parse, I::ModelSaid, B::NoCalls, R::Decide, &[Cancel, Notify]),
        on(R::Parse, I::ModelSaid, B::StreamBroke, R::Recover, &[Cancel]),
        on(R::Parse, I::ModelClosed, B::CallsRequested, R::Gate, &[Cancel, Notify]),
        on(R::Parse, I::ModelClosed, B::NoCalls, R::Decide, &[Cancel, Notify]),
        on(R::Parse, I::ModelClosed, B::StreamBroke, R::Recover, &[]),
        on(R::Parse, I::TimerFired, B::Interrupted, R::Settling, &[SetTimer, Cancel, Notify]),
        on(R::Parse, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s5, alcove: whose failure is it?
        onward(R::Recover, B::ContextOverflowed, R::View, &[Cancel, Notify]),
        onward(R::Recover, B::OutputShrunk, R::Freeze, &[Notify]),
        onward(R::Recover, B::LimitReached, R::Decide, &[Cancel, Notify]),
        onward(R::Recover, B::RetryScheduled, R::Backoff, &[SetTimer, Cancel, Notify]),
        onward(R::Recover, B::CredentialWanted, R::Refreshing, &[RefreshCredential, Notify]),
        onward(R::Recover, B::ParameterLeftOut, R::Freeze, &[Notify]),
        onward(R::Recover, B::StreamAbandoned, R::Freeze, &[Notify]),
        onward(R::Recover, B::CandidateSwitched, R::View, &[Cancel, Notify]),
        onward(R::Recover, B::ResponseSealed, R::Gate, &[Notify]),
        onward(R::Recover, B::ResponseSealed, R::Decide, &[Notify]),
        onward(R::Recover, B::RecoveryExhausted, R::Decide, &[Cancel, Notify]),
        // s5, alcove: is there another credential?
        on(R::Refreshing, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Refreshing, I::CredentialRefreshed, B::CredentialRefreshed, R::Freeze, &[]),
        on(R::Refreshing, I::CredentialRefreshed, B::CredentialMissing, R::Decide, &[Notify]),
        on(R::Refreshing, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s5, alcove: is it time?
        on(R::Backoff, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Backoff, I::TimerFired, B::RetryDue, R::Freeze, &[]),
        on(R::Backoff, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s6, alcove: may it run?
        onward(R::Gate, B::CallsStarted, R::Batch, &[RunTool, StartTask, AskApproval, AskHook, Notify]),
        onward(R::Gate, B::NothingToRun, R::Feedback, &[StartTask, AskApproval, AskHook, Cancel, Notify]),
        // s6: what must run, in which order?
        on(R::Batch, I::Interrupted, B::Interrupted, R::Settling, &[SetTimer, Cancel, Notify]),
        on(R::Batch, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Batch, I::ToolReturned, B::BatchComplete, R::Feedback, &[StartTask, Notify]),
        on(R::Batch, I::ApprovalGiven, B::BatchComplete, R::Feedback, &[StartTask, Cancel, Notify]),
        on(R::Batch, I::ResultStored, B::BatchComplete, R::Feedback, &[StartTask, Notify]),
        on(R::Batch, I::HookAnswered, B::BatchComplete, R::Feedback, &[StartTask, Cancel, Notify]),
        on(R::Batch, I::TimerFired, B::Interrupted, R::Settling, &[SetTimer, Cancel, Notify]),
        on(R::Batch, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s6, alcove: what became of what was running?
        on(R::Settling, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel]),
        on(R::Settling, I::ToolReturned, B::Settled, R::Feedback, &[Cancel]),
        on(R::Settling, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel]),
        on(R::Settling, I::TimerFired, B::GraceOver, R::Feedback, &[]),
        // s7: is every call answered?
        onward(R::Feedback, B::ResultsFiled, R::Decide, &[]),
        onward(R::Feedback, B::BatchShown, R::Reviewing, &[AskHook]),
        // s7, alcove: should the model see the results?
        on(R::Reviewing, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Reviewing, I::HookAnswered, B::BatchReviewed, R::Decide, &[Notify]),
        on(R::Reviewing, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s8: again, or over?
        onward(R::Decide, B::OverBudget, R::Done, &[Finish]),
        onward(R::Decide, B::CompactionUseless, R::Done, &[Finish]),
        onward(R::Decide, B::LimitReached, R::Done, &[Finish]),
        onward(R::Decide, B::RecoveryExhausted, R::Done, &[Finish]),
        onward(R::Decide, B::DeferredToolGone, R::Done, &[Finish]),
        onward(R::Decide, B::CallDeferred, R::Done, &[Finish]),
        onward(R::Decide, B::MoreWork, R::Absorb, &[]),
        onward(R::Decide, B::DoomWarned, R::Absorb, &[Notify]),
        onward(R::Decide, B::DoomProven, R::Done, &[Finish]),
        onward(R::Decide, B::RepairAsked, R::Absorb, &[Notify]),
        onward(R::Decide, B::Nudged, R::Absorb, &[Notify]),
        onward(R::Decide, B::Continued, R::Absorb, &[Notify]),
        onward(R::Decide, B::PauseResumed, R::Absorb, &[Notify]),
        onward(R::Decide, B::GuardReminded, R::Absorb, &[Notify]),
        onward(R::Decide, B::Steered, R::Absorb, &[]),
        onward(R::Decide, B::OutputWeighed, R::Checking, &[CheckOutput]),
        onward(R::Decide, B::OutputMisfit, R::Absorb, &[Notify]),
        onward(R::Decide, B::TasksAwaited, R::Awaiting, &[SetTimer]),
        onward(R::Decide, B::TaskReported, R::Absorb, &[]),
        onward(R::Decide, B::StopAsked, R::Stopping, &[AskHook]),
        onward(R::Decide, B::HookBlocked, R::Absorb, &[Notify]),
        onward(R::Decide, B::GoalReached, R::Done, &[Finish]),
        onward(R::Decide, B::GuardExhausted, R::Done, &[Finish]),
        onward(R::Decide, B::RepairExhausted, R::Done, &[Finish]),
        onward(R::Decide, B::HookHalted, R::Done, &[Finish]),
        onward(R::Decide, B::AnomaliesPiledUp, R::Done, &[Finish]),
        onward(R::Decide, B::ModelRefused, R::Done, &[Finish]),
        onward(R::Decide, B::Interrupted, R::Done, &[Finish]),
        // s8, alcove: has the answer the wanted shape?
        on(R::Checking, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Checking, I::OutputChecked, B::OutputJudged, R::Decide, &[]),
        on(R::Checking, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s8, alcove: does anybody object?
        on(R::Stopping, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Stopping, I::HookAnswered, B::HooksAnswered, R::Decide, &[Notify]),
        on(R::Stopping, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        // s8, alcove: what still runs?
        on(R::Awaiting, I::UserSaid, B::Steered, R::Absorb, &[Cancel]),
        on(R::Awaiting, I::Interrupted, B::Interrupted, R::Feedback, &[Cancel, Notify]),
        on(R::Awaiting, I::TaskEnded, B::TaskReported, R::Absorb, &[Cancel, Notify]),
        on(R::Awaiting, I::TimerFired, B::TasksOverdue, R::Decide, &[]),
        on(R::Awaiting, I::TimerFired, B::Interrupted, R::Feedback, &[Cancel, Notify]),
    ]
};
