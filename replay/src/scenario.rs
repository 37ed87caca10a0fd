//! A scenario: a readable plan of what the world will answer.
//!
//! It is data and nothing but data. A generator decodes its choices into a scenario first, then the
//! scenario is played ([`crate::world`]); so an old plan means the same whatever becomes of the
//! generator. Times are virtual.

use std::collections::BTreeMap;

use machine_spec::Input;
use machine_spec::config::RunConfig;
use machine_spec::ids::RuleId;
use machine_spec::input::{
    Compaction, Decision, HookAnswer, InterruptedBy, OutputVerdict, Recall, Refresh, Spent, Stored,
    ToolStatus,
};
use machine_spec::message::Image;
use machine_spec::model::{
    BlockEnd, BlockKind, CallFacts, Closure, ErrorClass, ModelEvent, Permission, Proof, Safety,
    StopReason,
};
use serde::{Deserialize, Serialize};
use wire::{Dialect, EncodeOptions};

use crate::faults::Placed;

mod delivery;
mod derive;
mod library;
mod validate;

pub use delivery::{BodyPlan, Chunks, EndOfBody};
pub use derive::derive;
pub use library::{Library, WireFile};
pub use validate::{BadPlan, PlanLimits};

/// A plan of what the world will answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the machine is configured with.
    pub config: RunConfig,
    /// How each candidate speaks, in their order.
    pub providers: Vec<ProviderPlan>,
    /// The answers to the requests: the first to the first, whoever is asked.
    #[serde(default)]
    pub answers: Vec<Answer>,
    /// What answers the requests behind the last of them.
    #[serde(default)]
    pub afterwards: Afterwards,
    /// Whether a body that is served again keeps its ids. By default they get `_2`, `_3` and so
    /// on, as a provider would give new ones.
    #[serde(default)]
    pub keep_ids: bool,
    /// What the tools do, by name.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolPlan>,
    /// What the hooks answer, in the order of the configuration.
    #[serde(default)]
    pub hooks: Vec<HookPlan>,
    /// What compactions by a model come to: the first, the second, and so on.
    #[serde(default)]
    pub compactions: Vec<Compaction>,
    /// What is decided about calls that need approval: the first, the second, and so on; behind
    /// the last one nobody is there to ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// What memory says: the first time, the second, and so on; then it knows nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalls: Vec<Recall>,
    /// How looking up credentials goes: the first time, the second, and so on; then there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refreshes: Vec<Refresh>,
    /// What comes of holding answers against their schema; behind the last one they fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<OutputVerdict>,
    /// How putting results and memories aside goes; behind the last one it goes well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<Stored>,
    /// What the user does.
    #[serde(default)]
    pub user: Vec<UserAct>,
    /// How long the engine waits.
    #[serde(default)]
    pub patience: Patience,
    /// The time of day at the start, as servers may tell points of time: milliseconds since 1970.
    #[serde(default = "start_unix_ms")]
    pub start_unix_ms: u64,
    /// Inputs after which the run is given up as endless.
    #[serde(default = "most_inputs")]
    pub most_inputs: u64,
    /// What the tools are known to say about calls, where that is more than the plan can tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    /// What goes wrong, and where.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Placed>,
}

/// What the tools say about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The tool.
    pub tool: String,
    /// The arguments, to the letter.
    pub args: String,
    /// The verdict.
    pub facts: CallFacts,
}

const fn most_inputs() -> u64 {
    100_000
}

/// Tue, 14 Nov 2023 22:13:20 GMT.
const fn start_unix_ms() -> u64 {
    1_700_000_000_000
}

impl Scenario {
    /// A scenario in which the user says this at once.
    #[must_use]
    pub fn new(config: RunConfig, dialect: Dialect, text: &str) -> Scenario {
        let provider = ProviderPlan { dialect, options: EncodeOptions::default() };
        Scenario {
            providers: vec![provider; config.candidates.len()],
            config,
            answers: Vec::new(),
            afterwards: Afterwards::default(),
            keep_ids: false,
            tools: BTreeMap::new(),
            hooks: Vec::new(),
            compactions: Vec::new(),
            approvals: Vec::new(),
            recalls: Vec::new(),
            refreshes: Vec::new(),
            shapes: Vec::new(),
            stores: Vec::new(),
            user: vec![UserAct::says(text)],
            patience: Patience::default(),
            start_unix_ms: start_unix_ms(),
            most_inputs: most_inputs(),
            verdicts: Vec::new(),
            faults: Vec::new(),
        }
    }
}

