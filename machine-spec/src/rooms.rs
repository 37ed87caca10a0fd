//! The rooms: one enum, one kind, one exhaustive dispatch.

use serde::{Deserialize, Serialize};

use crate::model::closed_enum;

closed_enum! {
    /// The bare kinds of rooms, in the order of an iteration. Alcoves follow their room.
    RoomKind {
        /// Nothing was said yet.
        Idle = "idle",
        /// s1: what is new?
        Absorb = "absorb",
        /// s2: what does the model see?
        View = "view",
        /// s3: does it fit?
        Govern = "govern",
        /// s4: with what exactly?
        Freeze = "freeze",
        /// s5: what did it say?
        Parse = "parse",
        /// s5, alcove: whose failure is it?
        Recover = "recover",
        /// s5, alcove: is it time?
        Backoff = "backoff",
        /// s6, alcove: may it run?
        Gate = "gate",
        /// s6: what must run, in which order?
        Batch = "batch",
        /// s6, alcove: what became of what was running?
        Settling = "settling",
        /// s7: is every call answered?
        Feedback = "feedback",
        /// s8: again, or over?
        Decide = "decide",
        /// s8, alcove: does anybody object?
        Stopping = "stopping",
        /// The run is over.
        Done = "done",
    }
}
