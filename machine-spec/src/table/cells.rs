//! Every cell of the house: what may become of each class of input, room by room.
//!
//! Two rules hold everywhere and are written once: an answer to an effect that is closed or was never
//! opened is refused, and so is everything once the run is over. The table below is the rest.

use super::Cell;
use super::Outcome::{self, Moves, Refuses, Stays};
use crate::input::InputKind;
use crate::ledger::Standing;
use crate::rooms::RoomKind;

/// What may become of an input that a room waits for: free inputs, and answers to live effects.
const fn live(room: RoomKind, input: InputKind) -> &'static [Outcome] {
    use InputKind as I;
    use RoomKind as R;
    match (room, input) {
        // Welcome everywhere before the end, and handled in one place.
        (R::Done, _) => &[Refuses],
        (R::Idle, I::UserSaid) => &[Moves],
        (R::Awaiting, I::UserSaid) => &[Moves, Refuses],
        (_, I::UserSaid) => &[Stays, Refuses],
        (_, I::Interrupted) => &[Moves],
        (R::Awaiting, I::TaskEnded) => &[Moves],
        (R::Idle, I::TaskEnded) => &[],
        (_, I::TaskEnded) => &[Stays],
        // The time budget may strike in every room; besides, some rooms wait for a timer.
        (R::Idle, I::TimerFired) => &[],
        (_, I::TimerFired) => &[Moves],
        (R::Recalling, I::MemoryRecalled)
        | (R::Compacting, I::Compacted)
        | (R::Refreshing, I::CredentialRefreshed)
        | (R::Checking, I::OutputChecked)
        | (R::Parse, I::ModelClosed) => &[Moves],
        (R::Clearing, I::HookAnswered | I::MemoryFlushed)
        | (R::Batch, I::ToolReturned | I::ResultStored | I::HookAnswered | I::ApprovalGiven)
        | (R::Settling, I::ToolReturned)
        | (R::Reviewing | R::Stopping, I::HookAnswered) => &[Moves, Stays],
        (R::Parse, I::ModelSaid) => &[Moves, Stays, Refuses],
        (R::Parse, I::ToolReturned | I::ResultStored | I::HookAnswered) => &[Stays],
        // Nothing that would be answered so can be open there.
        (room, input) => nothing_open(room, input),
    }
}

const fn nothing_open(_: RoomKind, _: InputKind) -> &'static [Outcome] {
    &[]
}

/// Whether an input of this kind answers an effect.
const fn answers(input: InputKind) -> bool {
    !matches!(input, InputKind::UserSaid | InputKind::Interrupted)
}

/// Every cell of the house, in the order of rooms, inputs and standings.
pub fn cells() -> impl Iterator<Item = Cell> {
    let rooms = RoomKind::ALL.iter().copied().filter(|room| room.waits());
    rooms.flat_map(|room| InputKind::ALL.iter().copied().flat_map(move |input| of(room, input)))
}

fn of(room: RoomKind, input: InputKind) -> impl Iterator<Item = Cell> {
    let here = live(room, input);
    let (free, live) = match answers(input) {
        true => (None, (!here.is_empty() && room != RoomKind::Done).then_some(Standing::Live)),
        false => (Some(Standing::Free), None),
    };
    // Before the first words nothing was opened, so nothing can be closed.
    let closed = (answers(input) && room != RoomKind::Idle).then_some(Standing::Closed);
    let unknown = answers(input).then_some(Standing::Unknown);
    let welcome = free.into_iter().chain(live).map(move |standing| (standing, here));
    let refused = closed.into_iter().chain(unknown).map(|standing| (standing, &[Refuses] as &[_]));
    welcome.chain(refused).map(move |(standing, may)| Cell { room, input, standing, may })
}
