//! Inputs: facts from the world, in the past tense. Nothing else can influence a run.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::ids::{EffectId, RuleId};
use crate::message::Image;
use crate::model::{CallFacts, Closure, ModelEvent, closed_enum};

/// A fact from the world. Answers carry the id of the effect they answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The user said something; welcome at any time before the end.
    UserSaid {
        /// The words.
        text: String,
        /// Images that stand behind them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// The required-tool rules whose pattern the words match. Matching is done at the edge,
        /// over the user's own words alone (Part 7, decision 8), and recorded here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<RuleId>,
    },
    /// The user or a parent wants the run to stop; welcome at any time before the end.
    Interrupted {
        /// Who wants it.
        by: InterruptedBy,
    },
    /// The model said something.
    ModelSaid {
        /// The effect it answers.
        id: EffectId,
        /// What it said.
        event: ModelEvent,
    },
    /// The response ended on the transport, or never came.
    ModelClosed {
        /// The effect it answers.
        id: EffectId,
        /// How.
        closure: Closure,
    },
    /// A tool came back.
    ToolReturned {
        /// The effect it answers.
        id: EffectId,
        /// With what.
        report: ToolReport,
    },
    /// A compaction came back.
    Compacted {
        /// The effect it answers.
        id: EffectId,
        /// With what.
        result: Compaction,
    },
    /// Memory was asked and came back.
    MemoryRecalled {
        /// The effect it answers.
        id: EffectId,
        /// With what.
        result: Recall,
    },
    /// Memory was given what is about to leave the view.
    MemoryFlushed {
        /// The effect it answers.
        id: EffectId,
        /// How that went.
        result: Stored,
    },
    /// A credential was looked up again.
    CredentialRefreshed {
        /// The effect it answers.
        id: EffectId,
        /// How that went.
        result: Refresh,
    },
    /// Somebody decided about a call, or nobody did.
    ApprovalGiven {
        /// The effect it answers.
        id: EffectId,
        /// What was decided.
        decision: Decision,
    },
    /// A large result was put aside.
    ResultStored {
        /// The effect it answers.
        id: EffectId,
        /// How that went.
        result: Stored,
    },
    /// A background task is over; welcome at any time before the end.
    TaskEnded {
        /// The effect it answers.
        id: EffectId,
        /// With what.
        report: ToolReport,
    },
    /// The answer was held against the wanted schema.
    OutputChecked {
        /// The effect it answers.
        id: EffectId,
        /// What came of it.
        verdict: OutputVerdict,
    },
    /// A hook answered.
    HookAnswered {
        /// The effect it answers.
        id: EffectId,
        /// With what.
        answer: HookAnswer,
    },
    /// A timer that was set is due.
    TimerFired {
        /// The effect it answers.
        id: EffectId,
    },
}

closed_enum! {
    /// The bare kinds of `Input`.
    InputKind {
        /// See [`Input::UserSaid`].
        UserSaid = "user_said",
        /// See [`Input::Interrupted`].
        Interrupted = "interrupted",
        /// See [`Input::ModelSaid`].
        ModelSaid = "model_said",
        /// See [`Input::ModelClosed`].
        ModelClosed = "model_closed",
        /// See [`Input::ToolReturned`].
        ToolReturned = "tool_returned",
        /// See [`Input::Compacted`].
        Compacted = "compacted",
        /// See [`Input::MemoryRecalled`].
        MemoryRecalled = "memory_recalled",
        /// See [`Input::MemoryFlushed`].
        MemoryFlushed = "memory_flushed",
        /// See [`Input::CredentialRefreshed`].
        CredentialRefreshed = "credential_refreshed",
        /// See [`Input::ApprovalGiven`].
        ApprovalGiven = "approval_given",
        /// See [`Input::ResultStored`].
        ResultStored = "result_stored",
        /// See [`Input::TaskEnded`].
        TaskEnded = "task_ended",
        /// See [`Input::OutputChecked`].
        OutputChecked = "output_checked",
        /// See [`Input::HookAnswered`].
        HookAnswered = "hook_answered",
        /// See [`Input::TimerFired`].
        TimerFired = "timer_fired",
    }
}

