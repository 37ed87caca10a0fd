//! Inputs: facts from the world, in the past tense. Nothing else can influence a run.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::ids::{EffectId, RuleId};
use crate::model::{Closure, ModelEvent, closed_enum};

/// A fact from the world. Answers carry the id of the effect they answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The user said something; welcome at any time before the end.
    UserSaid {
        /// The words.
        text: String,
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
            Input::HookAnswered { .. } => InputKind::HookAnswered,
            Input::TimerFired { .. } => InputKind::TimerFired,
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
    }
}

/// What a tool came back with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolReport {
    /// How it ended.
    pub status: ToolStatus,
    /// What the model may read; already cut to the limits of the tool.
    pub output: String,
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
    },
    /// It could not be summarised.
    Failed {
        /// What went wrong.
        problem: String,
    },
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
