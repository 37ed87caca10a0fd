//! When to compact, and where to cut: pure arithmetic over the transcript.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::config::Candidate;
use crate::frame::Frame;
use crate::message::{CallResult, Entry, Origin, Outcome};
use crate::transcript::Transcript;
use crate::view::View;
use crate::wording::clipped;

/// What the run remembers of its compactions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Compactions {
    /// Successful ones.
    pub done: u32,
    /// Failures in a row.
    pub failures: u32,
    /// Refills in a row: compactions that were needed again at once.
    pub refills: u32,
    /// Responses counted when the last one succeeded.
    pub last_at: u32,
}

/// Where to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Entries of the transcript that stay visible behind the cut.
    pub kept: u32,
    /// Visible entries before it.
    pub dropped: u32,
}

/// A result longer than this many characters is stale in a head that is summed up.
const STALE: usize = 800;
/// How many characters of a stale result are left.
const STALE_LEFT: usize = 600;

/// What leaves the view, as a summariser reads it: a copy in which long results are cut short. The
/// conversation itself is never rewritten (document 1, 1.8). Each trim leaves the older half of the
/// rest away, at the start of a round.
pub(crate) fn head(frame: &Frame, kept: u32, trims: u32) -> View {
    let transcript = &frame.transcript;
    let before = transcript.at(transcript.len() - kept);
    let mut entries = crate::view::visible(before);
    for _ in 0..trims {
        let half = entries.len().div_ceil(2);
        let round = |at: &usize| !matches!(entries[*at], Entry::Results(_));
        let later = (half..entries.len()).find(round);
        let Some(from) = later.or_else(|| (1..half).rev().find(round)) else { break };
        entries.drain(..from);
    }
    let copy: Transcript = entries.into_iter().map(shortened).collect();
    View::of(&copy)
}

fn shortened(entry: &Entry) -> Entry {
    match entry {
        Entry::Results(results) => Entry::Results(results.iter().map(short_result).collect()),
        // In the copy a boundary is what it says: there is nothing before it.
        Entry::Boundary(boundary) => Entry::Said(boundary.said.clone()),
        Entry::Said(_) | Entry::Reply(_) | Entry::Aside(_) => entry.clone(),
    }
}

fn short_result(result: &CallResult) -> CallResult {
    let mut result = result.clone();
    match &mut result.outcome {
        Outcome::Succeeded { output }
        | Outcome::Failed { output }
        | Outcome::TimedOut { output }
        | Outcome::Unknown { output }
        | Outcome::Partial { output } => shorten(output),
        Outcome::Acknowledged { .. }
        | Outcome::NotApproved { .. }
        | Outcome::NotStarted { .. }
        | Outcome::Refused { .. } => {}
    }
    result
}

fn shorten(output: &mut String) {
    if output.chars().nth(STALE).is_none() {
        return;
    }
    *output = clipped(output, STALE_LEFT);
}

/// Tokens of a window that input may fill: the rest is for the output.
fn effective_window(candidate: &Candidate) -> u64 {
    candidate.context_window.saturating_sub(candidate.max_output)
}

/// The size from which a proactive compaction is due: the effective window less a reserve of a
/// quarter, at least 16,384, at most 32,768 and never more than half (document 1, 1.1).
pub(crate) fn threshold(candidate: &Candidate) -> u64 {
    let window = effective_window(candidate);
    let reserve = (window / 4).clamp(16_384, 32_768).min(window / 2);
    window - reserve
}

/// Tokens of the kept tail: half of what may fill up, and at most 20,000 (document 1, 1.1).
fn tail_budget(threshold: u64) -> u64 {
    (threshold / 2).min(20_000)
}

