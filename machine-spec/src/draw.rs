//! Drawings of the table, in four formats. Nobody edits a drawing by hand: `spec/` is generated,
//! and a test fails when it is stale.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::because::{Because, Passage, Trigger};
use crate::model::closed_enum;
use crate::rooms::RoomKind;
use crate::table::{EDGES, Edge};

mod dot;
mod mermaid;
mod scxml;
mod xstate;

closed_enum! {
    /// The formats of a drawing.
    Format {
        /// A Mermaid flowchart, for Markdown.
        Mermaid = "mermaid",
        /// Graphviz.
        Dot = "dot",
        /// W3C State Chart XML.
        Scxml = "scxml",
        /// A machine for XState 5, as JSON.
        Xstate = "xstate",
    }
}

impl Format {
    /// The file in `spec/` that holds this drawing.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Format::Mermaid => "loop.mmd",
            Format::Dot => "loop.dot",
            Format::Scxml => "loop.scxml",
            Format::Xstate => "loop.xstate.json",
        }
    }
}

/// How often each door was walked. Empty for a plain drawing of the plan.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    doors: BTreeMap<(RoomKind, Trigger, Because, RoomKind), u64>,
}

impl Walk {
    /// Counts a passage.
    pub fn note(&mut self, passage: &Passage) {
        let door = (passage.from, passage.on, passage.because, passage.to);
        *self.doors.entry(door).or_default() += 1;
    }

    /// How often a door was walked; `None` when this is a drawing of the plan alone.
    fn times(&self, edge: &Edge) -> Option<u64> {
        let door = (edge.from, edge.on, edge.because, edge.to);
        (!self.doors.is_empty()).then(|| self.doors.get(&door).copied().unwrap_or(0))
    }
}

/// Draws the table; with a walk, the walked doors stand out.
#[must_use]
pub fn draw(format: Format, walk: &Walk) -> String {
    match format {
        Format::Mermaid => mermaid::draw(walk),
        Format::Dot => dot::draw(walk),
        Format::Scxml => scxml::draw(walk),
        Format::Xstate => xstate::draw(walk),
    }
}

/// The edges between each pair of rooms, in the order of the table.
fn bundles() -> Vec<((RoomKind, RoomKind), Vec<&'static Edge>)> {
    let mut bundles: Vec<((RoomKind, RoomKind), Vec<&'static Edge>)> = Vec::new();
    for edge in EDGES {
        let ends = (edge.from, edge.to);
        match bundles.iter_mut().find(|(known, _)| *known == ends) {
            Some((_, edges)) => edges.push(edge),
            None => bundles.push((ends, Vec::from([edge]))),
        }
    }
    bundles
}

/// The label of a bundle: its causes, and how often they were walked.
fn label(edges: &[&Edge], walk: &Walk, line_break: &str) -> String {
    let mut label = String::new();
    let mut seen: Vec<Because> = Vec::new();
    for edge in edges {
        if seen.contains(&edge.because) {
            continue;
        }
        seen.push(edge.because);
        let same = edges.iter().filter(|other| other.because == edge.because);
        let times = same.filter_map(|edge| walk.times(edge)).sum::<u64>();
        if !label.is_empty() {
            label.push_str(line_break);
        }
        label.push_str(edge.because.word());
        if times > 0 {
            label.push_str(&alloc::format!(" x{times}"));
        }
    }
    label
}

/// Whether any edge of a bundle was walked; `None` for a drawing of the plan alone.
fn walked(edges: &[&Edge], walk: &Walk) -> Option<bool> {
    edges.iter().map(|edge| walk.times(edge)).try_fold(false, |any, times| Some(any | (times? > 0)))
}
