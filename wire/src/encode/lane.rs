//! The growing bytes of one conversation for one reader.

use std::collections::BTreeSet;

use machine_spec::config::{Candidate, ToolSpec};
use machine_spec::effect::ToolChoice;
use machine_spec::message::Entry;
use machine_spec::view::{self, Seen};
use machine_spec::{Digest, Transcript};

use super::{Ask, Degradation, For, Scribe};

/// What was encoded of a conversation, entry by entry.
///
/// The bytes are the inside of the list of messages. They only grow; the message at the end may
/// still be open, because the next entry may join it. A conversation that took another course is
/// recognised by its digest, and the bytes are cut back to where the courses part. At a compaction
/// boundary they begin anew.
#[derive(Debug)]
pub(super) struct Lane {
    bytes: Vec<u8>,
    /// Length of the transcript at its last boundary, 0 without one.
    base: u32,
    /// The first is the boundary with what it kept (or nothing), then one per entry behind it.
    steps: Vec<Step>,
    start: Scribe,
    /// What the reader was known not to know when this was written.
    lacking: BTreeSet<Degradation>,
    head: Head,
    /// Entries written so far: what rounds cost.
    written: u64,
}

/// Where the bytes stood after an entry.
#[derive(Debug)]
struct Step {
    digest: Digest,
    end: usize,
    scribe: Scribe,
}

/// The part of a body before its messages, and what it was made from.
#[derive(Debug, Default)]
struct Head {
    bytes: Vec<u8>,
    candidate: Option<Candidate>,
    system: String,
    tools: Vec<ToolSpec>,
    offered: bool,
    marked: bool,
    ask: Ask,
}

impl Lane {
    pub(super) fn new(start: Scribe) -> Lane {
        Lane {
            bytes: Vec::new(),
            base: 0,
            steps: Vec::new(),
            start,
            lacking: BTreeSet::new(),
            head: Head::default(),
            written: 0,
        }
    }

    /// Takes in what the conversation has grown by since it was seen last.
    pub(super) fn follow(&mut self, transcript: &Transcript, to: &For<'_>) {
        if self.lacking != *to.lacking {
            // What was written before may hold what the reader does not know.
            self.steps.clear();
            self.head = Head::default();
            self.lacking.clone_from(to.lacking);
        }
        let mut fresh = Vec::new();
        let mut at = transcript;
        loop {
            if let Some(known) = self.known(at) {
                self.steps.truncate(known + 1);
                self.bytes.truncate(self.steps[known].end);
                break;
            }
            match (at.last(), at.before_last()) {
                (Some(Entry::Boundary(boundary)), Some(before)) => {
                    self.begin(at);
                    self.write(Seen::Said(&boundary.said), to);
                    let kept: Vec<&Entry> =
                        before.newest_first().take(boundary.kept as usize).collect();
                    for seen in kept.into_iter().rev().filter_map(view::seen) {
                        self.write(seen, to);
                    }
                    break;
                }
                (Some(entry), Some(before)) => {
                    fresh.push((at.digest(), entry));
                    at = before;
                }
                (None, _) | (_, None) => {
                    self.begin(at);
                    break;
                }
            }
        }
        for (digest, entry) in fresh.into_iter().rev() {
            self.steps.push(Step { digest, end: self.bytes.len(), scribe: self.scribe() });
            if let Some(seen) = view::seen(entry) {
                self.write(seen, to);
            }
        }
    }

    /// The step after which the bytes say this transcript.
    fn known(&self, at: &Transcript) -> Option<usize> {
        let index = at.len().checked_sub(self.base)? as usize;
        self.steps.get(index).filter(|step| step.digest == at.digest()).map(|_| index)
    }

    /// Forgets everything; the transcript up to here is what the next writes stand for.
    fn begin(&mut self, at: &Transcript) {
        self.bytes.clear();
        self.base = at.len();
        self.steps.clear();
        self.steps.push(Step { digest: at.digest(), end: 0, scribe: self.start });
    }

    /// Writes a message as part of the last step.
    fn write(&mut self, seen: Seen<'_>, to: &For<'_>) {
        self.written += 1;
        if let Some(step) = self.steps.last_mut() {
            step.scribe.write(&mut self.bytes, seen, to);
            step.end = self.bytes.len();
        }
    }

    fn scribe(&self) -> Scribe {
        self.steps.last().map_or(self.start, |step| step.scribe)
    }

    /// How many entries were written in the life of this lane.
    #[cfg(test)]
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The whole body.
    pub(super) fn body(&mut self, to: &For<'_>, choice: &ToolChoice) -> Vec<u8> {
        let scribe = self.scribe();
        let offered = scribe.offers_tools(to, choice);
        let marked = scribe.marks_head(to);
        let head = &mut self.head;
        let stale = head.candidate.as_ref() != Some(to.candidate)
            || head.offered != offered
            || head.marked != marked
            || head.ask != to.ask
            || head.system != to.config.system
            || head.tools != to.config.tools;
        if stale {
            head.bytes.clear();
            scribe.head(&mut head.bytes, to, offered);
            head.candidate = Some(to.candidate.clone());
            head.system.clone_from(&to.config.system);
            head.tools.clone_from(&to.config.tools);
            head.offered = offered;
            head.marked = marked;
            head.ask = to.ask;
        }
        let mut body = Vec::with_capacity(head.bytes.len() + self.bytes.len() + 512);
        body.extend_from_slice(&head.bytes);
        scribe.close(&mut body, &self.bytes, to, choice);
        body
    }
}
