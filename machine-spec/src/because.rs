//! Why a door was walked, and who owns a repetition: two closed vocabularies.

use serde::{Deserialize, Serialize};

use crate::input::InputKind;
use crate::model::closed_enum;
use crate::rooms::RoomKind;

closed_enum! {
    /// The cause of a passage. Every transition names one.
    Because {
        /// The user spoke and the run begins.
        UserSpoke = "user_spoke",
        /// Queued input became part of the transcript.
        InputAbsorbed = "input_absorbed",
        /// Nothing was queued.
        NothingNew = "nothing_new",
        /// The view was projected.
        ViewBuilt = "view_built",
        /// Every limit leaves room for one more request.
        WithinBudget = "within_budget",
        /// The view does not fit the window of the candidate.
        OverBudget = "over_budget",
        /// The head became a summary.
        Compacted = "compacted",
        /// The head could not be summarised.
        CompactionFailed = "compaction_failed",
        /// Compaction does not make the view smaller, or not for long.
        CompactionUseless = "compaction_useless",
        /// The oldest part was cut away.
        ContextTruncated = "context_truncated",
        /// The provider said that the view is too large; its error is withheld.
        ContextOverflowed = "context_overflowed",
        /// A limit of the run is reached.
        LimitReached = "limit_reached",
        /// The request was sealed and sent.
        RequestSealed = "request_sealed",
        /// The response holds calls.
        CallsRequested = "calls_requested",
        /// The response holds no call.
        NoCalls = "no_calls",
        /// The response failed or never came.
        StreamBroke = "stream_broke",
        /// The same candidate is asked again after a wait.
        RetryScheduled = "retry_scheduled",
        /// The next candidate of the chain takes over.
        CandidateSwitched = "candidate_switched",
        /// What was complete of a broken response was kept.
        ResponseSealed = "response_sealed",
        /// No owner has budget left for this failure.
        RecoveryExhausted = "recovery_exhausted",
        /// The wait is over.
        RetryDue = "retry_due",
        /// At least one call runs.
        CallsStarted = "calls_started",
        /// No call has to be waited for.
        NothingToRun = "nothing_to_run",
        /// The last call came back.
        BatchComplete = "batch_complete",
        /// Every call has its result in the transcript.
        ResultsFiled = "results_filed",
        /// The results go to the model.
        MoreWork = "more_work",
        /// The results go to the model with a warning: they repeat.
        DoomWarned = "doom_warned",
        /// The model was warned and repeats all the same.
        DoomProven = "doom_proven",
        /// The model is asked to mend a response in which no call was usable.
        RepairAsked = "repair_asked",
        /// The model is asked to say something visible.
        Nudged = "nudged",
        /// The model is asked to go on where the output limit cut it.
        Continued = "continued",
        /// A paused response goes back to be resumed.
        PauseResumed = "pause_resumed",
        /// The model is reminded of a required tool.
        GuardReminded = "guard_reminded",
        /// Queued user input keeps the turn going.
        Steered = "steered",
        /// The answer is complete; the stop hooks are asked.
        StopAsked = "stop_asked",
        /// All stop hooks have answered.
        HooksAnswered = "hooks_answered",
        /// A stop hook makes the turn go on.
        HookBlocked = "hook_blocked",
        /// The answer stands.
        GoalReached = "goal_reached",
        /// A required tool stayed uncalled.
        GuardExhausted = "guard_exhausted",
        /// The model could not mend its output.
        RepairExhausted = "repair_exhausted",
        /// A hook wants everything to stop.
        HookHalted = "hook_halted",
        /// The model or its provider refused.
        ModelRefused = "model_refused",
        /// The run was interrupted.
        Interrupted = "interrupted",
        /// The last cancelled call has settled.
        Settled = "settled",
        /// The time to settle is over.
        GraceOver = "grace_over",
    }
}

closed_enum! {
    /// Who owns a request. Before a request is called "again", its owner is named; each owner has
    /// a counter and a budget of its own, and none consumes another's (T7).
    Owner {
        /// The first request of a step: nothing is repeated.
        Step = "step",
        /// Failed before any response data.
        HttpRetry = "http_retry",
        /// The stream broke or fell silent.
        StreamReissue = "stream_reissue",
        /// Another candidate of the chain takes over.
        ModelFallback = "model_fallback",
        /// The conversation was compacted.
        ContextCompact = "context_compact",
        /// The output must be mended, continued or resumed.
        OutputRepair = "output_repair",
        /// Tool results are fed back.
        ToolFeedback = "tool_feedback",
        /// The calls repeat without effect.
        DoomBreaker = "doom_breaker",
        /// A required tool is missing.
        LoopGuard = "loop_guard",
        /// A stop hook makes the turn go on.
        HookReentry = "hook_reentry",
        /// The user said more.
        UserInput = "user_input",
    }
}

/// What set a passage off: an input, or the corridor walking on through a passing room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The room answered this input.
    On(InputKind),
    /// The room passes without waiting.
    Onward,
}

/// One door walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Passage {
    /// The room that was left.
    pub from: RoomKind,
    /// What set it off.
    pub on: Trigger,
    /// Why.
    pub because: Because,
    /// The room that was entered.
    pub to: RoomKind,
    /// How many effects were emitted on the way, in the order of `Step::effects`.
    pub emitted: u16,
}
