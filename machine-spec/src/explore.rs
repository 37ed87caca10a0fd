//! Exhaustive exploration of the real `step`: breadth first, over small alphabets, within bounds.
//!
//! It is the bridge between the plan of the house ([`crate::table`]) and the house itself: every
//! step is taken twice and judged by every invariant, every door, cell, cause, effect and ending is
//! counted, and the caller compares what was observed with what is declared, both ways.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::because::{Because, Owner, Passage, Trigger};
use crate::digest::Digest;
use crate::effect::{Effect, EffectKind, Notice};
use crate::input::{Input, InputKind};
use crate::invariants::{self, Invariant, Violation};
use crate::ledger::Standing;
use crate::rooms::RoomKind;
use crate::state::{State, Step};
use crate::table::Outcome;
use crate::terminal::TerminalKind;

mod alphabet;
mod benign;
mod fold;
mod longest;
pub mod profiles;

pub use alphabet::alphabet;
pub use benign::benign_answer;
pub use fold::folded;
pub use longest::most_model_calls;
pub use profiles::{CallTemplate, Profile};

/// What an exploration saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Distinct states, symmetric ones folded.
    pub states: u64,
    /// Steps taken, each of them twice.
    pub steps: u64,
    /// Inputs refused.
    pub refusals: u64,
    /// Doors walked, and the kinds of effects emitted on the way.
    pub doors: BTreeMap<Door, BTreeSet<EffectKind>>,
    /// Outcomes, by room and class of input.
    pub cells: BTreeMap<(RoomKind, InputKind, Standing), BTreeSet<Outcome>>,
    /// Endings.
    pub terminals: BTreeSet<TerminalKind>,
    /// Owners of requests.
    pub owners: BTreeSet<Owner>,
    /// Kinds of effects.
    pub effects: BTreeSet<EffectKind>,
    /// Most requests in one run.
    pub most_model_calls: u32,
    /// Most passages for one input.
    pub most_passages: usize,
    /// Whether the bound on states cut the exploration short.
    pub cut_short: bool,
}

/// A door: where from, on what, why, where to.
pub type Door = (RoomKind, Trigger, Because, RoomKind);

/// A broken invariant and the inputs that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The profile that was explored.
    pub profile: &'static str,
    /// What is broken.
    pub violation: Violation,
    /// The inputs from the start, the last one breaks it.
    pub inputs: Vec<Input>,
}

impl core::fmt::Display for Counterexample {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "{} in profile {:?} after:", self.violation, self.profile)?;
        self.inputs.iter().try_for_each(|input| writeln!(f, "  {input:?}"))
    }
}

impl Seen {
    /// Adds what another exploration saw.
    pub fn merge(&mut self, other: Seen) {
        self.states += other.states;
        self.steps += other.steps;
        self.refusals += other.refusals;
        for (door, effects) in other.doors {
            self.doors.entry(door).or_default().extend(effects);
        }
        for (cell, outcomes) in other.cells {
            self.cells.entry(cell).or_default().extend(outcomes);
        }
        self.terminals.extend(other.terminals);
        self.owners.extend(other.owners);
        self.effects.extend(other.effects);
        self.most_model_calls = self.most_model_calls.max(other.most_model_calls);
        self.most_passages = self.most_passages.max(other.most_passages);
        self.cut_short |= other.cut_short;
    }

    fn note(&mut self, before: &State, input: &Input, after: &Step) {
        self.steps += 1;
        let standing = before.frame().ledger().standing(input.kind(), input.answers());
        let refused = after.effects.iter().any(|effect| matches!(effect, Effect::Reject(_)));
        let outcome = match (refused, after.trail.is_empty()) {
            (true, _) => Outcome::Refuses,
            (false, true) => Outcome::Stays,
            (false, false) => Outcome::Moves,
        };
        self.refusals += u64::from(refused);
        self.cells.entry((before.room(), input.kind(), standing)).or_default().insert(outcome);
        self.most_passages = self.most_passages.max(after.trail.len());
        let mut effects = after.effects.iter();
        for Passage { from, on, because, to, emitted } in &after.trail {
            let emitted = effects.by_ref().take(usize::from(*emitted)).map(Effect::kind);
            self.doors.entry((*from, *on, *because, *to)).or_default().extend(emitted);
        }
        for effect in &after.effects {
            self.effects.insert(effect.kind());
            match effect {
                Effect::Finish(terminal) => {
                    self.terminals.insert(terminal.kind());
                }
                Effect::CallModel { request, .. } => {
                    self.owners.insert(request.owner);
                }
                Effect::RunTool { .. }
                | Effect::StartTask { .. }
                | Effect::AskApproval { .. }
                | Effect::StoreResult { .. }
                | Effect::RecallMemory { .. }
                | Effect::FlushMemory { .. }
                | Effect::RefreshCredential { .. }
                | Effect::CheckOutput { .. }
                | Effect::Detach { .. }
                | Effect::Compact { .. }
                | Effect::AskHook { .. }
                | Effect::SetTimer { .. }
                | Effect::Cancel { .. }
                | Effect::Notify(_)
                | Effect::Reject(_) => {}
            }
        }
        let calls = after.state.frame().counters().model_calls;
        self.most_model_calls = self.most_model_calls.max(calls);
    }
}

