//! Drives a recording through the machine again and compares, frame by frame.
//!
//! Frames are compared as typed values and dropped; text is only made of them when they differ. So
//! a replay is linear in the recording and holds little more than the machine's own state.

use std::path::PathBuf;

use machine_spec::invariants::{self, Chronicle, Invariant};
use machine_spec::message::Entry;
use machine_spec::model::ModelEvent;
use machine_spec::{Input, InputKind, RoomKind, State, Step, start, step};

use self::edges::closes;
use self::requests::Requests;
use self::responses::Responses;
use self::tell::{Recorded, differing, why_effects};
use crate::code::Code;
use crate::divergence::{Difference, Divergence};
use crate::format::v1::{Aside, Frame, Header};
use crate::reader::{Bodies, ReadError, TornTail};
use crate::recorder::is_digested;

mod drive;
mod edges;
mod report;
mod requests;
mod responses;
mod tell;

pub use drive::{replay, replay_bytes, replay_file, terminal};
pub use report::{Report, Tally, Verdict, Warning};

/// What a replay looks at besides effects, trails and digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Builds every request again and compares it with the one that was sent.
    pub requests: bool,
    /// Decodes every stored response again and compares it with what was heard.
    pub responses: bool,
    /// Judges every step by the named invariants.
    pub invariants: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { requests: true, responses: true, invariants: true }
    }
}

/// How the lines came to their end.
enum End {
    Clean,
    Torn(TornTail),
    Damaged(Box<ReadError>, Option<Frame>),
    Diverged(Box<Divergence>),
}

/// Drives one recording.
pub struct Replayer {
    header: Header,
    path: Option<PathBuf>,
    bodies: Bodies,
    options: Options,
    /// Taken while a step is made of it.
    state: Option<State>,
    chronicle: Chronicle,
    requests: Requests,
    responses: Responses,
    report: Report,
}

impl Replayer {
    /// Starts the run of this header.
    #[must_use]
    pub fn new(
        header: &Header,
        path: Option<PathBuf>,
        bodies: Bodies,
        options: Options,
    ) -> Replayer {
        // Without any stored body there is nothing to keep what was heard for.
        let options = Options { responses: options.responses && !bodies.are_absent(), ..options };
        let mut requests = Requests::of(&header.providers);
        requests.show(header.config.history.newest_first().flat_map(Entry::images), &bodies);
        Replayer {
            requests,
            responses: Responses::of(&header.providers, &header.config),
            header: header.clone(),
            report: Report::new(path.clone()),
            path,
            bodies,
            options,
            state: None,
            chronicle: Chronicle::default(),
        }
    }

