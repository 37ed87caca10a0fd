//! The arena: plays a plan, faults included, in the machine alone and at its speed.
//!
//! It does what [`crate::world`] does, without a recorder and without bytes: bodies were decoded
//! before ([`Script`]). Everything that is said to the machine can be kept ([`How::tape`]), and
//! what was kept can be recorded ([`record`]), because a recording is a function of its inputs.
//! The watch of [`crate::checkers`] judges every step.

use std::sync::Arc;

use machine_spec::ids::EffectId;
use machine_spec::input::InterruptedBy;
use machine_spec::invariants;
use machine_spec::model::{Closure, ModelEvent};
use machine_spec::{Input, RoomKind, State, Step, step};

use crate::checkers::{Breach, Watch, breach};
use crate::faults::{Fault, Placed, Seam};
use crate::scenario::{Act, After, BadPlan, Library, Scenario, UserAct, WhenCancelled};
use crate::world::Trouble;

mod crash;
mod perform;
mod record;
mod script;
mod strike;

pub use record::record;
use script::Piece;
pub use script::Script;

/// How a plan is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Also judges every step by the machine's own invariants, which need a copy of the state
    /// before it.
    pub full: bool,
    /// Keeps what the machine was told.
    pub tape: bool,
}

impl How {
    /// Everything is judged and kept.
    pub const FULL: How = How { full: true, tape: true };
    /// Judged from outside only.
    pub const FAST: How = How { full: false, tape: false };
}

/// Something the machine was told, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// When, in milliseconds of the virtual clock.
    pub at_ms: u64,
    /// What.
    pub input: Input,
}

/// What a played plan came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The last state.
    pub state: State,
    /// Inputs that were stepped.
    pub inputs: u64,
    /// What the machine was told, if it was kept.
    pub tape: Vec<Told>,
    /// Calls that were started.
    pub executions: usize,
    /// Requests that were sent.
    pub requests: u64,
    /// Questions that hooks were asked.
    pub hooks: u32,
    /// Questions whether a call may run.
    pub approvals: u32,
    /// Results and memories that were to be put aside.
    pub stores: u32,
    /// Compactions that were ordered.
    pub compactions: u32,
    /// The first broken law.
    pub breach: Option<Breach>,
    /// Why the play stopped before the run was over, where the plan is to blame.
    pub trouble: Option<Trouble>,
    /// The time of its end.
    pub at_ms: u64,
    /// Which faults struck, by their place in the plan, as bits.
    pub struck: u64,
}

/// Plays a plan with its own faults.
///
/// # Errors
///
/// The plan cannot be played.
pub fn play_plan(scenario: &Scenario, library: &Library, how: How) -> Result<Outcome, BadPlan> {
    let script = Script::compile(scenario, library)?;
    Ok(play(&script, &scenario.faults, how))
}

/// Plays a script with these faults.
#[must_use]
pub fn play(script: &Script<'_>, faults: &[Placed], how: How) -> Outcome {
    Arena::new(script, faults, how).play()
}

/// Something that is due.
#[derive(Clone, Debug)]
enum Due {
    /// The machine is told this.
    Input(Input),
    /// The next piece of a response comes, or its end.
    Piece(EffectId),
    /// The user does something.
    Act(Act),
}

#[derive(Clone, Debug)]
struct Timed {
    at_ms: u64,
    order: u64,
    due: Due,
}

/// A response that is coming.
#[derive(Clone, Debug)]
struct Stream {
    id: EffectId,
    pieces: Arc<[Piece]>,
    next: usize,
    closure: Closure,
    before_end_ms: u64,
}

/// A tool that runs.
#[derive(Clone, Copy, Debug)]
struct Running {
    id: EffectId,
    when_cancelled: WhenCancelled,
}

/// Which answer is served, and what became of it.
#[derive(Clone, Copy, Debug, Default)]
struct Serving {
    /// The answer, from 1.
    answer: u32,
    /// Whether a fault spoils it.
    struck: bool,
    failed: bool,
    sealed: bool,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    inputs: u64,
    requests: u64,
    pieces: u64,
    tools: u32,
    hooks: u32,
    compactions: u32,
    approvals: usize,
    stores: usize,
    recalls: usize,
    refreshes: usize,
    shapes: usize,
    runs: Vec<(Arc<str>, usize)>,
    asks: Vec<usize>,
    served: Vec<u32>,
}

struct Arena<'s> {
    script: &'s Script<'s>,
    faults: &'s [Placed],
    /// Strikes so far, by fault.
    strikes: Vec<u32>,
    /// Whether any fault strikes at inputs or frames.
    at_inputs: bool,
    how: How,
    /// Taken while a step is made of it.
    state: Option<State>,
    watch: Watch,
    tape: Vec<Told>,
    queue: Vec<Timed>,
    ordered: u64,
    now: u64,
    streams: Vec<Stream>,
    tools: Vec<Running>,
    acts: Vec<UserAct>,
    held: Vec<(u64, Input)>,
    serving: Serving,
    counts: Counts,
    breach: Option<Breach>,
    trouble: Option<Trouble>,
}

