//! What observers may see: one typed event for everything that happens in a run.
//!
//! Events are told, never asked about: an observer cannot hold up a run, change it, or be waited
//! for. Each is one JSON object with a `type`; the last one is always `terminal`, exactly once,
//! whatever happens.

use std::borrow::Cow;

use machine_spec::because::Owner;
use machine_spec::config::Price;
use machine_spec::effect::{Gated, HookQuestion, OutputFault};
use machine_spec::ids::{AttemptId, CallId, EffectId, TaskId};
use machine_spec::input::{Decision, HookAnswer, InputKind, Spent, ToolStatus};
use machine_spec::message::Orphan;
use machine_spec::model::{ErrorClass, Failure, StopDetails, StopReason, StreamPhase, Usage};
use machine_spec::rejection::Cause;
use machine_spec::rooms::RoomKind;
use machine_spec::terminal::{TerminalClass, TerminalKind};
use machine_spec::{Notice, Terminal};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wire::catalogue::{PriceSource, WindowSource};

use crate::error::{Code, EngineError};
use crate::setup::Setup;

/// Where events are seen.
pub type Events = UnboundedReceiver<Event>;

/// Where events are told. Nobody has to listen.
#[derive(Clone, Debug)]
pub struct Observer {
    tx: Option<UnboundedSender<Event>>,
}

impl Observer {
    /// An observer and where it sees its events.
    #[must_use]
    pub fn new() -> (Observer, Events) {
        let (tx, rx) = unbounded_channel();
        (Observer { tx: Some(tx) }, rx)
    }

    /// An observer that looks away.
    #[must_use]
    pub const fn nobody() -> Observer {
        Observer { tx: None }
    }

