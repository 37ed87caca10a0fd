//! Writes a recording while the run goes on.
//!
//! Every input is written, and out of the process, *before* it is stepped; what came of it
//! completes the line afterwards. So a torn last line still tells what the machine was about to
//! hear. A recorder that fails says so once and goes quiet: recording never fails a run.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use machine_spec::Input;
use machine_spec::Step;
use machine_spec::ids::EffectId;
use machine_spec::planted::{Defect, active};
use serde::Serialize;

use crate::code::Code;
use crate::format::v1::{Aside, BodyEnd, BodyNote, Header, Note, ResumeNote};
use crate::format::{Chain, Version, address, write_suffix};
use crate::reader::{Recording, Tail};
use crate::redact::{Admitted, Redactor};
use crate::sink::Sink;

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder<S> {
    sink: S,
    header: Header,
    redactor: Redactor,
    chain: Chain,
    /// The line that is being written; empty between lines.
    line: Vec<u8>,
    seq: u64,
    /// The time that was noted last.
    noted_ms: Option<u64>,
    bodies: BTreeMap<EffectId, GrowingBody>,
    keep_requests: bool,
    lines: Channel,
    files: Channel,
    failures: Vec<RecordFailure>,
}

/// Whether something can still be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Open,
    Failed,
}

/// A recorder gave something up; the run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordFailure {
    /// The frame at which it happened.
    pub seq: u64,
    /// What is not recorded from here on.
    pub lost: Lost,
    /// What went wrong.
    pub problem: String,
}

/// What a recorder gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// All frames from here on.
    Frames,
    /// The raw bodies from here on; the frames go on.
    Bodies,
}

impl fmt::Display for RecordFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = match self.lost {
            Lost::Frames => "recording stopped",
            Lost::Bodies => "raw bodies are no longer kept",
        };
        let (code, seq) = (Code::RecorderFailed, self.seq);
        write!(f, "{code}: {lost} at frame {seq}: {}; the run goes on", self.problem)
    }
}

/// A response body that is still coming.
#[derive(Debug, Default)]
struct GrowingBody {
    hasher: blake3::Hasher,
    bytes: u64,
    /// Bytes that might be the beginning of a secret.
    held: Vec<u8>,
    secrets: usize,
}

/// A frame whose input is written and whose outcome is not yet.
#[derive(Debug)]
#[must_use = "the outcome of the step must be written behind its input"]
pub struct HalfFrame<'a, S> {
    recorder: &'a mut Recorder<S>,
}

impl<S: Sink> Recorder<S> {
    /// Begins a recording. Secrets are taken out of the header; the run must be started with the
    /// configuration of [`Recorder::header`], so that a replay starts from the same one.
    pub fn create(sink: S, header: Header, redactor: Redactor) -> Recorder<S> {
        let header = redactor.value(header);
        let mut recorder = Recorder::quiet(sink, header, redactor);
        write_json(&mut recorder.line, &recorder.header);
        recorder.line.pop();
        recorder.close_line(0);
        recorder
    }

    /// Goes on with a recording whose process ended. The sink stands behind the last sound line;
    /// the input of a torn line was dropped with it and is told again by whoever resumes.
    ///
    /// # Errors
    ///
    /// Why this recording cannot be gone on with.
    pub fn resume(
        sink: S,
        recording: &Recording,
        redactor: Redactor,
    ) -> Result<Recorder<S>, NotResumable> {
        let version = recording.header.format;
        if version > Version::CURRENT {
            return Err(NotResumable::NewerMinor { version });
        }
        let input_kept = match &recording.tail {
            Tail::Clean => false,
            Tail::Torn(torn) => torn.input.is_some(),
            Tail::Damaged { .. } => return Err(NotResumable::Damaged),
        };
        let Some(after) = recording.frames.last().map(|frame| frame.seq) else {
            return Err(NotResumable::NeverStarted);
        };
        let mut recorder = Recorder::quiet(sink, recording.header.clone(), redactor);
        recorder.chain = recording.chain.clone();
        recorder.seq = after + 1;
        if !recording.ends_with_newline {
            recorder.append(b"\n");
        }
        let resumed = Some(ResumeNote { after, input_kept });
        recorder.aside(&Aside { resumed, ..Aside::default() });
        Ok(recorder)
    }

