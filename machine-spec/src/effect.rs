//! Effects: orders to the world, in the imperative. All of them leave `step` by value.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::because::Owner;
use crate::ids::{AttemptId, CallId, CandidateId, EffectId, HookId, RuleId, TaskId};
use crate::message::Orphan;
use crate::model::{ErrorClass, Failure, StopReason, StreamPhase, closed_enum};
use crate::policy::Compactor;
use crate::rejection::Rejection;
use crate::terminal::Terminal;
use crate::view::View;

/// An order to the world. Those that await an answer carry an id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Send this request and report the response as `ModelSaid`… `ModelClosed`.
    CallModel {
        /// Answered by every event of the response and closed by `ModelClosed`.
        id: EffectId,
        /// What to send.
        request: Box<SealedRequest>,
    },
    /// Run this call and report `ToolReturned`. Once started it is a fact.
    RunTool {
        /// Answered by `ToolReturned`.
        id: EffectId,
        /// The call.
        call: CallId,
        /// Name of a declared tool.
        name: Arc<str>,
        /// JSON text that satisfies the schema of the tool.
        args: Arc<str>,
        /// What a child run may spend, when the tool is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowance: Option<Allowance>,
    },
    /// Start this call in the background and report `TaskEnded` when it is over. Its result in the
    /// conversation is an acknowledgement, which is not its completion.
    StartTask {
        /// Answered by `TaskEnded`.
        id: EffectId,
        /// The task.
        task: TaskId,
        /// The call it comes from.
        call: CallId,
        /// Name of a declared tool.
        name: Arc<str>,
        /// JSON text that satisfies the schema of the tool.
        args: Arc<str>,
        /// What a child run may spend, when the tool is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowance: Option<Allowance>,
    },
    /// Ask somebody whether this call may run and report `ApprovalGiven`.
    AskApproval {
        /// Answered by `ApprovalGiven`.
        id: EffectId,
        /// The call.
        call: CallId,
        /// Name of the tool.
        name: Arc<str>,
        /// The arguments that would run, and no others.
        args: Arc<str>,
        /// Why it is asked; empty when a rule says so.
        reason: String,
        /// Whose call it is: the names of the runs from the outermost to this one. Empty for a
        /// run that is nobody's child.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lineage: Vec<String>,
    },
    /// Keep the whole output of the tool that just came back, and report `ResultStored`.
    StoreResult {
        /// Answered by `ResultStored`.
        id: EffectId,
        /// The effect whose output it is.
        of: EffectId,
        /// The call.
        call: CallId,
        /// Its size in bytes.
        bytes: u64,
    },
    /// Look what is known for these words and report `MemoryRecalled`.
    RecallMemory {
        /// Answered by `MemoryRecalled`.
        id: EffectId,
        /// The user's own words.
        query: String,
    },
    /// Remember what is about to leave the view and report `MemoryFlushed`.
    FlushMemory {
        /// Answered by `MemoryFlushed`.
        id: EffectId,
        /// What leaves.
        head: View,
    },
    /// Look up the credential of this candidate again and report `CredentialRefreshed`.
    RefreshCredential {
        /// Answered by `CredentialRefreshed`.
        id: EffectId,
        /// Whose.
        candidate: CandidateId,
    },
    /// Hold the answer against the wanted schema and report `OutputChecked`.
    CheckOutput {
        /// Answered by `OutputChecked`.
        id: EffectId,
        /// The answer.
        text: String,
    },
    /// Summarise this head of the conversation and report `Compacted`.
    Compact {
        /// Answered by `Compacted`.
        id: EffectId,
        /// What is to be summarised.
        head: View,
        /// How.
        by: Compactor,
    },
    /// Ask this hook and report `HookAnswered`.
    AskHook {
        /// Answered by `HookAnswered`.
        id: EffectId,
        /// The hook.
        hook: HookId,
        /// The question.
        question: HookQuestion,
    },
    /// Report `TimerFired` after this time, not before.
    SetTimer {
        /// Answered by `TimerFired`.
        id: EffectId,
        /// Milliseconds from now; the engine may add jitter upwards.
        after_ms: u64,
        /// What is waited for.
        because: TimerFor,
    },
    /// Stop what was ordered under this id. A tool still reports how it ended (within the grace
    /// period); everything else needs no answer, and a late one is refused.
    Cancel {
        /// The effect to stop.
        id: EffectId,
    },
    /// Let this background task run on without us: nobody will hear how it ends.
    Detach {
        /// The task's effect.
        id: EffectId,
    },
    /// Tell observers.
    Notify(Notice),
    /// Tell observers that an input was refused.
    Reject(Rejection),
    /// The run is over. Exactly once.
    Finish(Terminal),
}

