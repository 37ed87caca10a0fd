//! The named checks, used alike by exploration, simulation and replay.
//!
//! [`check`] judges one step; [`Chronicle`] judges a whole run, and counts from outside: it reads
//! effects and trails and never trusts the machine's own counters.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::board::{Board, Status};
use crate::effect::{Effect, Notice};
use crate::ids::EffectId;
use crate::input::Input;
use crate::ledger::awaited_id;
use crate::model::{Safety, closed_enum};
use crate::rooms::{Room, RoomKind};
use crate::state::{State, Step};
use crate::step::MAX_PASSAGES;
use crate::terminal::Terminal;
use crate::view::View;

mod chronicle;

pub use chronicle::Chronicle;

closed_enum! {
    /// The invariants by their fixed names (HOUSE 2.7 and the properties T1 to T25).
    Invariant {
        /// The same state and input give the same step.
        #[serde(rename = "I01")] Deterministic = "I01",
        /// A refusal leaves the state untouched and emits exactly one `Reject`.
        #[serde(rename = "I02")] RefusalIsPure = "I02",
        /// `Done` absorbs; exactly one `Finish`; the ledger is empty then.
        #[serde(rename = "I03")] DoneAbsorbs = "I03",
        /// Every effect id is opened once and closed once.
        #[serde(rename = "I04")] LedgerBalances = "I04",
        /// Every call has exactly one result before the next request, in call order.
        #[serde(rename = "I05")] CallsPaired = "I05",
        /// The transcript only grows.
        #[serde(rename = "I06")] TranscriptGrows = "I06",
        /// The view is a function of the transcript.
        #[serde(rename = "I07")] ViewIsProjection = "I07",
        /// A sealed request is what Parse refers to.
        #[serde(rename = "I08")] RequestSealed = "I08",
        /// Everything stays within its bound.
        #[serde(rename = "I09")] Bounded = "I09",
        /// A serialise/deserialise round trip changes nothing.
        #[serde(rename = "I10")] RoundTrips = "I10",
        /// Every passage is declared, with its cause and its effects.
        #[serde(rename = "I11")] Declared = "I11",
        /// In a benign world a terminal comes within the bound.
        #[serde(rename = "I12")] BenignLiveness = "I12",
        /// After any finite number of faults a terminal comes.
        #[serde(rename = "I13")] HostileLiveness = "I13",
        /// Nothing said is unread when a run ends as `Answered`.
        #[serde(rename = "I14")] NothingUnread = "I14",
        /// Everything that is declared is seen.
        #[serde(rename = "I15")] EverythingSeen = "I15",
        /// No unsafe call overlaps any other.
        #[serde(rename = "T03")] Barrier = "T03",
        /// No call is started twice.
        #[serde(rename = "T04")] StartedOnce = "T04",
        /// A call that returned is never recorded as unknown or not started.
        #[serde(rename = "T05")] TruthKept = "T05",
        /// What was shown of a discarded attempt is retracted.
        #[serde(rename = "T09")] Retracted = "T09",
        /// The engine's own scaffolding is not in what the next run begins with.
        #[serde(rename = "T13")] ScaffoldingGone = "T13",
        /// A call that was asked about runs only after somebody allowed it.
        #[serde(rename = "T14")] ConsentGiven = "T14",
        /// Every background task reports exactly once, or is listed as left.
        #[serde(rename = "T15")] TasksAccounted = "T15",
        /// The sent prefix moves only where the conversation was compacted.
        #[serde(rename = "C01")] PrefixStable = "C01",
    }
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Which one.
    pub id: Invariant,
    /// What was seen.
    pub detail: String,
}

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} is broken: {}", self.id, self.detail)
    }
}

type Judged = Result<(), Violation>;

fn ensure(id: Invariant, holds: bool, detail: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(Violation { id, detail: detail() }) }
}

/// Judges one step by everything that can be seen of it.
pub fn check(before: &State, input: &Input, after: &Step) -> Judged {
    if after.effects.iter().any(|effect| matches!(effect, Effect::Reject(_))) {
        return check_refusal(before, after);
    }
    ensure(Invariant::DoneAbsorbs, !before.is_done(), || format!("Done accepted {input:?}"))?;
    check_end(after)?;
    check_ledger(before, input, after)?;
    check_transcript(before, after)?;
    check_requests(after)?;
    check_bounds(after)?;
    check_barrier(&after.state)
}

