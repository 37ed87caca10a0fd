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
        /// Memory is asked what it knows about the user's words.
        MemoryAsked = "memory_asked",
        /// Memory has answered.
        MemoryAnswered = "memory_answered",
        /// The view was projected.
        ViewBuilt = "view_built",
        /// Every limit leaves room for one more request.
        WithinBudget = "within_budget",
        /// The view does not fit the window of the candidate.
        OverBudget = "over_budget",
        /// The head may leave the view once hooks and memory have seen it.
        HeadShown = "head_shown",
        /// Hooks and memory have seen the head, and nobody objects.
        HeadCleared = "head_cleared",
        /// A hook forbids the compaction.
        CompactionVetoed = "compaction_vetoed",
        /// The head is too long for the model that sums up; a shorter one is tried.
        HeadShortened = "head_shortened",
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
        /// Fewer output tokens are asked for, so that the view fits.
        OutputShrunk = "output_shrunk",
        /// The model may speak about its last results, once and without tools.
        WrapUpAsked = "wrap_up_asked",
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
        /// The credential of the candidate is looked up again.
        CredentialWanted = "credential_wanted",
        /// There is another credential.
        CredentialRefreshed = "credential_refreshed",
        /// There is none.
        CredentialMissing = "credential_missing",
        /// The same request goes out once more without a parameter the endpoint does not know.
        ParameterLeftOut = "parameter_left_out",
        /// The same request goes out once more, for a response in one piece.
        StreamAbandoned = "stream_abandoned",
        /// The next candidate of the chain takes over.
        CandidateSwitched = "candidate_switched",
        /// What was complete of a broken response was kept.
        ResponseSealed = "response_sealed",
        /// No owner has budget left for this failure.
        RecoveryExhausted = "recovery_exhausted",
        /// The wait is over.
        RetryDue = "retry_due",
        /// The call that an earlier run left pending is taken up.
        CallResumed = "call_resumed",
        /// The tool of the call that an earlier run left pending is gone.
        DeferredToolGone = "deferred_tool_gone",
        /// At least one call runs, or waits for somebody's word.
        CallsStarted = "calls_started",
        /// No call has to be waited for.
        NothingToRun = "nothing_to_run",
        /// The last call came back.
        BatchComplete = "batch_complete",
        /// Every call has its result in the transcript.
        ResultsFiled = "results_filed",
        /// The batch is complete; the batch hooks are asked.
        BatchShown = "batch_shown",
        /// All batch hooks have answered.
        BatchReviewed = "batch_reviewed",
        /// A call waits for a later run.
        CallDeferred = "call_deferred",
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
        /// The answer is held against the wanted schema.
        OutputWeighed = "output_weighed",
        /// The answer was held against the wanted schema.
        OutputJudged = "output_judged",
        /// The answer does not satisfy the wanted schema; the model is asked again.
        OutputMisfit = "output_misfit",
        /// The answer waits for background tasks.
        TasksAwaited = "tasks_awaited",
        /// A background task is over while nothing else happens.
        TaskReported = "task_reported",
        /// The time for background tasks is over.
        TasksOverdue = "tasks_overdue",
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
        /// Too many rounds in a row went wrong, whoever owned them.
        AnomaliesPiledUp = "anomalies_piled_up",
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
        /// A parameter is left out that the endpoint does not know.
        ParamDegrade = "param_degrade",
        /// The credential was looked up again.
        CredentialRefresh = "credential_refresh",
        /// The stream broke or fell silent.
        StreamReissue = "stream_reissue",
        /// The response is asked for in one piece.
        StreamFallback = "stream_fallback",
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
        /// A background task is over.
        Supervisor = "supervisor",
        /// The last word after the tool-round limit.
        WrapUp = "wrap_up",
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