impl Input {
    /// The kind of this input.
    #[must_use]
    pub const fn kind(&self) -> InputKind {
        match self {
            Input::UserSaid { .. } => InputKind::UserSaid,
            Input::Interrupted { .. } => InputKind::Interrupted,
            Input::ModelSaid { .. } => InputKind::ModelSaid,
            Input::ModelClosed { .. } => InputKind::ModelClosed,
            Input::ToolReturned { .. } => InputKind::ToolReturned,
            Input::Compacted { .. } => InputKind::Compacted,
            Input::MemoryRecalled { .. } => InputKind::MemoryRecalled,
            Input::MemoryFlushed { .. } => InputKind::MemoryFlushed,
            Input::CredentialRefreshed { .. } => InputKind::CredentialRefreshed,
            Input::ApprovalGiven { .. } => InputKind::ApprovalGiven,
            Input::ResultStored { .. } => InputKind::ResultStored,
            Input::TaskEnded { .. } => InputKind::TaskEnded,
            Input::OutputChecked { .. } => InputKind::OutputChecked,
            Input::HookAnswered { .. } => InputKind::HookAnswered,
            Input::TimerFired { .. } => InputKind::TimerFired,
        }
    }

    /// The images that it brings.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        match self {
            Input::UserSaid { images, .. } => images,
            Input::ToolReturned { report, .. } | Input::TaskEnded { report, .. } => &report.images,
            Input::Interrupted { .. }
            | Input::ModelSaid { .. }
            | Input::ModelClosed { .. }
            | Input::Compacted { .. }
            | Input::MemoryRecalled { .. }
            | Input::MemoryFlushed { .. }
            | Input::CredentialRefreshed { .. }
            | Input::ApprovalGiven { .. }
            | Input::ResultStored { .. }
            | Input::OutputChecked { .. }
            | Input::HookAnswered { .. }
            | Input::TimerFired { .. } => &[],
        }
    }

    /// The effect this input answers, for the kinds that answer one.
    #[must_use]
    pub const fn answers(&self) -> Option<EffectId> {
        match self {
            Input::UserSaid { .. } | Input::Interrupted { .. } => None,
            Input::ModelSaid { id, .. }
            | Input::ModelClosed { id, .. }
            | Input::ToolReturned { id, .. }
            | Input::Compacted { id, .. }
            | Input::MemoryRecalled { id, .. }
            | Input::MemoryFlushed { id, .. }
            | Input::CredentialRefreshed { id, .. }
            | Input::ApprovalGiven { id, .. }
            | Input::ResultStored { id, .. }
            | Input::TaskEnded { id, .. }
            | Input::OutputChecked { id, .. }
            | Input::HookAnswered { id, .. }
            | Input::TimerFired { id } => Some(*id),
        }
    }
}

closed_enum! {
    /// Who interrupted.
    InterruptedBy {
        /// The user.
        User = "user",
        /// The program that embeds the engine, or a parent run.
        Parent = "parent",
        /// The process was asked to end.
        Shutdown = "shutdown",
        /// The time budget of the run: the machine's own timer.
        TimeLimit = "time_limit",
    }
}

/// What a tool came back with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolReport {
    /// How it ended.
    pub status: ToolStatus,
    /// What the model may read. What is longer than the machine shows inline is put aside.
    pub output: String,
    /// Images that the model may see beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// What it spent on models, when it was a run of its own.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
}

impl ToolReport {
    /// A report of something that asked no model.
    #[must_use]
    pub fn new(status: ToolStatus, output: impl Into<String>) -> ToolReport {
        ToolReport { status, output: output.into(), images: Vec::new(), spent: Spent::default() }
    }
}

/// What was spent on models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens, input and output together.
    pub tokens: u64,
    /// Money, in billionths of a dollar; what is not known counts as nothing here.
    pub nanos: u64,
}

impl Spent {
    /// Whether nothing was spent.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.tokens == 0 && self.nanos == 0
    }
}

