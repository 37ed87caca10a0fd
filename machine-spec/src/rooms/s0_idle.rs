//! Idle: nothing was said yet. The first words begin the run: to Absorb, or to Gate when an earlier
//! run left a call pending. Doors: Absorb, Gate, Decide.

use serde::{Deserialize, Serialize};

use super::{Absorb, Decide, Gate, Next, Out, Room, RoundEnd};
use crate::because::{Because, Owner};
use crate::board::Board;
use crate::effect::{Effect, EffectKind, TimerFor};
use crate::frame::{Frame, Waiting};
use crate::terminal::Terminal;

/// Nothing was said yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Idle {}

impl Idle {
    pub(crate) fn begin(self, said: Waiting, frame: &mut Frame, out: &mut Out) -> Next {
        frame.counters.user_messages += 1;
        frame.inbox.push(said);
        if frame.config.limits.wall_ms > 0 {
            let (id, after_ms) = (frame.open(EffectKind::SetTimer), frame.config.limits.wall_ms);
            out.emit(Effect::SetTimer { id, after_ms, because: TimerFor::TimeLimit });
            frame.deadline = Some(id);
        }
        let Some(deferred) = frame.config.deferred.clone() else {
            return Next::go(Room::Absorb(Absorb { owner: Owner::Step }), Because::UserSpoke);
        };
        if frame.config.tool(&deferred.name).is_none() {
            let end = Terminal::ToolDeferredUnavailable { tool: deferred.name };
            return Next::go(Decide::over(end), Because::DeferredToolGone);
        }
        let board = Board::resumed(&deferred, frame);
        Next::go(Room::Gate(Gate { board, end: RoundEnd::Whole }), Because::CallResumed)
    }
}
