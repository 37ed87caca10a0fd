//! Runs as people read them: one renderer for each concept, in three degrees of detail.
//!
//! `trace` and the snapshots of the fixtures use the same words. Nothing here is parsed by anybody;
//! programs read the recording.

use machine_spec::Transcript;
use machine_spec::view::View;

use crate::divergence::Divergence;
use crate::reader::Recording;

mod ledger;
mod story;
mod talk;
mod words;

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Only which kinds of things there are, in order.
    Kinds,
    /// What they are about; long texts are cut.
    Short,
    /// Everything.
    Full,
}

/// The story of a run: what came, which doors were walked and why, what was ordered and by whom.
#[must_use]
pub fn trail(recording: &Recording, mode: Mode) -> String {
    story::of(recording, mode)
}

/// What was said.
#[must_use]
pub fn transcript(transcript: &Transcript, mode: Mode) -> String {
    talk::transcript(transcript, mode)
}

/// What the model sees.
#[must_use]
pub fn view(view: &View, mode: Mode) -> String {
    talk::view(view, mode)
}

/// The life of every order that awaited an answer.
#[must_use]
pub fn ledger(recording: &Recording, mode: Mode) -> String {
    ledger::of(recording, mode)
}

/// A divergence.
#[must_use]
pub fn divergence(divergence: &Divergence, mode: Mode) -> String {
    let Divergence { code, at, room, path, .. } = divergence;
    match mode {
        Mode::Kinds => format!("{code} at frame {at} in {room}: {path}\n"),
        Mode::Short => format!("{divergence}\n"),
        Mode::Full => {
            let facts = words::facts(divergence, Mode::Full);
            format!("{divergence}\n  all of it  {facts}\n")
        }
    }
}
