//! Alcove of room 5, Refreshing: is there another credential? The credential itself never comes in
//! here; the edge keeps it. Doors: Freeze, Decide.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use super::{Answer, Decide, Freeze, Next, Out, Refused, Room, s5_recover};
use crate::because::{Because, Owner};
use crate::effect::{Effect, Notice};
use crate::frame::Frame;
use crate::ids::EffectId;
use crate::input::Refresh;
use crate::model::{Failure, StreamPhase};
use crate::view::View;

/// Is there another credential?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refreshing {
    /// The look-up that is waited for.
    pub id: EffectId,
    /// How far the refused response had come.
    pub phase: StreamPhase,
    /// Why it was refused.
    pub failure: Failure,
}

impl Refreshing {
    pub(crate) fn answer(
        self: Box<Self>,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<Next, Refused> {
        let Answer::CredentialRefreshed(result) = answer else {
            return Err(Refused::wrong(Room::Refreshing(self)));
        };
        frame.close(self.id);
        Ok(match result {
            Refresh::Refreshed => {
                // Nothing was appended since the failure, so this is the view that failed.
                let view = View::of(&frame.transcript);
                let freeze = Freeze { owner: Owner::CredentialRefresh, view };
                Next::go(Room::Freeze(freeze), Because::CredentialRefreshed)
            }
            Refresh::Failed { problem } => {
                let candidate = frame.sweep.at;
                out.emit(Effect::Notify(Notice::CredentialMissing { candidate, problem }));
                let end = s5_recover::hopeless(&self.failure, self.phase, frame);
                Next::go(Decide::over(end), Because::CredentialMissing)
            }
        })
    }
}
