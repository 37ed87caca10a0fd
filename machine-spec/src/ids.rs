//! Identities, all minted by counters of the frame: never random, the same on every replay.

use core::fmt;

use serde::{Deserialize, Serialize};

/// An effect that awaits an answer. Opened once in the ledger, closed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId(pub u64);

/// A tool call of this run, in order of appearance over all responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId(pub u32);

/// A background task of this run, in order of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId(pub u32);

/// One request to one candidate, counted over the whole run and never reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId(pub u32);

/// The place of a candidate in the fallback chain of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CandidateId(pub u16);

/// The place of a hook in the configuration, all kinds of hooks counted through: stop hooks, tool
/// hooks, batch hooks, compact hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HookId(pub u16);

/// The place of a required-tool rule in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleId(pub u16);

macro_rules! shown_as {
    ($($id:ident => $prefix:literal),+ $(,)?) => {$(
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )+};
}

shown_as! {
    EffectId => "e",
    CallId => "call-",
    TaskId => "task-",
    AttemptId => "attempt-",
    CandidateId => "candidate-",
    HookId => "hook-",
    RuleId => "rule-",
}
