//! Drives a recording through the machine again and compares, frame by frame.
//!
//! Frames are compared as typed values and dropped; text is only made of them when they differ. So
//! a replay is linear in the recording and holds little more than the machine's own state.

use std::path::{Path, PathBuf};

use machine_spec::input::InputKind;
use machine_spec::invariants::{self, Chronicle, Invariant};
use machine_spec::model::ModelEvent;
use machine_spec::{Digest, Effect, Input, Passage, RoomKind, State, Step, start, step};
use serde::Serialize;
use serde_json::Value;

use crate::code::Code;
use crate::divergence::{Difference, Divergence, first_difference};
use crate::format::v1::{Aside, Frame, Header};
use crate::reader::{AlteredPart, Bodies, ReadError, ReadFault, TornTail};
use crate::recorder::is_digested;

mod drive;
mod report;

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
        Replayer {
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
        let step = match (self.state.take(), input) {
            (Some(state), Some(input)) => self.step(state, input, &recorded, room)?,
            (_, None) => start(self.header.config.clone()),
            // A reader never gives a frame with an input before the start.
            (None, Some(input)) => step(start(self.header.config.clone()).state, input),
        };
        self.compare(&recorded, &step, room)?;
        self.report.frames += 1;
        self.report.passages += step.trail.len() as u64;
        let _ = note;
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
        // the state for every piece of a stream would cost the square of its length.
        let quiet = recorded.effects.is_empty() && recorded.trail.is_empty();
        if !self.options.invariants || (quiet && !opens_block(&input)) {
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
        let _ = (aside, &self.bodies);
        Ok(())
    }

    fn room(&self) -> RoomKind {
        self.state.as_ref().map_or(RoomKind::Idle, State::room)
    }

    fn diverged(
        &self,
        code: Code,
        recorded: &Recorded,
        room: RoomKind,
        difference: Difference,
        invariant: Invariant,
        why: &str,
    ) -> Box<Divergence> {
        let file = self.path.clone();
        let command = reproduce(file.as_deref());
        Box::new(Divergence {
            code,
            file,
            at: recorded.seq,
            line: recorded.line,
            room,
            input: recorded.kind,
            path: difference.path,
            recorded: difference.left,
            replayed: difference.right,
            invariant,
            why: why.into(),
            command,
        })
    }

    /// What the replay came to.
    fn finish(mut self, end: End) -> Report {
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

    /// A frame that is not what was written. Driving what stands there now tells what was changed,
    /// wherever the machine can know it.
    fn altered(&mut self, error: &ReadError, suspect: Option<Frame>) -> Box<Divergence> {
        let (room, state, report) = (self.room(), self.state.clone(), self.report.clone());
        let kind = suspect.as_ref().and_then(|frame| frame.input.as_ref()).map(Input::kind);
        let driven = suspect.map(|frame| self.frame(frame, Some(error.line)));
        (self.state, self.report) = (state, report);
        let difference = match driven {
            Some(Err(found)) => {
                let Divergence { path, recorded, replayed, .. } = *found;
                Difference { path, left: recorded, right: replayed }
            }
            Some(Ok(())) | None => what_changed(error),
        };
        let why = format!(
            "a recording is evidence only as it was written, and from here on it is not: {}",
            error.fault
        );
        let recorded = Recorded {
            seq: error.seq.unwrap_or(0),
            line: Some(error.line),
            effects: Vec::new(),
            trail: Vec::new(),
            digest: None,
            kind,
        };
        let (code, id) = (Code::FrameAltered, Invariant::Deterministic);
        self.diverged(code, &recorded, room, difference, id, &why)
    }
}

/// What can be said of an altered line that no step gives away.
fn what_changed(error: &ReadError) -> Difference {
    let unknown = "(what stood there before is not known)";
    match &error.fault {
        ReadFault::Altered { written, computed, part: AlteredPart::Check, .. } => {
            Difference { path: "check".into(), left: written.clone(), right: computed.clone() }
        }
        ReadFault::Altered { around, .. } if !around.is_empty() => Difference {
            path: format!("line {}, column {}", error.line, error.column),
            left: around.clone(),
            right: unknown.into(),
        },
        ReadFault::Altered { .. }
        | ReadFault::CheckMissing
        | ReadFault::Io { .. }
        | ReadFault::FileTooLarge { .. }
        | ReadFault::LineTooLong { .. }
        | ReadFault::Empty
        | ReadFault::Unexpected { .. }
        | ReadFault::NewerFormat { .. }
        | ReadFault::UnknownFlags { .. }
        | ReadFault::Sequence { .. } => Difference {
            path: format!("line {}", error.line),
            left: "(a part on which this step does not depend, or its input)".into(),
            right: unknown.into(),
        },
    }
}

/// Whether a piece of a stream opens a block: what is shown is taken down from there on.
fn opens_block(input: &Input) -> bool {
    matches!(input, Input::ModelSaid { event: ModelEvent::BlockBegan { .. }, .. })
}

/// What a frame recorded, as far as it is compared and told.
struct Recorded {
    seq: u64,
    line: Option<u64>,
    effects: Vec<Effect>,
    trail: Vec<Passage>,
    digest: Option<Digest>,
    kind: Option<InputKind>,
}

/// The first difference of two values that are known to differ.
fn differing<T: Serialize>(base: &str, recorded: &T, replayed: &T) -> Difference {
    let json = |value: &T| serde_json::to_value(value).unwrap_or(Value::Null);
    let (left, right) = (json(recorded), json(replayed));
    first_difference(base, &left, &right).unwrap_or_else(|| Difference {
        path: base.into(),
        left: "(equal as text)".into(),
        right: "(equal as text)".into(),
    })
}

fn why_effects(path: &str) -> (Invariant, &'static str) {
    if path.contains(".view.") {
        return (
            Invariant::ViewIsProjection,
            "the model would see another conversation than it saw: an entry of the transcript, \
             its order or its estimate has changed",
        );
    }
    (
        Invariant::Deterministic,
        "the same state and the same input must give the same orders; this machine decides \
         otherwise than the one that was recorded",
    )
}

fn reproduce(path: Option<&Path>) -> String {
    match path {
        Some(path) => format!("loopwright replay {}", quoted(&path.display().to_string())),
        None => "loopwright replay RECORDING".into(),
    }
}

/// A path as a shell takes it.
fn quoted(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+=:@,".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