    pub(crate) fn tell(&self, event: Event) {
        if let Some(tx) = &self.tx {
            // Whoever has stopped looking misses nothing that matters to the run.
            let _ = tx.send(event);
        }
    }
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what the event's own line announces")]
pub enum Event {
    /// The run begins.
    RunStarted {
        session: String,
        candidates: Vec<String>,
        models: Vec<ModelKnown>,
        /// The day of the catalogue that windows and prices were looked up in.
        catalogue: String,
        recording: Option<String>,
    },
    /// The user said more; it waits for its turn.
    InputQueued { texts: Vec<String> },
    /// Queued user input became part of the conversation.
    InputAbsorbed { count: u32 },
    /// These words were never read; they belong to the next run.
    InputReturned { texts: Vec<String> },
    /// A request goes out.
    ModelAttempt { attempt: AttemptId, candidate: String, owner: Owner, entries: u32, tokens: u64 },
    /// The provider named the model and the response.
    ModelBegan { attempt: AttemptId, model: String, response: String },
    /// More of the answer.
    TextDelta { attempt: AttemptId, block: u32, text: String },
    /// More of the thinking.
    ThinkingDelta { attempt: AttemptId, block: u32, text: String },
    /// More of the arguments of a call.
    ToolArgsDelta { attempt: AttemptId, block: u32, tool: String, text: String },
    /// A block is complete.
    BlockCompleted { attempt: AttemptId, block: u32, kind: &'static str },
    /// The provider reported token counts.
    UsageReported { attempt: AttemptId, usage: Usage },
    /// The model said why it stopped.
    ModelFinished {
        attempt: AttemptId,
        reason: StopReason,
        word: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<StopDetails>,
    },
    /// Everything shown of this attempt is void: forget it.
    OutputRetracted { attempt: AttemptId },
    /// The stream died, and what was complete of this attempt was kept.
    ResponseSealed { attempt: AttemptId, calls: u32 },
    /// An attempt failed.
    AttemptFailed { attempt: AttemptId, phase: StreamPhase, failure: Failure },
    /// The request will be repeated; nothing happens until then.
    RetryScheduled { owner: Owner, n: u32, class: ErrorClass, wait_ms: u64, until_unix_ms: u64 },
    /// The next candidate takes over.
    FallbackHop { from: String, to: String, class: ErrorClass },
    /// The view is too large; before this is a failure, the conversation is compacted.
    ErrorWithheld { attempt: AttemptId, failure: Failure },
    /// The head of the conversation became a summary.
    Compaction { before: u64, after: u64, dropped: u32 },
    /// A compaction failed; the conversation is as it was.
    CompactionFailed { problem: String },
    /// The oldest part was cut away without a summary.
    ContextTruncated { dropped: u32 },
    /// What the model says about its end contradicts what it sent; what it sent counts.
    Contradiction { stop: StopReason, calls: u32 },
    /// A call runs.
    ToolStarted { call: CallId, effect: EffectId, tool: String, args: String },
    /// A call came back.
    ToolFinished {
        call: CallId,
        effect: EffectId,
        tool: String,
        status: ToolStatus,
        output: String,
    },
    /// A background task is over.
    TaskFinished { task: TaskId, tool: String, status: ToolStatus, output: String },
    /// A run of an agent begins; its events stand in its own recording.
    ChildStarted { call: CallId, agent: String, recording: Option<String> },
    /// A run of an agent is over.
    ChildEnded { call: CallId, agent: String, terminal: TerminalKind, spent: Spent },
    /// The model was reminded of a required tool.
    GuardReminded { tool: String, n: u32 },
    /// The model was warned that it goes in circles.
    DoomWarned { cycle: Vec<String> },
    /// The model was asked to mend its output.
    RepairAsked { fault: OutputFault, n: u32 },
    /// A hook is asked.
    HookStarted { hook: String, question: HookQuestion },
    /// A hook answered.
    HookFinished { hook: String, answer: HookAnswer },
    /// A hook made the turn go on.
    HookBlocked { hook: String, n: u32 },
    /// A hook is not asked again in this turn.
    HookDisabled { hook: String },
    /// A parameter is left out of the requests to this candidate from now on.
    ParameterLeftOut { candidate: String, what: String },
    /// Fewer output tokens are asked for, so that the view fits.
    OutputShrunk { to: u64 },
    /// Somebody is asked whether a call may run.
    ApprovalAsked { call: CallId, tool: String, args: String, reason: String, lineage: Vec<String> },
    /// Somebody has decided about a call, or nobody did.
    ApprovalGiven { call: CallId, tool: String, decision: Decision },
    /// A call did not pass the gate, or runs otherwise than the model asked.
    CallGated { call: CallId, verdict: Gated },
    /// A call became a background task.
    TaskStarted { task: TaskId, call: CallId, tool: String },
    /// A background task is over; the model hears of it next.
    TaskReported { task: TaskId },
    /// The run ended before these background tasks did.
    TasksLeft { orphans: Vec<Orphan> },
    /// There is no other credential for this candidate.
    CredentialMissing { candidate: String, problem: String },
    /// Memory could not be asked, or could not take something down.
    MemoryFailed { problem: String },
    /// A large result could not be kept whole.
    StoreFailed { call: CallId, problem: String },
    /// The model may speak about its last results, once and without tools.
    WrapUpAsked,
    /// The turn was interrupted.
    Interrupted,
    /// An input did not fit and changed nothing.
    InputRefused { input: InputKind, room: RoomKind, cause: Cause },
    /// Something is not as it should be; the run goes on.
    Warning { code: Code, message: String },
    /// What the run has spent, children included; told once, before its end. Tokens are those that
    /// were reported, or estimated where nothing was. Of a price that is not known comes no cost.
    Spent { tokens: u64, dollars: Option<f64> },
    /// The run is over. Nothing comes after it.
    Terminal(Ending),
}

/// What is known of the model of a candidate, and where it is known from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelKnown {
    /// The candidate, as `name/model`.
    pub candidate: String,
    /// Its context window in tokens; 0 is no limit.
    pub context_window: u64,
    /// Where that is known from.
    pub window_from: WindowSource,
    /// What it costs, if that is known.
    pub price: Option<PriceKnown>,
    /// Where that is known from.
    pub price_from: PriceSource,
}

/// What a million tokens cost, in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the configuration")]
pub struct PriceKnown {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    /// What it costs where the input of a request is long, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPriceKnown>,
}

/// What a million tokens cost, in dollars, where the input is longer than so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the configuration")]
pub struct LongPriceKnown {
    pub above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

impl ModelKnown {
    /// What is known of the models of a setup.
    pub(crate) fn of(setup: &Setup) -> Vec<ModelKnown> {
        let both = setup.machine.candidates.iter().zip(&setup.providers);
        let known = both.map(|(candidate, provider)| ModelKnown {
            candidate: format!("{}/{}", candidate.name, candidate.model),
            context_window: candidate.context_window,
            window_from: provider.window_from,
            price: candidate.price.map(PriceKnown::of),
            price_from: provider.price_from,
        });
        known.collect()
    }
}

impl PriceKnown {
    fn of(price: Price) -> PriceKnown {
        // A billionth of a dollar for one token is a thousandth for a million.
        let dollars = |nanos: u64| nanos as f64 / 1_000.0;
        PriceKnown {
            input: dollars(price.input),
            output: dollars(price.output),
            cache_read: dollars(price.cache_read),
            cache_write: dollars(price.cache_write),
            long: price.long.map(|long| LongPriceKnown {
                above: long.above,
                input: dollars(long.input),
                output: dollars(long.output),
                cache_read: dollars(long.cache_read),
                cache_write: dollars(long.cache_write),
            }),
        }
    }
}

/// How a run ended, as the last event tells it.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// By design.
    Designed(Terminal),
    /// By a failure of the world, or our own mistake.
    Failed(EngineError),
}

impl Ending {
    /// The exit code of a process whose run ended so.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Ending::Designed(terminal) => terminal.kind().exit_code(),
            Ending::Failed(error) => error.exit_code(),
        }
    }
}