impl<'s> Arena<'s> {
    fn new(script: &'s Script<'s>, faults: &'s [Placed], how: How) -> Arena<'s> {
        let at_inputs = |placed: &Placed| matches!(placed.at, Seam::Input(_) | Seam::Frame(_));
        let crashes = faults.iter().any(|placed| matches!(placed.at, Seam::Frame(_)));
        let mut arena = Arena {
            script,
            faults,
            strikes: vec![0; faults.len()],
            at_inputs: faults.iter().any(at_inputs),
            // Who is killed needs what was written.
            how: How { tape: how.tape || crashes, ..how },
            state: None,
            watch: script.watch.clone(),
            tape: Vec::new(),
            queue: Vec::new(),
            ordered: 0,
            now: 0,
            streams: Vec::new(),
            tools: Vec::new(),
            acts: script.scenario.user.clone(),
            held: Vec::new(),
            serving: Serving::default(),
            counts: Counts::default(),
            breach: None,
            trouble: None,
        };
        arena.acts.reverse();
        if let Err(breach) = arena.watch.begun(&script.begun) {
            arena.breach = Some(breach);
        }
        arena.state = Some(script.begun.state.clone());
        arena.crash_after_frame();
        arena
    }

    fn play(mut self) -> Outcome {
        self.fire_acts();
        while !self.is_over() {
            match self.pop() {
                Some(timed) => {
                    self.now = timed.at_ms;
                    self.happen(timed.due);
                }
                // What was held back comes when nothing else does.
                None if !self.held.is_empty() => {
                    let (_, input) = self.held.remove(0);
                    self.tell(input);
                }
                // Nobody said anything yet: that is the plan's affair.
                None if self.state().room() == RoomKind::Idle => {
                    self.trouble = Some(Trouble::Stuck { room: RoomKind::Idle });
                }
                None => {
                    let room = self.state().room();
                    let detail = format!("the run waits in {room} and everything was answered");
                    self.breach = Some(breach("I13", self.counts.inputs, detail));
                }
            }
        }
        self.leave()
    }

    fn leave(mut self) -> Outcome {
        self.judge_recorder();
        let struck = self.strikes.iter().zip(0..64_u32);
        let struck = struck.filter(|(strikes, _)| **strikes > 0).map(|(_, at)| 1_u64 << at);
        let struck = struck.fold(0, |bits, bit| bits | bit);
        Outcome {
            state: self.state.take().unwrap_or_else(|| unreachable!("a step is never interrupted")),
            inputs: self.counts.inputs,
            tape: self.tape,
            executions: self.watch.executions(),
            requests: self.watch.requests(),
            hooks: self.counts.hooks,
            approvals: self.counts.approvals as u32,
            stores: self.counts.stores as u32,
            compactions: self.counts.compactions,
            breach: self.breach,
            trouble: self.trouble,
            at_ms: self.now,
            struck,
        }
    }

    fn is_over(&self) -> bool {
        self.breach.is_some() || self.trouble.is_some() || self.state().is_done()
    }

    fn state(&self) -> &State {
        // Only `take` leaves it empty, and only while it steps.
        self.state.as_ref().unwrap_or_else(|| unreachable!("a step is never interrupted"))
    }

    fn push(&mut self, after_ms: u64, due: Due) {
        let at_ms = self.now.saturating_add(after_ms);
        self.queue.push(Timed { at_ms, order: self.ordered, due });
        self.ordered += 1;
    }

    fn pop(&mut self) -> Option<Timed> {
        let next = self.queue.iter().enumerate().min_by_key(|(_, due)| (due.at_ms, due.order));
        let (at, _) = next?;
        Some(self.queue.swap_remove(at))
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Input(input) => {
                if let Some(id) = input.answers() {
                    self.tools.retain(|tool| tool.id != id);
                }
                self.tell(input);
            }
            Due::Piece(id) => self.piece(id),
            Due::Act(act) => self.act(act),
        }
    }

    /// The next piece of a response, or its end. Pieces follow one another for as long as nothing
    /// else is due.
    fn piece(&mut self, id: EffectId) {
        let place = |streams: &[Stream]| streams.iter().position(|stream| stream.id == id);
        let Some(at) = place(&self.streams) else { return };
        let pieces = Arc::clone(&self.streams[at].pieces);
        while let Some(at) = place(&self.streams) {
            let stream = &mut self.streams[at];
            let Some(piece) = pieces.get(stream.next) else {
                let stream = self.streams.swap_remove(at);
                return self.tell(Input::ModelClosed { id, closure: stream.closure });
            };
            stream.next += 1;
            let pause = match pieces.get(stream.next) {
                Some(piece) => piece.pause_ms,
                None => stream.before_end_ms,
            };
            for event in piece.events.iter() {
                if self.took_down(id, event) {
                    continue;
                }
                self.tell(Input::ModelSaid { id, event: event.clone() });
                // The machine may have cancelled the response over it, or the process died.
                if self.is_over() || !self.streams.iter().any(|stream| stream.id == id) {
                    return;
                }
            }
            let at_ms = self.now.saturating_add(pause);
            if self.queue.iter().any(|timed| timed.at_ms <= at_ms) {
                return self.push(pause, Due::Piece(id));
            }
            self.now = at_ms;
        }
    }