closed_enum! {
    /// How a tool ended.
    ToolStatus {
        /// It did what it was asked to.
        Succeeded = "succeeded",
        /// It failed, or could not be started.
        Failed = "failed",
        /// It was stopped at its time limit.
        TimedOut = "timed_out",
        /// It was stopped because the engine was told to cancel it.
        Cancelled = "cancelled",
        /// It ended before its work was done, and what it has is marked as a part: a child run
        /// at one of its limits.
        Partial = "partial",
    }
}

/// What came of a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compaction {
    /// The head in few words.
    Summarised {
        /// The words.
        text: String,
        /// Where the whole head is kept; empty when it is not.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        archive: String,
    },
    /// The head itself is too long for the model that should sum it up.
    TooLong {
        /// What it said.
        problem: String,
    },
    /// It could not be summarised.
    Failed {
        /// What went wrong.
        problem: String,
    },
}

/// Other arguments for a call. They are judged like any others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallEdit {
    /// JSON text.
    pub args: String,
    /// What the edge found out about them.
    pub facts: CallFacts,
}

/// What a hook answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAnswer {
    /// Nothing against it.
    Allowed,
    /// Not yet: the reason goes to the model as feedback.
    Blocked {
        /// What is missing.
        reason: String,
    },
    /// Go on with this context, without calling it an error. Counts like a block.
    Continued {
        /// What the model should know.
        context: String,
    },
    /// The call must not run; asked about anything else, it is a block.
    Denied {
        /// Why, for the model.
        reason: String,
    },
    /// Somebody should decide about the call.
    Asked {
        /// Why.
        reason: String,
        /// The arguments that the hook wants to run instead; the question is about them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edit: Option<Box<CallEdit>>,
    },
    /// The call should run with these arguments instead. They are judged like any others.
    Edited {
        /// JSON text.
        args: String,
        /// What the edge found out about them.
        facts: CallFacts,
    },
    /// Not now: the run ends with the call pending, and a later run takes it up.
    Deferred,
    /// Stop everything (`continue: false`); beats every other answer.
    Halted {
        /// Why.
        reason: String,
    },
    /// The hook could not be asked or did not answer properly. Not a block.
    Failed {
        /// What went wrong.
        problem: String,
    },
}

/// What memory had to say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recall {
    /// This.
    Found {
        /// The words, already cut to the limits of the store.
        text: String,
    },
    /// Nothing that fits.
    Nothing,
    /// It could not be asked.
    Failed {
        /// What went wrong.
        problem: String,
    },
}

/// How putting something aside went.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stored {
    /// It is kept.
    Kept {
        /// Where: a reference that a tool can read.
        reference: String,
    },
    /// It is not.
    Failed {
        /// What went wrong.
        problem: String,
    },
}

/// How looking a credential up again went.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refresh {
    /// There is another one now. The credential itself is never an input.
    Refreshed,
    /// There is no other one.
    Failed {
        /// What went wrong.
        problem: String,
    },
}

/// What was decided about a call. Silence is not refusal, and queued is neither refusal nor failure
/// (document 1, 1.11): each is told to the model in words of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may run, this once.
    Allowed,
    /// It may run, and so may later ones.
    AllowedAlways {
        /// Which later ones.
        scope: GrantScope,
    },
    /// It may run with these arguments instead. They are judged like any others.
    Edited {
        /// JSON text.
        args: String,
        /// What the edge found out about them.
        facts: CallFacts,
    },
    /// It must not run.
    Denied {
        /// Why, word for word; may be empty.
        reason: String,
    },
    /// Nobody answered in time.
    TimedOut,
    /// It was put on a list for somebody to decide later.
    Queued {
        /// Its place there.
        ticket: String,
    },
    /// Not now: the run ends with the call pending, and a later run takes it up.
    Deferred,
    /// There is nobody to ask, or no answer that means anything.
    NoVerdict,
}

closed_enum! {
    /// How far a lasting grant reaches.
    GrantScope {
        /// Calls with the same tool and the same arguments.
        Call = "call",
        /// Every call of the tool that only asks.
        Tool = "tool",
    }
}

/// What came of holding an answer against the wanted schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputVerdict {
    /// It fits.
    Fits,
    /// It does not.
    Misfits {
        /// JSON pointer of the first fault; empty when it is no JSON at all.
        path: String,
        /// What is wrong, for the model.
        problem: String,
    },
}
