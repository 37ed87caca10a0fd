//! Puts a difference into words.

use std::path::Path;

use machine_spec::input::InputKind;
use machine_spec::invariants::Invariant;
use machine_spec::{Digest, Effect, Input, Passage, RoomKind};
use serde::Serialize;
use serde_json::Value;

use super::Replayer;
use crate::code::Code;
use crate::divergence::{Difference, Divergence, first_difference};
use crate::format::v1::Frame;
use crate::reader::{AlteredPart, ReadError, ReadFault};

impl Replayer {
    pub(super) fn diverged(
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

    /// A frame that is not what was written. Driving what stands there now tells what was changed,
    /// wherever the machine can know it.
    pub(super) fn altered(&mut self, error: &ReadError, suspect: Option<Frame>) -> Box<Divergence> {
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
        let mut recorded = Recorded::bare(error.seq.unwrap_or(0), kind);
        recorded.line = Some(error.line);
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

/// What a frame recorded, as far as it is compared and told.
pub(super) struct Recorded {
    pub(super) seq: u64,
    pub(super) line: Option<u64>,
    pub(super) effects: Vec<Effect>,
    pub(super) trail: Vec<Passage>,
    pub(super) digest: Option<Digest>,
    pub(super) kind: Option<InputKind>,
}

impl Recorded {
    pub(super) const fn bare(seq: u64, kind: Option<InputKind>) -> Recorded {
        Recorded { seq, line: None, effects: Vec::new(), trail: Vec::new(), digest: None, kind }
    }
}

/// The first difference of two values that are known to differ.
pub(super) fn differing<T: Serialize>(base: &str, recorded: &T, replayed: &T) -> Difference {
    let json = |value: &T| serde_json::to_value(value).unwrap_or(Value::Null);
    let (left, right) = (json(recorded), json(replayed));
    first_difference(base, &left, &right).unwrap_or_else(|| Difference {
        path: base.into(),
        left: "(equal as text)".into(),
        right: "(equal as text)".into(),
    })
}

pub(super) fn why_effects(path: &str) -> (Invariant, &'static str) {
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