closed_enum! {
    /// The bare kinds of `Effect`.
    EffectKind {
        /// See [`Effect::CallModel`].
        CallModel = "call_model",
        /// See [`Effect::RunTool`].
        RunTool = "run_tool",
        /// See [`Effect::StartTask`].
        StartTask = "start_task",
        /// See [`Effect::AskApproval`].
        AskApproval = "ask_approval",
        /// See [`Effect::StoreResult`].
        StoreResult = "store_result",
        /// See [`Effect::RecallMemory`].
        RecallMemory = "recall_memory",
        /// See [`Effect::FlushMemory`].
        FlushMemory = "flush_memory",
        /// See [`Effect::RefreshCredential`].
        RefreshCredential = "refresh_credential",
        /// See [`Effect::CheckOutput`].
        CheckOutput = "check_output",
        /// See [`Effect::Compact`].
        Compact = "compact",
        /// See [`Effect::AskHook`].
        AskHook = "ask_hook",
        /// See [`Effect::SetTimer`].
        SetTimer = "set_timer",
        /// See [`Effect::Cancel`].
        Cancel = "cancel",
        /// See [`Effect::Detach`].
        Detach = "detach",
        /// See [`Effect::Notify`].
        Notify = "notify",
        /// See [`Effect::Reject`].
        Reject = "reject",
        /// See [`Effect::Finish`].
        Finish = "finish",
    }
}

impl Effect {
    /// The kind of this effect.
    #[must_use]
    pub const fn kind(&self) -> EffectKind {
        match self {
            Effect::CallModel { .. } => EffectKind::CallModel,
            Effect::RunTool { .. } => EffectKind::RunTool,
            Effect::StartTask { .. } => EffectKind::StartTask,
            Effect::AskApproval { .. } => EffectKind::AskApproval,
            Effect::StoreResult { .. } => EffectKind::StoreResult,
            Effect::RecallMemory { .. } => EffectKind::RecallMemory,
            Effect::FlushMemory { .. } => EffectKind::FlushMemory,
            Effect::RefreshCredential { .. } => EffectKind::RefreshCredential,
            Effect::CheckOutput { .. } => EffectKind::CheckOutput,
            Effect::Detach { .. } => EffectKind::Detach,
            Effect::Compact { .. } => EffectKind::Compact,
            Effect::AskHook { .. } => EffectKind::AskHook,
            Effect::SetTimer { .. } => EffectKind::SetTimer,
            Effect::Cancel { .. } => EffectKind::Cancel,
            Effect::Notify(_) => EffectKind::Notify,
            Effect::Reject(_) => EffectKind::Reject,
            Effect::Finish(_) => EffectKind::Finish,
        }
    }
}

/// A request as it was frozen. Together with the configuration it decides every byte that is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SealedRequest {
    /// Which request of the run this is.
    pub attempt: AttemptId,
    /// To whom.
    pub candidate: CandidateId,
    /// Who ordered it: the first request of a step, or the owner of the repetition.
    pub owner: Owner,
    /// What the model sees. Serialises as length and digest; the messages travel in memory.
    pub view: View,
    /// Which tools the model may call.
    pub tools: ToolChoice,
    /// How the response travels.
    #[serde(default, skip_serializing_if = "Transport::is_stream")]
    pub transport: Transport,
    /// Output tokens it may use, when they are fewer than the candidate's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// What is left out because the endpoint does not know it, in the edge's own words, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Arc<str>>,
}

