//! Every way a run can end. Closed, honest, and carrying its evidence.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::config::{DeferredCall, Fault};
use crate::ids::CandidateId;
use crate::input::InterruptedBy;
use crate::model::{Failure, StopDetails, StreamPhase, closed_enum};
use crate::rooms::RoomKind;

mod published;

pub use published::ResultSubtype;

/// How a run ended. In every one of them the history is fully paired: each call has its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// The model answered and nobody objected.
    Answered {
        /// The text of the answer.
        text: String,
        /// The provider's own word for why it stopped; may be one that nobody has seen (B018).
        stop: String,
    },
    /// The stream failed for good, but text of it was complete: it is delivered, with this warning.
    AnsweredInPart {
        /// The completed text.
        text: String,
        /// What broke the stream.
        failure: Failure,
    },
    /// The model answered without having called a required tool successfully.
    RequiredToolMissing {
        /// The tools that are missing.
        missing: Vec<String>,
        /// The text of the answer, delivered all the same.
        text: String,
    },
    /// Stop hooks kept the turn going up to the cap.
    StopHookLimit {
        /// The cap.
        limit: u32,
        /// What the hook wanted last.
        last_feedback: String,
        /// The text of the last answer.
        text: String,
    },
    /// A hook ended the run.
    HookStopped {
        /// Why, in the hook's words.
        reason: String,
    },
    /// The tool-round limit is reached; the last results stand in history.
    MaxTurns {
        /// The limit.
        limit: u32,
        /// Rounds used.
        used: u32,
        /// What the model said about its last results, if it was asked (`policy.wrap_up`).
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// A budget is spent.
    BudgetExhausted {
        /// Which one.
        kind: BudgetKind,
        /// Its limit.
        limit: u64,
    },
    /// The run was interrupted.
    Interrupted {
        /// Who wanted it.
        by: InterruptedBy,
        /// Where it struck.
        during: RoomKind,
        /// Running calls that settled with a real result.
        settled: u32,
        /// Running calls of which nobody knows what they did.
        unknown: u32,
    },
    /// The conversation does not fit the window of any candidate.
    ContextExhausted {
        /// Window in tokens, as far as known.
        limit: u64,
        /// Size in tokens: estimated, or as the provider said.
        actual: u64,
        /// Why compaction could not help; empty when it is off.
        compaction: String,
    },
    /// Compaction does not make the view smaller, or it fills up again at once.
    CompactionThrash {
        /// Estimated tokens of a request before the last compaction.
        before: u64,
        /// And after.
        after: u64,
    },
    /// The server asks for a longer wait than the configuration allows.
    RateLimited {
        /// The wait it asks for, in milliseconds.
        retry_after_ms: u64,
        /// The decisive failure of every candidate that was tried.
        tried: Vec<Tried>,
    },
    /// No candidate gave a usable response.
    ProviderFailed {
        /// How far the decisive response had come.
        phase: StreamPhase,
        /// The decisive failure.
        failure: Failure,
        /// The decisive failure of every candidate that was tried.
        tried: Vec<Tried>,
    },
    /// The model did not get a call right.
    MalformedToolUse {
        /// Name of the tool in the last unusable call.
        tool: String,
        /// Repairs asked for.
        repairs: u32,
    },
    /// A call waits for a later run. Its result says so, and the history is paired.
    ToolDeferred {
        /// The call, as [`crate::RunConfig::deferred`] takes it up.
        call: DeferredCall,
    },
    /// The tool of the call that an earlier run left pending is gone.
    ToolDeferredUnavailable {
        /// Its name.
        tool: String,
    },
    /// The model did not give its answer the wanted shape.
    StructuredOutputInvalid {
        /// The last answer.
        text: String,
        /// What is wrong with it.
        problem: String,
        /// How often it was asked again.
        retries: u32,
    },
    /// The model was warned and went on to repeat the same calls with the same results.
    DoomLoop {
        /// The tools of the cycle, in order.
        cycle: Vec<String>,
    },
    /// The model said nothing that can be shown.
    NoVisibleOutput {
        /// Whether it was thinking.
        thinking_only: bool,
        /// Nudges given.
        nudges: u32,
    },
    /// The output limit cut the answer more often than the configuration continues it.
    OutputLimit {
        /// The joined text.
        text: String,
        /// Continuations used.
        continuations: u32,
    },
    /// The provider paused the turn more often than the configuration resumes it.
    PauseLimit {
        /// Resumptions used.
        pauses: u32,
    },
    /// The model refused.
    Refused {
        /// What it said about it; may be empty.
        text: String,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<StopDetails>>,
    },
    /// A content filter cut the output.
    Filtered {
        /// The text before the cut; may be empty.
        text: String,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<StopDetails>>,
    },
    /// The configuration cannot work; nothing was started.
    ConfigRefused {
        /// All its faults.
        faults: Vec<Fault>,
    },
}

