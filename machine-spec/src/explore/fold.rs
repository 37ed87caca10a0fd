//! Folding of symmetric states: two states that differ only in what no decision reads are one.
//!
//! Ids are renamed to their rank, texts that only endings carry are dropped, and of the conversation
//! only the shape is kept: nothing but the sizes of its entries is ever asked for. The fold is
//! used to recognise states that were explored before; the states themselves are explored whole.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::board::{Board, Status};
use crate::digest::Digest;
use crate::draft::Draft;
use crate::frame::{Frame, IdShelf};
use crate::hooking::Asked;
use crate::ids::{AttemptId, CallId, EffectId, TaskId};
use crate::ledger::Ledger;
use crate::message::{Entry, Outcome};
use crate::model::{ErrorClass, Failure, Usage};
use crate::rooms::{Room, RoomKind};
use crate::state::State;
use crate::transcript::Transcript;

/// The digest of the fold of a state.
#[must_use]
pub fn folded(state: &State) -> Digest {
    if let Room::Done(done) = &state.room {
        return Digest::of(&(RoomKind::Done, done.terminal.kind()));
    }
    let mut state = state.clone();
    let (ledger, names) = state.frame.ledger.renamed();
    let shape = shape(&state.frame);
    fold_frame(&mut state.frame, ledger, &names);
    match &mut state.room {
        Room::Parse(parse) => {
            parse.call = renamed(parse.call, &names);
            fold_draft(&mut parse.draft, &names);
        }
        Room::Recalling(recalling) => recalling.id = renamed(recalling.id, &names),
        Room::Clearing(clearing) => {
            clearing.flush = clearing.flush.map(|id| renamed(id, &names));
            fold_asked(&mut clearing.asked, &names);
        }
        Room::Refreshing(refreshing) => refreshing.id = renamed(refreshing.id, &names),
        Room::Reviewing(reviewing) => fold_asked(&mut reviewing.asked, &names),
        Room::Checking(checking) => checking.id = renamed(checking.id, &names),
        Room::Awaiting(awaiting) => awaiting.timer = renamed(awaiting.timer, &names),
        Room::Compacting(compacting) => compacting.id = renamed(compacting.id, &names),
        Room::Backoff(backoff) => backoff.timer = renamed(backoff.timer, &names),
        Room::Batch(batch) => fold_board(&mut batch.board, &names),
        Room::Settling(settling) => {
            settling.timer = renamed(settling.timer, &names);
            fold_board(&mut settling.board, &names);
        }
        Room::Stopping(stopping) => fold_asked(&mut stopping.asked, &names),
        Room::Idle(_)
        | Room::Absorb(_)
        | Room::View(_)
        | Room::Govern(_)
        | Room::Freeze(_)
        | Room::Recover(_)
        | Room::Gate(_)
        | Room::Feedback(_)
        | Room::Decide(_)
        | Room::Done(_) => {}
    }
    shape.chain(&state)
}

/// What a decision can ask of the conversation: the sizes of its visible entries and what they are,
/// and only where a window is configured.
fn shape(frame: &Frame) -> Digest {
    let mut shape = Digest::default();
    if frame.config.candidates.iter().all(|candidate| candidate.context_window == 0) {
        return shape;
    }
    for entry in crate::view::visible(&frame.transcript) {
        let (kind, kept) = match entry {
            Entry::Said(said) => (u32::from(said.origin.is_user()), 0),
            Entry::Reply(_) => (2, 0),
            Entry::Results(_) => (3, 0),
            Entry::Aside(_) => (4, 0),
            Entry::Boundary(boundary) => (5, boundary.kept),
        };
        shape = shape.chain(&(kind, kept, crate::estimate::entry_tokens(entry)));
    }
    shape
}

fn fold_asked(asked: &mut [Asked], names: &BTreeMap<EffectId, EffectId>) {
    for asked in asked {
        asked.id = renamed(asked.id, names);
    }
}

fn fold_frame(frame: &mut Box<Frame>, ledger: Ledger, names: &BTreeMap<EffectId, EffectId>) {
    frame.transcript = Transcript::new();
    frame.wire_ids = IdShelf::default();
    frame.ledger = ledger;
    if frame.config.limits.model_calls == 0 {
        frame.counters.model_calls = 0;
    }
    frame.counters.calls = 0;
    frame.counters.responses = frame.counters.responses.min(1);
    frame.counters.usage = Usage::default();
    frame.sweep.attempts = 0;
    frame.sweep.tried.clear();
    frame.answer.text = String::new();
    frame.answer.stop = String::new();
    frame.answer.details = None;
    frame.deadline = frame.deadline.map(|id| renamed(id, names));
    for (n, task) in frame.tasks.iter_mut().enumerate() {
        task.effect = renamed(task.effect, names);
        task.task = TaskId(n as u32);
    }
    for waiting in &mut frame.inbox {
        waiting.text.clear();
    }
    fold_weights(frame);
}

/// What was counted matters only where something is held against it.
fn fold_weights(frame: &mut Frame) {
    let limits = &frame.config.limits;
    if limits.tokens == 0 {
        frame.counters.spent.tokens = 0;
    }
    if limits.nanos == 0 {
        frame.counters.spent.nanos = 0;
    }
    if frame.config.candidates.iter().all(|candidate| candidate.context_window == 0) {
        frame.gauge = None;
    }
    // Of the most telling failure only its class is decided by, and only where it is a size.
    let size = |failure: &Failure| failure.class == ErrorClass::ContextOverflow;
    frame.sweep.decisive = frame.sweep.decisive.take().filter(size);
}

fn fold_draft(draft: &mut Draft, names: &BTreeMap<EffectId, EffectId>) {
    draft.attempt = AttemptId(0);
    draft.usage = Usage::default();
    fold_board(&mut draft.board, names);
}

fn fold_board(board: &mut Board, names: &BTreeMap<EffectId, EffectId>) {
    for (n, slot) in board.slots.iter_mut().enumerate() {
        slot.call = CallId(n as u32);
        slot.wire_id = "".into();
        match &mut slot.status {
            Status::Running(id) | Status::Asking(id) | Status::Storing { id, .. } => {
                *id = renamed(*id, names);
            }
            Status::Vetting(asked) => fold_asked(asked, names),
            Status::Settled { outcome: Outcome::Acknowledged { task }, .. } => *task = TaskId(0),
            Status::Unvetted | Status::Wanting { .. } | Status::Queued | Status::Settled { .. } => {
            }
        }
    }
}

/// A closed id has no name any more; all of them are one.
fn renamed(id: EffectId, names: &BTreeMap<EffectId, EffectId>) -> EffectId {
    names.get(&id).copied().unwrap_or(EffectId(u64::MAX))
}
