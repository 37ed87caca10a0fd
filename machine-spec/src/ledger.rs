//! The ledger of open effects: opened once, closed once, empty at the end (I03, I04).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::effect::{Effect, EffectKind};
use crate::ids::EffectId;
use crate::input::InputKind;
use crate::model::closed_enum;

/// Open effects by id. Ids are handed out in order, so what was closed needs no memory, and what is
/// open stays sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ledger {
    next: u64,
    #[serde(serialize_with = "as_map", deserialize_with = "from_map")]
    open: Vec<(EffectId, EffectKind)>,
}

fn as_map<S: Serializer>(
    open: &[(EffectId, EffectKind)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(open.iter().map(|(id, kind)| (id, kind)))
}

fn from_map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(EffectId, EffectKind)>, D::Error> {
    let open: BTreeMap<EffectId, EffectKind> = Deserialize::deserialize(deserializer)?;
    Ok(open.into_iter().collect())
}

closed_enum! {
    /// The standing of the effect that an input claims to answer.
    Standing {
        /// The input answers no effect.
        Free = "free",
        /// The effect is open and of the right kind.
        Live = "live",
        /// The effect was answered or cancelled before.
        Closed = "closed",
        /// The effect was never opened, or is of another kind.
        Unknown = "unknown",
    }
}

impl Ledger {
    /// Opens an effect of this kind.
    pub(crate) fn open(&mut self, kind: EffectKind) -> EffectId {
        let id = EffectId(self.next);
        self.next += 1;
        self.open.push((id, kind));
        id
    }

    /// Closes an effect. Closing twice is our own mistake.
    pub(crate) fn close(&mut self, id: EffectId) {
        let at = self.open.iter().position(|(open, _)| *open == id);
        debug_assert!(at.is_some(), "I04: {id} was closed twice");
        at.map(|at| self.open.remove(at));
    }

    /// The ledger with its open effects renamed to their rank, and the renaming. Whether anything
    /// was closed before is kept, as inputs can tell it.
    pub(crate) fn renamed(&self) -> (Ledger, BTreeMap<EffectId, EffectId>) {
        let ranked = self.open.iter().zip(0..).map(|(open, rank)| (EffectId(rank), *open));
        let names = ranked.clone().map(|(rank, (id, _))| (id, rank)).collect();
        let open: Vec<_> = ranked.map(|(rank, (_, kind))| (rank, kind)).collect();
        let any_closed = u64::from(self.next > open.len() as u64);
        (Ledger { next: open.len() as u64 + any_closed, open }, names)
    }

    /// The standing of an effect for an input of this kind.
    #[must_use]
    pub fn standing(&self, input: InputKind, id: Option<EffectId>) -> Standing {
        let Some(id) = id else { return Standing::Free };
        match self.open.iter().find(|(open, _)| *open == id) {
            Some((_, kind)) if awaits(*kind, input) => Standing::Live,
            Some(_) => Standing::Unknown,
            None if id.0 < self.next => Standing::Closed,
            None => Standing::Unknown,
        }
    }

    /// The open effects, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (EffectId, EffectKind)> + '_ {
        self.open.iter().copied()
    }

    /// Whether nothing is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many effects were ever opened.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.next
    }
}

/// Whether an effect of this kind is answered by an input of this kind.
const fn awaits(effect: EffectKind, input: InputKind) -> bool {
    match effect {
        EffectKind::CallModel => matches!(input, InputKind::ModelSaid | InputKind::ModelClosed),
        EffectKind::RunTool => matches!(input, InputKind::ToolReturned),
        EffectKind::Compact => matches!(input, InputKind::Compacted),
        EffectKind::AskHook => matches!(input, InputKind::HookAnswered),
        EffectKind::SetTimer => matches!(input, InputKind::TimerFired),
        EffectKind::StartTask => matches!(input, InputKind::TaskEnded),
        EffectKind::AskApproval => matches!(input, InputKind::ApprovalGiven),
        EffectKind::StoreResult => matches!(input, InputKind::ResultStored),
        EffectKind::RecallMemory => matches!(input, InputKind::MemoryRecalled),
        EffectKind::FlushMemory => matches!(input, InputKind::MemoryFlushed),
        EffectKind::RefreshCredential => matches!(input, InputKind::CredentialRefreshed),
        EffectKind::CheckOutput => matches!(input, InputKind::OutputChecked),
        EffectKind::Cancel
        | EffectKind::Detach
        | EffectKind::Notify
        | EffectKind::Reject
        | EffectKind::Finish => false,
    }
}

/// The id under which an effect awaits its answer, for the kinds that await one.
#[must_use]
pub const fn awaited_id(effect: &Effect) -> Option<EffectId> {
    match effect {
        Effect::CallModel { id, .. }
        | Effect::RunTool { id, .. }
        | Effect::Compact { id, .. }
        | Effect::AskHook { id, .. }
        | Effect::StartTask { id, .. }
        | Effect::AskApproval { id, .. }
        | Effect::StoreResult { id, .. }
        | Effect::RecallMemory { id, .. }
        | Effect::FlushMemory { id, .. }
        | Effect::RefreshCredential { id, .. }
        | Effect::CheckOutput { id, .. }
        | Effect::SetTimer { id, .. } => Some(*id),
        Effect::Cancel { .. }
        | Effect::Detach { .. }
        | Effect::Notify(_)
        | Effect::Reject(_)
        | Effect::Finish(_) => None,
    }
}
