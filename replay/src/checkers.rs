//! Checkers over whole runs: what must hold of everything a machine orders, measured from outside.
//!
//! A [`Watch`] sees what an observer sees: inputs, effects, the trail, the transcript. It counts for
//! itself and never trusts a counter of the machine. The same watch judges a run while it is played
//! and a recording that was made elsewhere.

use std::fmt;

use machine_spec::invariants::Violation;
use machine_spec::{Input, State, Step, step};
use serde::Serialize;

use crate::reader::Recording;

mod brief;
mod watch;

pub(crate) use brief::{Brief, hash_of, output_hash};
pub use watch::Watch;

/// A broken law, and the input at which it broke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// The id of the law, as in [`LAWS`] or in the machine's own invariants.
    pub law: String,
    /// The input, from 1; 0 for the start.
    pub at: u64,
    /// What was seen.
    pub detail: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is broken at input {}: {}", self.law, self.at, self.detail)
    }
}

impl From<Violation> for Breach {
    fn from(violation: Violation) -> Breach {
        Breach { law: violation.id.to_string(), at: 0, detail: violation.detail }
    }
}

/// The laws that are judged from outside, with their fixed ids. A law of the machine's own list has
/// the id it has there.
pub const LAWS: &[(&str, &str)] = &[
    ("I01", "the same inputs give the same run"),
    ("I02", "a refusal comes alone"),
    ("I03", "a run finishes once, with nothing open, and then does nothing more"),
    ("I04", "every order is opened once and closed once"),
    ("I05", "every call has exactly one result before the next request and at the end"),
    ("I06", "the transcript only grows"),
    ("I07", "a request shows the transcript and nothing else"),
    ("I09", "no more doors for one input than the house has"),
    ("I11", "every door is declared, with what was ordered on the way"),
    ("I13", "after any finite number of faults the run ends"),
    ("I14", "nothing said is lost: it is read, or given back"),
    ("T02", "only a complete and valid call is started"),
    ("T03", "an exclusive call overlaps with no other"),
    ("T04", "no call is started twice, a crash in between included, and none is forgotten"),
    ("T05", "the result of a call is what its tool reported"),
    ("T06", "no more requests than the bound of all budgets"),
    ("T07", "no more repetitions than their owner has"),
    ("T09", "what was shown is kept or retracted, to the letter"),
    ("R01", "a recording replays identically"),
    ("R02", "a run that was killed and resumed is the run its recording tells"),
    ("R03", "a recorder that fails tells so once, and the run goes on"),
    ("R04", "what was recorded before a failure reads and replays"),
    ("S01", "the history does not depend on the order of completions"),
    ("X01", "the machine does not panic"),
];

/// Judges a whole recording from outside.
///
/// # Errors
///
/// The first broken law.
pub fn judge_recording(recording: &Recording) -> Result<(), Breach> {
    let inputs = recording.frames.iter().filter_map(|frame| frame.input.as_ref());
    let state = judge_inputs(recording.header.config.clone(), inputs)?.1;
    let told = recording.frames.iter().rev().find_map(|frame| frame.digest);
    let at = recording.frames.len() as u64;
    let same = told.is_none_or(|digest| recording_digest(recording, &state) == Some(digest));
    match same {
        true => Ok(()),
        false => Err(breach("I01", at, "the digest of the recording is another one")),
    }
}

/// The digest of the last frame that carries one, computed anew.
fn recording_digest(recording: &Recording, last: &State) -> Option<machine_spec::Digest> {
    let at = recording.frames.iter().rposition(|frame| frame.digest.is_some())?;
    if at + 1 == recording.frames.len() {
        return Some(last.digest());
    }
    recording.state_at(at as u64).map(|state| state.digest())
}

/// Steps inputs and judges the run they make.
///
/// # Errors
///
/// The first broken law.
pub fn judge_inputs<'i>(
    config: machine_spec::RunConfig,
    inputs: impl Iterator<Item = &'i Input>,
) -> Result<(Watch, State), Breach> {
    let mut watch = Watch::of(&config);
    let begun = machine_spec::start(config);
    watch.begun(&begun)?;
    let mut state = begun.state;
    for input in inputs {
        let brief = watch.hear(input);
        let after: Step = step(state, input.clone());
        watch.judge(brief, &after)?;
        state = after.state;
    }
    Ok((watch, state))
}

pub(crate) fn breach(law: &str, at: u64, detail: impl Into<String>) -> Breach {
    Breach { law: law.into(), at, detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::LAWS;

    #[test]
    fn laws_are_sorted_by_family_and_no_id_is_used_twice() {
        let mut ids: Vec<&str> = LAWS.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), LAWS.len());
    }
}
