//! Refusals: what was refused, where, and what would have been welcome instead.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::ids::EffectId;
use crate::input::InputKind;
use crate::model::closed_enum;
use crate::rooms::RoomKind;

/// An input that does not fit here. It leaves the state untouched (I02).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rejection {
    /// The room that was asked.
    pub room: RoomKind,
    /// What came.
    pub input: InputKind,
    /// The effect it claims to answer, if its kind answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectId>,
    /// What would have been welcome.
    pub expected: Vec<InputKind>,
    /// Why it was refused.
    pub cause: Cause,
}

closed_enum! {
    /// Why an input was refused.
    Cause {
        /// The room does not wait for this kind.
        WrongRoom = "wrong_room",
        /// The effect was answered or cancelled before.
        EffectClosed = "effect_closed",
        /// The effect was never opened, or is of another kind.
        EffectUnknown = "effect_unknown",
        /// The run is over.
        AfterTerminal = "after_terminal",
        /// A bound of the machine would be exceeded.
        OverLimit = "over_limit",
        /// The event contradicts what the same response said before.
        OutOfOrder = "out_of_order",
    }
}