closed_enum! {
    /// How a response travels.
    #[derive(Default)]
    Transport {
        /// Piece by piece.
        #[default]
        Stream = "stream",
        /// In one piece: the last resort where streams break.
        Whole = "whole",
    }
}

impl Transport {
    const fn is_stream(&self) -> bool {
        match self {
            Transport::Stream => true,
            Transport::Whole => false,
        }
    }
}

/// What a child run may spend at most: what is left of its parent's budgets. Zero means nothing is
/// left; absent means that the parent has no such budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Allowance {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money, in billionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nanos: Option<u64>,
    /// How deep the child stands: 1 for a child of an outermost run.
    pub depth: u32,
}

/// Which tools the model may call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// All declared tools, if it wants to.
    Auto,
    /// It must call this one.
    Force {
        /// Name of a declared tool.
        tool: String,
    },
    /// It must call one of them, whichever it wants.
    Any,
    /// None are offered.
    None,
}

/// What a hook is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookQuestion {
    /// May the turn end here?
    Stop {
        /// Whether the turn already goes on because of a stop hook.
        active: bool,
        /// How often stop hooks made it go on.
        reentries: u32,
        /// The text of the answer.
        last_text: String,
        /// Background tasks that still run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
    },
    /// May this call run?
    Tool {
        /// The call.
        call: CallId,
        /// Name of the tool.
        tool: Arc<str>,
        /// The arguments, as JSON text.
        args: Arc<str>,
    },
    /// All calls of a response have their results. Should the model see them?
    Batch {
        /// The calls, in order.
        calls: Vec<CallId>,
    },
    /// May the head of the conversation become a summary?
    Compact {
        /// Entries that would leave the view.
        dropped: u32,
        /// Whether the provider already refused the view.
        overflowed: bool,
    },
}

closed_enum! {
    /// What a timer is for.
    TimerFor {
        /// The wait before a request is repeated.
        Backoff = "backoff",
        /// The time that cancelled tools get to settle.
        Settle = "settle",
        /// The time budget of the run.
        TimeLimit = "time_limit",
        /// How long an answer waits for background tasks.
        Tasks = "tasks",
    }
}

