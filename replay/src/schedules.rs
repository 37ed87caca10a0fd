//! Schedules: every order in which a response goes on, its calls end, and cancelled calls settle.
//!
//! The orders of a scenario are a graph of states: two orders that lead to the same state go on
//! alike (the reduction), so the graph is small while the orders in it are many. They are counted,
//! not walked one by one. All of them must leave the same history, to the byte.

use std::collections::{BTreeMap, BTreeSet};

use machine_spec::ids::{CallId, EffectId};
use machine_spec::input::{Compaction, HookAnswer, InterruptedBy, Stored, ToolReport, ToolStatus};
use machine_spec::invariants;
use machine_spec::model::{Closure, ModelEvent};
use machine_spec::{Digest, Effect, EffectKind, Input, RoomKind, State, Step, step, summary};
use serde::Serialize;

use crate::arena::Script;
use crate::checkers::{Breach, breach};
use crate::scenario::{Act, BadPlan, Library, Scenario};

/// What all orders of a scenario came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Orders {
    /// Orders in which everything may come.
    pub schedules: u128,
    /// States they lead through.
    pub states: u64,
    /// Steps between them.
    pub steps: u64,
    /// Places at which the run was interrupted.
    pub interrupts: u64,
    /// Orders in which cancelled calls may settle, over all those places.
    pub settlements: u128,
    /// Digests of the histories without an interrupt: one, if the order does not matter.
    pub histories: BTreeSet<String>,
    /// What is broken.
    pub breach: Option<Breach>,
}

/// Most states that are walked.
const MOST_STATES: usize = 2_000_000;

/// Walks every order of a scenario. The user's first words are said at the start; tools always say
/// what they say, whenever that is.
///
/// # Errors
///
/// The scenario cannot be played.
pub fn orders(scenario: &Scenario, library: &Library) -> Result<Orders, BadPlan> {
    let script = Script::compile(scenario, library)?;
    let mut walk = Walk { script: &script, orders: Orders::default(), known: BTreeMap::new() };
    let said = scenario.user.iter().find_map(|act| match &act.act {
        Act::Says { text, rules } => {
            Some(Input::UserSaid { text: text.clone(), rules: rules.clone() })
        }
        Act::Interrupts { .. } => None,
    });
    let Some(said) = said else {
        return Err(BadPlan::new("user", "expected that the user says something"));
    };
    let begun = script.start();
    let first =
        Node { state: begun, answer: 0, at: 0, calls: BTreeMap::new(), summary: String::new() };
    let walked = walk.take(&first, said).and_then(|node| walk.walk(&node));
    let mut orders = walk.orders;
    orders.states = walk.known.len() as u64;
    match walked {
        Ok(came) => {
            orders.schedules = came.orders;
            orders.histories = came.histories.iter().map(ToString::to_string).collect();
            if came.histories.len() > 1 {
                let detail = format!("{} histories", came.histories.len());
                orders.breach = Some(breach("S01", 0, detail));
            }
        }
        Err(found) => orders.breach = Some(found),
    }
    Ok(orders)
}

/// A state, and how far the response at hand has come.
#[derive(Clone)]
struct Node {
    state: State,
    /// Requests so far.
    answer: u32,
    /// Events of the response that were said.
    at: usize,
    /// The calls that run, with what they will say.
    calls: BTreeMap<EffectId, ToolReport>,
    /// What the compaction that was ordered last comes to.
    summary: String,
}

/// What all orders from a state on come to.
#[derive(Clone)]
struct Came {
    orders: u128,
    histories: BTreeSet<Digest>,
}

struct Walk<'s> {
    script: &'s Script<'s>,
    orders: Orders,
    known: BTreeMap<(Digest, usize), Came>,
}