/// How a candidate speaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderPlan {
    /// Its dialect.
    pub dialect: Dialect,
    /// What its encoder is told besides.
    #[serde(default)]
    pub options: EncodeOptions,
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// What comes.
    pub what: What,
    /// Milliseconds until the first of it.
    #[serde(default)]
    pub after_ms: u64,
    /// How the body comes; by default as its file says, or at once and whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyPlan>,
    /// The dialect of the body, where it is not that of whoever is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoken: Option<Dialect>,
    /// How the transport tells of its end, where that is more than the body can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Closure>,
}

/// What answers a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A wire file of the library.
    File(String),
    /// A successful stream with this body.
    Stream(String),
    /// An HTTP answer.
    Http {
        /// Its status.
        status: u16,
        /// Its headers.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// Its body.
        #[serde(default)]
        body: String,
    },
    /// No answer: the way to the provider fails like this.
    Fault(ErrorClass),
    /// What a decoder made of a body, without the body.
    Said(Vec<ModelEvent>),
}

impl Answer {
    /// This, at once.
    #[must_use]
    pub const fn of(what: What) -> Answer {
        Answer { what, after_ms: 0, body: None, spoken: None, ends: None }
    }

    /// A wire file, delivered as its plan says.
    #[must_use]
    pub fn file(name: &str) -> Answer {
        Answer::of(What::File(name.into()))
    }

    /// A successful stream with this body.
    #[must_use]
    pub fn stream(body: impl Into<String>) -> Answer {
        Answer::of(What::Stream(body.into()))
    }

    /// A failure on the way.
    #[must_use]
    pub const fn fault(class: ErrorClass) -> Answer {
        Answer::of(What::Fault(class))
    }

    /// A response in neutral words.
    #[must_use]
    pub const fn said(events: Vec<ModelEvent>) -> Answer {
        Answer::of(What::Said(events))
    }

    /// A whole response that answers in these words.
    #[must_use]
    pub fn text(text: &str) -> Answer {
        Answer::said(said_text(text))
    }
}

/// The events of a whole response that answers in these words.
fn said_text(text: &str) -> Vec<ModelEvent> {
    vec![
        ModelEvent::BlockBegan { block: 0, kind: BlockKind::Text },
        ModelEvent::Delta { block: 0, text: text.into() },
        ModelEvent::BlockDone { block: 0, proof: Proof::BlockStop, done: BlockEnd::Text },
        ModelEvent::finished(StopReason::EndOfTurn, "end_turn"),
    ]
}

/// What answers the requests behind the last planned one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Afterwards {
    /// Nothing: the scenario is exhausted, which is an error.
    #[default]
    Exhausted,
    /// The last answer, again and again.
    LastAgain,
    /// A plain answer in text, as a provider gives who has nothing more to say.
    Text,
}

/// What a tool does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolPlan {
    /// Whether its calls may overlap.
    #[serde(default = "exclusive")]
    pub safety: Safety,
    /// What the permission rules say about its calls.
    #[serde(default, skip_serializing_if = "is_allow")]
    pub permission: Permission,
    /// What its runs come to: the first, the second, and so on; the last one stands for all that
    /// follow.
    #[serde(default)]
    pub runs: Vec<ToolRun>,
}

const fn is_allow(permission: &Permission) -> bool {
    match permission {
        Permission::Allow => true,
        Permission::Ask | Permission::Deny { .. } | Permission::OutOfScope => false,
    }
}

const fn exclusive() -> Safety {
    Safety::Exclusive
}

impl Default for ToolPlan {
    fn default() -> ToolPlan {
        let (safety, permission) = (Safety::Exclusive, Permission::Allow);
        ToolPlan { safety, permission, runs: Vec::new() }
    }
}

impl ToolPlan {
    /// A tool that always says this.
    #[must_use]
    pub fn says(output: &str) -> ToolPlan {
        ToolPlan { runs: vec![ToolRun::says(output)], ..ToolPlan::default() }
    }
}

/// One run of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRun {
    /// How it ends.
    #[serde(default = "succeeded")]
    pub status: ToolStatus,
    /// What it says.
    #[serde(default)]
    pub output: Output,
    /// Milliseconds until it ends.
    #[serde(default)]
    pub delay_ms: u64,
    /// What becomes of it when it is told to stop.
    #[serde(default)]
    pub when_cancelled: WhenCancelled,
    /// Images that it shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// What it spent on models, when it is a run of its own.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
}

