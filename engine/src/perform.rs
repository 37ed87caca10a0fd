//! From an effect to a future, and from its completion to an input with the same id.
//!
//! An order is carried out as it is given: nothing is put off, merged or repeated. `Cancel` really
//! cancels: a response's connection is closed, a process group is asked to end and then killed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use machine_spec::config::RunConfig;
use machine_spec::effect::{HookQuestion, SealedRequest, TimerFor};
use machine_spec::ids::{AttemptId, CallId, EffectId, HookId, TaskId};
use machine_spec::input::{Compaction, Decision, HookAnswer};
use machine_spec::model::{Closure, ErrorClass, Failure};
use machine_spec::policy::Compactor;
use machine_spec::view::View;
use machine_spec::{Effect, Input, State};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use wire::Images;

use crate::approve::{Approvals, Wanted};
use crate::assess::Assessor;
use crate::clock::{Clock, Jitter, within_ms};
use crate::compact;
use crate::error::Code;
use crate::events::{Event, Names};
use crate::hooks::{self, Hook, HookScene, Question};
use crate::inbox::{Inbox, Line, Owed};
use crate::memory::Memory;
use crate::process::Leave;
use crate::providers::{Call, Connection, Outgoing};
use crate::setup::Setup;
use crate::shape::Shape;
use crate::store::{self, Kept, Store};
use crate::tools::{Tool, ToolScene};

mod keep;
mod runs;

pub(crate) use runs::Order;
use runs::{Family, Runner};

/// How long processes that were killed at the end of a run may take to disappear.
const LAST_GRACE_MS: u64 = 3_000;

/// The longest a process may take to end after it was asked to, before it is killed.
const PROCESS_GRACE_MS: u64 = 2_000;

/// What is said of something that broke down and could not say it itself.
const LOST: &str = "the engine lost it: an error of Loopwright itself";

/// Carries out effects.
#[derive(Debug)]
pub(crate) struct Performer {
    connections: Vec<Connection>,
    tools: BTreeMap<String, Arc<Tool>>,
    hooks: Vec<Hook>,
    assessor: Arc<Assessor>,
    tool_scene: Arc<ToolScene>,
    hook_scene: HookScene,
    approvals: Approvals,
    approval_timeout_ms: u64,
    store: Store,
    /// The whole output of the tool that has just come back, if the machine wants it kept.
    held: Option<(EffectId, String)>,
    memory: Option<Arc<dyn Memory>>,
    shape: Option<Shape>,
    family: Family,
    clock: Clock,
    jitter: Jitter,
    names: Names,
    /// Whether the price of every request so far is known.
    priced: bool,
    under_way: BTreeMap<EffectId, Job>,
}

/// Something that is being carried out.
#[derive(Debug)]
enum Job {
    /// A request; what it answers to.
    Request { _task: Task, attempt: AttemptId },
    /// A wait, or a summary that is being written.
    Wait { _task: Task },
    /// A call of a tool.
    Tool(Runner, CallId, String),
    /// A background task.
    Task(Runner, TaskId, String),
    /// A hook.
    Hook(Process, String),
    /// A question to somebody about a call.
    Approval { _task: Task, call: CallId, tool: String },
}

/// A task that ends with whoever ordered it.
#[derive(Debug)]
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A process. It ends with whoever ordered it: nobody else can give it leave.
#[derive(Debug)]
struct Process {
    leave: watch::Sender<Leave>,
    task: JoinHandle<()>,
}

/// A question about a call, as the machine orders it.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) call: CallId,
    pub(crate) name: Arc<str>,
    pub(crate) args: Arc<str>,
    pub(crate) reason: String,
    pub(crate) lineage: Vec<String>,
}

/// A request that was made ready when its step was recorded.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) body: Vec<u8>,
    outgoing: Result<Outgoing, Box<Failure>>,
}

/// A run as its processes are told about it.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) session: String,
    pub(crate) cwd: String,
    pub(crate) transcript_path: String,
    /// Where the run is recorded; what belongs to it lies beside.
    pub(crate) recording: Option<PathBuf>,
    /// Where it keeps what does not stand in the conversation.
    pub(crate) store: Store,
}