/// The decisive failure of one candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tried {
    /// The candidate.
    pub candidate: CandidateId,
    /// Requests sent to it in this sweep.
    pub attempts: u32,
    /// What decided against it.
    pub failure: Failure,
}

closed_enum! {
    /// The budgets that can end a run.
    BudgetKind {
        /// Requests to models.
        ModelCalls = "model_calls",
        /// Tokens of models, children included.
        Tokens = "tokens",
        /// Money, children included, in billionths of a dollar.
        Money = "money",
        /// Time, in milliseconds.
        Time = "time",
        /// Rounds in a row that went wrong, whoever owned them.
        Anomalies = "anomalies",
    }
}

closed_enum! {
    /// The bare kinds of `Terminal`.
    TerminalKind {
        /// See [`Terminal::Answered`].
        Answered = "answered",
        /// See [`Terminal::AnsweredInPart`].
        AnsweredInPart = "answered_in_part",
        /// See [`Terminal::RequiredToolMissing`].
        RequiredToolMissing = "required_tool_missing",
        /// See [`Terminal::StopHookLimit`].
        StopHookLimit = "stop_hook_limit",
        /// See [`Terminal::HookStopped`].
        HookStopped = "hook_stopped",
        /// See [`Terminal::MaxTurns`].
        MaxTurns = "max_turns",
        /// See [`Terminal::BudgetExhausted`].
        BudgetExhausted = "budget_exhausted",
        /// See [`Terminal::Interrupted`].
        Interrupted = "interrupted",
        /// See [`Terminal::ContextExhausted`].
        ContextExhausted = "context_exhausted",
        /// See [`Terminal::CompactionThrash`].
        CompactionThrash = "compaction_thrash",
        /// See [`Terminal::RateLimited`].
        RateLimited = "rate_limited",
        /// See [`Terminal::ProviderFailed`].
        ProviderFailed = "provider_failed",
        /// See [`Terminal::MalformedToolUse`].
        MalformedToolUse = "malformed_tool_use",
        /// See [`Terminal::ToolDeferred`].
        ToolDeferred = "tool_deferred",
        /// See [`Terminal::ToolDeferredUnavailable`].
        ToolDeferredUnavailable = "tool_deferred_unavailable",
        /// See [`Terminal::StructuredOutputInvalid`].
        StructuredOutputInvalid = "structured_output_invalid",
        /// See [`Terminal::DoomLoop`].
        DoomLoop = "doom_loop",
        /// See [`Terminal::NoVisibleOutput`].
        NoVisibleOutput = "no_visible_output",
        /// See [`Terminal::OutputLimit`].
        OutputLimit = "output_limit",
        /// See [`Terminal::PauseLimit`].
        PauseLimit = "pause_limit",
        /// See [`Terminal::Refused`].
        Refused = "refused",
        /// See [`Terminal::Filtered`].
        Filtered = "filtered",
        /// See [`Terminal::ConfigRefused`].
        ConfigRefused = "config_refused",
    }
}

