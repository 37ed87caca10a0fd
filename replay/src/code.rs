//! The codes of everything a user can meet in this crate: stable, greppable, never reused.
//!
//! `LW10xx` is a difference between what was recorded and what came, `LW11xx` a file that cannot be
//! read, `LW12xx` a warning, `LW13xx` a scenario that cannot be played. What a code means at a given
//! place is told by the message beside it.

use std::fmt;

/// A stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The replayed effects are not those that were recorded.
    EffectsDiffer,
    /// The replayed trail is not the one that was recorded.
    TrailDiffers,
    /// The state is not the one that was recorded.
    DigestDiffers,
    /// The request that would be sent is not the one that was sent.
    RequestDiffers,
    /// The raw response does not decode to what was recorded.
    StreamDiffers,
    /// A frame is not what was written.
    FrameAltered,
    /// A named invariant is broken.
    InvariantBroken,
    /// A stored body is not what its name says.
    BodyAltered,
    /// The file cannot be opened or read.
    Unreadable,
    /// The first line is not the header of a recording.
    NotARecording,
    /// The format is of a newer major version.
    NewerFormat,
    /// The header holds something this release cannot use.
    BadHeader,
    /// The run needs behaviour flags this release does not know.
    UnknownFlags,
    /// A line is not a frame.
    BadFrame,
    /// A frame is missing, repeated or out of order.
    BadSequence,
    /// A line or file is larger than a reader accepts.
    TooLarge,
    /// The last line was not written to its end.
    TornTail,
    /// A body that is named is not there, so it was not compared.
    BodyMissing,
    /// The recorder gave up; the run went on.
    RecorderFailed,
    /// A scenario cannot be read.
    BadScenario,
    /// The run wants more than the scenario holds.
    ScenarioExhausted,
    /// The run did not end within the bound of the scenario.
    ScenarioEndless,
}

impl Code {
    /// Every code.
    pub const ALL: &[Code] = &[
        Code::EffectsDiffer,
        Code::TrailDiffers,
        Code::DigestDiffers,
        Code::RequestDiffers,
        Code::StreamDiffers,
        Code::FrameAltered,
        Code::InvariantBroken,
        Code::BodyAltered,
        Code::Unreadable,
        Code::NotARecording,
        Code::NewerFormat,
        Code::BadHeader,
        Code::UnknownFlags,
        Code::BadFrame,
        Code::BadSequence,
        Code::TooLarge,
        Code::TornTail,
        Code::BodyMissing,
        Code::RecorderFailed,
        Code::BadScenario,
        Code::ScenarioExhausted,
        Code::ScenarioEndless,
    ];

    /// The code as users see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::EffectsDiffer => "LW1001",
            Code::TrailDiffers => "LW1002",
            Code::DigestDiffers => "LW1003",
            Code::RequestDiffers => "LW1004",
            Code::StreamDiffers => "LW1005",
            Code::FrameAltered => "LW1006",
            Code::InvariantBroken => "LW1007",
            Code::BodyAltered => "LW1008",
            Code::Unreadable => "LW1101",
            Code::NotARecording => "LW1102",
            Code::NewerFormat => "LW1103",
            Code::BadHeader => "LW1104",
            Code::UnknownFlags => "LW1105",
            Code::BadFrame => "LW1106",
            Code::BadSequence => "LW1107",
            Code::TooLarge => "LW1108",
            Code::TornTail => "LW1201",
            Code::BodyMissing => "LW1202",
            Code::RecorderFailed => "LW1203",
            Code::BadScenario => "LW1301",
            Code::ScenarioExhausted => "LW1302",
            Code::ScenarioEndless => "LW1303",
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

#[cfg(test)]
mod tests {
    use super::Code;
    use std::collections::BTreeSet;

    #[test]
    fn no_code_is_used_twice() {
        let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), Code::ALL.len());
    }
}