/// Where to cut so that the tail fits its budget. A cut never parts a call from its result, never
/// reaches behind the last boundary, and is `None` when there is nothing worth cutting. When the
/// provider itself said that the view is too large, our estimate is no guide: then at most half of
/// the view stays.
pub(crate) fn cut(frame: &Frame, threshold: u64, overflowed: bool) -> Option<Cut> {
    let transcript = &frame.transcript;
    let least = if overflowed { 1 } else { frame.config.limits.keep_entries };
    let visible = crate::view::visible(transcript);
    let since_boundary = match visible.first() {
        Some(Entry::Boundary(boundary)) => visible.len() as u32 - 1 - boundary.kept,
        Some(_) | None => visible.len() as u32,
    };
    let half = if overflowed { transcript.tokens() / 2 } else { u64::MAX };
    let budget = frame.as_estimated(tail_budget(threshold)).min(half);
    let mut kept = 0;
    while kept < since_boundary {
        let within = tail_tokens(transcript, kept + 1) <= budget || kept < least;
        if !within {
            break;
        }
        kept += 1;
    }
    // The tail begins with the reply whose results it holds.
    while kept < since_boundary && begins_with_results(transcript, kept) {
        kept += 1;
    }
    let dropped = visible.len() as u32 - kept;
    (dropped >= if overflowed { 1 } else { 2 }).then_some(Cut { kept, dropped })
}

fn tail_tokens(transcript: &Transcript, kept: u32) -> u64 {
    let head = transcript.at(transcript.len() - kept);
    transcript.tokens().saturating_sub(head.tokens())
}

fn begins_with_results(transcript: &Transcript, kept: u32) -> bool {
    let first = transcript.len() - kept + 1;
    matches!(transcript.at(first).last(), Some(Entry::Results(_)))
}

/// The user's current task, word for word, when the kept tail does not hold it (B027). Words said in
/// mid-turn do not replace the task, they belong to it: those that leave the view go with it.
pub(crate) fn lost_task(transcript: &Transcript, kept: u32) -> Option<String> {
    let mut later: Vec<&str> = Vec::new();
    for (at, entry) in transcript.newest_first().enumerate() {
        let leaves = at as u32 >= kept;
        match entry {
            Entry::Said(said) if said.origin == Origin::Steer && leaves => later.push(&said.text),
            Entry::Said(said) if said.origin == Origin::User => {
                return leaves.then(|| joined(&said.text, &later));
            }
            Entry::Boundary(boundary) => {
                let task = task_of(&boundary.said.text);
                return task.filter(|_| leaves).map(|task| joined(&task, &later));
            }
            Entry::Said(_) | Entry::Reply(_) | Entry::Results(_) | Entry::Aside(_) => {}
        }
    }
    (!later.is_empty()).then(|| joined("", &later))
}

/// The task and what was added to it, oldest first.
fn joined(task: &str, later: &[&str]) -> String {
    let parts = core::iter::once(task).chain(later.iter().rev().copied());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

const TASK_MARK: &str = "\n\nThe current task, word for word:\n";

fn task_of(text: &str) -> Option<String> {
    text.split_once(TASK_MARK).map(|(_, task)| String::from(task))
}

/// The text of a boundary.
pub(crate) fn boundary_text(summary: &str, task: Option<String>) -> String {
    let mut text = String::from(summary);
    if let Some(task) = task {
        text.push_str(TASK_MARK);
        text.push_str(&task);
    }
    text
}

/// The marked origin of a boundary's words.
pub(crate) const ORIGIN: Origin = Origin::Summary;

#[cfg(test)]
mod tests {
    use super::{tail_budget, threshold};
    use crate::config::Candidate;

    #[test]
    fn a_reserve_is_a_quarter_within_its_bounds() {
        for (context_window, max_output, due) in [
            (0, 0, 0),
            (400, 0, 200),
            (20_000, 0, 10_000),
            (64_000, 0, 47_616),
            (72_000, 8_000, 47_616),
            (100_000, 0, 75_000),
            (200_000, 0, 167_232),
            (8_000, 9_000, 0),
        ] {
            let candidate = Candidate { context_window, max_output, ..Candidate::default() };
            assert_eq!(threshold(&candidate), due, "{context_window} less {max_output}");
        }
    }

    #[test]
    fn a_tail_is_half_and_at_most_twenty_thousand() {
        let tails = [0, 401, 8_000, 8_002, 40_000, 167_232].map(tail_budget);
        assert_eq!(tails, [0, 200, 4_000, 4_001, 20_000, 20_000]);
    }
}