closed_enum! {
    /// The coarse class of an ending, derived from the kind and never the other way round.
    TerminalClass {
        /// The answer stands.
        Success = "success",
        /// There is an answer, with a warning.
        Warned = "warned",
        /// A limit or budget ended it; it can be resumed.
        Limit = "limit",
        /// Somebody interrupted it.
        Aborted = "aborted",
        /// It waits for somebody, and a later run goes on with it.
        Suspended = "suspended",
        /// A policy, a hook or a refusal ended it.
        Blocked = "blocked",
        /// Something failed.
        Failed = "failed",
    }
}

impl Terminal {
    /// The kind of this ending.
    #[must_use]
    pub const fn kind(&self) -> TerminalKind {
        match self {
            Terminal::Answered { .. } => TerminalKind::Answered,
            Terminal::AnsweredInPart { .. } => TerminalKind::AnsweredInPart,
            Terminal::RequiredToolMissing { .. } => TerminalKind::RequiredToolMissing,
            Terminal::StopHookLimit { .. } => TerminalKind::StopHookLimit,
            Terminal::HookStopped { .. } => TerminalKind::HookStopped,
            Terminal::MaxTurns { .. } => TerminalKind::MaxTurns,
            Terminal::BudgetExhausted { .. } => TerminalKind::BudgetExhausted,
            Terminal::Interrupted { .. } => TerminalKind::Interrupted,
            Terminal::ContextExhausted { .. } => TerminalKind::ContextExhausted,
            Terminal::CompactionThrash { .. } => TerminalKind::CompactionThrash,
            Terminal::RateLimited { .. } => TerminalKind::RateLimited,
            Terminal::ProviderFailed { .. } => TerminalKind::ProviderFailed,
            Terminal::MalformedToolUse { .. } => TerminalKind::MalformedToolUse,
            Terminal::ToolDeferred { .. } => TerminalKind::ToolDeferred,
            Terminal::ToolDeferredUnavailable { .. } => TerminalKind::ToolDeferredUnavailable,
            Terminal::StructuredOutputInvalid { .. } => TerminalKind::StructuredOutputInvalid,
            Terminal::DoomLoop { .. } => TerminalKind::DoomLoop,
            Terminal::NoVisibleOutput { .. } => TerminalKind::NoVisibleOutput,
            Terminal::OutputLimit { .. } => TerminalKind::OutputLimit,
            Terminal::PauseLimit { .. } => TerminalKind::PauseLimit,
            Terminal::Refused { .. } => TerminalKind::Refused,
            Terminal::Filtered { .. } => TerminalKind::Filtered,
            Terminal::ConfigRefused { .. } => TerminalKind::ConfigRefused,
        }
    }

    /// The text the user gets, if this ending has one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Terminal::Answered { text, .. }
            | Terminal::AnsweredInPart { text, .. }
            | Terminal::RequiredToolMissing { text, .. }
            | Terminal::StopHookLimit { text, .. }
            | Terminal::OutputLimit { text, .. }
            | Terminal::StructuredOutputInvalid { text, .. }
            | Terminal::Refused { text, .. }
            | Terminal::Filtered { text, .. } => Some(text),
            Terminal::MaxTurns { text, .. } => (!text.is_empty()).then_some(text),
            Terminal::HookStopped { .. }
            | Terminal::ToolDeferred { .. }
            | Terminal::ToolDeferredUnavailable { .. }
            | Terminal::BudgetExhausted { .. }
            | Terminal::Interrupted { .. }
            | Terminal::ContextExhausted { .. }
            | Terminal::CompactionThrash { .. }
            | Terminal::RateLimited { .. }
            | Terminal::ProviderFailed { .. }
            | Terminal::MalformedToolUse { .. }
            | Terminal::DoomLoop { .. }
            | Terminal::NoVisibleOutput { .. }
            | Terminal::PauseLimit { .. }
            | Terminal::ConfigRefused { .. } => None,
        }
    }
}