/// Explores everything that a profile can reach.
///
/// # Errors
///
/// The first broken invariant, with the shortest inputs that lead to it.
pub fn explore(profile: &Profile) -> Result<Seen, Counterexample> {
    let begun = crate::start(profile.config.clone());
    let mut seen = Seen { states: 1, ..Seen::default() };
    for effect in &begun.effects {
        seen.effects.insert(effect.kind());
        if let Effect::Finish(terminal) = effect {
            seen.terminals.insert(terminal.kind());
        }
    }
    let mut search = Search { profile, known: BTreeSet::new(), cameby: Vec::new() };
    search.known.insert(folded(&begun.state));
    search.cameby.push(None);
    let mut frontier = VecDeque::from([(begun.state, 0)]);
    while let Some((state, at)) = frontier.pop_front() {
        for input in alphabet(&state, profile) {
            let after = search.take(&state, &input, at)?;
            seen.note(&state, &input, &after);
            if search.known.insert(folded(&after.state)) {
                seen.states += 1;
                if seen.states >= profile.max_states {
                    seen.cut_short = true;
                    return Ok(seen);
                }
                search.cameby.push(Some((at, input)));
                frontier.push_back((after.state, search.cameby.len() - 1));
            }
        }
    }
    Ok(seen)
}

struct Search<'p> {
    profile: &'p Profile,
    known: BTreeSet<Digest>,
    cameby: Vec<Option<(usize, Input)>>,
}

impl Search<'_> {
    /// Takes a step twice and judges it; then lets a benign world play the run to its end.
    fn take(&self, state: &State, input: &Input, at: usize) -> Result<Step, Counterexample> {
        let after = crate::step(state.clone(), input.clone());
        let again = crate::step(state.clone(), input.clone());
        let same = if after == again {
            Ok(())
        } else {
            let detail = String::from("two steps from one state differ");
            Err(Violation { id: Invariant::Deterministic, detail })
        };
        let judged = same.and_then(|()| invariants::check(state, input, &after));
        let judged = judged.and_then(|()| declared(&after));
        let judged = judged.and_then(|()| self.benign(&after));
        match judged {
            Ok(()) => Ok(after),
            Err(violation) => Err(self.counterexample(violation, at, input)),
        }
    }

    fn benign(&self, after: &Step) -> Result<(), Violation> {
        if self.known.contains(&folded(&after.state)) {
            return Ok(());
        }
        benign::plays_out(after.state.clone(), self.profile.benign_bound)
    }

    fn counterexample(&self, violation: Violation, at: usize, last: &Input) -> Counterexample {
        let mut inputs = Vec::from([last.clone()]);
        let mut at = at;
        while let Some((from, input)) = &self.cameby[at] {
            inputs.push(input.clone());
            at = *from;
        }
        inputs.reverse();
        Counterexample { profile: self.profile.name, violation, inputs }
    }
}

fn declared(after: &Step) -> Result<(), Violation> {
    let mut effects = after.effects.iter();
    for passage in &after.trail {
        let emitted = effects.by_ref().take(usize::from(passage.emitted)).map(Effect::kind);
        if let Err(detail) = crate::table::judge(passage, emitted) {
            return Err(Violation { id: Invariant::Declared, detail });
        }
    }
    Ok(())
}

/// What is declared and was not seen, and what was seen and is not declared; empty when the house
/// is as planned.
#[must_use]
pub fn differences(seen: &Seen) -> Vec<String> {
    let mut found = Vec::new();
    for edge in crate::table::EDGES {
        let door = (edge.from, edge.on, edge.because, edge.to);
        match seen.doors.get(&door) {
            None => found.push(format!("declared, never walked: {edge}")),
            Some(emitted) => {
                let declared: BTreeSet<EffectKind> = edge.emits.iter().copied().collect();
                let leaving = |kind: &&EffectKind| {
                    edge.to == RoomKind::Done && crate::table::ON_LEAVING.contains(kind)
                };
                for kind in declared.symmetric_difference(emitted).filter(|kind| !leaving(kind)) {
                    found.push(format!("emits: {kind} is not both declared and seen on {edge}"));
                }
            }
        }
    }
    for (room, kind, standing) in seen.cells.keys() {
        let declared = crate::table::cell(*room, *kind, *standing).map(|cell| cell.outcomes());
        let observed = &seen.cells[&(*room, *kind, *standing)];
        if declared.as_ref() != Some(observed) {
            let where_ = format!("{room} x {kind} ({standing})");
            found.push(format!("cell {where_}: declared {declared:?}, observed {observed:?}"));
        }
    }
    for cell in crate::table::cells() {
        if !seen.cells.contains_key(&(cell.room, cell.input, cell.standing)) {
            let where_ = format!("{} x {} ({})", cell.room, cell.input, cell.standing);
            found.push(format!("cell {where_}: declared, never tried"));
        }
    }
    unseen(seen, &mut found);
    found
}

fn unseen(seen: &Seen, found: &mut Vec<String>) {
    let causes: BTreeSet<Because> = seen.doors.keys().map(|door| door.2).collect();
    let missing = |all: &[Because]| all.iter().copied().find(|cause| !causes.contains(cause));
    found.extend(missing(Because::ALL).map(|cause| format!("cause never seen: {cause}")));
    let endings = TerminalKind::ALL.iter().filter(|kind| !seen.terminals.contains(kind));
    found.extend(endings.map(|kind| format!("ending never seen: {kind}")));
    let owners = Owner::ALL.iter().filter(|owner| !seen.owners.contains(owner));
    found.extend(owners.map(|owner| format!("owner never seen: {owner}")));
    let effects = EffectKind::ALL.iter().filter(|kind| !seen.effects.contains(kind));
    found.extend(effects.map(|kind| format!("effect never seen: {kind}")));
}

/// Whether a step told observers something of this sort; for tests of single stories.
#[must_use]
pub fn told(step: &Step, what: impl Fn(&Notice) -> bool) -> bool {
    step.effects.iter().any(|effect| matches!(effect, Effect::Notify(notice) if what(notice)))
}
