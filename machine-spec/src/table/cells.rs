//! Every cell of the house: what may become of each class of input, room by room.

use super::Cell;
use super::Outcome::{self, Moves, Refuses, Stays};
use crate::input::InputKind;
use crate::ledger::Standing;
use crate::rooms::RoomKind;

const fn cell(
    room: RoomKind,
    input: InputKind,
    standing: Standing,
    may: &'static [Outcome],
) -> Cell {
    Cell { room, input, standing, may }
}

/// Every cell of the house. An answer to a closed effect is possible only where one was closed
/// before, so Idle has no such row.
#[rustfmt::skip]
pub const CELLS: &[Cell] = {
    use InputKind as I;
    use RoomKind as R;
    use Standing as S;
    &[
        // Idle: nothing was said yet.
        cell(R::Idle, I::UserSaid, S::Free, &[Moves]),
        cell(R::Idle, I::Interrupted, S::Free, &[Moves]),
        cell(R::Idle, I::ModelSaid, S::Unknown, &[Refuses]),
        cell(R::Idle, I::ModelClosed, S::Unknown, &[Refuses]),
        cell(R::Idle, I::ToolReturned, S::Unknown, &[Refuses]),
        cell(R::Idle, I::Compacted, S::Unknown, &[Refuses]),
        cell(R::Idle, I::HookAnswered, S::Unknown, &[Refuses]),
        cell(R::Idle, I::TimerFired, S::Unknown, &[Refuses]),
        // s3, alcove: what came back?
        cell(R::Compacting, I::UserSaid, S::Free, &[Stays, Refuses]),
        cell(R::Compacting, I::Interrupted, S::Free, &[Moves]),
        cell(R::Compacting, I::ModelSaid, S::Closed, &[Refuses]),
        cell(R::Compacting, I::ModelSaid, S::Unknown, &[Refuses]),
        cell(R::Compacting, I::ModelClosed, S::Closed, &[Refuses]),
        cell(R::Compacting, I::ModelClosed, S::Unknown, &[Refuses]),
        cell(R::Compacting, I::ToolReturned, S::Closed, &[Refuses]),
        cell(R::Compacting, I::ToolReturned, S::Unknown, &[Refuses]),
        cell(R::Compacting, I::Compacted, S::Live, &[Moves]),
        cell(R::Compacting, I::Compacted, S::Closed, &[Refuses]),
        cell(R::Compacting, I::Compacted, S::Unknown, &[Refuses]),
        cell(R::Compacting, I::HookAnswered, S::Closed, &[Refuses]),
        cell(R::Compacting, I::HookAnswered, S::Unknown, &[Refuses]),
        cell(R::Compacting, I::TimerFired, S::Closed, &[Refuses]),
        cell(R::Compacting, I::TimerFired, S::Unknown, &[Refuses]),
        // s5: what did it say?
        cell(R::Parse, I::UserSaid, S::Free, &[Stays, Refuses]),
        cell(R::Parse, I::Interrupted, S::Free, &[Moves]),
        cell(R::Parse, I::ModelSaid, S::Live, &[Moves, Stays, Refuses]),
        cell(R::Parse, I::ModelSaid, S::Closed, &[Refuses]),
        cell(R::Parse, I::ModelSaid, S::Unknown, &[Refuses]),
        cell(R::Parse, I::ModelClosed, S::Live, &[Moves]),
        cell(R::Parse, I::ModelClosed, S::Closed, &[Refuses]),
        cell(R::Parse, I::ModelClosed, S::Unknown, &[Refuses]),
        cell(R::Parse, I::ToolReturned, S::Live, &[Stays]),
        cell(R::Parse, I::ToolReturned, S::Closed, &[Refuses]),
        cell(R::Parse, I::ToolReturned, S::Unknown, &[Refuses]),
        cell(R::Parse, I::Compacted, S::Closed, &[Refuses]),
        cell(R::Parse, I::Compacted, S::Unknown, &[Refuses]),
        cell(R::Parse, I::HookAnswered, S::Closed, &[Refuses]),
        cell(R::Parse, I::HookAnswered, S::Unknown, &[Refuses]),
        cell(R::Parse, I::TimerFired, S::Closed, &[Refuses]),
        cell(R::Parse, I::TimerFired, S::Unknown, &[Refuses]),
        // s5, alcove: is it time?
        cell(R::Backoff, I::UserSaid, S::Free, &[Stays, Refuses]),
        cell(R::Backoff, I::Interrupted, S::Free, &[Moves]),
        cell(R::Backoff, I::ModelSaid, S::Closed, &[Refuses]),
        cell(R::Backoff, I::ModelSaid, S::Unknown, &[Refuses]),
        cell(R::Backoff, I::ModelClosed, S::Closed, &[Refuses]),
        cell(R::Backoff, I::ModelClosed, S::Unknown, &[Refuses]),
        cell(R::Backoff, I::ToolReturned, S::Closed, &[Refuses]),
        cell(R::Backoff, I::ToolReturned, S::Unknown, &[Refuses]),
        cell(R::Backoff, I::Compacted, S::Closed, &[Refuses]),
        cell(R::Backoff, I::Compacted, S::Unknown, &[Refuses]),
        cell(R::Backoff, I::HookAnswered, S::Closed, &[Refuses]),
        cell(R::Backoff, I::HookAnswered, S::Unknown, &[Refuses]),
        cell(R::Backoff, I::TimerFired, S::Live, &[Moves]),
        cell(R::Backoff, I::TimerFired, S::Closed, &[Refuses]),
        cell(R::Backoff, I::TimerFired, S::Unknown, &[Refuses]),
        // s6: what must run, in which order?
        cell(R::Batch, I::UserSaid, S::Free, &[Stays, Refuses]),
        cell(R::Batch, I::Interrupted, S::Free, &[Moves]),
        cell(R::Batch, I::ModelSaid, S::Closed, &[Refuses]),
        cell(R::Batch, I::ModelSaid, S::Unknown, &[Refuses]),
        cell(R::Batch, I::ModelClosed, S::Closed, &[Refuses]),
        cell(R::Batch, I::ModelClosed, S::Unknown, &[Refuses]),
        cell(R::Batch, I::ToolReturned, S::Live, &[Moves, Stays]),
        cell(R::Batch, I::ToolReturned, S::Closed, &[Refuses]),
        cell(R::Batch, I::ToolReturned, S::Unknown, &[Refuses]),
        cell(R::Batch, I::Compacted, S::Closed, &[Refuses]),
        cell(R::Batch, I::Compacted, S::Unknown, &[Refuses]),
        cell(R::Batch, I::HookAnswered, S::Closed, &[Refuses]),
        cell(R::Batch, I::HookAnswered, S::Unknown, &[Refuses]),
        cell(R::Batch, I::TimerFired, S::Closed, &[Refuses]),
        cell(R::Batch, I::TimerFired, S::Unknown, &[Refuses]),
        // s6, alcove: what became of what was running?
        cell(R::Settling, I::UserSaid, S::Free, &[Stays, Refuses]),
        cell(R::Settling, I::Interrupted, S::Free, &[Moves]),
        cell(R::Settling, I::ModelSaid, S::Closed, &[Refuses]),
        cell(R::Settling, I::ModelSaid, S::Unknown, &[Refuses]),
        cell(R::Settling, I::ModelClosed, S::Closed, &[Refuses]),
        cell(R::Settling, I::ModelClosed, S::Unknown, &[Refuses]),
        cell(R::Settling, I::ToolReturned, S::Live, &[Moves, Stays]),
        cell(R::Settling, I::ToolReturned, S::Closed, &[Refuses]),
        cell(R::Settling, I::ToolReturned, S::Unknown, &[Refuses]),
        cell(R::Settling, I::Compacted, S::Closed, &[Refuses]),
        cell(R::Settling, I::Compacted, S::Unknown, &[Refuses]),
        cell(R::Settling, I::HookAnswered, S::Closed, &[Refuses]),
        cell(R::Settling, I::HookAnswered, S::Unknown, &[Refuses]),
        cell(R::Settling, I::TimerFired, S::Live, &[Moves]),
        cell(R::Settling, I::TimerFired, S::Closed, &[Refuses]),
        cell(R::Settling, I::TimerFired, S::Unknown, &[Refuses]),
        // s8, alcove: does anybody object?
        cell(R::Stopping, I::UserSaid, S::Free, &[Stays, Refuses]),
        cell(R::Stopping, I::Interrupted, S::Free, &[Moves]),
        cell(R::Stopping, I::ModelSaid, S::Closed, &[Refuses]),
        cell(R::Stopping, I::ModelSaid, S::Unknown, &[Refuses]),
        cell(R::Stopping, I::ModelClosed, S::Closed, &[Refuses]),
        cell(R::Stopping, I::ModelClosed, S::Unknown, &[Refuses]),
        cell(R::Stopping, I::ToolReturned, S::Closed, &[Refuses]),
        cell(R::Stopping, I::ToolReturned, S::Unknown, &[Refuses]),
        cell(R::Stopping, I::Compacted, S::Closed, &[Refuses]),
        cell(R::Stopping, I::Compacted, S::Unknown, &[Refuses]),
        cell(R::Stopping, I::HookAnswered, S::Live, &[Moves, Stays]),
        cell(R::Stopping, I::HookAnswered, S::Closed, &[Refuses]),
        cell(R::Stopping, I::HookAnswered, S::Unknown, &[Refuses]),
        cell(R::Stopping, I::TimerFired, S::Closed, &[Refuses]),
        cell(R::Stopping, I::TimerFired, S::Unknown, &[Refuses]),
        // Done: nothing moves any more.
        cell(R::Done, I::UserSaid, S::Free, &[Refuses]),
        cell(R::Done, I::Interrupted, S::Free, &[Refuses]),
        cell(R::Done, I::ModelSaid, S::Closed, &[Refuses]),
        cell(R::Done, I::ModelSaid, S::Unknown, &[Refuses]),
        cell(R::Done, I::ModelClosed, S::Closed, &[Refuses]),
        cell(R::Done, I::ModelClosed, S::Unknown, &[Refuses]),
        cell(R::Done, I::ToolReturned, S::Closed, &[Refuses]),
        cell(R::Done, I::ToolReturned, S::Unknown, &[Refuses]),
        cell(R::Done, I::Compacted, S::Closed, &[Refuses]),
        cell(R::Done, I::Compacted, S::Unknown, &[Refuses]),
        cell(R::Done, I::HookAnswered, S::Closed, &[Refuses]),
        cell(R::Done, I::HookAnswered, S::Unknown, &[Refuses]),
        cell(R::Done, I::TimerFired, S::Closed, &[Refuses]),
        cell(R::Done, I::TimerFired, S::Unknown, &[Refuses]),
    ]
};