    fn quiet(sink: S, header: Header, redactor: Redactor) -> Recorder<S> {
        Recorder {
            sink,
            header,
            redactor,
            chain: Chain::new(),
            line: Vec::with_capacity(1024),
            seq: 0,
            noted_ms: None,
            bodies: BTreeMap::new(),
            keep_requests: false,
            lines: Channel::Open,
            files: Channel::Open,
            failures: Vec::new(),
        }
    }

    /// Also keeps the bodies of requests. By default only their address is noted: each of them
    /// repeats the whole conversation, and a replay can build it again.
    #[must_use]
    pub fn keeping_requests(mut self) -> Recorder<S> {
        self.keep_requests = true;
        self
    }

    /// The header as it was written.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Keeps this out too, from here on.
    pub fn learn(&mut self, secret: &str) {
        self.redactor.learn(secret);
    }

    /// The inputs to step instead of this one: the same, without secrets.
    pub fn admit(&mut self, input: Input) -> Admitted {
        self.redactor.admit(input)
    }

    /// Writes frame 0: what the start came to.
    pub fn started(&mut self, step: &Step, note: &Note) {
        self.line.extend_from_slice(b"{\"seq\":0,\"input\":null");
        self.finish_frame(step, note, 0);
    }

    /// Writes an input before it is stepped.
    pub fn heard(&mut self, input: &Input) -> HalfFrame<'_, S> {
        self.begin_line();
        if active(Defect::RecordsWithGap) && self.seq == 3 {
            self.seq += 1;
        }
        if self.lines == Channel::Open {
            self.line.extend_from_slice(b"{\"seq\":");
            write_json(&mut self.line, &self.seq);
            self.line.extend_from_slice(b",\"input\":");
            write_json(&mut self.line, input);
            self.flush_line_from(0);
        }
        HalfFrame { recorder: self }
    }

    /// A line that was begun and never completed cannot be followed by another.
    fn begin_line(&mut self) {
        if !self.line.is_empty() && self.lines == Channel::Open {
            self.give_up(Lost::Frames, &io::Error::other("the frame was never completed"));
        }
        self.line.clear();
    }

    fn finish_frame(&mut self, step: &Step, note: &Note, flushed: usize) {
        if self.lines == Channel::Failed {
            return;
        }
        let line = &mut self.line;
        if !step.effects.is_empty() {
            line.extend_from_slice(b",\"effects\":");
            write_json(line, &step.effects);
        }
        if !step.trail.is_empty() {
            line.extend_from_slice(b",\"trail\":");
            write_json(line, &step.trail);
        }
        if is_digested(self.seq, step) {
            line.extend_from_slice(b",\"digest\":");
            write_json(line, &step.state.digest());
        }
        // The time is told where it changes: most pieces of a stream come together.
        let same_time = note.at_ms.is_some() && note.at_ms == self.noted_ms;
        self.noted_ms = note.at_ms.or(self.noted_ms);
        if same_time {
            let note = Note { at_ms: None, ..note.clone() };
            write_note(line, &note);
        } else {
            write_note(line, note);
        }
        self.close_line(flushed);
        self.seq += 1;
    }

    /// Writes an aside between two frames.
    fn aside(&mut self, aside: &Aside) {
        self.begin_line();
        if self.lines == Channel::Failed {
            return;
        }
        self.line.extend_from_slice(b"{\"aside\":");
        write_json(&mut self.line, aside);
        self.close_line(0);
    }

    /// Closes the line whose first `flushed` bytes are already out.
    fn close_line(&mut self, flushed: usize) {
        self.scrub_line_from(flushed);
        let check = self.chain.close(&[&self.line]);
        write_suffix(check, &mut self.line);
        self.write_line_from(flushed);
        self.line.clear();
    }

    fn flush_line_from(&mut self, from: usize) {
        self.scrub_line_from(from);
        self.write_line_from(from);
    }

    /// The last line of defence: whatever came so far with a secret in it goes no further, even if
    /// the replay of it will differ.
    fn scrub_line_from(&mut self, from: usize) {
        if self.redactor.finds(&self.line[from..]) {
            let mut rest = self.line.split_off(from);
            self.redactor.scrub(&mut rest);
            self.line.append(&mut rest);
        }
    }

    fn write_line_from(&mut self, from: usize) {
        if self.lines == Channel::Failed {
            return;
        }
        if let Err(error) = self.sink.append(&self.line[from..]) {
            self.give_up(Lost::Frames, &error);
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Err(error) = self.sink.append(bytes) {
            self.give_up(Lost::Frames, &error);
        }
    }

    fn give_up(&mut self, lost: Lost, error: &io::Error) {
        match lost {
            Lost::Frames if active(Defect::RecordsAfterFailure) => {}
            Lost::Frames => (self.lines, self.files) = (Channel::Failed, Channel::Failed),
            Lost::Bodies => self.files = Channel::Failed,
        }
        self.failures.push(RecordFailure { seq: self.seq, lost, problem: error.to_string() });
    }

    /// What was given up since the last time this was asked. Each failure is told once.
    pub fn take_failures(&mut self) -> Vec<RecordFailure> {
        std::mem::take(&mut self.failures)
    }

    /// Whether frames are still written.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.lines == Channel::Open
    }

    /// The number of the next frame.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.seq
    }

    /// The content address of a request body, for the note of the frame that ordered it.
    pub fn request(&mut self, body: &[u8]) -> String {
        let address = address(body);
        if self.keep_requests && self.files == Channel::Open && !self.redactor.finds(body) {
            let stored = self.sink.grow_body("request", body);
            if let Err(error) = stored.and_then(|()| self.sink.keep_body("request", &address)) {
                self.give_up(Lost::Bodies, &error);
            }
        }
        address
    }

    /// Keeps bytes that the conversation names by their content, such as those of an image.
    pub fn keep(&mut self, bytes: &[u8]) {
        if self.files == Channel::Open && !self.redactor.finds(bytes) {
            let stored = self.sink.grow_body("kept", bytes);
            if let Err(error) = stored.and_then(|()| self.sink.keep_body("kept", &address(bytes))) {
                self.give_up(Lost::Bodies, &error);
            }
        }
    }

    /// Keeps more of the raw response that answers this effect, exactly as it came.
    pub fn body(&mut self, effect: EffectId, bytes: &[u8]) {
        let body = self.bodies.entry(effect).or_default();
        body.bytes += bytes.len() as u64;
        if self.redactor.is_idle() {
            body.hasher.update(bytes);
            if self.files == Channel::Open {
                let stored = self.sink.grow_body(&effect.to_string(), bytes);
                if let Err(error) = stored {
                    self.give_up(Lost::Bodies, &error);
                }
            }
            return;
        }
        let mut clean = std::mem::take(&mut body.held);
        clean.extend_from_slice(bytes);
        body.secrets += self.redactor.scrub(&mut clean);
        body.held = clean.split_off(clean.len() - self.redactor.suspicious_end(&clean));
        self.grow(effect, &clean);
    }

    fn grow(&mut self, effect: EffectId, clean: &[u8]) {
        if clean.is_empty() {
            return;
        }
        if let Some(body) = self.bodies.get_mut(&effect) {
            body.hasher.update(clean);
        }
        if self.files == Channel::Open
            && let Err(error) = self.sink.grow_body(&effect.to_string(), clean)
        {
            self.give_up(Lost::Bodies, &error);
        }
    }

    /// Closes the raw response that answers this effect, whatever ended it.
    pub fn body_ended(&mut self, effect: EffectId, end: BodyEnd, status: Option<u16>) {
        let held = self.bodies.entry(effect).or_default().held.split_off(0);
        self.grow(effect, &held);
        let Some(body) = self.bodies.remove(&effect) else { return };
        let in_events = self.redactor.touched(effect);
        let redacted = body.secrets > 0 || in_events.is_some();
        // A secret that was found in the events and not in the bytes still stands in the bytes, in
        // pieces or in a spelling of its own. Such a body is not kept.
        let withheld = in_events.is_some_and(|secrets| secrets > body.secrets);
        self.redactor.forget(effect);
        let mut digest = String::new();
        if self.files == Channel::Open {
            let part = effect.to_string();
            let address = body.hasher.finalize().to_hex().to_string();
            let kept = if withheld {
                self.sink.drop_body(&part)
            } else {
                self.sink.keep_body(&part, &address)
            };
            match kept {
                Ok(()) if withheld => {}
                Ok(()) => digest = address,
                Err(error) => self.give_up(Lost::Bodies, &error),
            }
        }
        let note = BodyNote { effect, digest, bytes: body.bytes, end, status, redacted };
        self.aside(&Aside { body: Some(note), ..Aside::default() });
    }

    /// Ends the recording. Bodies that are still coming are closed as cancelled.
    pub fn finish(mut self) -> (S, Vec<RecordFailure>) {
        let open: Vec<EffectId> = self.bodies.keys().copied().collect();
        for effect in open {
            self.body_ended(effect, BodyEnd::Cancelled, None);
        }
        let failures = self.take_failures();
        (self.sink, failures)
    }

    /// Lets go of the sink as a process does that is killed: nothing more is written.
    pub fn abandon(self) -> S {
        self.sink
    }
}