fn check_refusal(before: &State, after: &Step) -> Judged {
    let alone = after.effects.len() == 1 && after.trail.is_empty();
    ensure(Invariant::RefusalIsPure, alone, || format!("a refusal came with {:?}", after.effects))?;
    ensure(Invariant::RefusalIsPure, *before == after.state, || {
        "a refusal changed the state".into()
    })
}

fn check_end(after: &Step) -> Judged {
    let finishes = after.effects.iter().filter(|e| matches!(e, Effect::Finish(_))).count();
    let done = after.state.is_done();
    ensure(Invariant::DoneAbsorbs, finishes == usize::from(done), || {
        format!("{finishes} Finish in a step that ends in {}", after.state.room())
    })?;
    ensure(Invariant::DoneAbsorbs, !done || after.state.frame.ledger.is_empty(), || {
        let open: Vec<_> = after.state.frame.ledger.iter().collect();
        format!("the run is over and {open:?} is open")
    })?;
    let answered = matches!(after.effects.last(), Some(Effect::Finish(Terminal::Answered { .. })));
    let returned = after
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::Notify(Notice::InputReturned { .. })));
    ensure(Invariant::NothingUnread, !(answered && returned), || {
        "a run ended as answered with unread words".into()
    })
}

fn check_ledger(before: &State, input: &Input, after: &Step) -> Judged {
    let (old, new) = (&before.frame.ledger, &after.state.frame.ledger);
    let opened: Vec<EffectId> = after.effects.iter().filter_map(awaited_id).collect();
    let expected: Vec<EffectId> = (old.opened()..new.opened()).map(EffectId).collect();
    ensure(Invariant::LedgerBalances, opened == expected, || {
        format!("the ledger opened {expected:?}, the effects say {opened:?}")
    })?;
    let was_open: BTreeSet<EffectId> = old.iter().map(|(id, _)| id).collect();
    for (id, _) in new.iter() {
        let known = was_open.contains(&id) || opened.contains(&id);
        ensure(Invariant::LedgerBalances, known, || format!("{id} was opened again"))?;
    }
    let cancelled = |id| {
        after.effects.iter().any(|e| *e == Effect::Cancel { id } || *e == Effect::Detach { id })
    };
    let gave_up = before.room() == RoomKind::Settling;
    for id in was_open {
        let still_open = new.iter().any(|(open, _)| open == id);
        let closed_by = still_open || input.answers() == Some(id) || cancelled(id) || gave_up;
        ensure(Invariant::LedgerBalances, closed_by, || {
            format!("{id} was closed without a cause")
        })?;
    }
    Ok(())
}

fn check_transcript(before: &State, after: &Step) -> Judged {
    let (old, new) = (&before.frame.transcript, &after.state.frame.transcript);
    ensure(Invariant::TranscriptGrows, new.len() >= old.len(), || {
        format!("{} entries became {}", old.len(), new.len())
    })?;
    let mut at = new;
    while at.len() > old.len() {
        match at.before_last() {
            Some(earlier) => at = earlier,
            None => break,
        }
    }
    ensure(Invariant::TranscriptGrows, at == old, || "an earlier entry changed".into())?;
    let must_be_paired = after.state.is_done()
        || after.effects.iter().any(|effect| matches!(effect, Effect::CallModel { .. }));
    let unpaired = if must_be_paired { new.first_unpaired() } else { None };
    ensure(Invariant::CallsPaired, unpaired.is_none(), || {
        format!("entry {unpaired:?} is not paired at {}", after.state.room())
    })
}

fn check_requests(after: &Step) -> Judged {
    for effect in &after.effects {
        let Effect::CallModel { id, request } = effect else { continue };
        let view = View::of(&after.state.frame.transcript);
        ensure(Invariant::ViewIsProjection, request.view == view, || {
            "the view of the request is not that of the transcript".into()
        })?;
        let heard = match &after.state.room {
            Room::Parse(parse) => parse.call == *id && parse.draft.attempt == request.attempt,
            Room::Idle(_)
            | Room::Absorb(_)
            | Room::View(_)
            | Room::Govern(_)
            | Room::Compacting(_)
            | Room::Freeze(_)
            | Room::Recover(_)
            | Room::Backoff(_)
            | Room::Gate(_)
            | Room::Batch(_)
            | Room::Settling(_)
            | Room::Feedback(_)
            | Room::Decide(_)
            | Room::Recalling(_)
            | Room::Clearing(_)
            | Room::Refreshing(_)
            | Room::Reviewing(_)
            | Room::Checking(_)
            | Room::Awaiting(_)
            | Room::Stopping(_)
            | Room::Done(_) => false,
        };
        ensure(Invariant::RequestSealed, heard, || format!("nobody listens to {id}"))?;
    }
    Ok(())
}

