//! The only loop: take an input, record it, step, record what came of it, carry out all orders in
//! order.
//!
//! The driver is the only caller of `step` outside tests and replay. It decides nothing.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use machine_spec::effect::Notice;
use machine_spec::ids::{AttemptId, EffectId};
use machine_spec::input::InterruptedBy;
use machine_spec::model::{BlockKind, ModelEvent};
use machine_spec::rooms::Room;
use machine_spec::{Effect, Input, RoomKind, State, Step, Terminal, Transcript, start, step};

use secrecy::ExposeSecret;
use wire::Images;

use crate::approve::{Absent, Approvals};
use crate::clock::{Clock, Jitter};
use crate::credentials;
use crate::error::EngineError;
use crate::events::{self, Ending, Event, ModelKnown, Observer};
use crate::inbox::{Inbox, Inputs, What};
use crate::journal::{Journal, RecordingStatus};
use crate::perform::{Asking, Order, Performer, Prepared, Scene};
use crate::pictures::Pictures;
use crate::rules::Rules;
use crate::setup::Setup;
use crate::store::Store;

/// How and where a run is carried out, besides its setup.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Where it is recorded.
    pub recording: Option<PathBuf>,
    /// What tells the time.
    pub clock: Clock,
    /// The name of the session; a fresh one when empty.
    pub session: String,
    /// Notes for the header of the recording, for people.
    pub notes: BTreeMap<String, String>,
    /// Who is asked about calls that need somebody's word; nobody when absent, and then what was
    /// configured for that is done.
    pub approvals: Option<Approvals>,
}

impl Default for Stage {
    fn default() -> Stage {
        let (recording, session, notes) = (None, String::new(), BTreeMap::new());
        Stage { recording, clock: Clock::system(), session, notes, approvals: None }
    }
}

impl Stage {
    /// A stage that records to this file.
    #[must_use]
    pub fn recorded(path: impl Into<PathBuf>) -> Stage {
        Stage { recording: Some(path.into()), ..Stage::default() }
    }
}

/// What is left of a run that is over.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub terminal: Terminal,
    /// Its last state.
    pub state: State,
    /// What became of its recording.
    pub recording: RecordingStatus,
    /// Words of the user that were never read; they belong to the next run.
    pub unread: Vec<String>,
}

impl Ended {
    /// What was said, as the next run of the session begins with it.
    #[must_use]
    pub fn history(&self) -> Transcript {
        self.state.frame().transcript().settled()
    }

    /// The exit code of a process whose run ended so.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.terminal.kind().exit_code()
    }
}

