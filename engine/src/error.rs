//! What can go wrong in the world before or beside a run, with a stable code and an exit code.
//!
//! It is not how a run ends: an ending is a [`machine_spec::Terminal`], and whatever the machine can
//! decide about becomes an input instead of an error. What is left is a configuration that cannot
//! be used, a recording that cannot be begun, and our own mistakes.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use crate::config::ConfigError;

/// The code of a world failure: stable, greppable, never reused.
///
/// `LW20xx` is the configuration, `LW30xx` the world around a run, `LW39xx` our own mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The configuration file cannot be read.
    ConfigUnreadable,
    /// The configuration is not TOML, or holds a key or a type that is not expected there.
    ConfigSyntax,
    /// A value cannot be used.
    ConfigValue,
    /// The parts do not fit together: an unknown tool in a rule, a name twice, a limit of nothing.
    ConfigFault,
    /// A key is missing in the environment.
    KeyMissing,
    /// No provider is configured.
    NoProvider,
    /// The recording cannot be begun.
    RecordingRefused,
    /// The recording could not be continued; the run went on without it.
    RecordingLost,
    /// A hook wants the user to know something, or did not answer properly.
    HookTrouble,
    /// Somebody's word about a call could not be asked for.
    ApprovalTrouble,
    /// A background run of an agent was to go on without its parent, and cannot.
    ChildStopped,
    /// The machine broke one of its own invariants.
    Bug,
}

impl Code {
    /// Every code.
    pub const ALL: &[Code] = &[
        Code::ConfigUnreadable,
        Code::ConfigSyntax,
        Code::ConfigValue,
        Code::ConfigFault,
        Code::KeyMissing,
        Code::NoProvider,
        Code::RecordingRefused,
        Code::RecordingLost,
        Code::HookTrouble,
        Code::ApprovalTrouble,
        Code::ChildStopped,
        Code::Bug,
    ];

    /// The code as users see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::ConfigUnreadable => "LW2001",
            Code::ConfigSyntax => "LW2002",
            Code::ConfigValue => "LW2003",
            Code::ConfigFault => "LW2004",
            Code::KeyMissing => "LW2005",
            Code::NoProvider => "LW2006",
            Code::RecordingRefused => "LW3001",
            Code::RecordingLost => "LW3002",
            Code::HookTrouble => "LW3003",
            Code::ApprovalTrouble => "LW3010",
            Code::ChildStopped => "LW3011",
            Code::Bug => "LW3900",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A failure of the world that no run can decide about.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EngineError {
    /// The configuration cannot be used. Nothing was started.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The recording cannot be begun. Nothing was started.
    #[error(
        "{} cannot record to {}: {problem}; choose another file or leave --record out",
        Code::RecordingRefused,
        path.display()
    )]
    Recording {
        /// Where it should have been.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The machine broke one of its own invariants: our mistake. The recording up to here is the
    /// bug report.
    #[error(
        "{} the machine broke an invariant: {problem}; please report it with the recording",
        Code::Bug
    )]
    Bug {
        /// The assertion.
        problem: String,
    },
}

impl EngineError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            EngineError::Config(error) => error.code(),
            EngineError::Recording { .. } => Code::RecordingRefused,
            EngineError::Bug { .. } => Code::Bug,
        }
    }

    /// The exit code of a process that failed so: 2 for what the caller can mend, 70 for a bug.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            EngineError::Config(_) | EngineError::Recording { .. } => 2,
            EngineError::Bug { .. } => 70,
        }
    }

    /// The word of the last event of a run that failed so, in the place of a terminal.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            EngineError::Config(_) => "config_refused",
            EngineError::Recording { .. } => "recording_refused",
            EngineError::Bug { .. } => "internal_invariant",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Code;

    #[test]
    fn no_code_is_used_twice() {
        let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), Code::ALL.len());
    }
}
