//! Calls that run: a command, or a run of its own, in the foreground or in the background.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use machine_spec::Input;
use machine_spec::effect::Allowance;
use machine_spec::ids::{CallId, EffectId, TaskId};
use machine_spec::input::{InterruptedBy, ToolReport, ToolStatus};
use machine_spec::policy::Tasks;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Job, LOST, Performer, Process, Scene, Task};
use crate::approve::Approvals;
use crate::children::{self, Agent, Birth};
use crate::clock::Clock;
use crate::error::Code;
use crate::events::Event;
use crate::inbox::{Handle, Inbox, Line, Owed};
use crate::process::Leave;
use crate::setup::Setup;
use crate::tools::{self, Returned};

/// Something that runs and can be told to end.
#[derive(Debug)]
pub(super) enum Runner {
    /// A command.
    Process(Process),
    /// A run of its own. It ends with whoever ordered it.
    Child { handle: Handle, task: JoinHandle<()>, _guard: Task },
}

impl Runner {
    pub(super) fn ask_to_stop(&self) {
        match self {
            Runner::Process(process) => process.ask_to_stop(),
            Runner::Child { handle, .. } => handle.interrupt(InterruptedBy::Parent),
        }
    }

    /// Lets it run on alone; `false` if it cannot.
    fn let_go(&self) -> bool {
        match self {
            Runner::Process(process) => {
                process.leave.send_replace(Leave::Alone);
                true
            }
            Runner::Child { handle, .. } => {
                handle.interrupt(InterruptedBy::Parent);
                false
            }
        }
    }

    /// Ends it now; ready when it is over.
    pub(super) fn end_now(self) -> Ending {
        match &self {
            Runner::Process(process) => {
                process.leave.send_replace(Leave::Kill);
            }
            // The second interrupt waits for nothing.
            Runner::Child { handle, .. } => {
                handle.interrupt(InterruptedBy::Parent);
                handle.interrupt(InterruptedBy::Parent);
            }
        }
        self.over()
    }

    /// Ends it now unless it was told something before; ready when it is over or let go.
    pub(super) fn end_unless_told(self) -> Ending {
        match &self {
            Runner::Process(process) => {
                process.leave.send_if_modified(|leave| {
                    let untold = *leave == Leave::GoOn;
                    if untold {
                        *leave = Leave::Kill;
                    }
                    untold
                });
            }
            Runner::Child { handle, .. } => handle.interrupt(InterruptedBy::Parent),
        }
        self.over()
    }

    fn over(self) -> Ending {
        Box::pin(async move {
            // A task that panicked has let go of its process, which is killed with it.
            let _ = match self {
                Runner::Process(Process { leave: _leave, task }) => task.await,
                Runner::Child { handle: _handle, task, _guard } => task.await,
            };
        })
    }
}

/// The end of something that was told to end.
type Ending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a child run needs of its parent.
#[derive(Debug)]
pub(super) struct Family {
    /// The parent's setup; absent where there are no agents.
    setup: Option<Arc<Setup>>,
    recording: Option<PathBuf>,
    session: String,
    clock: Clock,
    approvals: Approvals,
    /// What an output may have where the machine itself does not put it aside, in bytes.
    inline: u64,
    /// Where background commands print to, when they may outlive the run.
    papers: Option<PathBuf>,
}

impl Family {
    pub(super) fn of(setup: &Setup, approvals: &Approvals, scene: &Scene, clock: &Clock) -> Family {
        let may_outlive = match setup.machine.policy.tasks {
            Tasks::Leave => true,
            Tasks::Wait | Tasks::Cancel => false,
        };
        Family {
            setup: (!setup.agents.is_empty()).then(|| Arc::new(setup.clone())),
            recording: scene.recording.clone(),
            session: scene.session.clone(),
            clock: clock.clone(),
            approvals: approvals.clone(),
            inline: setup.machine.limits.inline_result_bytes,
            papers: may_outlive.then(|| scene.store.folder().join("tasks")),
        }
    }

    fn agent(&self, name: &str) -> Option<(Arc<Setup>, Arc<Agent>)> {
        let setup = self.setup.as_ref()?;
        Some((Arc::clone(setup), Arc::clone(setup.agents.get(name)?)))
    }
}

/// A call that is to run.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) call: CallId,
    pub(crate) name: Arc<str>,
    pub(crate) args: Arc<str>,
    pub(crate) allowance: Option<Allowance>,
}

