//! Failure policy as data: error class x stream phase -> what may be done about it.

use serde::{Deserialize, Serialize};

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
    /// Whether memory is asked for what it knows about the user's words.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub recall: bool,
    /// Whether memory is shown what is about to leave the view.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub flush: bool,
    /// Whether the model may speak about its last results at the tool-round limit, once and
    /// without tools.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub wrap_up: bool,
    /// What a denied call means for the others of its response.
    #[serde(skip_serializing_if = "Denial::is_one")]
    pub denial: Denial,
    /// What becomes of background tasks that still run when the answer is there.
    #[serde(skip_serializing_if = "Tasks::is_wait")]
    pub tasks: Tasks,
}

closed_enum! {
    /// What a denied call means for the others of its response.
    #[derive(Default)]
    Denial {
        /// Nothing.
        #[default]
        One = "one",
        /// No other call of the response is started any more.
        Batch = "batch",
    }
}

impl Denial {
    const fn is_one(&self) -> bool {
        match self {
            Denial::One => true,
            Denial::Batch => false,
        }
    }
}

closed_enum! {
    /// What becomes of background tasks that still run when the answer is there. A run that ends
    /// otherwise never waits: `wait` cancels them then.
    #[derive(Default)]
    Tasks {
        /// The run waits for them, within its limit, and the model hears how they ended.
        #[default]
        Wait = "wait",
        /// They are stopped.
        Cancel = "cancel",
        /// They run on and are listed.
        Leave = "leave",
    }
}

impl Tasks {
    const fn is_wait(&self) -> bool {
        match self {
            Tasks::Wait => true,
            Tasks::Cancel | Tasks::Leave => false,
        }
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            preset: Preset::Balanced,
            early_start: EarlyStart::Safe,
            compact: Compactor::Summary,
            truncate: true,
            recall: false,
            flush: false,
            wrap_up: false,
            denial: Denial::One,
            tasks: Tasks::Wait,
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

closed_enum! {
    /// Who repeats a request after a wait.
    RetryOwner {
        /// The request failed before any response data.
        Http = "http",
        /// The stream broke or fell silent.
        Stream = "stream",
    }
}

/// Who repeats a request that failed like this on the same candidate.
#[must_use]
pub const fn retry_owner(class: ErrorClass, phase: StreamPhase) -> RetryOwner {
    match (class, phase) {
        (ErrorClass::IdleTimeout, _) => RetryOwner::Stream,
        (_, StreamPhase::BeforeFirst) => RetryOwner::Http,
        (
            _,
            StreamPhase::Partial
            | StreamPhase::ThinkingDone
            | StreamPhase::BlockCommitted
            | StreamPhase::MessageDone,
        ) => RetryOwner::Stream,
    }
}
