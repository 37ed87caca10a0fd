//! What is due, in the order of time, and of ordering where the time is the same.

use std::collections::BTreeMap;

use machine_spec::Input;
use machine_spec::ids::EffectId;

use crate::scenario::Act;

/// Something that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The machine is told this.
    Input(Input),
    /// The next piece of a body comes, or its end.
    Piece(EffectId),
    /// Nobody waits for more of a body any longer.
    Silence(EffectId),
    /// The user does something.
    Act(Act),
}

impl Due {
    fn effect(&self) -> Option<EffectId> {
        match self {
            Due::Input(input) => input.answers(),
            Due::Piece(id) | Due::Silence(id) => Some(*id),
            Due::Act(_) => None,
        }
    }
}

/// What is due.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    due: BTreeMap<(u64, u64), Due>,
    ordered: u64,
}

impl Queue {
    pub(super) fn push(&mut self, at_ms: u64, due: Due) {
        self.due.insert((at_ms, self.ordered), due);
        self.ordered += 1;
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Due)> {
        let ((at_ms, _), due) = self.due.pop_first()?;
        Some((at_ms, due))
    }

    /// Drops everything that belongs to an effect.
    pub(super) fn drop_effect(&mut self, id: EffectId) {
        self.due.retain(|_, due| due.effect() != Some(id));
    }

    /// Drops the watch over a body.
    pub(super) fn drop_silence(&mut self, id: EffectId) {
        self.due.retain(|_, due| *due != Due::Silence(id));
    }
}
