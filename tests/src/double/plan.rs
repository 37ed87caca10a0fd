//! How an answer is delivered: where chunks begin, what is waited for, and how it ends.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;

use super::Gate;

/// How an answer is delivered. The default is one chunk and a clean end.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Where chunks begin.
    pub chunks: Chunks,
    /// What is waited for before the byte at this offset is sent. Every pause also begins a chunk.
    pub pauses: BTreeMap<usize, Pause>,
    /// What happens after the last byte.
    pub end: End,
}

/// Where chunks begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// All in one.
    #[default]
    Whole,
    /// Every byte is a chunk.
    EveryByte,
    /// A chunk begins at each of these offsets.
    At(Vec<usize>),
}

/// What is waited for in the middle of a delivery.
#[derive(Clone, Debug)]
pub enum Pause {
    /// This time.
    Time(Duration),
    /// This gate.
    Until(Gate),
}

/// What happens after the last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The body ends as HTTP wants it.
    #[default]
    Eof,
    /// The connection is reset.
    Reset,
    /// The connection stays open and silent.
    Hang,
}

/// A plan as it stands in a `.plan.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    chunks: WrittenChunks,
    #[serde(default)]
    pauses_ms: BTreeMap<String, u64>,
    #[serde(default)]
    end: End,
    #[serde(default, rename = "note")]
    _note: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenChunks {
    Named(NamedChunks),
    At(Vec<usize>),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum NamedChunks {
    Whole,
    EveryByte,
}

impl Plan {
    /// Reads a `.plan.json`.
    ///
    /// # Errors
    /// When it is not one.
    pub fn read(text: &str) -> Result<Plan, String> {
        let written: Written = serde_json::from_str(text).map_err(|problem| problem.to_string())?;
        let mut pauses = BTreeMap::new();
        for (offset, ms) in written.pauses_ms {
            let at =
                offset.parse().map_err(|_| format!("the offset `{offset}` is not a number"))?;
            pauses.insert(at, Pause::Time(Duration::from_millis(ms)));
        }
        let chunks = match written.chunks {
            WrittenChunks::Named(NamedChunks::Whole) => Chunks::Whole,
            WrittenChunks::Named(NamedChunks::EveryByte) => Chunks::EveryByte,
            WrittenChunks::At(offsets) => Chunks::At(offsets),
        };
        Ok(Plan { chunks, pauses, end: written.end })
    }

    /// The chunks of a body of this length, in order and without a gap.
    pub(super) fn cut(&self, length: usize) -> Vec<Range<usize>> {
        let mut starts: Vec<usize> = match &self.chunks {
            Chunks::Whole => Vec::new(),
            Chunks::EveryByte => (0..length).collect(),
            Chunks::At(offsets) => offsets.clone(),
        };
        starts.extend(self.pauses.keys());
        starts.push(0);
        starts.retain(|start| *start < length);
        starts.sort_unstable();
        starts.dedup();
        let ends = starts.iter().copied().skip(1).chain([length]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// The same plan for a body whose offsets have moved.
    pub(super) fn moved(&self, shift: impl Fn(usize) -> usize) -> Plan {
        let chunks = match &self.chunks {
            Chunks::Whole => Chunks::Whole,
            Chunks::EveryByte => Chunks::EveryByte,
            Chunks::At(offsets) => Chunks::At(offsets.iter().map(|at| shift(*at)).collect()),
        };
        let pauses = self.pauses.iter().map(|(at, pause)| (shift(*at), pause.clone())).collect();
        Plan { chunks, pauses, end: self.end }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chunks, End, Pause, Plan};

    #[test]
    fn a_written_plan_says_where_when_and_how() {
        let text = r#"{"chunks":[4,9],"pauses_ms":{"9":250},"end":"reset","note":"why"}"#;
        let plan = Plan::read(text).expect("a plan");
        assert_eq!(plan.chunks, Chunks::At(vec![4, 9]));
        assert_eq!(plan.end, End::Reset);
        assert!(matches!(plan.pauses[&9], Pause::Time(time) if time.as_millis() == 250));
        assert_eq!(plan.cut(12), [0..4, 4..9, 9..12]);
        // Offsets behind the end cut nothing.
        assert_eq!(plan.cut(9), [0..4, 4..9]);
        assert_eq!(Plan::read(r#"{"chunks":"every_byte"}"#).expect("a plan").cut(2), [0..1, 1..2]);
        assert_eq!(Plan::default().cut(3).first(), Some(&(0..3)));
        assert_eq!(Plan::default().cut(0), []);
    }

    #[test]
    fn a_plan_with_an_unknown_word_is_refused() {
        for text in [r#"{"chunks":"some"}"#, r#"{"chunks":"whole","ends":"eof"}"#] {
            assert!(Plan::read(text).is_err(), "{text}");
        }
    }
}