impl Performer {
    /// Starts a call of a tool.
    pub(crate) fn run_tool(&mut self, line: Line, order: Order) -> Event {
        let (id, call, name) = (line.id(), order.call, order.name.to_string());
        let args = order.args.to_string();
        let event = Event::ToolStarted { call, effect: id, tool: name.clone(), args };
        let answer = move |report| Input::ToolReturned { id, report };
        let runner = self.start(line, order, None, answer);
        self.under_way.insert(id, Job::Tool(runner, call, name));
        event
    }

    /// Starts a call in the background. The machine tells observers of it itself.
    pub(crate) fn start_task(&mut self, line: Line, task: TaskId, order: Order) -> Option<Event> {
        let (id, name) = (line.id(), order.name.to_string());
        let paper = self.family.papers.as_ref();
        let session = self.family.session.replace('/', "-");
        let paper = paper.map(|folder| folder.join(format!("{session}.{task}.out")));
        let (store, inline) = (self.store.clone(), self.family.inline);
        // The machine takes the report of a task as it is, so a long one is put aside here.
        let answer = move |mut report: ToolReport| {
            // What a task reports is told in words, and words show nothing.
            for image in report.images.drain(..) {
                report.output.push_str(&format!("\n({} that cannot be shown here)", image.media));
            }
            report.output = store.shorten(report.output, inline);
            Input::TaskEnded { id, report }
        };
        let runner = self.start(line, order, paper, answer);
        self.under_way.insert(id, Job::Task(runner, task, name));
        None
    }

    fn start(
        &mut self,
        line: Line,
        order: Order,
        paper: Option<PathBuf>,
        answer: impl Fn(ToolReport) -> Input + Send + 'static,
    ) -> Runner {
        let lost = answer(ToolReport::new(ToolStatus::Failed, LOST));
        let owed = Owed::new(line.clone(), lost);
        if let Some((setup, agent)) = self.family.agent(&order.name) {
            return self.start_child(line, order, &setup, agent, owed, answer);
        }
        let tool = self.tools.get(&*order.name).cloned();
        let scene = Arc::clone(&self.tool_scene);
        let (leave, receiver) = watch::channel(Leave::GoOn);
        let task = tokio::spawn(async move {
            let Order { call, args, .. } = order;
            match tools::run(tool, call, args, scene, receiver, paper).await {
                Some(Returned { report, held }) => {
                    line.images(held);
                    owed.pay(answer(report));
                }
                // It was let go, and nobody waits for it.
                None => owed.paid(),
            }
        });
        Runner::Process(Process { leave, task })
    }

    fn start_child(
        &mut self,
        line: Line,
        order: Order,
        setup: &Setup,
        agent: Arc<Agent>,
        owed: Owed,
        answer: impl Fn(ToolReport) -> Input + Send + 'static,
    ) -> Runner {
        let (handle, inputs) = crate::inbox::inputs();
        let family = &self.family;
        let birth = Birth {
            call: order.call,
            prompt: children::prompt(&order.args),
            allowance: order.allowance.unwrap_or_default(),
            recording: family.recording.as_deref().map(|at| children::beside(at, order.call)),
            session: format!("{}/{}", family.session, order.call),
            clock: family.clock.clone(),
            approvals: family.approvals.clone(),
            speak: handle.clone(),
            line,
        };
        let setup = children::setup(setup, &agent, &birth.allowance);
        if let Ok(child) = &setup {
            self.priced &= child.machine.candidates.iter().all(|one| one.price.is_some());
        }
        let task = tokio::spawn(async move {
            let report = children::live(agent, setup, inputs, birth).await;
            owed.pay(answer(report));
        });
        let guard = Task(task.abort_handle());
        Runner::Child { handle, task, _guard: guard }
    }

    /// Lets a background task run on without us. A run of its own cannot: it is stopped.
    pub(crate) fn detach(&mut self, id: EffectId, inbox: &mut Inbox) -> Option<Event> {
        inbox.cut(id);
        let Some(Job::Task(runner, task, name)) = self.under_way.get(&id) else { return None };
        if runner.let_go() {
            return None;
        }
        let message = format!(
            "{task} ({name}) is a run of its own and cannot go on without its parent; it is stopped"
        );
        Some(Event::Warning { code: Code::ChildStopped, message })
    }
}