    /// Steps a frame and compares.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn frame(&mut self, frame: Frame, line: Option<u64>) -> Result<(), Box<Divergence>> {
        let Frame { seq, input, effects, trail, digest, note } = frame;
        let kind = input.as_ref().map(Input::kind);
        let recorded = Recorded { seq, line, effects, trail, digest, kind };
        let room = self.room();
        let closed = input.as_ref().and_then(closes);
        if self.options.responses
            && let Some(input) = &input
        {
            self.responses.hear(seq, input);
        }
        if let Some(input) = input.as_ref().filter(|input| !input.images().is_empty()) {
            self.requests.show(input.images().iter(), &self.bodies);
        }
        let step = match (self.state.take(), input) {
            (Some(state), Some(input)) => self.step(state, input, &recorded, room)?,
            (_, None) => start(self.header.config.clone()),
            // A reader never gives a frame with an input before the start.
            (None, Some(input)) => step(start(self.header.config.clone()).state, input),
        };
        if let Err(divergence) = self.compare(&recorded, &step, room) {
            return Err(self.told_by_request(divergence, &step, note.request.as_deref()));
        }
        self.compare_edges(&recorded, &step, room, note.request.as_deref(), closed)?;
        self.report.frames += 1;
        self.report.passages += step.trail.len() as u64;
        self.state = Some(step.state);
        Ok(())
    }

    fn step(
        &mut self,
        state: State,
        input: Input,
        recorded: &Recorded,
        room: RoomKind,
    ) -> Result<Step, Box<Divergence>> {
        // Where nothing was ordered and no door walked there is little to judge, and a copy of
        // the state for every piece of a stream would cost the square of its length. What was told
        // is taken down all the same: a decision may order nothing yet.
        let quiet = recorded.effects.is_empty() && recorded.trail.is_empty();
        if !self.options.invariants || (quiet && is_piece(&input)) {
            return Ok(step(state, input));
        }
        let before = (!quiet).then(|| state.clone());
        let after = step(state, input.clone());
        let judged = before.map_or(Ok(()), |before| invariants::check(&before, &input, &after));
        match judged.and_then(|()| self.chronicle.note(&input, &after)) {
            Ok(()) => Ok(after),
            Err(violation) => {
                let difference = Difference {
                    path: "step".into(),
                    left: "(every invariant holds)".into(),
                    right: violation.detail.clone(),
                };
                let why = "a step of this machine breaks a rule that every step must keep";
                let (code, id) = (Code::InvariantBroken, violation.id);
                Err(self.diverged(code, recorded, room, difference, id, why))
            }
        }
    }

    fn compare(
        &self,
        recorded: &Recorded,
        step: &Step,
        room: RoomKind,
    ) -> Result<(), Box<Divergence>> {
        if step.effects != recorded.effects {
            let difference = differing("effects", &recorded.effects, &step.effects);
            let (invariant, why) = why_effects(&difference.path);
            let code = Code::EffectsDiffer;
            return Err(self.diverged(code, recorded, room, difference, invariant, why));
        }
        if step.trail != recorded.trail {
            let difference = differing("trail", &recorded.trail, &step.trail);
            let why = "the same state and the same input must open the same doors for the same \
                       reasons; the rooms or their table have changed";
            let invariant = Invariant::Deterministic;
            let code = Code::TrailDiffers;
            return Err(self.diverged(code, recorded, room, difference, invariant, why));
        }
        let digest = is_digested(recorded.seq, step).then(|| step.state.digest());
        if digest != recorded.digest {
            let difference = differing("digest", &recorded.digest, &digest);
            let why = "orders and doors are the same, but what the machine remembers is not: a \
                       counter, a text or a queue has changed, and later steps will show it";
            let invariant = Invariant::Deterministic;
            let code = Code::DigestDiffers;
            return Err(self.diverged(code, recorded, room, difference, invariant, why));
        }
        Ok(())
    }

    /// Takes down what stands between frames.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn aside(&mut self, aside: &Aside) -> Result<(), Box<Divergence>> {
        let Some(body) = aside.body.as_ref().filter(|_| self.options.responses) else {
            return Ok(());
        };
        let compared = self.responses.body(body, &self.bodies);
        self.judge_response(compared, self.report.frames, self.room())
    }

    fn room(&self) -> RoomKind {
        self.state.as_ref().map_or(RoomKind::Idle, State::room)
    }

    /// What the replay came to.
    fn finish(mut self, mut end: End) -> Report {
        if let End::Clean | End::Torn(_) = end
            && let Err(divergence) = self.judge_rest()
        {
            end = End::Diverged(divergence);
        }
        match end {
            End::Clean => {}
            End::Torn(torn) => self.report.warnings.push(Warning::TornTail(torn)),
            End::Diverged(divergence) => self.report.verdict = Verdict::Diverged(divergence),
            End::Damaged(error, suspect) if error.is_alteration() => {
                let divergence = self.altered(&error, suspect);
                self.report.verdict = Verdict::Diverged(divergence);
            }
            End::Damaged(error, _) => self.report.verdict = Verdict::Unreadable(error),
        }
        self.report.room = self.room();
        self.report.terminal = self.state.as_ref().and_then(State::terminal).cloned();
        self.report
    }

    fn judge_rest(&mut self) -> Result<(), Box<Divergence>> {
        for compared in self.responses.rest(&self.bodies) {
            self.judge_response(Some(compared), self.report.frames, self.room())?;
        }
        Ok(())
    }
}

/// Whether an input is one of many pieces of a stream, and no block opens with it: what is shown is
/// taken down from there on.
fn is_piece(input: &Input) -> bool {
    let opens = matches!(input, Input::ModelSaid { event: ModelEvent::BlockBegan { .. }, .. });
    input.kind() == InputKind::ModelSaid && !opens
}