/// `reason`, `class` and `exit_code`, and beside them whatever the ending carries.
impl Serialize for Ending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Ending::Designed(terminal) => {
                let kind: TerminalKind = terminal.kind();
                map.serialize_entry("reason", kind.word())?;
                map.serialize_entry("class", kind.class().word())?;
                map.serialize_entry("exit_code", &kind.exit_code())?;
                let whole = serde_json::to_value(terminal).map_err(serde::ser::Error::custom)?;
                let data = whole.get(kind.word()).and_then(serde_json::Value::as_object);
                for (key, value) in data.into_iter().flatten() {
                    map.serialize_entry(&beside(key), value)?;
                }
            }
            Ending::Failed(error) => {
                map.serialize_entry("reason", error.reason())?;
                map.serialize_entry("class", TerminalClass::Failed.word())?;
                map.serialize_entry("exit_code", &error.exit_code())?;
                map.serialize_entry("code", &error.code())?;
                map.serialize_entry("message", &error.to_string())?;
            }
        }
        map.end()
    }
}

/// The key of a datum beside the three that every ending has. One of the same name is told as given
/// by somebody: a hook gives its own reason.
fn beside(key: &str) -> Cow<'_, str> {
    match key {
        "type" | "reason" | "class" | "exit_code" => Cow::Owned(format!("given_{key}")),
        _ => Cow::Borrowed(key),
    }
}

impl Event {
    /// The last event of a run that never began, or broke off by our own mistake.
    #[must_use]
    pub fn failed(error: EngineError) -> Event {
        Event::Terminal(Ending::Failed(error))
    }

    /// The event as one line of JSON, without the newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Every event has a JSON text: no map in it has a key that is not text.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The names behind the numbers of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) candidates: Vec<String>,
    pub(crate) hooks: Vec<String>,
}

impl Names {
    pub(crate) fn candidate(&self, id: machine_spec::ids::CandidateId) -> String {
        self.candidates.get(usize::from(id.0)).cloned().unwrap_or_else(|| id.to_string())
    }

    pub(crate) fn hook(&self, id: machine_spec::ids::HookId) -> String {
        self.hooks.get(usize::from(id.0)).cloned().unwrap_or_else(|| id.to_string())
    }
}

