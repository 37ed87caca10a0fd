//! Plays a scenario: a scripted provider, tools, hooks and user, and a clock of its own.
//!
//! The world does what an engine does, in its order: an input is recorded, stepped, what came of it
//! is recorded, and all orders are carried out before the next input. It has no network, no time
//! and no chance, so the same scenario is the same run, to the byte of its recording.

use std::collections::BTreeMap;
use std::fmt;

use machine_spec::effect::{HookQuestion, Notice};
use machine_spec::ids::{AttemptId, CallId, CandidateId, EffectId, HookId};
use machine_spec::input::{ToolReport, ToolStatus};
use machine_spec::invariants::{self, Chronicle, Violation};
use machine_spec::model::ModelEvent;
use machine_spec::{Effect, Input, RoomKind, State, Step, Terminal, start, step};
use wire::Encoder;

use crate::chooser::Chooser;
use crate::code::Code;
use crate::format::v1::{Header, Note, Provider, WireSpan};
use crate::reader::{ReadError, Recording};
use crate::recorder::{NotResumable, RecordFailure, Recorder};
use crate::redact::Redactor;
use crate::scenario::{Act, After, Library, Scenario, UserAct, WhenCancelled};
use crate::sink::{MemorySink, Sink};

mod assess;
mod attempt;
mod ids;
mod perform;
mod queue;

pub(crate) use assess::Follower;
pub use assess::{Assessor, PlanAssessor};

use attempt::Attempt;
use queue::{Due, Queue};

/// How a scenario is played, besides what it says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Playing {
    /// Judges every step by the named invariants; the first broken one ends the play.
    pub judge: bool,
    /// Keeps request bodies beside the recording, not only in [`Run::requests`].
    pub keep_requests: bool,
    /// Stretches and shrinks the times of tools by chance from this seed. What the run comes to must
    /// not depend on it.
    pub tool_times: Option<u64>,
    /// The process dies when this many frames are written, before the orders of the last one are
    /// carried out.
    pub kill_after: Option<u64>,
    /// Strings that must not reach the recording.
    pub secrets: Vec<String>,
}

/// What a played scenario left behind.
#[derive(Clone, Debug)]
pub struct Run<S = MemorySink> {
    /// Where it was recorded.
    pub sink: S,
    /// Its last state.
    pub state: State,
    /// The requests that were sent, in order.
    pub requests: Vec<Sent>,
    /// The calls that were started, in order.
    pub executions: Vec<Execution>,
    /// The hooks that were asked, in order.
    pub questions: Vec<Asked>,
    /// What observers were told, with the time.
    pub notices: Vec<(u64, Notice)>,
    /// What the recorder gave up.
    pub failures: Vec<RecordFailure>,
    /// The time of its end, in milliseconds.
    pub at_ms: u64,
    /// Why the play stopped before the run was over.
    pub trouble: Option<Trouble>,
}

/// A request as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at_ms: u64,
    /// Which request of the run.
    pub attempt: AttemptId,
    /// To whom.
    pub candidate: CandidateId,
    /// To which path.
    pub path: String,
    /// With which body.
    pub body: Vec<u8>,
}

/// A call that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: String,
    /// When.
    pub started_ms: u64,
    /// When and how it ended, if it did.
    pub ended: Option<(u64, ToolStatus)>,
}

/// A hook that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When.
    pub at_ms: u64,
    /// Which one.
    pub hook: HookId,
    /// What.
    pub question: HookQuestion,
}

/// Why a play stopped before its run was over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The run asks for an answer that the scenario does not have.
    Exhausted {
        /// Which request it is, from 1.
        request: usize,
        /// How many answers there are.
        answers: usize,
    },
    /// An answer names a file that the library does not have.
    NoSuchFile {
        /// Its name.
        name: String,
    },
    /// The run waits and nothing more is planned.
    Stuck {
        /// The room it waits in.
        room: RoomKind,
    },
    /// The run did not end within the bound of the scenario.
    Endless {
        /// The bound.
        inputs: u64,
    },
    /// A step broke an invariant.
    Broken(Violation),
    /// The process was killed, as planned.
    Killed,
}

