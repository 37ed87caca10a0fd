//! Room 2, View: what does the model see? A pure projection of the transcript. Door: Govern.

use serde::{Deserialize, Serialize};

use super::{Govern, Next, Out, Pressure, Room};
use crate::because::{Because, Owner};
use crate::frame::Frame;
use crate::view::View;

/// What does the model see?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BuildView {
    /// Who orders the request that follows.
    pub owner: Owner,
    /// Whether somebody already said that it does not fit.
    pub pressure: Pressure,
}

impl BuildView {
    pub(crate) fn pass(self, frame: &mut Frame, _: &mut Out) -> Next {
        let view = View::of(&frame.transcript);
        Next::go(
            Room::Govern(Govern { owner: self.owner, view, pressure: self.pressure }),
            Because::ViewBuilt,
        )
    }
}
