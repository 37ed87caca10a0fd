//! Processes that die, and disks that fail.
//!
//! A crash goes the whole way: what was told is written by the real recorder, cut where the process
//! died, read back, and taken up by the real resumption.

use std::io;

use machine_spec::input::ToolStatus;
use machine_spec::{Input, step};

use super::record::record_into;
use super::{Arena, Due, Told, record};
use crate::checkers::breach;
use crate::faults::{Fault, Placed, Seam};
use crate::reader::{Bodies, Recording, Tail};
use crate::replayer::{Options, replay};
use crate::resume::Resumption;
use crate::sink::{MemorySink, Sink};

impl Arena<'_> {
    /// Kills the process behind the frame that was just written, if the plan says so.
    pub(super) fn crash_after_frame(&mut self) -> bool {
        if !self.at_inputs || self.state().is_done() {
            return false;
        }
        let frame = Seam::Frame(self.counts.inputs as u32);
        let dies = |placed: &Placed| placed.fault == Fault::CrashAt && placed.at == frame;
        if self.strikes(dies).is_none() {
            return false;
        }
        let sink = record(self.script, &self.tape);
        self.take_up(&sink, None);
        true
    }

    /// Kills the process while the frame of this input is written, if the plan says so.
    pub(super) fn torn_write(&mut self, input: &Input) -> bool {
        if !self.at_inputs {
            return false;
        }
        let frame = Seam::Frame(self.counts.inputs as u32 + 1);
        let tears =
            |placed: &Placed| matches!(placed.fault, Fault::TornWrite { .. }) && placed.at == frame;
        let Some(Fault::TornWrite { bytes }) = self.strikes(tears) else { return false };
        let mut tape = self.tape.clone();
        tape.push(Told { at_ms: self.now, input: input.clone() });
        let mut sink = record(self.script, &tape);
        let line = last_line(&sink.recording);
        let length = sink.recording.len() - line;
        // A line that is whole would be a frame: at least its newline is missing.
        let kept = usize::try_from(bytes).unwrap_or(usize::MAX).min(length - 2);
        sink.recording.truncate(line + kept);
        self.take_up(&sink, Some(input));
        true
    }

    /// Takes the run up from what was written, as a new process does.
    fn take_up(&mut self, sink: &MemorySink, torn: Option<&Input>) {
        let recording = match Recording::from_memory(sink) {
            Ok(recording) => recording,
            Err(error) => return self.cannot_resume(&error.to_string()),
        };
        let Some(resumption) = recording.resumption() else {
            return self.cannot_resume("nothing was recorded");
        };
        if torn.is_none() && !matches!(recording.tail, Tail::Clean) {
            return self.cannot_resume("whole lines were written and the tail is not clean");
        }
        let Resumption { state, inputs, timers } = resumption;
        if state.digest() != self.state().digest() {
            let detail = "the resumed state is not the one that was left";
            self.breach = Some(breach("R02", self.counts.inputs, detail));
            return;
        }
        let guessed = inputs.iter().find(|input| {
            torn != Some(*input)
                && matches!(input, Input::ToolReturned { report, .. }
                    if report.status != ToolStatus::Cancelled)
        });
        if let Some(guessed) = guessed {
            let detail = format!("nobody knows what a running call did, it is told {guessed:?}");
            self.breach = Some(breach("R02", self.counts.inputs, detail));
            return;
        }
        // Nobody is left of what was carried out.
        self.serving.struck |= !self.streams.is_empty();
        self.streams.clear();
        self.tools.clear();
        self.held.clear();
        self.queue.retain(|timed| matches!(timed.due, Due::Act(_)));
        self.state = Some(state);
        for timer in timers {
            self.push(timer.after_ms, Due::Input(Input::TimerFired { id: timer.id }));
        }
        // Whoever was not heard says it again: nothing told him that it had arrived.
        let lost = torn.filter(|input| !inputs.contains(input) && input.answers().is_none());
        for input in lost.cloned().into_iter().chain(inputs) {
            self.push(0, Due::Input(input));
        }
        self.drop_settled_answers();
    }

    fn cannot_resume(&mut self, why: &str) {
        let detail = format!("it cannot be resumed: {why}");
        self.breach = Some(breach("R02", self.counts.inputs, detail));
    }

    /// Judges what the plan did to the recorder, now that the run is over.
    pub(super) fn judge_recorder(&mut self) {
        for at in 0..self.faults.len() {
            let (Fault::DiskFull, Seam::Frame(frame)) = (self.faults[at].fault, self.faults[at].at)
            else {
                continue;
            };
            self.strikes[at] += 1;
            if let Err((law, detail)) = self.disk_full(u64::from(frame)) {
                let at = self.counts.inputs;
                self.breach.get_or_insert_with(|| breach(law, at, detail));
            }
        }
    }

    fn disk_full(&self, frame: u64) -> Result<(), (&'static str, String)> {
        // A frame is written in two parts; the header is one more.
        let full = FullDisk { inner: MemorySink::default(), appends: 2 + 2 * frame };
        let (disk, failures) = record_into(self.script, full, &self.tape);
        let written = self.tape.len() as u64 >= frame && !self.tape.is_empty();
        if failures.len() > 1 || (written && failures.is_empty() && frame < self.counts.inputs) {
            return Err(("R03", format!("{} failures were told", failures.len())));
        }
        if failures.is_empty() {
            return Ok(());
        }
        let bodies = Bodies::none();
        let recording = Recording::from_bytes(&disk.inner.recording, Default::default(), bodies);
        let recording = recording.map_err(|error| ("R04", error.to_string()))?;
        if let Tail::Damaged { error, .. } = &recording.tail {
            return Err(("R04", error.to_string()));
        }
        let report = replay(&recording, Options { invariants: false, ..Options::default() });
        match report.divergence() {
            None => Ok(()),
            Some(divergence) => Err(("R04", divergence.to_string())),
        }
    }

    /// An answer that an earlier one settles is not told: its effect is closed by then.
    fn drop_settled_answers(&mut self) {
        let Some(mut known) = self.state.clone() else { return };
        let mut dues: Vec<(u64, u64, Input)> = Vec::new();
        for timed in &self.queue {
            if let Due::Input(input) = &timed.due {
                dues.push((timed.at_ms, timed.order, input.clone()));
            }
        }
        dues.sort_by_key(|(at_ms, order, _)| (*at_ms, *order));
        let mut settled = Vec::new();
        for (at_ms, order, input) in dues {
            if at_ms > self.now {
                break;
            }
            let is_open = |id| known.frame().ledger().iter().any(|(open, _)| open == id);
            if input.answers().is_some_and(|id| !is_open(id)) {
                settled.push(order);
            } else {
                known = step(known, input).state;
            }
        }
        self.queue.retain(|timed| !settled.contains(&timed.order));
    }
}

/// Where the last line begins.
fn last_line(recording: &[u8]) -> usize {
    let body = &recording[..recording.len().saturating_sub(1)];
    memchr::memrchr(b'\n', body).map_or(0, |at| at + 1)
}

/// A disk that is full after so many writes.
struct FullDisk {
    inner: MemorySink,
    appends: u64,
}

impl FullDisk {
    fn full() -> io::Error {
        io::Error::new(io::ErrorKind::StorageFull, "planned: disk_full")
    }
}

impl Sink for FullDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.appends == 0 {
            // Half of it still fits: a full disk tears what it refuses.
            self.inner.append(&bytes[..bytes.len() / 2])?;
            return Err(FullDisk::full());
        }
        self.appends -= 1;
        self.inner.append(bytes)
    }

    fn grow_body(&mut self, part: &str, bytes: &[u8]) -> io::Result<()> {
        if self.appends == 0 {
            return Err(FullDisk::full());
        }
        self.inner.grow_body(part, bytes)
    }

    fn keep_body(&mut self, part: &str, address: &str) -> io::Result<()> {
        self.inner.keep_body(part, address)
    }

    fn drop_body(&mut self, part: &str) -> io::Result<()> {
        self.inner.drop_body(part)
    }
}