/// What a notice of the machine says, with names. A scheduled retry is told by whoever knows how
/// long the wait will really be.
pub(crate) fn of_notice(notice: Notice, names: &Names) -> Option<Event> {
    Some(match notice {
        Notice::Retracted { attempt } => Event::OutputRetracted { attempt },
        Notice::Sealed { attempt, calls } => Event::ResponseSealed { attempt, calls },
        Notice::AttemptFailed { attempt, phase, failure } => {
            Event::AttemptFailed { attempt, phase, failure }
        }
        Notice::RetryScheduled { .. } => return None,
        Notice::ErrorWithheld { attempt, failure } => Event::ErrorWithheld { attempt, failure },
        Notice::Compacted { before, after, dropped } => {
            Event::Compaction { before, after, dropped }
        }
        Notice::CompactionFailed { problem } => Event::CompactionFailed { problem },
        Notice::ContextTruncated { dropped } => Event::ContextTruncated { dropped },
        Notice::Switched { from, to, class } => {
            let (from, to) = (names.candidate(from), names.candidate(to));
            Event::FallbackHop { from, to, class }
        }
        Notice::Contradiction { stop, calls } => Event::Contradiction { stop, calls },
        Notice::GuardReminded { tool, n, .. } => Event::GuardReminded { tool, n },
        Notice::DoomWarned { cycle } => Event::DoomWarned { cycle },
        Notice::RepairAsked { fault, n } => Event::RepairAsked { fault, n },
        Notice::ParameterLeftOut { candidate, what } => {
            let (candidate, what) = (names.candidate(candidate), what.to_string());
            Event::ParameterLeftOut { candidate, what }
        }
        Notice::OutputShrunk { to } => Event::OutputShrunk { to },
        Notice::CallGated { call, verdict } => Event::CallGated { call, verdict },
        Notice::TaskStarted { task, call, tool } => {
            Event::TaskStarted { task, call, tool: tool.to_string() }
        }
        Notice::TaskReported { task } => Event::TaskReported { task },
        Notice::TasksLeft { orphans } => Event::TasksLeft { orphans },
        Notice::CredentialMissing { candidate, problem } => {
            Event::CredentialMissing { candidate: names.candidate(candidate), problem }
        }
        Notice::MemoryFailed { problem } => Event::MemoryFailed { problem },
        Notice::StoreFailed { call, problem } => Event::StoreFailed { call, problem },
        Notice::WrapUpAsked => Event::WrapUpAsked,
        Notice::HookBlocked { hook, n } => Event::HookBlocked { hook: names.hook(hook), n },
        Notice::HookFailed { hook, problem } => Event::Warning {
            code: Code::HookTrouble,
            message: format!(
                "hook `{}` failed: {problem}; it does not count as a block",
                names.hook(hook)
            ),
        },
        Notice::HookDisabled { hook } => Event::HookDisabled { hook: names.hook(hook) },
        Notice::InputAbsorbed { count } => Event::InputAbsorbed { count },
        Notice::InputReturned { texts } => Event::InputReturned { texts },
        Notice::TurnInterrupted => Event::Interrupted,
    })
}

#[cfg(test)]
mod tests {
    use machine_spec::Terminal;
    use machine_spec::ids::AttemptId;
    use machine_spec::input::InterruptedBy;
    use machine_spec::rooms::RoomKind;

    use super::{Ending, Event};
    use crate::error::EngineError;

    #[test]
    fn an_event_is_one_object_with_its_type() {
        let event = Event::TextDelta { attempt: AttemptId(1), block: 0, text: "a\nb".into() };
        assert_eq!(event.to_json(), r#"{"type":"text_delta","attempt":1,"block":0,"text":"a\nb"}"#);
        assert_eq!(Event::Interrupted.to_json(), r#"{"type":"interrupted"}"#);
    }

    #[test]
    fn the_last_event_carries_reason_class_code_and_data() {
        let terminal = Terminal::Interrupted {
            by: InterruptedBy::User,
            during: RoomKind::Batch,
            settled: 1,
            unknown: 2,
        };
        assert_eq!(
            Event::Terminal(Ending::Designed(terminal)).to_json(),
            r#"{"type":"terminal","reason":"interrupted","class":"aborted","exit_code":130,"#
                .to_owned()
                + r#""by":"user","during":"batch","settled":1,"unknown":2}"#
        );
    }

    #[test]
    fn the_reason_of_a_hook_does_not_hide_the_reason_of_the_ending() {
        let terminal = Terminal::HookStopped { reason: "enough".into() };
        assert_eq!(
            Event::Terminal(Ending::Designed(terminal)).to_json(),
            r#"{"type":"terminal","reason":"hook_stopped","class":"blocked","exit_code":7,"#
                .to_owned()
                + r#""given_reason":"enough"}"#
        );
    }

    #[test]
    fn a_failure_of_the_world_ends_with_the_same_event() {
        let event = Event::failed(EngineError::Recording {
            path: "/no/such/run.jsonl".into(),
            problem: "no such folder".into(),
        });
        let value: serde_json::Value =
            serde_json::from_str(&event.to_json()).expect("an event is JSON");
        assert_eq!(value["type"], "terminal");
        assert_eq!(value["reason"], "recording_refused");
        assert_eq!(value["class"], "failed");
        assert_eq!(value["exit_code"], 2);
        assert_eq!(value["code"], "LW3001");
    }
}