impl Trouble {
    /// Its code; nothing for what was planned.
    #[must_use]
    pub const fn code(&self) -> Option<Code> {
        match self {
            Trouble::Exhausted { .. } | Trouble::Stuck { .. } => Some(Code::ScenarioExhausted),
            Trouble::NoSuchFile { .. } => Some(Code::BadScenario),
            Trouble::Endless { .. } => Some(Code::ScenarioEndless),
            Trouble::Broken(_) => Some(Code::InvariantBroken),
            Trouble::Killed => None,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.code() {
            write!(f, "{code}: ")?;
        }
        match self {
            Trouble::Exhausted { request, answers } => write!(
                f,
                "replay exhausted: the run sends request {request}, the scenario answers {answers}"
            ),
            Trouble::NoSuchFile { name } => write!(f, "no wire file is called `{name}`"),
            Trouble::Stuck { room } => {
                write!(f, "the run waits in {room} and nothing more is planned")
            }
            Trouble::Endless { inputs } => {
                write!(f, "expected an end within {inputs} inputs, found none")
            }
            Trouble::Broken(violation) => write!(f, "{violation}"),
            Trouble::Killed => f.write_str("the process was killed, as planned"),
        }
    }
}

/// Plays a scenario to its end.
#[must_use]
pub fn play(scenario: &Scenario, library: &Library) -> Run {
    World::new(scenario, library, Playing::default(), MemorySink::default()).play()
}

/// A scenario that is being played.
pub struct World<'a, S: Sink = MemorySink> {
    scenario: &'a Scenario,
    library: &'a Library,
    playing: Playing,
    assessor: Box<dyn Assessor + 'a>,
    recorder: Recorder<S>,
    encoders: Vec<Encoder>,
    /// Taken while a step is made of it.
    state: Option<State>,
    chronicle: Chronicle,
    queue: Queue,
    now: u64,
    attempts: BTreeMap<EffectId, Attempt>,
    tools: BTreeMap<EffectId, RunningTool>,
    /// User acts that wait for their moment.
    acts: Vec<UserAct>,
    counts: Counts,
    times: Option<Chooser>,
    run: Traces,
    trouble: Option<Trouble>,
}

/// What happened so far, as far as moments are told by it.
#[derive(Clone, Debug, Default)]
struct Counts {
    requests: u64,
    pieces: u64,
    tool_starts: BTreeMap<String, u64>,
    hook_asks: Vec<u64>,
    compactions: usize,
    approvals: usize,
    recalls: usize,
    refreshes: usize,
    shapes: usize,
    stores: usize,
    inputs: u64,
    frames: u64,
    served: BTreeMap<String, u32>,
}

/// A tool that runs.
#[derive(Clone, Copy, Debug)]
struct RunningTool {
    /// Its place among the executions.
    execution: usize,
    when_cancelled: WhenCancelled,
    awaits: Awaits,
}

/// What a running call is awaited as.
#[derive(Clone, Copy, Debug)]
enum Awaits {
    Result,
    TaskReport,
}

