//! The declared plan of the house: every door, every cell.
//!
//! The plan is written by hand and asserted on every passage; `tests/table.rs` explores the house
//! and compares both ways. What is declared and never walked is as wrong as what is walked and not
//! declared.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::because::{Because, Passage, Trigger};
use crate::effect::EffectKind;
use crate::input::InputKind;
use crate::ledger::Standing;
use crate::model::closed_enum;
use crate::rooms::RoomKind;

mod cells;
mod edges;

pub use cells::cells;
pub use edges::EDGES;

/// A door of the house.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The room that is left.
    pub from: RoomKind,
    /// What sets it off.
    pub on: Trigger,
    /// Why.
    pub because: Because,
    /// The room that is entered.
    pub to: RoomKind,
    /// The kinds of effects that may be emitted on the way.
    pub emits: &'static [EffectKind],
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.on {
            Trigger::On(input) => {
                write!(f, "{} -> {} on {input} because {}", self.from, self.to, self.because)
            }
            Trigger::Onward => write!(f, "{} -> {} because {}", self.from, self.to, self.because),
        }
    }
}

closed_enum! {
    /// What can become of an input.
    Outcome {
        /// At least one door is walked.
        Moves = "moves",
        /// The room takes it down and stays.
        Stays = "stays",
        /// It is refused.
        Refuses = "refuses",
    }
}

/// What may become of a class of input in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The room.
    pub room: RoomKind,
    /// The kind of input.
    pub input: InputKind,
    /// The standing of the effect it answers.
    pub standing: Standing,
    /// Everything that may become of it.
    pub may: &'static [Outcome],
}

impl Cell {
    /// Everything that may become of it.
    #[must_use]
    pub fn outcomes(&self) -> BTreeSet<Outcome> {
        self.may.iter().copied().collect()
    }
}

/// The declared cell, if there is one.
#[must_use]
pub fn cell(room: RoomKind, input: InputKind, standing: Standing) -> Option<Cell> {
    cells().find(|c| (c.room, c.input, c.standing) == (room, input, standing))
}

/// The declared door that a passage walks, if there is one.
#[must_use]
pub fn edge(passage: &Passage) -> Option<&'static Edge> {
    EDGES.iter().find(|edge| {
        (edge.from, edge.on, edge.because, edge.to)
            == (passage.from, passage.on, passage.because, passage.to)
    })
}

/// Whether a passage is declared.
#[must_use]
pub fn declares(passage: &Passage) -> bool {
    edge(passage).is_some()
}

/// What every way out may order besides what its row says: whatever outlived the turn is closed and
/// told, on whichever door the run ends.
pub const ON_LEAVING: &[EffectKind] = &[EffectKind::Cancel, EffectKind::Detach, EffectKind::Notify];

impl Edge {
    /// Whether an effect of this kind may be emitted on the way.
    #[must_use]
    pub fn may_emit(&self, kind: EffectKind) -> bool {
        let leaves = self.to == RoomKind::Done && ON_LEAVING.contains(&kind);
        leaves || self.emits.contains(&kind)
    }
}

/// Judges a passage and the effects emitted on the way.
///
/// # Errors
///
/// What is not declared.
pub fn judge(passage: &Passage, emitted: impl Iterator<Item = EffectKind>) -> Result<(), String> {
    let Some(edge) = edge(passage) else { return Err(format!("{passage:?} is not declared")) };
    for kind in emitted {
        if !edge.may_emit(kind) {
            return Err(format!("{kind} is not declared on {edge}"));
        }
    }
    Ok(())
}