impl Performer {
    pub(crate) fn new(
        setup: Setup,
        approvals: Approvals,
        scene: Scene,
        clock: Clock,
        jitter: Jitter,
    ) -> Performer {
        let grace_ms = PROCESS_GRACE_MS.min(setup.machine.limits.settle_grace_ms / 2);
        let family = Family::of(&setup, &approvals, &scene, &clock);
        let tool_scene =
            ToolScene { session: scene.session.clone(), hide: setup.hidden.clone(), grace_ms };
        let hook_scene = HookScene {
            session: scene.session,
            cwd: scene.cwd,
            transcript_path: scene.transcript_path,
            hide: setup.hidden,
        };
        let candidates = setup.machine.candidates.iter();
        let names = Names {
            candidates: candidates.map(|one| format!("{}/{}", one.name, one.model)).collect(),
            hooks: setup.hooks.iter().map(|hook| hook.name.clone()).collect(),
        };
        let mut connections: Vec<Connection> =
            setup.providers.into_iter().map(Connection::to).collect();
        connections.iter_mut().for_each(|connection| connection.show(&setup.images));
        Performer {
            family,
            connections,
            tools: setup.tools,
            hooks: setup.hooks,
            assessor: setup.assessor,
            tool_scene: Arc::new(tool_scene),
            hook_scene,
            approvals,
            approval_timeout_ms: setup.approvals.timeout_ms,
            store: scene.store,
            held: None,
            memory: setup.memory,
            shape: setup.shape,
            clock,
            jitter,
            names,
            priced: true,
            under_way: BTreeMap::new(),
        }
    }

    /// The names behind the numbers.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// From here on requests can show these images.
    pub(crate) fn show(&mut self, images: &Images) {
        self.connections.iter_mut().for_each(|connection| connection.show(images));
    }

    /// Whether what was spent on models is known in money.
    pub(crate) fn knows_every_price(&self) -> bool {
        self.priced
    }

    /// Makes the request of a step ready, so that its body can be noted before anything is done.
    pub(crate) fn prepare(&mut self, config: &RunConfig, effects: &[Effect]) -> Option<Prepared> {
        let request = effects.iter().find_map(|effect| match effect {
            Effect::CallModel { request, .. } => Some(request),
            Effect::RunTool { .. }
            | Effect::StartTask { .. }
            | Effect::AskApproval { .. }
            | Effect::StoreResult { .. }
            | Effect::RecallMemory { .. }
            | Effect::FlushMemory { .. }
            | Effect::RefreshCredential { .. }
            | Effect::CheckOutput { .. }
            | Effect::AskHook { .. }
            | Effect::Compact { .. }
            | Effect::SetTimer { .. }
            | Effect::Cancel { .. }
            | Effect::Detach { .. }
            | Effect::Notify(_)
            | Effect::Reject(_)
            | Effect::Finish(_) => None,
        })?;
        let place = usize::from(request.candidate.0);
        self.priced &= config.candidates.get(place).is_none_or(|asked| asked.price.is_some());
        let connection = self.connections.get_mut(place)?;
        let (body, outgoing) = connection.prepare(config, request);
        Some(Prepared { body, outgoing })
    }

    /// Sends a request.
    pub(crate) fn call_model(
        &mut self,
        line: Line,
        request: &SealedRequest,
        prepared: Option<Prepared>,
    ) -> Event {
        let id = line.id();
        match prepared.map(|prepared| prepared.outgoing) {
            Some(Ok(outgoing)) => {
                let (assessor, clock) = (Arc::clone(&self.assessor), self.clock.clone());
                let lost = Failure::new(ErrorClass::Unknown, LOST);
                let closed = Input::ModelClosed { id, closure: Closure::Failed(lost) };
                let owed = Owed::new(line.clone(), closed);
                let call = Call { outgoing, line, assessor, clock };
                let task = tokio::spawn(async move {
                    call.run().await;
                    owed.paid();
                });
                let task = Task(task.abort_handle());
                self.under_way.insert(id, Job::Request { _task: task, attempt: request.attempt });
            }
            Some(Err(failure)) => {
                line.answer(Input::ModelClosed { id, closure: Closure::Failed(*failure) });
            }
            // Every candidate of the machine has a connection; the list is made from the same one.
            None => line.answer(Input::ModelClosed { id, closure: Closure::Ended }),
        }
        Event::ModelAttempt {
            attempt: request.attempt,
            candidate: self.names.candidate(request.candidate),
            owner: request.owner,
            entries: request.view.entries,
            tokens: request.view.tokens,
        }
    }