fn check_bounds(after: &Step) -> Judged {
    let (frame, doors) = (&after.state.frame, after.trail.len());
    ensure(Invariant::Bounded, doors <= MAX_PASSAGES, || format!("{doors} doors for one input"))?;
    let (limits, used) = (&frame.config.limits, &frame.counters);
    for (name, used, limit) in [
        ("model calls", used.model_calls, frame.model_call_limit()),
        ("tool rounds", used.tool_rounds, limits.tool_rounds),
        ("compactions", frame.compactions.done, limits.compactions),
        ("failed compactions", frame.compactions.failures, limits.compact_failures),
        ("wrap-ups", used.wrap_ups, 1),
        ("tasks", used.tasks, limits.tasks),
        ("running tasks", frame.tasks.len() as u32, limits.parallel_tasks),
        ("look-ups", frame.sweep.refreshes, limits.credential_refreshes),
        ("responses in one piece", frame.sweep.whole, limits.stream_fallbacks),
        ("wrong shapes", used.structured_retries, limits.structured_retries),
        ("nudges", used.blank_nudges, limits.blank_nudges),
        ("continuations", used.continuations, limits.continuations),
        ("pauses", used.pauses, limits.pauses),
        ("hook blocks", used.hook_blocks, limits.stop_hook_blocks),
        ("repairs", used.malformed_streak, limits.malformed_repairs),
        ("user messages", used.user_messages, limits.user_messages),
        ("hops", frame.sweep.hops, limits.fallback_hops),
        ("http retries", frame.sweep.http_retries, limits.http_retries),
        ("reissues", frame.sweep.reissues, limits.stream_reissues),
        ("stall reissues", frame.sweep.stalls, limits.stall_reissues),
        ("inbox", queued_words(after), limits.inbox),
    ] {
        ensure(Invariant::Bounded, used <= limit, || format!("{used} {name}, limit {limit}"))?;
    }
    Ok(())
}

fn queued_words(after: &Step) -> u32 {
    after.state.frame.inbox.iter().filter(|waiting| waiting.origin.is_user()).count() as u32
}

fn check_barrier(after: &State) -> Judged {
    let Some(board) = board_of(after) else { return Ok(()) };
    let running = board.running().count();
    let alone = board.slots.iter().all(|slot| match (slot.safety, &slot.status) {
        (Safety::Exclusive, Status::Running(_)) => running == 1,
        (Safety::Concurrent | Safety::Exclusive, _) => true,
    });
    ensure(Invariant::Barrier, alone, || format!("an exclusive call overlaps: {:?}", board.slots))?;
    let limit = after.frame.config.limits.parallel_tools as usize;
    ensure(Invariant::Bounded, running <= limit, || format!("{running} calls run, limit {limit}"))
}

/// The board of the response at hand, in the rooms that have one.
#[must_use]
pub fn board_of(state: &State) -> Option<&Board> {
    match &state.room {
        Room::Parse(parse) => Some(&parse.draft.board),
        Room::Recover(recover) => Some(&recover.draft.board),
        Room::Gate(gate) => Some(&gate.board),
        Room::Batch(batch) => Some(&batch.board),
        Room::Settling(settling) => Some(&settling.board),
        Room::Feedback(feedback) => Some(&feedback.board),
        Room::Idle(_)
        | Room::Absorb(_)
        | Room::View(_)
        | Room::Govern(_)
        | Room::Compacting(_)
        | Room::Freeze(_)
        | Room::Backoff(_)
        | Room::Decide(_)
        | Room::Recalling(_)
        | Room::Clearing(_)
        | Room::Refreshing(_)
        | Room::Reviewing(_)
        | Room::Checking(_)
        | Room::Awaiting(_)
        | Room::Stopping(_)
        | Room::Done(_) => None,
    }
}
