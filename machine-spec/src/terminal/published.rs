//! What the endings are called by the published Claude Code protocol: its `terminal_reason` and the
//! subtype of its `result` message. Two axes, one mapping each (behaviour document, 2.7).

use super::{Terminal, TerminalKind};
use crate::model::{ErrorClass, closed_enum};
use crate::rooms::RoomKind;

closed_enum! {
    /// The subtypes of a `result` message.
    ResultSubtype {
        /// There is an answer.
        Success = "success",
        /// The turn limit was reached.
        ErrorMaxTurns = "error_max_turns",
        /// A budget was spent.
        ErrorMaxBudgetUsd = "error_max_budget_usd",
        /// The answer never had the wanted shape.
        ErrorMaxStructuredOutputRetries = "error_max_structured_output_retries",
        /// Anything else.
        ErrorDuringExecution = "error_during_execution",
    }
}

impl TerminalKind {
    /// The subtype of the `result` message.
    #[must_use]
    pub const fn result_subtype(self) -> ResultSubtype {
        match self {
            TerminalKind::Answered
            | TerminalKind::AnsweredInPart
            | TerminalKind::RequiredToolMissing
            | TerminalKind::StopHookLimit => ResultSubtype::Success,
            TerminalKind::MaxTurns => ResultSubtype::ErrorMaxTurns,
            TerminalKind::BudgetExhausted => ResultSubtype::ErrorMaxBudgetUsd,
            TerminalKind::StructuredOutputInvalid => ResultSubtype::ErrorMaxStructuredOutputRetries,
            TerminalKind::HookStopped
            | TerminalKind::Interrupted
            | TerminalKind::ContextExhausted
            | TerminalKind::CompactionThrash
            | TerminalKind::RateLimited
            | TerminalKind::ProviderFailed
            | TerminalKind::MalformedToolUse
            | TerminalKind::ToolDeferred
            | TerminalKind::ToolDeferredUnavailable
            | TerminalKind::DoomLoop
            | TerminalKind::NoVisibleOutput
            | TerminalKind::OutputLimit
            | TerminalKind::PauseLimit
            | TerminalKind::Refused
            | TerminalKind::Filtered
            | TerminalKind::ConfigRefused => ResultSubtype::ErrorDuringExecution,
        }
    }
}

impl Terminal {
    /// The published `terminal_reason`.
    #[must_use]
    pub fn terminal_reason(&self) -> &'static str {
        match self {
            Terminal::Answered { .. }
            | Terminal::AnsweredInPart { .. }
            | Terminal::RequiredToolMissing { .. } => "completed",
            Terminal::StopHookLimit { .. } => "stop_hook_prevented",
            Terminal::HookStopped { .. } => "hook_stopped",
            Terminal::MaxTurns { .. } => "max_turns",
            Terminal::BudgetExhausted { .. } => "budget_exhausted",
            Terminal::Interrupted { during, .. } => match during {
                RoomKind::Batch | RoomKind::Gate | RoomKind::Settling => "aborted_tools",
                RoomKind::Idle
                | RoomKind::Absorb
                | RoomKind::View
                | RoomKind::Govern
                | RoomKind::Recalling
                | RoomKind::Clearing
                | RoomKind::Compacting
                | RoomKind::Freeze
                | RoomKind::Parse
                | RoomKind::Recover
                | RoomKind::Refreshing
                | RoomKind::Backoff
                | RoomKind::Feedback
                | RoomKind::Reviewing
                | RoomKind::Decide
                | RoomKind::Checking
                | RoomKind::Stopping
                | RoomKind::Awaiting
                | RoomKind::Done => "aborted_streaming",
            },
            Terminal::ContextExhausted { .. } => "prompt_too_long",
            Terminal::CompactionThrash { .. } => "rapid_refill_breaker",
            Terminal::RateLimited { .. } => "api_error",
            Terminal::ProviderFailed { failure, .. } => match failure.class {
                ErrorClass::ModelNotFound => "model_error",
                ErrorClass::Throttled
                | ErrorClass::QuotaExhausted
                | ErrorClass::Overloaded
                | ErrorClass::ServerError
                | ErrorClass::ConnectTimeout
                | ErrorClass::RequestTimeout
                | ErrorClass::IdleTimeout
                | ErrorClass::Transport
                | ErrorClass::Tls
                | ErrorClass::Auth
                | ErrorClass::Billing
                | ErrorClass::PayloadTooLarge
                | ErrorClass::ContextOverflow
                | ErrorClass::ParamRejected
                | ErrorClass::BadRequest
                | ErrorClass::ContentRefused
                | ErrorClass::NonApiBody
                | ErrorClass::Incomplete
                | ErrorClass::Garbled
                | ErrorClass::Unknown => "api_error",
            },
            Terminal::MalformedToolUse { .. } => "malformed_tool_use_exhausted",
            Terminal::ToolDeferred { .. } => "tool_deferred",
            Terminal::ToolDeferredUnavailable { .. } => "tool_deferred_unavailable",
            Terminal::StructuredOutputInvalid { .. } => "structured_output_retry_exhausted",
            Terminal::DoomLoop { .. }
            | Terminal::OutputLimit { .. }
            | Terminal::PauseLimit { .. } => "blocking_limit",
            Terminal::NoVisibleOutput { .. }
            | Terminal::Refused { .. }
            | Terminal::Filtered { .. } => "model_error",
            Terminal::ConfigRefused { .. } => "turn_setup_failed",
        }
    }
}