impl<S: Sink> HalfFrame<'_, S> {
    /// Writes what came of the input.
    pub fn stepped(self, step: &Step, note: &Note) {
        let flushed = self.recorder.line.len();
        self.recorder.finish_frame(step, note, flushed);
    }

    /// The content address of the request that the step ordered; see [`Recorder::request`].
    pub fn request(&mut self, body: &[u8]) -> String {
        self.recorder.request(body)
    }
}

/// Whether a frame carries a digest: where a door was walked or an order given.
pub(crate) fn is_digested(seq: u64, step: &Step) -> bool {
    seq == 0 || !step.trail.is_empty() || !step.effects.is_empty()
}

fn write_note(line: &mut Vec<u8>, note: &Note) {
    if !note.is_empty() {
        line.extend_from_slice(b",\"note\":");
        write_json(line, note);
    }
}

/// Appends the JSON text of a value. Writing to memory cannot fail, and everything that is written
/// here has a JSON text.
fn write_json<T: Serialize + ?Sized>(line: &mut Vec<u8>, value: &T) {
    let from = line.len();
    if serde_json::to_writer(&mut *line, value).is_err() {
        debug_assert!(false, "a value without JSON text was recorded");
        line.truncate(from);
        line.extend_from_slice(b"null");
    }
}

/// Why a recording cannot be gone on with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotResumable {
    /// A newer release wrote it: it may hold what this release would not keep up.
    #[error(
        "{}: the recording is of version `{version}`, this release appends to `{}` at most; \
         go on with the release that wrote it, or record to a new file",
        Code::NewerFormat,
        Version::CURRENT
    )]
    NewerMinor {
        /// Its version.
        version: Version,
    },
    /// Something in it is not what was written.
    #[error("the recording is damaged before its end; replay tells where")]
    Damaged,
    /// It ends before the run began.
    #[error("the recording ends before its first frame; start the run anew")]
    NeverStarted,
}
