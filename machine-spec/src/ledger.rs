//! The ledger of open effects: opened once, closed once, empty at the end (I03, I04).

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::effect::{Effect, EffectKind};
use crate::ids::EffectId;
use crate::input::InputKind;
use crate::model::closed_enum;

/// Open effects by id. Ids are handed out in order, so what was closed needs no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ledger {
    next: u64,
    open: BTreeMap<EffectId, EffectKind>,
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
        self.open.insert(id, kind);
        id
    }

    /// Closes an effect. Closing twice is our own mistake.
    pub(crate) fn close(&mut self, id: EffectId) {
        let was = self.open.remove(&id);
        debug_assert!(was.is_some(), "I04: {id} was closed twice");
    }

    /// The ledger with its open effects renamed to their rank, and the renaming. Whether anything
    /// was closed before is kept, as inputs can tell it.
    pub(crate) fn renamed(&self) -> (Ledger, BTreeMap<EffectId, EffectId>) {
        let names = self.open.keys().enumerate().map(|(rank, id)| (*id, EffectId(rank as u64)));
        let names: BTreeMap<EffectId, EffectId> = names.collect();
        let kinds = self.open.values().enumerate();
        let open: BTreeMap<_, _> =
            kinds.map(|(rank, kind)| (EffectId(rank as u64), *kind)).collect();
        let any_closed = u64::from(self.next > open.len() as u64);
        (Ledger { next: open.len() as u64 + any_closed, open }, names)
    }

    /// The standing of an effect for an input of this kind.
    #[must_use]
    pub fn standing(&self, input: InputKind, id: Option<EffectId>) -> Standing {
        let Some(id) = id else { return Standing::Free };
        match self.open.get(&id) {
            Some(kind) if awaits(*kind, input) => Standing::Live,
            Some(_) => Standing::Unknown,
            None if id.0 < self.next => Standing::Closed,
            None => Standing::Unknown,
        }
    }

    /// The open effects, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (EffectId, EffectKind)> + '_ {
        self.open.iter().map(|(id, kind)| (*id, *kind))
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
