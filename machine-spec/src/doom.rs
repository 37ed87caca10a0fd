//! The doom breaker: the same calls with the same results, over and over (Part 7, decision 1).
//!
//! Identity is tool, canonical arguments and result. A repeat with a changed result is polling, not
//! doom. A cycle of one to four calls that was seen three times in a row trips; for a single call
//! the three may stand anywhere among the last six.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::board::{Slot, Status};
use crate::digest::Digest;
use crate::message::{GateRefusal, Outcome};
use crate::wording;

/// How often a cycle must be seen.
const TIMES: usize = 3;
/// The longest cycle that is recognised.
const LONGEST: usize = 4;
/// The window for a single call.
const WINDOW: usize = 6;
/// How many sightings decide about the longest cycle.
const MEMORY: usize = TIMES * LONGEST;

/// What the breaker remembers of the turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Doom {
    seen: Vec<Sighting>,
    /// Whether the model was told once already.
    pub warned: bool,
}

/// A call that ran, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sighting {
    /// Name of the tool.
    pub tool: Arc<str>,
    /// Digest of tool and canonical arguments.
    pub call: Digest,
    /// Digest of the result.
    pub result: Digest,
}

impl Doom {
    /// Takes the calls of a finished batch down, in call order.
    pub(crate) fn note(&mut self, slots: &[Slot]) {
        self.seen.extend(slots.iter().filter_map(sighting));
        let spare = self.seen.len().saturating_sub(MEMORY);
        self.seen.drain(..spare);
    }

    /// The user has spoken: what was repeated before is no repetition any more.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
        self.warned = false;
    }

    /// The tools of the cycle the turn is caught in, if it is.
    #[must_use]
    pub fn cycle(&self) -> Option<Vec<String>> {
        let length = cycle_length(&self.seen)?;
        let last = &self.seen[self.seen.len() - length..];
        Some(last.iter().map(|sighting| String::from(&*sighting.tool)).collect())
    }

    /// Whether this call would go on with a cycle that earlier results already prove: those of
    /// earlier batches and those of the calls before it in its own.
    pub(crate) fn forbids(&self, earlier: &[Slot], slot: &Slot) -> bool {
        if self.seen.len() + earlier.len() < TIMES {
            return false;
        }
        let mut seen = self.seen.clone();
        seen.extend(earlier.iter().filter_map(sighting));
        cycle_length(&seen).is_some_and(|length| seen[seen.len() - length].call == identity(slot))
    }
}

fn identity(slot: &Slot) -> Digest {
    Digest::of(&*slot.name).chain(&slot.canonical)
}

fn sighting(slot: &Slot) -> Option<Sighting> {
    let Status::Settled { outcome, .. } = &slot.status else { return None };
    let ended = match outcome {
        Outcome::Succeeded { .. }
        | Outcome::Failed { .. }
        | Outcome::TimedOut { .. }
        | Outcome::Partial { .. }
        | Outcome::Acknowledged { .. }
        // Asking for the same again and again is a cycle too.
        | Outcome::NotApproved { .. } => true,
        Outcome::Refused { why: GateRefusal::Denied { .. } } => true,
        Outcome::Unknown { .. } | Outcome::NotStarted { .. } | Outcome::Refused { .. } => false,
    };
    let (text, is_error) = wording::outcome(outcome);
    let mut result = Digest::of(&*text).chain(&is_error);
    if !slot.images.is_empty() {
        result = result.chain(&slot.images);
    }
    ended.then(|| Sighting { tool: slot.name.clone(), call: identity(slot), result })
}

/// The length of the shortest cycle the newest sightings form, if they form one.
fn cycle_length(seen: &[Sighting]) -> Option<usize> {
    let last = seen.last()?;
    let window = &seen[seen.len().saturating_sub(WINDOW)..];
    if window.iter().filter(|sighting| *sighting == last).count() >= TIMES {
        return Some(1);
    }
    (2..=LONGEST).find(|length| {
        let Some(start) = seen.len().checked_sub(TIMES * length) else { return false };
        let turns = &seen[start..];
        turns.iter().zip(&turns[*length..]).all(|(earlier, later)| earlier == later)
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Doom, Sighting};
    use crate::digest::Digest;

    /// Letters are calls, digits are results: `a1` is call `a` with result 1.
    fn seen(sightings: &str) -> Doom {
        let seen = sightings.split_whitespace().map(|word| {
            let (call, result) = word.split_at(1);
            Sighting { tool: call.into(), call: Digest::of(call), result: Digest::of(result) }
        });
        Doom { seen: seen.collect(), warned: false }
    }

    #[test]
    fn what_is_doom_and_what_is_not() {
        for (sightings, cycle) in [
            ("", None),
            ("a1 a1", None),
            ("a1 a1 a1", Some(1)),
            ("a1 b1 a1 c1 a1", Some(1)),
            ("a1 b1 c1 d1 a1 e1 a1", None),
            ("a1 a1 b1 c1 d1 e1 f1 a1", None),
            ("p1 p2 p3 p4", None),
            ("a1 b1 a1 b1 a1 b1", Some(1)),
            ("a1 b1 a1 b1", None),
            ("a1 b1 c1 a1 b1 c1 a1 b1 c1", Some(3)),
            ("a1 b1 c1 d1 a1 b1 c1 d1 a1 b1 c1 d1", Some(4)),
            ("a1 b1 c1 d1 a1 b1 c1 d1 a1 b1 c1 d2", None),
            ("a1 b1 c1 d1 e1 a1 b1 c1 d1 e1 a1 b1", None),
        ] {
            let found = seen(sightings).cycle().map(|cycle| cycle.len());
            assert_eq!(found, cycle, "{sightings}");
        }
    }

    #[test]
    fn every_period_up_to_four_is_found_after_three_turns() {
        let calls = ["a1", "b1", "c1", "d1"];
        for period in 1..=4 {
            for turns in 1..=4 {
                let story: Vec<&str> = (0..period * turns).map(|n| calls[n % period]).collect();
                let found = seen(&story.join(" ")).cycle().is_some();
                assert_eq!(found, turns >= 3, "period {period}, {turns} turns");
            }
        }
    }
}