    /// Summarises the head of the conversation.
    pub(crate) fn compact(
        &mut self,
        line: Line,
        head: &View,
        by: Compactor,
        state: &State,
    ) -> Option<Event> {
        let id = line.id();
        let whole = store::archive(head, state);
        let store = self.store.clone();
        // A head that cannot be kept is summed up all the same.
        let archive = move || store.keep(Kept::Archive, &whole).unwrap_or_default();
        let request = match by {
            Compactor::Model => self.summary_request(head, state),
            // The machine orders no compaction when it is off; without a model it costs nothing.
            Compactor::Summary | Compactor::Off => {
                let text = machine_spec::summary::summarise(head);
                let result = Compaction::Summarised { text: text.clone(), archive: String::new() };
                self.aside(line, Input::Compacted { id, result }, move || {
                    let result = Compaction::Summarised { text, archive: archive() };
                    Input::Compacted { id, result }
                });
                return None;
            }
        };
        let outgoing = match request {
            Ok(outgoing) => outgoing,
            Err(problem) => {
                let result = Compaction::Failed { problem };
                line.answer(Input::Compacted { id, result });
                return None;
            }
        };
        let (private, answer) = Line::private(id);
        let (assessor, clock) = (Arc::clone(&self.assessor), self.clock.clone());
        let call = Call { outgoing, line: private, assessor, clock };
        let result = Compaction::Failed { problem: LOST.to_owned() };
        let owed = Owed::new(line, Input::Compacted { id, result });
        let task = tokio::spawn(async move {
            let ((), result) = tokio::join!(call.run(), compact::listen(answer));
            let result = match result {
                Compaction::Summarised { text, .. } => {
                    let archive = tokio::task::spawn_blocking(archive).await.unwrap_or_default();
                    Compaction::Summarised { text, archive }
                }
                failed @ (Compaction::TooLong { .. } | Compaction::Failed { .. }) => failed,
            };
            owed.pay(Input::Compacted { id, result });
        });
        self.under_way.insert(id, Job::Wait { _task: Task(task.abort_handle()) });
        None
    }

    fn summary_request(&mut self, head: &View, state: &State) -> Result<Outgoing, String> {
        let sweep = state.frame().sweep();
        let (candidate, place) = (sweep.at, usize::from(sweep.at.0));
        let left_out = sweep.left_out.get(place).cloned().unwrap_or_default();
        let request = compact::request(head, candidate, left_out);
        let config = compact::config(state.frame().config());
        let connection = self.connections.get_mut(place);
        let connection = connection.ok_or("the candidate has no connection")?;
        connection.prepare_aside(&config, &request).map_err(|failure| failure.message)
    }

    /// Asks somebody whether a call may run.
    pub(crate) fn ask_approval(&mut self, line: Line, wanted: Asking) -> Event {
        let id = line.id();
        let Asking { call, name, args, reason, lineage } = wanted;
        let (tool, args) = (name.to_string(), args.to_string());
        let event = Event::ApprovalAsked {
            call,
            tool: tool.clone(),
            args: args.clone(),
            reason: reason.clone(),
            lineage: lineage.clone(),
        };
        let session = self.tool_scene.session.clone();
        let wanted = Wanted { session, call, tool: tool.clone(), args, reason, lineage };
        let (approvals, timeout_ms) = (self.approvals.clone(), self.approval_timeout_ms);
        let assessor = Arc::clone(&self.assessor);
        let lost = Input::ApprovalGiven { id, decision: Decision::NoVerdict };
        let owed = Owed::new(line.clone(), lost);
        let task = tokio::spawn(async move {
            let (decision, problem) = approvals.decide(&wanted, timeout_ms, &assessor).await;
            if let Some(message) = problem {
                line.tell(Event::Warning { code: Code::ApprovalTrouble, message });
            }
            owed.pay(Input::ApprovalGiven { id, decision });
        });
        let task = Task(task.abort_handle());
        self.under_way.insert(id, Job::Approval { _task: task, call, tool });
        event
    }

    /// Asks a hook. One that does not want to know of this call has nothing against it.
    pub(crate) fn ask_hook(
        &mut self,
        line: Line,
        hook: HookId,
        question: HookQuestion,
        state: &State,
    ) -> Option<Event> {
        let id = line.id();
        let name = self.names.hook(hook);
        let hook = self.hooks.get(usize::from(hook.0)).cloned();
        if hook.as_ref().is_some_and(|hook| !hook.wants(&question)) {
            line.answer(Input::HookAnswered { id, answer: HookAnswer::Allowed });
            return None;
        }
        let event = Event::HookStarted { hook: name.clone(), question: question.clone() };
        let question = Question::over(question, state.frame().transcript());
        let (scene, assessor) = (self.hook_scene.clone(), Arc::clone(&self.assessor));
        let (leave, receiver) = watch::channel(Leave::GoOn);
        let told_as = name.clone();
        let answer = HookAnswer::Failed { problem: LOST.to_owned() };
        let owed = Owed::new(line.clone(), Input::HookAnswered { id, answer });
        let task = tokio::spawn(async move {
            // Every hook of the machine stands in the configuration; one that did not would fail.
            let Some(hook) = hook else { return };
            let asked = hooks::ask(hook, question, scene, &assessor, receiver).await;
            if let Some(message) = asked.message {
                let message = format!("hook `{told_as}` says: {message}");
                line.tell(Event::Warning { code: Code::HookTrouble, message });
            }
            owed.pay(Input::HookAnswered { id, answer: asked.answer });
        });
        self.under_way.insert(id, Job::Hook(Process { leave, task }, name));
        Some(event)
    }