const fn succeeded() -> ToolStatus {
    ToolStatus::Succeeded
}

impl Default for ToolRun {
    fn default() -> ToolRun {
        ToolRun {
            status: ToolStatus::Succeeded,
            output: Output::default(),
            delay_ms: 0,
            when_cancelled: WhenCancelled::default(),
            images: Vec::new(),
            spent: Spent::default(),
        }
    }
}

impl ToolRun {
    /// A run that says this at once.
    #[must_use]
    pub fn says(output: &str) -> ToolRun {
        ToolRun { output: Output::Text(output.into()), ..ToolRun::default() }
    }
}

/// What a run of a tool says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// This.
    Text(String),
    /// Its arguments.
    Arguments,
    /// The time of the world.
    Clock,
}

impl Default for Output {
    fn default() -> Output {
        Output::Text(String::new())
    }
}

/// What becomes of a run that is told to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenCancelled {
    /// It stops at once and says so.
    #[default]
    Stops,
    /// It goes on to its planned end.
    GoesOn,
    /// It is never heard of again.
    IsSilent,
}

/// What a hook answers: the first time, the second, and so on; the last answer stands for all that
/// follow, and no answer means that it allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookPlan {
    /// Its answers.
    #[serde(default)]
    pub answers: Vec<HookAnswer>,
    /// Milliseconds until each.
    #[serde(default)]
    pub delay_ms: u64,
    /// Milliseconds until the first, the second, and so on, where they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays_ms: Vec<u64>,
}

impl HookPlan {
    /// Milliseconds until the n-th answer, from 1.
    #[must_use]
    pub fn delay(&self, nth: usize) -> u64 {
        nth.checked_sub(1).and_then(|at| self.delays_ms.get(at)).copied().unwrap_or(self.delay_ms)
    }
}

/// What is decided about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The decision.
    pub decision: Decision,
    /// Milliseconds until it is taken.
    #[serde(default)]
    pub delay_ms: u64,
}

impl Approval {
    /// A decision that is taken at once.
    #[must_use]
    pub const fn at_once(decision: Decision) -> Approval {
        Approval { decision, delay_ms: 0 }
    }
}

/// Something the user does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserAct {
    /// What.
    pub act: Act,
    /// After what.
    #[serde(default)]
    pub after: After,
    /// Milliseconds after that.
    #[serde(default)]
    pub plus_ms: u64,
}

impl UserAct {
    /// The user says this at once.
    #[must_use]
    pub fn says(text: &str) -> UserAct {
        let act = Act::Says { text: text.into(), images: Vec::new(), rules: Vec::new() };
        UserAct { act, after: After::Start, plus_ms: 0 }
    }

    /// The user interrupts.
    #[must_use]
    pub const fn interrupts(after: After) -> UserAct {
        UserAct { act: Act::Interrupts { by: InterruptedBy::User }, after, plus_ms: 0 }
    }

    /// The same act after something else.
    #[must_use]
    pub fn after(self, after: After, plus_ms: u64) -> UserAct {
        UserAct { act: self.act, after, plus_ms }
    }
}

/// What the user does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Says something.
    Says {
        /// The words.
        text: String,
        /// Images that stand behind them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// The required-tool rules they match.
        #[serde(default)]
        rules: Vec<RuleId>,
    },
    /// Interrupts.
    Interrupts {
        /// In whose name.
        by: InterruptedBy,
    },
}

impl From<Act> for Input {
    fn from(act: Act) -> Input {
        match act {
            Act::Says { text, images, rules } => Input::UserSaid { text, images, rules },
            Act::Interrupts { by } => Input::Interrupted { by },
        }
    }
}

/// A moment of a run, told by what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// The start.
    #[default]
    Start,
    /// So many requests were sent.
    Requests(u64),
    /// So many pieces of text, thinking or arguments were heard.
    Pieces(u64),
    /// So many calls were started.
    ToolStarts(u64),
    /// So many hooks were asked.
    HookAsks(u64),
    /// So many inputs were stepped.
    Inputs(u64),
}

/// How long the engine waits, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patience {
    /// For the first byte of an answer.
    pub request_ms: u64,
    /// For the next byte of a stream.
    pub idle_ms: u64,
    /// For the end of a body whose message is complete.
    pub linger_ms: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { request_ms: 120_000, idle_ms: 60_000, linger_ms: 2_000 }
    }
}