impl Walk<'_> {
    fn walk(&mut self, node: &Node) -> Result<Came, Breach> {
        let key = (node.state.digest(), node.at);
        if let Some(came) = self.known.get(&key) {
            return Ok(came.clone());
        }
        if self.known.len() >= MOST_STATES {
            return Err(breach("S01", 0, format!("more than {MOST_STATES} states")));
        }
        let mut came = Came { orders: 0, histories: BTreeSet::new() };
        if node.state.is_done() {
            let history = Digest::of(node.state.frame().transcript());
            came = Came { orders: 1, histories: BTreeSet::from([history]) };
        } else {
            let settled = self.interrupted(node)?;
            self.orders.settlements += settled;
            for input in self.possible(node) {
                let next = self.take(node, input)?;
                let from_there = self.walk(&next)?;
                came.orders += from_there.orders;
                came.histories.extend(from_there.histories);
            }
        }
        if came.orders == 0 {
            let room = node.state.room();
            return Err(breach("I13", 0, format!("nothing can come any more in {room}")));
        }
        self.known.insert(key, came.clone());
        Ok(came)
    }

    /// Everything that may come next: the response goes on, or any running call ends.
    fn possible(&self, node: &Node) -> Vec<Input> {
        let mut all = Vec::new();
        for (id, kind) in node.state.frame().ledger().iter() {
            match kind {
                EffectKind::CallModel => all.push(self.said(node, id)),
                EffectKind::RunTool => {
                    let report = node.calls.get(&id).cloned();
                    let report = report.unwrap_or_else(lost);
                    all.push(Input::ToolReturned { id, report });
                }
                EffectKind::AskHook => {
                    all.push(Input::HookAnswered { id, answer: HookAnswer::Allowed });
                }
                EffectKind::FlushMemory => {
                    all.push(Input::MemoryFlushed { id, result: kept() });
                }
                EffectKind::Compact => {
                    let result = Compaction::Summarised {
                        text: node.summary.clone(),
                        archive: String::new(),
                    };
                    all.push(Input::Compacted { id, result });
                }
                // A wait passes when nothing else can come: its time is the machine's own.
                EffectKind::SetTimer if node.state.frame().ledger().iter().count() == 1 => {
                    all.push(Input::TimerFired { id });
                }
                _ => {}
            }
        }
        all
    }

    fn said(&self, node: &Node, id: EffectId) -> Input {
        match self.event(node.answer, node.at) {
            Some(event) => Input::ModelSaid { id, event },
            None => Input::ModelClosed { id, closure: self.closure(node.answer) },
        }
    }

    fn event(&self, answer: u32, at: usize) -> Option<ModelEvent> {
        let reply = self.script.events(answer)?;
        reply.0.get(at).cloned()
    }

    fn closure(&self, answer: u32) -> Closure {
        self.script.events(answer).map_or(Closure::Ended, |reply| reply.1)
    }

    /// Interrupts here, and walks every order in which the cancelled calls may settle.
    fn interrupted(&mut self, node: &Node) -> Result<u128, Breach> {
        let stopped = self.take(node, Input::Interrupted { by: InterruptedBy::User })?;
        self.orders.interrupts += 1;
        let mut seen = BTreeMap::new();
        let came = self.settle(&stopped, &mut seen)?;
        if came.histories.len() > 1 {
            let detail = format!(
                "{} histories after an interrupt in {}",
                came.histories.len(),
                node.state.room()
            );
            return Err(breach("S01", 0, detail));
        }
        Ok(came.orders)
    }

    fn settle(&mut self, node: &Node, seen: &mut BTreeMap<Digest, Came>) -> Result<Came, Breach> {
        if node.state.is_done() {
            let history = Digest::of(node.state.frame().transcript());
            return Ok(Came { orders: 1, histories: BTreeSet::from([history]) });
        }
        let key = node.state.digest();
        if let Some(came) = seen.get(&key) {
            return Ok(came.clone());
        }
        let mut came = Came { orders: 0, histories: BTreeSet::new() };
        if node.state.room() == RoomKind::Settling {
            for input in self.possible(node) {
                let next = self.take(node, input)?;
                let from_there = self.settle(&next, seen)?;
                came.orders += from_there.orders;
                came.histories.extend(from_there.histories);
            }
        }
        seen.insert(key, came.clone());
        Ok(came)
    }

    fn take(&mut self, node: &Node, input: Input) -> Result<Node, Breach> {
        self.orders.steps += 1;
        let mut next = node.clone();
        if let Input::ModelSaid { .. } = &input {
            next.at += 1;
        } else if let Input::ToolReturned { id, .. } = &input {
            next.calls.remove(id);
        }
        let after = step(node.state.clone(), input.clone());
        invariants::check(&node.state, &input, &after)?;
        let Step { state, effects, .. } = after;
        for effect in &effects {
            if let Effect::CallModel { .. } = effect {
                next.answer += 1;
                next.at = 0;
            } else if let Effect::RunTool { id, call, name, .. } = effect {
                next.calls.insert(*id, says(*call, name));
            } else if let Effect::Compact { head, .. } = effect {
                next.summary = summary::summarise(head);
            }
        }
        next.state = state;
        Ok(next)
    }
}

/// What a call says, whenever it ends: its own number tells the results apart.
fn says(call: CallId, name: &str) -> ToolReport {
    ToolReport::new(ToolStatus::Succeeded, format!("{name} {call}"))
}

/// Memory took down what it was shown.
fn kept() -> Stored {
    Stored::Kept { reference: String::new() }
}

/// What is told of a call whose start was not seen.
fn lost() -> ToolReport {
    ToolReport::new(ToolStatus::Cancelled, "")
}
