//! Idle: nothing was said yet. Door: the user speaks, to Absorb.

use serde::{Deserialize, Serialize};

use super::{Absorb, Next, Room};
use crate::because::{Because, Owner};
use crate::frame::{Frame, Waiting};

/// Nothing was said yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Idle {}

impl Idle {
    pub(crate) fn begin(self, said: Waiting, frame: &mut Frame) -> Next {
        frame.counters.user_messages += 1;
        frame.inbox.push(said);
        Next::go(Room::Absorb(Absorb { owner: Owner::Step }), Because::UserSpoke)
    }
}