impl Awaits {
    fn told(self, id: EffectId, report: ToolReport) -> Input {
        match self {
            Awaits::Result => Input::ToolReturned { id, report },
            Awaits::TaskReport => Input::TaskEnded { id, report },
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Traces {
    requests: Vec<Sent>,
    executions: Vec<Execution>,
    questions: Vec<Asked>,
    notices: Vec<(u64, Notice)>,
}

/// Why a run cannot be taken up again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTakenUp {
    /// Its recording cannot be read.
    #[error("{0}")]
    Unreadable(Box<ReadError>),
    /// Its recording cannot be gone on with.
    #[error("{0}")]
    NotResumable(#[from] NotResumable),
}

impl<'a, S: Sink> World<'a, S> {
    /// A world in which nothing happened yet.
    pub fn new(
        scenario: &'a Scenario,
        library: &'a Library,
        playing: Playing,
        sink: S,
    ) -> World<'a, S> {
        let header = Header::new(scenario.config.clone(), providers(scenario));
        let redactor = Redactor::new(&playing.secrets);
        let recorder = Recorder::create(sink, header, redactor);
        let begun = start(recorder.header().config.clone());
        let mut world = World::around(scenario, library, playing, recorder, None);
        world.acts = scenario.user.clone();
        world.recorder.started(&begun, &Note::at(0));
        world.counts.frames = 1;
        world.settle(begun);
        world
    }

    fn around(
        scenario: &'a Scenario,
        library: &'a Library,
        playing: Playing,
        recorder: Recorder<S>,
        state: Option<State>,
    ) -> World<'a, S> {
        let recorder = if playing.keep_requests { recorder.keeping_requests() } else { recorder };
        let encoders = scenario.providers.iter();
        World {
            encoders: encoders
                .map(|plan| Encoder::new(plan.dialect, plan.options.clone()))
                .collect(),
            assessor: Box::new(PlanAssessor::of(scenario)),
            times: playing.tool_times.map(Chooser::seeded),
            scenario,
            library,
            playing,
            recorder,
            state,
            chronicle: Chronicle::default(),
            queue: Queue::default(),
            now: 0,
            attempts: BTreeMap::new(),
            tools: BTreeMap::new(),
            acts: Vec::new(),
            counts: Counts::default(),
            run: Traces::default(),
            trouble: None,
        }
    }

    /// The same world with another judge of calls.
    #[must_use]
    pub fn with_assessor(mut self, assessor: impl Assessor + 'a) -> World<'a, S> {
        self.assessor = Box::new(assessor);
        self
    }

    /// Plays to the end.
    #[must_use]
    pub fn play(mut self) -> Run<S> {
        self.fire_acts();
        while !self.is_over() {
            let Some((at, due)) = self.queue.pop() else {
                self.trouble = Some(Trouble::Stuck { room: self.state().room() });
                break;
            };
            self.now = at;
            self.happen(due);
        }
        self.leave()
    }

    fn leave(self) -> Run<S> {
        let state = self.state().clone();
        let Traces { requests, executions, questions, notices } = self.run;
        let (sink, failures) = match self.trouble {
            // A killed process closes nothing.
            Some(Trouble::Killed) => (self.recorder.abandon(), Vec::new()),
            None | Some(_) => self.recorder.finish(),
        };
        let (at_ms, trouble) = (self.now, self.trouble);
        Run { sink, state, requests, executions, questions, notices, failures, at_ms, trouble }
    }

    fn is_over(&self) -> bool {
        self.trouble.is_some() || self.state().is_done()
    }

    fn state(&self) -> &State {
        // Only `take` leaves it empty, and only while it steps.
        self.state.as_ref().unwrap_or_else(|| unreachable!("a step is never interrupted"))
    }

    /// Something that was due happens.
    fn happen(&mut self, due: Due) {
        match due {
            Due::Input(input) => {
                self.note_end_of_tool(&input);
                self.tell(input);
            }
            Due::Piece(id) => self.piece(id),
            Due::Silence(id) => self.silence(id),
            Due::Act(act) => self.act(act),
        }
    }

    /// Tells the machine something, and the user's acts that it sets off.
    fn tell(&mut self, input: Input) {
        let admitted: Vec<Input> = self.recorder.admit(input).collect();
        for input in admitted {
            if self.is_over() {
                return;
            }
            self.take(input, None);
        }
    }

    fn take(&mut self, input: Input, span: Option<WireSpan>) {
        let Some(state) = self.state.take() else { return };
        if let Input::ModelSaid { event: ModelEvent::Delta { .. }, .. } = &input {
            self.counts.pieces += 1;
        }
        let judged = self.playing.judge.then(|| (state.clone(), input.clone()));
        let mut half = self.recorder.heard(&input);
        let after = step(state, input);
        let mut note = Note { at_ms: Some(self.now), wire: span, ..Note::default() };
        for effect in &after.effects {
            let Effect::CallModel { request, .. } = effect else { continue };
            let place = usize::from(request.candidate.0);
            let config = after.state.frame().config();
            let Some(encoder) = self.encoders.get_mut(place) else { continue };
            let encoded = encoder.encode(config, request);
            note.request = Some(half.request(&encoded.body));
            self.run.requests.push(Sent {
                at_ms: self.now,
                attempt: request.attempt,
                candidate: request.candidate,
                path: encoded.path,
                body: encoded.body,
            });
        }
        half.stepped(&after, &note);
        self.counts.inputs += 1;
        self.counts.frames += 1;
        if let Some((before, input)) = judged {
            self.judge(&before, &input, &after);
        }
        self.settle(after);
        self.fire_acts();
    }

    fn judge(&mut self, before: &State, input: &Input, after: &Step) {
        let judged = invariants::check(before, input, after)
            .and_then(|()| self.chronicle.note(input, after));
        if let Err(violation) = judged {
            self.trouble.get_or_insert(Trouble::Broken(violation));
        }
    }

    /// Takes over what a step came to and carries out its orders.
    fn settle(&mut self, step: Step) {
        let Step { state, effects, .. } = step;
        self.state = Some(state);
        if self.playing.kill_after.is_some_and(|frames| self.counts.frames >= frames) {
            self.trouble.get_or_insert(Trouble::Killed);
        }
        if self.counts.inputs >= self.scenario.most_inputs && !self.state().is_done() {
            let inputs = self.scenario.most_inputs;
            self.trouble.get_or_insert(Trouble::Endless { inputs });
        }
        if self.trouble.is_some() {
            return;
        }
        for effect in effects {
            self.perform(effect);
        }
    }

    /// Sets off the user's acts whose moment has come.
    fn fire_acts(&mut self) {
        while !self.is_over() {
            let due = self.acts.iter().position(|act| self.has_come(act.after));
            let Some(at) = due else { return };
            let UserAct { act, plus_ms, .. } = self.acts.remove(at);
            match plus_ms {
                0 => self.act(act),
                _ => self.queue.push(self.now + plus_ms, Due::Act(act)),
            }
        }
    }

    fn has_come(&self, after: After) -> bool {
        let counts = &self.counts;
        match after {
            After::Start => true,
            After::Requests(n) => counts.requests >= n,
            After::Pieces(n) => counts.pieces >= n,
            After::ToolStarts(n) => counts.tool_starts.values().sum::<u64>() >= n,
            After::HookAsks(n) => counts.hook_asks.iter().sum::<u64>() >= n,
            After::Inputs(n) => counts.inputs >= n,
        }
    }

    fn act(&mut self, act: Act) {
        self.tell(act.into());
    }
}

impl<'a> World<'a, MemorySink> {
    /// Takes a run up again whose process was killed. The user then does what `acts` say; the rest
    /// of the world goes on where the recording ends.
    ///
    /// # Errors
    ///
    /// Why the recording cannot be gone on with.
    pub fn resume(
        scenario: &'a Scenario,
        library: &'a Library,
        playing: Playing,
        sink: MemorySink,
        acts: Vec<UserAct>,
    ) -> Result<World<'a, MemorySink>, NotTakenUp> {
        let recording = Recording::from_memory(&sink).map_err(NotTakenUp::Unreadable)?;
        let kept = usize::try_from(recording.sound_bytes).unwrap_or(usize::MAX);
        let mut sink = sink;
        sink.recording.truncate(kept);
        let redactor = Redactor::new(&playing.secrets);
        let recorder = Recorder::resume(sink, &recording, redactor)?;
        let resumption = recording.resumption().ok_or(NotResumable::NeverStarted)?;
        let state = Some(resumption.state);
        let mut world = World::around(scenario, library, playing, recorder, state);
        world.recall(&recording);
        world.acts = acts;
        for timer in resumption.timers {
            let due = Due::Input(Input::TimerFired { id: timer.id });
            world.queue.push(world.now + timer.after_ms, due);
        }
        for effect in resumption.again {
            world.put_again(effect, &recording);
        }
        for input in resumption.inputs {
            let ledger = world.state().frame().ledger();
            let is_due = input.answers().is_none_or(|id| ledger.iter().any(|(open, _)| open == id));
            if is_due {
                world.tell(input);
            }
        }
        Ok(world)
    }

    /// Puts a question again that nobody heard the answer to: the same plan answers it.
    fn put_again(&mut self, effect: Effect, recording: &Recording) {
        let ordered = recording.frames.iter().flat_map(|frame| &frame.effects);
        let alike = ordered.filter(|other| other.kind() == effect.kind());
        let nth = alike.take_while(|other| **other != effect).count();
        let before = self.counts.clone();
        match &effect {
            Effect::AskApproval { .. } => self.counts.approvals = nth,
            Effect::RecallMemory { .. } => self.counts.recalls = nth,
            Effect::RefreshCredential { .. } => self.counts.refreshes = nth,
            Effect::CheckOutput { .. } => self.counts.shapes = nth,
            Effect::CallModel { .. }
            | Effect::RunTool { .. }
            | Effect::StartTask { .. }
            | Effect::StoreResult { .. }
            | Effect::FlushMemory { .. }
            | Effect::Compact { .. }
            | Effect::AskHook { .. }
            | Effect::SetTimer { .. }
            | Effect::Cancel { .. }
            | Effect::Detach { .. }
            | Effect::Notify(_)
            | Effect::Reject(_)
            | Effect::Finish(_) => return,
        }
        self.perform(effect);
        self.counts = before;
    }

    /// Counts what the recording tells, so that the n-th answer is still the n-th.
    fn recall(&mut self, recording: &Recording) {
        self.counts.frames = recording.frames.len() as u64;
        for frame in &recording.frames {
            self.now = frame.note.at_ms.unwrap_or(self.now);
            for effect in &frame.effects {
                match effect {
                    Effect::CallModel { .. } => self.count_serving(),
                    Effect::RunTool { name, .. } => {
                        *self.counts.tool_starts.entry(name.to_string()).or_default() += 1;
                    }
                    Effect::AskHook { hook, .. } => {
                        self.count_ask(*hook);
                    }
                    Effect::StartTask { name, .. } => {
                        *self.counts.tool_starts.entry(name.to_string()).or_default() += 1;
                    }
                    Effect::Compact { .. } => self.counts.compactions += 1,
                    Effect::AskApproval { .. } => self.counts.approvals += 1,
                    Effect::RecallMemory { .. } => self.counts.recalls += 1,
                    Effect::RefreshCredential { .. } => self.counts.refreshes += 1,
                    Effect::CheckOutput { .. } => self.counts.shapes += 1,
                    Effect::StoreResult { .. } | Effect::FlushMemory { .. } => {
                        self.counts.stores += 1;
                    }
                    Effect::SetTimer { .. }
                    | Effect::Cancel { .. }
                    | Effect::Detach { .. }
                    | Effect::Notify(_)
                    | Effect::Reject(_)
                    | Effect::Finish(_) => {}
                }
            }
        }
    }
}

/// How the candidates of a scenario are encoded, for the header.
fn providers(scenario: &Scenario) -> Vec<Provider> {
    let candidates = scenario.config.candidates.iter().zip(&scenario.providers);
    let provider = candidates.map(|(candidate, plan)| {
        Provider::new(&candidate.name, plan.dialect, &candidate.model, &plan.options)
    });
    provider.collect()
}

impl<S> Run<S> {
    /// How the run ended; nothing if the play stopped before.
    #[must_use]
    pub fn terminal(&self) -> Option<&Terminal> {
        self.state.terminal()
    }
}

impl Run<MemorySink> {
    /// Its recording.
    ///
    /// # Errors
    ///
    /// It cannot be read back, which is a fault of this crate.
    pub fn recording(&self) -> Result<Recording, Box<ReadError>> {
        Recording::from_memory(&self.sink)
    }
}
