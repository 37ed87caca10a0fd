//! What a replay came to.

use std::fmt;
use std::path::PathBuf;

use machine_spec::{RoomKind, Terminal};
use serde::Serialize;

use crate::code::Code;
use crate::divergence::Divergence;
use crate::reader::{ReadError, TornTail};

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The recording, if it came from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// How the run ended; nothing while it had not.
    pub terminal: Option<Terminal>,
    /// The room it stands in.
    pub room: RoomKind,
    /// Frames that were driven and are equal.
    pub frames: u64,
    /// Doors that were walked in them.
    pub passages: u64,
    /// Request bodies that were built again.
    pub requests: Tally,
    /// Responses that were decoded again.
    pub responses: Tally,
    /// What is worth knowing and no difference.
    pub warnings: Vec<Warning>,
    /// Whether it is the same run.
    pub verdict: Verdict,
}

/// How many things of a kind were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Compared, and equal as far as nothing else is said.
    pub compared: u64,
    /// Not compared: the recording does not hold what that takes.
    pub skipped: u64,
}

/// Whether it is the same run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every frame is the same.
    Identical,
    /// This is the first difference.
    Diverged(Box<Divergence>),
    /// From here on it cannot be read; every frame before it is the same.
    Unreadable(Box<ReadError>),
}

/// What is worth knowing and no difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// The last line was not written to its end.
    TornTail(TornTail),
    /// A body that is named is not there.
    BodyMissing {
        /// Its address.
        address: String,
        /// The frame before which it is told.
        at: u64,
    },
    /// Something could not be compared.
    NotCompared {
        /// What, and why.
        what: String,
    },
}

impl Report {
    pub(super) const fn new(path: Option<PathBuf>) -> Report {
        Report {
            path,
            terminal: None,
            room: RoomKind::Idle,
            frames: 0,
            passages: 0,
            requests: Tally { compared: 0, skipped: 0 },
            responses: Tally { compared: 0, skipped: 0 },
            warnings: Vec::new(),
            verdict: Verdict::Identical,
        }
    }

    /// Whether every frame is the same.
    #[must_use]
    pub const fn is_identical(&self) -> bool {
        matches!(self.verdict, Verdict::Identical)
    }

    /// The first difference, if there is one.
    #[must_use]
    pub fn divergence(&self) -> Option<&Divergence> {
        match &self.verdict {
            Verdict::Diverged(divergence) => Some(divergence),
            Verdict::Identical | Verdict::Unreadable(_) => None,
        }
    }

    /// The exit code of a command that replays: 0 the same, 1 a difference, 3 unreadable.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self.verdict {
            Verdict::Identical => 0,
            Verdict::Diverged(_) => 1,
            Verdict::Unreadable(_) => 3,
        }
    }
}

impl Warning {
    /// The code.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Warning::TornTail(_) => Code::TornTail,
            Warning::BodyMissing { .. } | Warning::NotCompared { .. } => Code::BodyMissing,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code())?;
        match self {
            Warning::TornTail(torn) => write!(f, "{torn}"),
            Warning::BodyMissing { address, at } => write!(
                f,
                "the body {address} told before frame {at} is not stored, so it was not compared"
            ),
            Warning::NotCompared { what } => f.write_str(what),
        }
    }
}

impl fmt::Display for TornTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TornTail { line, byte, length, seq, input } = self;
        write!(
            f,
            "line {line} (byte {byte}) was not written to its end: {length} bytes of it are there"
        )?;
        match (seq, input) {
            (Some(seq), Some(input)) => {
                write!(f, "; frame {seq} was about to hear {}", input.kind())
            }
            (Some(_) | None, _) => f.write_str("; its input is lost"),
        }
    }
}