impl TerminalKind {
    /// The coarse class.
    #[must_use]
    pub const fn class(self) -> TerminalClass {
        match self {
            TerminalKind::Answered => TerminalClass::Success,
            TerminalKind::AnsweredInPart
            | TerminalKind::RequiredToolMissing
            | TerminalKind::StopHookLimit => TerminalClass::Warned,
            TerminalKind::MaxTurns
            | TerminalKind::BudgetExhausted
            | TerminalKind::ContextExhausted
            | TerminalKind::CompactionThrash
            | TerminalKind::OutputLimit
            | TerminalKind::PauseLimit => TerminalClass::Limit,
            TerminalKind::Interrupted => TerminalClass::Aborted,
            TerminalKind::ToolDeferred => TerminalClass::Suspended,
            TerminalKind::HookStopped | TerminalKind::Refused | TerminalKind::Filtered => {
                TerminalClass::Blocked
            }
            TerminalKind::RateLimited
            | TerminalKind::ProviderFailed
            | TerminalKind::MalformedToolUse
            | TerminalKind::ToolDeferredUnavailable
            | TerminalKind::StructuredOutputInvalid
            | TerminalKind::DoomLoop
            | TerminalKind::NoVisibleOutput
            | TerminalKind::ConfigRefused => TerminalClass::Failed,
        }
    }

    /// The exit code of a process whose run ended so: 0 success, 5 a limit or a budget,
    /// 130 interrupted, 2 a configuration that cannot work, 6 an answer with a warning,
    /// 7 blocked, 8 failed, 9 suspended. (1, 3 and 4 belong to `replay`.)
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            TerminalKind::ConfigRefused => 2,
            TerminalKind::Answered
            | TerminalKind::AnsweredInPart
            | TerminalKind::RequiredToolMissing
            | TerminalKind::StopHookLimit
            | TerminalKind::HookStopped
            | TerminalKind::MaxTurns
            | TerminalKind::BudgetExhausted
            | TerminalKind::Interrupted
            | TerminalKind::ContextExhausted
            | TerminalKind::CompactionThrash
            | TerminalKind::RateLimited
            | TerminalKind::ProviderFailed
            | TerminalKind::MalformedToolUse
            | TerminalKind::ToolDeferred
            | TerminalKind::ToolDeferredUnavailable
            | TerminalKind::StructuredOutputInvalid
            | TerminalKind::DoomLoop
            | TerminalKind::NoVisibleOutput
            | TerminalKind::OutputLimit
            | TerminalKind::PauseLimit
            | TerminalKind::Refused
            | TerminalKind::Filtered => match self.class() {
                TerminalClass::Success => 0,
                TerminalClass::Limit => 5,
                TerminalClass::Warned => 6,
                TerminalClass::Blocked => 7,
                TerminalClass::Failed => 8,
                TerminalClass::Suspended => 9,
                TerminalClass::Aborted => 130,
            },
        }
    }

    /// Whether the run can be taken up again from its history with a chance to end otherwise.
    #[must_use]
    pub const fn resumable(self) -> bool {
        match self {
            TerminalKind::MaxTurns
            | TerminalKind::BudgetExhausted
            | TerminalKind::Interrupted
            | TerminalKind::RateLimited
            | TerminalKind::ProviderFailed
            | TerminalKind::AnsweredInPart
            | TerminalKind::OutputLimit
            | TerminalKind::PauseLimit
            | TerminalKind::StopHookLimit
            | TerminalKind::ToolDeferred
            | TerminalKind::RequiredToolMissing => true,
            TerminalKind::Answered
            | TerminalKind::HookStopped
            | TerminalKind::ContextExhausted
            | TerminalKind::CompactionThrash
            | TerminalKind::MalformedToolUse
            | TerminalKind::ToolDeferredUnavailable
            | TerminalKind::StructuredOutputInvalid
            | TerminalKind::DoomLoop
            | TerminalKind::NoVisibleOutput
            | TerminalKind::Refused
            | TerminalKind::Filtered
            | TerminalKind::ConfigRefused => false,
        }
    }
}
