//! The first difference between what was recorded and what came, told for people and for programs.

use std::fmt;
use std::path::PathBuf;

use machine_spec::RoomKind;
use machine_spec::input::InputKind;
use machine_spec::invariants::Invariant;
use serde::Serialize;
use serde_json::Value;

use crate::code::Code;

mod path;

pub use path::{Difference, first_difference};

/// The first difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// What kind of difference it is.
    pub code: Code,
    /// The recording, if it came from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The frame.
    pub at: u64,
    /// The line of the recording, from 1, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The room that the input met.
    pub room: RoomKind,
    /// The input; nothing for the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputKind>,
    /// Where in the frame, or in the request body: a path such as `effects[0].call_model.id`.
    pub path: String,
    /// What was recorded there.
    pub recorded: String,
    /// What came instead.
    pub replayed: String,
    /// The invariant that says why it matters.
    pub invariant: Invariant,
    /// Why it matters.
    pub why: String,
    /// One command that shows it again.
    pub command: String,
}

impl Divergence {
    /// Where it is, in the words of an editor: `file:line`.
    #[must_use]
    pub fn place(&self) -> String {
        let file = self.file.as_ref().map(|path| path.display().to_string());
        match (file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file,
            (None, Some(line)) => format!("line {line}"),
            (None, None) => "the recording".into(),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.code {
            Code::EffectsDiffer => "the machine orders something else",
            Code::TrailDiffers => "the machine walks another way",
            Code::DigestDiffers => "the machine is in another state",
            Code::RequestDiffers => "another request would be sent",
            Code::StreamDiffers => "the response decodes to something else",
            Code::FrameAltered => "the frame is not what was written",
            Code::InvariantBroken => "an invariant is broken",
            Code::BodyAltered => "a stored body is not what was written",
            Code::Unreadable
            | Code::NotARecording
            | Code::NewerFormat
            | Code::BadHeader
            | Code::UnknownFlags
            | Code::BadFrame
            | Code::BadSequence
            | Code::TooLarge
            | Code::TornTail
            | Code::BodyMissing
            | Code::RecorderFailed
            | Code::BadScenario
            | Code::ScenarioExhausted
            | Code::ScenarioEndless => "the recording cannot be followed",
        };
        let on = match self.input {
            Some(input) => format!("on {input}"),
            None if self.at == 0 => "at the start".into(),
            None => "on an input that cannot be read".into(),
        };
        writeln!(f, "{} at frame {}: {what}", self.code, self.at)?;
        writeln!(f, "  where      {}, in {}, {on}", self.place(), self.room)?;
        writeln!(f, "  path       {}", self.path)?;
        writeln!(f, "  recorded   {}", self.recorded)?;
        writeln!(f, "  replayed   {}", self.replayed)?;
        writeln!(f, "  why        {}: {}", self.invariant, self.why)?;
        write!(f, "  reproduce  {}", self.command)
    }
}

/// How much of a value a report shows.
const SHOWN: usize = 160;

/// A value as a report shows it: JSON, cut to what a line can hold.
#[must_use]
pub fn shown(value: Option<&Value>) -> String {
    match value {
        None => "(nothing)".into(),
        Some(value) => {
            let text = value.to_string();
            match text.char_indices().nth(SHOWN) {
                None => text,
                Some((cut, _)) => format!("{}… ({} bytes)", &text[..cut], text.len()),
            }
        }
    }
}