    /// Sets a timer. A backoff is stretched by jitter, upwards, and its observers learn until when.
    pub(crate) fn set_timer(&mut self, line: Line, after_ms: u64, why: TimerFor) -> u64 {
        let id = line.id();
        let wait_ms = match why {
            TimerFor::Backoff => self.jitter.stretch(after_ms),
            TimerFor::Settle | TimerFor::TimeLimit | TimerFor::Tasks => after_ms,
        };
        let clock = self.clock.clone();
        let task = tokio::spawn(async move {
            match why {
                TimerFor::Backoff => clock.back_off(wait_ms).await,
                TimerFor::Settle | TimerFor::TimeLimit | TimerFor::Tasks => {
                    crate::clock::Deadline::after_ms(wait_ms).await;
                }
            }
            line.answer(Input::TimerFired { id });
        });
        self.under_way.insert(id, Job::Wait { _task: Task(task.abort_handle()) });
        wait_ms
    }

    /// When a wait that begins now will be over.
    pub(crate) fn until_unix_ms(&self, wait_ms: u64) -> u64 {
        self.clock.unix_ms().saturating_add(wait_ms)
    }

    /// Stops what was ordered under this id. A tool still reports how it ended; what anything else
    /// may still say is not heard any more.
    pub(crate) fn cancel(&mut self, id: EffectId, inbox: &mut Inbox) {
        match self.under_way.get(&id) {
            Some(Job::Request { .. } | Job::Wait { .. } | Job::Approval { .. }) => {
                self.under_way.remove(&id);
                inbox.cut(id);
            }
            Some(Job::Tool(runner, ..)) => runner.ask_to_stop(),
            Some(Job::Task(runner, ..)) => {
                runner.ask_to_stop();
                inbox.cut(id);
            }
            Some(Job::Hook(process, _)) => {
                process.ask_to_stop();
                inbox.cut(id);
            }
            None => inbox.cut(id),
        }
    }

    /// The attempt that this effect is, while it is under way.
    pub(crate) fn attempt(&self, id: EffectId) -> Option<AttemptId> {
        match self.under_way.get(&id) {
            Some(Job::Request { attempt, .. }) => Some(*attempt),
            Some(
                Job::Wait { .. }
                | Job::Tool(..)
                | Job::Task(..)
                | Job::Hook(..)
                | Job::Approval { .. },
            )
            | None => None,
        }
    }

    /// An answer was taken: what it answers is not under way any more. Gives what observers see.
    pub(crate) fn settled(&mut self, input: &Input) -> Option<Event> {
        match input {
            Input::UserSaid { .. } | Input::Interrupted { .. } | Input::ModelSaid { .. } => None,
            Input::ModelClosed { id, .. }
            | Input::TimerFired { id }
            | Input::MemoryRecalled { id, .. }
            | Input::MemoryFlushed { id, .. }
            | Input::CredentialRefreshed { id, .. }
            | Input::ResultStored { id, .. }
            | Input::OutputChecked { id, .. }
            | Input::Compacted { id, .. } => {
                self.under_way.remove(id);
                None
            }
            Input::ToolReturned { id, report } => {
                let Some(Job::Tool(_, call, tool)) = self.under_way.remove(id) else { return None };
                let (status, output) = (report.status, report.output.clone());
                Some(Event::ToolFinished { call, effect: *id, tool, status, output })
            }
            Input::ApprovalGiven { id, decision } => {
                let Some(Job::Approval { call, tool, .. }) = self.under_way.remove(id) else {
                    return None;
                };
                Some(Event::ApprovalGiven { call, tool, decision: decision.clone() })
            }
            Input::TaskEnded { id, report } => {
                let Some(Job::Task(_, task, tool)) = self.under_way.remove(id) else { return None };
                let (status, output) = (report.status, report.output.clone());
                Some(Event::TaskFinished { task, tool, status, output })
            }
            Input::HookAnswered { id, answer } => {
                let Some(Job::Hook(_, hook)) = self.under_way.remove(id) else { return None };
                Some(Event::HookFinished { hook, answer: answer.clone() })
            }
        }
    }

    /// The run is over: stops everything and waits, within bounds, until nothing is left.
    pub(crate) async fn close(self) {
        let mut ended = Vec::new();
        for job in self.under_way.into_values() {
            match job {
                Job::Request { .. } | Job::Wait { .. } | Job::Approval { .. } => {}
                Job::Tool(runner, ..) => ended.push(runner.end_now()),
                Job::Hook(process, _) => ended.push(Runner::Process(process).end_now()),
                // One that was told to stop, or to go on alone, is doing so.
                Job::Task(runner, ..) => ended.push(runner.end_unless_told()),
            }
        }
        within_ms(LAST_GRACE_MS, async {
            for end in ended {
                end.await;
            }
        })
        .await;
    }
}

impl Process {
    fn ask_to_stop(&self) {
        self.leave.send_replace(Leave::Stop);
    }
}