    /// Has the machine take a piece of text down in place, where nobody wants to see the step.
    fn took_down(&mut self, id: EffectId, event: &ModelEvent) -> bool {
        let ModelEvent::Delta { block, text } = event else { return false };
        let watched = self.at_inputs || self.how.full || self.how.tape || !self.acts.is_empty();
        let last = self.counts.inputs + 1 >= self.script.scenario.most_inputs;
        if watched || last || !self.state.as_mut().is_some_and(|state| state.take_down(id, event)) {
            return false;
        }
        self.counts.pieces += 1;
        self.counts.inputs += 1;
        self.script.note_progress(self.counts.inputs);
        self.watch.took_down(*block, text);
        true
    }

    /// Tells the machine something, with whatever goes wrong there.
    fn tell(&mut self, input: Input) {
        if self.is_over() {
            return;
        }
        if !self.at_inputs {
            return self.take(input);
        }
        let Some(input) = self.strike_input(input) else { return };
        self.take(input);
        self.release();
    }

    fn take(&mut self, input: Input) {
        if self.is_over() || self.torn_write(&input) {
            return;
        }
        if let Input::ModelSaid { event: ModelEvent::Delta { .. }, .. } = &input {
            self.counts.pieces += 1;
        }
        if self.how.tape {
            self.tape.push(Told { at_ms: self.now, input: input.clone() });
        }
        let Some(state) = self.state.take() else { return };
        self.counts.inputs += 1;
        self.script.note_progress(self.counts.inputs);
        let brief = self.watch.hear(&input);
        let before = self.how.full.then(|| (state.clone(), input.clone()));
        let after = step(state, input);
        if let Some((before, input)) = before {
            self.judge(&before, &input, &after);
        }
        if let Err(breach) = self.watch.judge(brief, &after) {
            self.breach.get_or_insert(breach);
        }
        self.settle(after);
        if !self.acts.is_empty() {
            self.fire_acts();
        }
    }

    fn judge(&mut self, before: &State, input: &Input, after: &Step) {
        if let Err(violation) = invariants::check(before, input, after) {
            let at = self.counts.inputs;
            self.breach.get_or_insert(Breach { at, ..Breach::from(violation) });
        }
    }

    /// Takes over what a step came to and carries out its orders.
    fn settle(&mut self, step: Step) {
        let Step { state, effects, .. } = step;
        self.state = Some(state);
        if self.counts.inputs >= self.script.scenario.most_inputs && !self.state().is_done() {
            let detail = format!("no end within {} inputs", self.counts.inputs);
            let at = self.counts.inputs;
            self.breach.get_or_insert_with(|| breach("I13", at, detail));
        }
        if self.breach.is_some() || self.crash_after_frame() {
            return;
        }
        for effect in effects {
            self.perform(effect);
        }
    }

    /// Sets off the user's acts whose moment has come.
    fn fire_acts(&mut self) {
        while !self.is_over() {
            let due = self.acts.iter().rposition(|act| self.has_come(act.after));
            let Some(at) = due else { return };
            let UserAct { act, plus_ms, .. } = self.acts.remove(at);
            match plus_ms {
                0 => self.act(act),
                _ => self.push(plus_ms, Due::Act(act)),
            }
        }
    }

    fn has_come(&self, after: After) -> bool {
        let counts = &self.counts;
        match after {
            After::Start => true,
            After::Requests(n) => counts.requests >= n,
            After::Pieces(n) => counts.pieces >= n,
            After::ToolStarts(n) => u64::from(counts.tools) >= n,
            After::HookAsks(n) => u64::from(counts.hooks) >= n,
            After::Inputs(n) => counts.inputs >= n,
        }
    }

    fn act(&mut self, act: Act) {
        self.tell(act.into());
    }

    /// Whether this fault strikes now; if it does, it is counted.
    fn strikes(&mut self, wanted: impl Fn(&Placed) -> bool) -> Option<Fault> {
        let at = (0..self.faults.len())
            .find(|at| self.strikes[*at] < self.faults[*at].times && wanted(&self.faults[*at]))?;
        self.strikes[at] += 1;
        Some(self.faults[at].fault)
    }
}

/// Who interrupts where a fault says that somebody does.
const INTERRUPTER: InterruptedBy = InterruptedBy::User;

/// What a user says where a fault says that he says something.
const SPEECH: &str = "and mind the margins";
