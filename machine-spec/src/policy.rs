//! Failure policy as data: error class x stream phase -> what may be done about it.

use serde::{Deserialize, Serialize};

use crate::because::Owner;
use crate::model::{ErrorClass, StreamPhase, closed_enum};

/// Every choice between two lawful behaviours.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Which failure table is in force.
    pub preset: Preset,
    /// Which calls may start before the message is complete.
    pub early_start: EarlyStart,
    /// How a conversation that grows too large is compacted.
    pub compact: Compactor,
    /// Whether the oldest part may be cut away when nothing else helps.
    pub truncate: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            preset: Preset::Balanced,
            early_start: EarlyStart::Safe,
            compact: Compactor::Summary,
            truncate: true,
        }
    }
}

closed_enum! {
    /// The failure tables.
    Preset {
        /// Bounded retries that honour retry-after, then the next candidate, for every
        /// recoverable class.
        #[serde(rename = "balanced")]
        Balanced = "balanced",
        /// Switch at once on rate limit, timeout, network and server errors (document 1).
        #[serde(rename = "switch-first")]
        SwitchFirst = "switch-first",
        /// Rate limit and transport stay on the model; only overload and unavailability switch
        /// (document 2).
        #[serde(rename = "retry-first")]
        RetryFirst = "retry-first",
    }
}

closed_enum! {
    /// Which calls may start before the message is complete.
    EarlyStart {
        /// None.
        Off = "off",
        /// Concurrency-safe calls, as soon as their own block is complete.
        Safe = "safe",
        /// Every call whose earlier calls have ended, as soon as its own block is complete.
        All = "all",
    }
}

closed_enum! {
    /// How a conversation is compacted.
    Compactor {
        /// Not at all.
        Off = "off",
        /// By the deterministic summary of this crate; no model is asked.
        Summary = "summary",
        /// By a model.
        Model = "model",
    }
}

closed_enum! {
    /// What may be done about a failure.
    Remedy {
        /// Ask the same candidate again, within the owner's budget; then end.
        Retry = "retry",
        /// Ask the same candidate again, within the owner's budget; then switch.
        RetryThenSwitch = "retry_then_switch",
        /// Ask the next candidate.
        Switch = "switch",
        /// Compact the conversation and ask again; then a candidate with a larger window.
        Compact = "compact",
        /// End the run and say what to mend.
        End = "end",
    }
}

impl Preset {
    /// What may be done about a failure of this class (Part 7, decision 3). Classes that only a
    /// person can mend never retry and never switch, in any preset.
    #[must_use]
    pub const fn remedy(self, class: ErrorClass) -> Remedy {
        match class {
            ErrorClass::Auth
            | ErrorClass::Billing
            | ErrorClass::Tls
            | ErrorClass::BadRequest
            | ErrorClass::ParamRejected
            | ErrorClass::PayloadTooLarge => Remedy::End,
            ErrorClass::ContextOverflow => Remedy::Compact,
            ErrorClass::ModelNotFound | ErrorClass::ContentRefused => Remedy::Switch,
            ErrorClass::QuotaExhausted => match self {
                Preset::Balanced | Preset::SwitchFirst => Remedy::Switch,
                Preset::RetryFirst => Remedy::End,
            },
            ErrorClass::Throttled
            | ErrorClass::ConnectTimeout
            | ErrorClass::RequestTimeout
            | ErrorClass::IdleTimeout
            | ErrorClass::Transport
            | ErrorClass::Incomplete
            | ErrorClass::Garbled => match self {
                Preset::Balanced => Remedy::RetryThenSwitch,
                Preset::SwitchFirst => Remedy::Switch,
                Preset::RetryFirst => Remedy::Retry,
            },
            ErrorClass::Overloaded
            | ErrorClass::ServerError
            | ErrorClass::NonApiBody
            | ErrorClass::Unknown => match self {
                Preset::Balanced | Preset::RetryFirst => Remedy::RetryThenSwitch,
                Preset::SwitchFirst => Remedy::Switch,
            },
        }
    }
}

/// Who repeats a request that failed like this on the same candidate.
#[must_use]
pub const fn retry_owner(class: ErrorClass, phase: StreamPhase) -> Owner {
    match (class, phase) {
        (ErrorClass::IdleTimeout, _) => Owner::StreamReissue,
        (_, StreamPhase::BeforeFirst) => Owner::HttpRetry,
        (
            _,
            StreamPhase::Partial
            | StreamPhase::ThinkingDone
            | StreamPhase::BlockCommitted
            | StreamPhase::MessageDone,
        ) => Owner::StreamReissue,
    }
}