/// Carries a run through to its end. The last event is always a `terminal`, exactly one.
///
/// # Errors
///
/// The recording could not be begun, or the machine broke an invariant of its own. Whatever else
/// goes wrong is an ending.
pub async fn run(
    setup: Setup,
    inputs: Inputs,
    observer: Observer,
    stage: Stage,
) -> Result<Ended, EngineError> {
    let ended = match credentials::open(setup).await {
        Ok(setup) => match Driver::begin(setup, inputs, observer.clone(), stage) {
            Ok((driver, begun)) => driver.drive(begun).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(EngineError::Config(error)),
    };
    let ending = match &ended {
        Ok(ended) => Ending::Designed(ended.terminal.clone()),
        Err(error) => Ending::Failed(error.clone()),
    };
    observer.tell(Event::Terminal(ending));
    ended
}

struct Driver {
    rules: Rules,
    inbox: Inbox,
    performer: Performer,
    journal: Journal,
    observer: Observer,
    /// The wait that was announced and whose timer comes next.
    announced: Option<Notice>,
    unread: Vec<String>,
}

impl Driver {
    fn begin(
        setup: Setup,
        inputs: Inputs,
        observer: Observer,
        stage: Stage,
    ) -> Result<(Driver, Step), EngineError> {
        let Stage { recording, clock, mut session, mut notes, approvals } = stage;
        if session.is_empty() {
            session = format!("{:016x}", clock.fresh());
        }
        let jitter = Jitter::new(clock.fresh());
        notes.insert("session".into(), session.clone());
        notes.insert("jitter_seed".into(), jitter.seed().to_string());
        notes.insert("started_unix_ms".into(), clock.unix_ms().to_string());
        let mut journal = Journal::begin(&setup, recording.as_deref(), &clock, notes)?;
        let begun = guarded(|| start(journal.config(&setup)))?;
        journal.keep(&setup.images);
        journal.started(&begun);
        let shown = recording.as_deref().map(|path| path.display().to_string());
        let folder = store_folder(&setup, recording.as_deref(), &session);
        let store = Store::new(folder, PathBuf::from(here()), journal.redactor());
        let scene = Scene {
            session: session.clone(),
            cwd: here(),
            transcript_path: recording.as_deref().map(absolute).unwrap_or_default(),
            recording,
            store,
        };
        let (rules, models) = (setup.rules.clone(), ModelKnown::of(&setup));
        let catalogue = setup.catalogue.clone();
        let nobody = || Approvals::by(Absent::with(&setup.approvals));
        let approvals = approvals.unwrap_or_else(nobody);
        let performer = Performer::new(setup, approvals, scene, clock, jitter);
        let candidates = performer.names().candidates.clone();
        observer.tell(Event::RunStarted {
            session,
            candidates,
            models,
            catalogue,
            recording: shown,
        });
        let (inbox, unread) = (Inbox::of(inputs), Vec::new());
        let announced = None;
        let driver = Driver { rules, inbox, performer, journal, observer, announced, unread };
        Ok((driver, begun))
    }

    async fn drive(mut self, begun: Step) -> Result<Ended, EngineError> {
        let Step { mut state, effects, .. } = begun;
        self.carry_out(effects, None, &state);
        while !state.is_done() {
            let message = self.inbox.next().await;
            let Some(input) = self.heard(message.what, &state) else { continue };
            let admitted: Vec<Input> = self.journal.admit(input).collect();
            for input in admitted {
                state = self.take(state, input)?;
                if state.is_done() {
                    break;
                }
            }
        }
        self.end(state).await
    }

    /// What a message tells the machine, if it tells it anything.
    fn heard(&mut self, what: What, state: &State) -> Option<Input> {
        match what {
            What::Words(text, Pictures { shown: images, held }) => {
                let rules = self.rules.triggered(&text);
                self.keep(&held);
                Some(Input::UserSaid { text, images, rules })
            }
            What::Images(held) => {
                self.keep(&held);
                None
            }
            What::Interrupt(by) => Some(Input::Interrupted { by }),
            // Nobody is left who could ever begin this run.
            What::Deserted if state.room() == RoomKind::Idle => {
                Some(Input::Interrupted { by: InterruptedBy::Parent })
            }
            What::Deserted => None,
            What::Answer(input) => Some(input),
            What::Bytes(id, status, bytes) => {
                self.journal.bytes(id, status, &bytes);
                None
            }
            What::BodyOver(id, end, status) => {
                self.journal.body_over(id, end, status);
                None
            }
            What::Credential(candidate, key) => {
                // First the eyes are closed, then it is used.
                self.journal.learn(key.expose_secret());
                self.performer.set_credential(candidate, key);
                None
            }
            What::Tell(event) => {
                self.observer.tell(self.cleaned(event));
                None
            }
        }
    }

    /// From here on requests can show these images, and so can a replay.
    fn keep(&mut self, held: &Images) {
        self.journal.keep(held);
        self.performer.show(held);
    }

    /// A warning without secrets. All other events are made of what passed the redactor already.
    fn cleaned(&self, event: Event) -> Event {
        match event {
            Event::Warning { code, message } => {
                Event::Warning { code, message: self.journal.clean(&message) }
            }
            other => other,
        }
    }

    /// Takes one input: record, step, record, carry out.
    fn take(&mut self, state: State, input: Input) -> Result<State, EngineError> {
        let mut half = self.journal.heard(&input);
        let Step { state, effects, trail } = guarded(|| step(state, input.clone()))?;
        let prepared = self.performer.prepare(state.frame().config(), &effects);
        if let Some(prepared) = &prepared {
            half.request(&prepared.body);
        }
        let stepped = Step { state, effects, trail };
        half.stepped(&stepped);
        let Step { state, effects, .. } = stepped;
        self.performer.hold(&input, &effects);
        self.tell_about(input, &state, &effects);
        self.carry_out(effects, prepared, &state);
        for warning in self.journal.warnings() {
            self.observer.tell(warning);
        }
        Ok(state)
    }

    /// Tells observers of an input that was taken.
    fn tell_about(&mut self, input: Input, state: &State, effects: &[Effect]) {
        let refused = effects.iter().any(|effect| matches!(effect, Effect::Reject(_)));
        match input {
            Input::UserSaid { text, .. } if refused => {
                self.unread.push(text.clone());
                self.observer.tell(Event::InputReturned { texts: vec![text] });
            }
            Input::UserSaid { text, .. } if !state.frame().inbox().is_empty() => {
                self.observer.tell(Event::InputQueued { texts: vec![text] });
            }
            Input::ModelSaid { id, event } if !refused => {
                if let Some(attempt) = self.performer.attempt(id) {
                    let event = told_by_model(id, attempt, event, state);
                    event.into_iter().for_each(|event| self.observer.tell(event));
                }
            }
            Input::UserSaid { .. }
            | Input::Interrupted { .. }
            | Input::ModelSaid { .. }
            | Input::ModelClosed { .. }
            | Input::ToolReturned { .. }
            | Input::HookAnswered { .. }
            | Input::Compacted { .. }
            | Input::MemoryRecalled { .. }
            | Input::MemoryFlushed { .. }
            | Input::CredentialRefreshed { .. }
            | Input::ApprovalGiven { .. }
            | Input::ResultStored { .. }
            | Input::TaskEnded { .. }
            | Input::OutputChecked { .. }
            | Input::TimerFired { .. } => {
                let event = self.performer.settled(&input);
                event.into_iter().for_each(|event| self.observer.tell(event));
            }
        }
    }

    /// Starts every order, in order.
    fn carry_out(&mut self, effects: Vec<Effect>, mut prepared: Option<Prepared>, state: &State) {
        for effect in effects {
            if let Some(event) = self.carry_out_one(effect, &mut prepared, state) {
                self.observer.tell(event);
            }
        }
    }

    /// Starts an order; gives what observers see of that.
    fn carry_out_one(
        &mut self,
        effect: Effect,
        prepared: &mut Option<Prepared>,
        state: &State,
    ) -> Option<Event> {
        match effect {
            Effect::CallModel { id, request } => {
                let line = self.inbox.line(id);
                Some(self.performer.call_model(line, &request, prepared.take()))
            }
            Effect::RunTool { id, call, name, args, allowance } => {
                let order = Order { call, name, args, allowance };
                Some(self.performer.run_tool(self.inbox.line(id), order))
            }
            Effect::StartTask { id, task, call, name, args, allowance } => {
                let order = Order { call, name, args, allowance };
                self.performer.start_task(self.inbox.line(id), task, order)
            }
            Effect::AskApproval { id, call, name, args, reason, lineage } => {
                let wanted = Asking { call, name, args, reason, lineage };
                Some(self.performer.ask_approval(self.inbox.line(id), wanted))
            }
            Effect::StoreResult { id, of, .. } => {
                self.performer.store_result(self.inbox.line(id), of)
            }
            Effect::RecallMemory { id, query } => self.performer.recall(self.inbox.line(id), query),
            Effect::FlushMemory { id, head } => self.performer.flush(self.inbox.line(id), &head),
            Effect::RefreshCredential { id, candidate } => {
                self.performer.refresh(self.inbox.line(id), candidate)
            }
            Effect::CheckOutput { id, text } => {
                self.performer.check_output(&self.inbox.line(id), &text)
            }
            Effect::AskHook { id, hook, question } => {
                self.performer.ask_hook(self.inbox.line(id), hook, question, state)
            }
            Effect::Compact { id, head, by } => {
                self.performer.compact(self.inbox.line(id), &head, by, state)
            }
            Effect::SetTimer { id, after_ms, because } => {
                let line = self.inbox.line(id);
                let wait_ms = self.performer.set_timer(line, after_ms, because);
                self.announced.take().and_then(|notice| self.retry_event(&notice, wait_ms))
            }
            Effect::Cancel { id } => {
                self.performer.cancel(id, &mut self.inbox);
                self.journal.cancelled(id);
                None
            }
            Effect::Detach { id } => self.performer.detach(id, &mut self.inbox),
            Effect::Notify(notice) => self.notice(notice),
            Effect::Reject(refusal) => Some(Event::InputRefused {
                input: refusal.input,
                room: refusal.room,
                cause: refusal.cause,
            }),
            // The loop sees it in the state.
            Effect::Finish(_) => None,
        }
    }

    fn notice(&mut self, notice: Notice) -> Option<Event> {
        match &notice {
            // How long the wait will really be is known when its timer is set.
            Notice::RetryScheduled { .. } => {
                self.announced = Some(notice);
                return None;
            }
            Notice::InputReturned { texts } => self.unread.extend(texts.iter().cloned()),
            Notice::Retracted { .. }
            | Notice::Sealed { .. }
            | Notice::AttemptFailed { .. }
            | Notice::ErrorWithheld { .. }
            | Notice::Compacted { .. }
            | Notice::CompactionFailed { .. }
            | Notice::ContextTruncated { .. }
            | Notice::Switched { .. }
            | Notice::Contradiction { .. }
            | Notice::GuardReminded { .. }
            | Notice::DoomWarned { .. }
            | Notice::RepairAsked { .. }
            | Notice::ParameterLeftOut { .. }
            | Notice::OutputShrunk { .. }
            | Notice::CallGated { .. }
            | Notice::TaskStarted { .. }
            | Notice::TaskReported { .. }
            | Notice::TasksLeft { .. }
            | Notice::CredentialMissing { .. }
            | Notice::MemoryFailed { .. }
            | Notice::StoreFailed { .. }
            | Notice::WrapUpAsked
            | Notice::HookBlocked { .. }
            | Notice::HookFailed { .. }
            | Notice::HookDisabled { .. }
            | Notice::InputAbsorbed { .. }
            | Notice::TurnInterrupted => {}
        }
        events::of_notice(notice, self.performer.names())
    }

    fn retry_event(&self, notice: &Notice, wait_ms: u64) -> Option<Event> {
        let Notice::RetryScheduled { owner, n, class, .. } = notice else { return None };
        let until_unix_ms = self.performer.until_unix_ms(wait_ms);
        Some(Event::RetryScheduled { owner: *owner, n: *n, class: *class, wait_ms, until_unix_ms })
    }

    /// Leaves nothing behind: no process, no timer, no open file, no unread word.
    async fn end(mut self, state: State) -> Result<Ended, EngineError> {
        let known = self.performer.knows_every_price();
        self.performer.close().await;
        let unheard = self.inbox.close();
        if !unheard.is_empty() {
            self.observer.tell(Event::InputReturned { texts: unheard.clone() });
            self.unread.extend(unheard);
        }
        let (recording, warnings) = self.journal.finish();
        for warning in warnings {
            self.observer.tell(warning);
        }
        let Some(terminal) = state.terminal().cloned() else {
            let problem = "the loop was left before the run was over".to_owned();
            return Err(EngineError::Bug { problem });
        };
        let spent = state.frame().counters().spent;
        let dollars = known.then(|| spent.nanos as f64 / 1e9);
        self.observer.tell(Event::Spent { tokens: spent.tokens, dollars });
        Ok(Ended { terminal, state, recording, unread: self.unread })
    }
}

/// What observers see of a model's word.
fn told_by_model(
    id: EffectId,
    attempt: AttemptId,
    event: ModelEvent,
    state: &State,
) -> Option<Event> {
    Some(match event {
        ModelEvent::Began { model, response } => Event::ModelBegan { attempt, model, response },
        ModelEvent::BlockBegan { .. } => return None,
        ModelEvent::Delta { block, text } => match kind_of(id, block, state)? {
            BlockKind::Text => Event::TextDelta { attempt, block, text },
            BlockKind::Thinking => Event::ThinkingDelta { attempt, block, text },
            BlockKind::Call { name, .. } => {
                Event::ToolArgsDelta { attempt, block, tool: name.clone(), text }
            }
            BlockKind::Opaque => return None,
        },
        ModelEvent::BlockDone { block, .. } => {
            let kind = match kind_of(id, block, state)? {
                BlockKind::Text => "text",
                BlockKind::Thinking => "thinking",
                BlockKind::Call { .. } => "call",
                BlockKind::Opaque => "opaque",
            };
            Event::BlockCompleted { attempt, block, kind }
        }
        ModelEvent::Usage(usage) => Event::UsageReported { attempt, usage },
        ModelEvent::Finished { reason, word, details } => {
            let details = details.map(|details| *details);
            Event::ModelFinished { attempt, reason, word, details }
        }
        // The machine tells of every failed attempt itself.
        ModelEvent::Failed(_) => return None,
    })
}

/// What a block of the response holds that is being heard.
fn kind_of(id: EffectId, block: u32, state: &State) -> Option<&BlockKind> {
    let Room::Parse(parse) = state.room_data() else { return None };
    let block = parse.draft.blocks.get(block as usize).filter(|_| parse.call == id)?;
    Some(&block.kind)
}

/// Runs the machine. A broken invariant is our own mistake; it ends the run and not the process.
fn guarded(step: impl FnOnce() -> Step) -> Result<Step, EngineError> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|panic| {
        let told = panic.downcast_ref::<String>().map(String::as_str);
        let told = told.or_else(|| panic.downcast_ref::<&str>().copied());
        EngineError::Bug { problem: told.unwrap_or("an assertion without words").to_owned() }
    })
}

/// Where a run keeps what does not stand in its conversation: where the configuration says, else
/// beside its recording, else where the system keeps what may be lost.
fn store_folder(setup: &Setup, recording: Option<&Path>, session: &str) -> PathBuf {
    let beside = || recording.map(|path| path.parent().unwrap_or(Path::new("")).to_owned());
    let lost = || std::env::temp_dir().join(format!("loopwright-{}", session.replace('/', "-")));
    setup.store_dir.clone().or_else(beside).unwrap_or_else(lost)
}

fn here() -> String {
    std::env::current_dir().map(|cwd| cwd.display().to_string()).unwrap_or_default()
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests;