/// What observers are told. Notices never influence a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// Everything shown of this attempt is void: forget its text (B006, T9).
    Retracted {
        /// The attempt whose deltas are void.
        attempt: AttemptId,
    },
    /// A response was kept as far as it was complete, because a call of it had started (B030).
    Sealed {
        /// The attempt.
        attempt: AttemptId,
        /// How many calls were kept.
        calls: u32,
    },
    /// An attempt failed. Every attempt's own error is told, whatever happens next.
    AttemptFailed {
        /// The attempt.
        attempt: AttemptId,
        /// How far it had come.
        phase: StreamPhase,
        /// The failure.
        failure: Failure,
    },
    /// The provider said that the view is too large. The error is withheld while compaction is
    /// tried; it surfaces only if that cannot help.
    ErrorWithheld {
        /// The attempt.
        attempt: AttemptId,
        /// The failure.
        failure: Failure,
    },
    /// The request will be repeated after a wait.
    RetryScheduled {
        /// Who repeats it.
        owner: Owner,
        /// Which repetition of this owner it is, from 1.
        n: u32,
        /// The wait in milliseconds.
        after_ms: u64,
        /// What it is repeated for.
        class: ErrorClass,
    },
    /// The run goes on with another candidate.
    Switched {
        /// From.
        from: CandidateId,
        /// To.
        to: CandidateId,
        /// Why.
        class: ErrorClass,
    },
    /// The model's own statement contradicts what it sent; what it sent counts (B017).
    Contradiction {
        /// What it said.
        stop: StopReason,
        /// How many calls it sent.
        calls: u32,
    },
    /// A reminder was sent because a required tool was not called successfully.
    GuardReminded {
        /// The rule.
        rule: RuleId,
        /// The tool.
        tool: String,
        /// Which reminder it is, from 1.
        n: u32,
    },
    /// The model was warned that it repeats the same calls with the same results.
    DoomWarned {
        /// The tools of the cycle, in order.
        cycle: Vec<String>,
    },
    /// The model was asked to mend its output.
    RepairAsked {
        /// What was wrong.
        fault: OutputFault,
        /// Which request for repair it is, from 1.
        n: u32,
    },
    /// A parameter is left out of the requests to this candidate from now on (B040).
    ParameterLeftOut {
        /// The candidate.
        candidate: CandidateId,
        /// What is left out, in the edge's own word.
        what: Arc<str>,
    },
    /// Fewer output tokens are asked for, so that the view fits.
    OutputShrunk {
        /// Output tokens of the requests that follow.
        to: u64,
    },
    /// A call did not pass the gate, or runs otherwise than the model asked.
    CallGated {
        /// The call.
        call: CallId,
        /// Why or how.
        verdict: Gated,
    },
    /// A call became a background task.
    TaskStarted {
        /// The task.
        task: TaskId,
        /// The call.
        call: CallId,
        /// Name of the tool.
        tool: Arc<str>,
    },
    /// A background task is over and its report waits to be absorbed.
    TaskReported {
        /// The task.
        task: TaskId,
    },
    /// The run ended before these background tasks did.
    TasksLeft {
        /// The tasks, oldest first.
        orphans: Vec<Orphan>,
    },
    /// There is no other credential for this candidate.
    CredentialMissing {
        /// The candidate.
        candidate: CandidateId,
        /// What went wrong.
        problem: String,
    },
    /// Memory could not be asked, or could not take something down; the run goes on without.
    MemoryFailed {
        /// What went wrong.
        problem: String,
    },
    /// A large result could not be kept whole; its head and tail stand in the conversation.
    StoreFailed {
        /// The call.
        call: CallId,
        /// What went wrong.
        problem: String,
    },
    /// The model may speak about its last results, once and without tools.
    WrapUpAsked,
    /// The head of the conversation became a summary.
    Compacted {
        /// Estimated tokens of a request before.
        before: u64,
        /// And after.
        after: u64,
        /// Entries that the model does not see any more.
        dropped: u32,
    },
    /// A compaction failed; the view is as it was.
    CompactionFailed {
        /// What went wrong.
        problem: String,
    },
    /// The oldest part was cut away without a summary: information is lost.
    ContextTruncated {
        /// Entries that the model does not see any more.
        dropped: u32,
    },
    /// A hook made the turn go on.
    HookBlocked {
        /// The hook.
        hook: HookId,
        /// Which forced continuation it is, from 1.
        n: u32,
    },
    /// A hook failed; the run goes on (Part 7, decision 4).
    HookFailed {
        /// The hook.
        hook: HookId,
        /// What went wrong.
        problem: String,
    },
    /// A hook failed three times in a row and is not asked again in this turn.
    HookDisabled {
        /// The hook.
        hook: HookId,
    },
    /// Queued user input became part of the conversation.
    InputAbsorbed {
        /// How many messages.
        count: u32,
    },
    /// The run ended before these words were read; they belong to the next run.
    InputReturned {
        /// The words, in order.
        texts: Vec<String>,
    },
    /// The turn was interrupted. Observers learn of it before the end and cannot delay it (B002).
    TurnInterrupted,
}

closed_enum! {
    /// What was wrong with an output that the model was asked to mend.
    OutputFault {
        /// No call of the response could be used.
        MalformedCall = "malformed_call",
        /// Nothing at all, or only blanks.
        Empty = "empty",
        /// Only thinking.
        ThinkingOnly = "thinking_only",
        /// Cut at the output limit.
        Truncated = "truncated",
        /// Paused by the provider.
        Paused = "paused",
        /// It does not satisfy the wanted schema.
        WrongShape = "wrong_shape",
    }
}

closed_enum! {
    /// Why a call does not run as the model asked.
    Gated {
        /// A rule or a hook forbids it.
        Denied = "denied",
        /// Somebody was asked and said no.
        Refused = "refused",
        /// Somebody was asked and did not say yes.
        Unanswered = "unanswered",
        /// Somebody or a hook changed its arguments.
        Edited = "edited",
        /// It waits for a later run.
        Deferred = "deferred",
    }
}
