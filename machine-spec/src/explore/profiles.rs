//! The profiles: small configurations and alphabets that together reach every door of the house.
//!
//! Each is the smallest in which its theme shows; bounds are part of the specification (HOUSE 2.6).

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::config::{Candidate, HookSpec, Rule, RunConfig, ToolSpec};
use crate::ids::RuleId;
use crate::input::{
    Compaction, Decision, HookAnswer, OutputVerdict, Recall, Refresh, Spent, Stored, ToolStatus,
};
use crate::limits::Limits;
use crate::model::{
    ArgsVerdict, BlockKind, CallFacts, ErrorClass, Failure, Permission, Safety, StopReason, Usage,
};
use crate::policy::{Compactor, EarlyStart, Policy, Preset};

mod budgets;
mod guests;
mod large;

pub use large::large;

/// A configuration, and what the world may do to it.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name for people.
    pub name: &'static str,
    /// The configuration.
    pub config: RunConfig,
    /// What the user may say: the rules each saying triggers.
    pub says: Vec<Vec<RuleId>>,
    /// Whether the user may interrupt.
    pub interrupts: bool,
    /// Blocks a response may hold besides calls.
    pub blocks: Vec<BlockKind>,
    /// Calls a response may hold.
    pub calls: Vec<CallTemplate>,
    /// Most blocks of a response.
    pub max_blocks: usize,
    /// Reasons a response may give for its end.
    pub stops: Vec<StopReason>,
    /// Failures of the transport.
    pub failures: Vec<Failure>,
    /// Whether the same failures may also come inside the stream.
    pub stream_errors: bool,
    /// How tools may end.
    pub tool_statuses: Vec<ToolStatus>,
    /// What may come of a compaction.
    pub compactions: Vec<Compaction>,
    /// What hooks may answer.
    pub hook_answers: Vec<HookAnswer>,
    /// What a tool or task says it spent.
    pub spent: Spent,
    /// Usage reports that a response may hold, once.
    pub usages: Vec<Usage>,
    /// What somebody may decide about a call.
    pub decisions: Vec<Decision>,
    /// How putting something aside may go, for results and for memory.
    pub stores: Vec<Stored>,
    /// What memory may say.
    pub recalls: Vec<Recall>,
    /// How looking up a credential may go.
    pub refreshes: Vec<Refresh>,
    /// What may come of holding an answer against its schema.
    pub verdicts: Vec<OutputVerdict>,
    /// Whether answers to closed and unknown effects are tried.
    pub strays: bool,
    /// Steps within which a benign world must end any run.
    pub benign_bound: u32,
    /// Where to stop although more could be reached.
    pub max_states: u64,
}

/// A call that a response may hold.
#[derive(Clone, Debug)]
pub struct CallTemplate {
    /// Name of the tool.
    pub tool: &'static str,
    /// Whether the provider gives it an id.
    pub named: bool,
    /// What the edge finds out about its arguments.
    pub args: ArgsVerdict,
    /// Whether it may overlap.
    pub safety: Safety,
    /// What the rules say about it.
    pub permission: Permission,
}

impl CallTemplate {
    /// A call with usable arguments that no rule says anything about.
    #[must_use]
    pub const fn new(tool: &'static str, safety: Safety) -> CallTemplate {
        let args = ArgsVerdict::Valid { canonical: 1 };
        CallTemplate { tool, named: true, args, safety, permission: Permission::Allow }
    }

    /// What the edge finds out about it.
    #[must_use]
    pub fn facts(&self) -> CallFacts {
        CallFacts {
            args: self.args.clone(),
            safety: self.safety,
            permission: self.permission.clone(),
            lacks: vec![],
        }
    }
}

/// All profiles of the small exploration that runs in every test.
#[must_use]
pub fn all() -> Vec<Profile> {
    vec![
        answers(),
        pauses(),
        tools(EarlyStart::Safe),
        tools(EarlyStart::Off),
        exclusive_early(),
        repairs(),
        guard(),
        doom(),
        hooks(),
        fallback(Preset::Balanced),
        fallback_with_reads(),
        fallback(Preset::RetryFirst),
        windows(),
        compaction(Compactor::Summary),
        compaction(Compactor::Off),
        overflow(),
        cramped(),
        ceiling(),
        ceiling_with_reads(),
        refused(),
    ]
    .into_iter()
    .chain(guests::all())
    .chain(budgets::all())
    .collect()
}

/// A candidate of unknown window.
#[must_use]
pub fn candidate(name: &str) -> Candidate {
    Candidate {
        name: name.into(),
        model: String::from("m"),
        context_window: 0,
        max_output: 0,
        ..Candidate::default()
    }
}

/// A tool without a schema worth naming.
#[must_use]
pub fn tool(name: &str, read_only: bool) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: String::from("{}"),
        read_only,
        ..ToolSpec::default()
    }
}

/// Bounds so small that everything ends soon.
#[must_use]
pub fn small_limits() -> Limits {
    Limits {
        tool_rounds: 1,
        model_calls: 0,
        http_retries: 1,
        stream_reissues: 1,
        stall_reissues: 1,
        param_degrades: 0,
        credential_refreshes: 0,
        stream_fallbacks: 0,
        fallback_hops: 2,
        malformed_repairs: 0,
        blank_nudges: 0,
        continuations: 0,
        pauses: 0,
        structured_retries: 0,
        anomalies: 0,
        head_trims: 0,
        least_output: 0,
        tasks: 0,
        guard_retries: 0,
        stop_hook_blocks: 0,
        hook_failures: 1,
        parallel_tools: 2,
        inbox: 1,
        user_messages: 1,
        calls_per_response: 4,
        ..Limits::default()
    }
}

/// A profile in which nothing happens but an answer in one block.
#[must_use]
pub fn base(name: &'static str) -> Profile {
    Profile {
        name,
        config: RunConfig {
            candidates: vec![candidate("a")],
            limits: small_limits(),
            ..RunConfig::default()
        },
        says: vec![vec![]],
        interrupts: true,
        blocks: vec![BlockKind::Text],
        calls: vec![],
        max_blocks: 1,
        stops: vec![StopReason::EndOfTurn],
        failures: vec![],
        stream_errors: false,
        tool_statuses: vec![ToolStatus::Succeeded],
        compactions: vec![],
        hook_answers: vec![],
        spent: Spent::default(),
        usages: vec![],
        decisions: vec![],
        stores: vec![],
        recalls: vec![],
        refreshes: vec![],
        verdicts: vec![],
        strays: false,
        benign_bound: 60,
        max_states: u64::MAX,
    }
}

fn call(tool: &'static str, safety: Safety) -> CallTemplate {
    CallTemplate::new(tool, safety)
}

fn failures(classes: &[ErrorClass]) -> Vec<Failure> {
    classes.iter().map(|class| Failure::new(*class, "f")).collect()
}

fn answers() -> Profile {
    let mut profile = base("answers: text, thinking, every stop reason, words in between");
    profile.blocks = vec![BlockKind::Text, BlockKind::Thinking, BlockKind::Opaque];
    profile.stops = vec![
        StopReason::EndOfTurn,
        StopReason::OutputLimit,
        StopReason::Refused,
        StopReason::Filtered,
        StopReason::Other,
    ];
    profile.failures = failures(&[ErrorClass::Auth, ErrorClass::IdleTimeout]);
    profile.config.limits.user_messages = 2;
    profile.config.limits.blank_nudges = 1;
    profile.config.limits.continuations = 1;
    profile
}

fn pauses() -> Profile {
    let mut profile = base("pauses: a response that goes back to be resumed");
    profile.blocks = vec![BlockKind::Text, BlockKind::Opaque];
    profile.max_blocks = 2;
    profile.stops = vec![StopReason::Paused, StopReason::EndOfTurn, StopReason::WindowExceeded];
    profile.config.limits.pauses = 1;
    profile.config.limits.user_messages = 2;
    profile
}

fn tools(early_start: EarlyStart) -> Profile {
    let mut profile =
        base("tools: two calls, concurrent or not, early or not, broken and interrupted");
    profile.config.tools = vec![tool("read", true), tool("note", false), tool("write", false)];
    profile.config.policy = Policy { early_start, ..Policy::default() };
    profile.config.limits.http_retries = 0;
    profile.config.limits.stall_reissues = 0;
    profile.calls = vec![
        call("read", Safety::Concurrent),
        call("note", Safety::Concurrent),
        call("write", Safety::Exclusive),
    ];
    profile.blocks = vec![];
    profile.max_blocks = 2;
    profile.stops = vec![StopReason::ToolUse, StopReason::EndOfTurn, StopReason::OutputLimit];
    profile.failures = failures(&[ErrorClass::Transport, ErrorClass::BadRequest]);
    profile.tool_statuses = vec![ToolStatus::Succeeded, ToolStatus::Cancelled];
    profile.stream_errors = true;
    profile.config.limits.user_messages = 2;
    profile
}

fn exclusive_early() -> Profile {
    let mut profile = tools(EarlyStart::All);
    profile.name = "exclusive early: every call may start at the end of its block";
    profile.blocks = vec![BlockKind::Text];
    profile.calls = vec![call("write", Safety::Exclusive), call("read", Safety::Concurrent)];
    profile.tool_statuses = ToolStatus::ALL.to_vec();
    profile.stops = vec![StopReason::ToolUse];
    profile
}

fn repairs() -> Profile {
    let mut profile =
        base("repairs: unknown, malformed and invalid calls, a forced tool, two rounds");
    profile.config.tools = vec![tool("read", true)];
    profile.config.force_tool = String::from("read");
    profile.config.limits.malformed_repairs = 1;
    profile.config.limits.tool_rounds = 2;
    profile.config.limits.continuations = 1;
    profile.interrupts = false;
    let problem = String::from("p");
    let mut unnamed = call("read", Safety::Concurrent);
    unnamed.named = false;
    let mut malformed = call("read", Safety::Exclusive);
    malformed.args = ArgsVerdict::Malformed { at: 1, problem: problem.clone() };
    let mut invalid = call("read", Safety::Exclusive);
    invalid.args = ArgsVerdict::Invalid { path: String::from("/x"), problem };
    profile.calls = vec![call("reed", Safety::Exclusive), unnamed, malformed, invalid];
    profile.blocks = vec![];
    profile.stops = vec![StopReason::ToolUse, StopReason::OutputLimit];
    profile
}

fn guard() -> Profile {
    let mut profile = base("guard: required tools, called, failed or forgotten");
    profile.config.tools = vec![tool("submit", false), tool("sign", false)];
    let rule = |tools: &[&str]| Rule::new("w", tools);
    profile.config.rules = vec![rule(&["submit"]), rule(&["sign", "submit"])];
    profile.config.limits.guard_retries = 1;
    profile.config.limits.tool_rounds = 2;
    profile.config.limits.user_messages = 2;
    profile.says = vec![vec![RuleId(0)], vec![RuleId(0), RuleId(1)]];
    profile.calls = vec![call("submit", Safety::Exclusive)];
    profile.tool_statuses = vec![ToolStatus::Succeeded, ToolStatus::Failed];
    profile.stops = vec![StopReason::EndOfTurn];
    profile.interrupts = false;
    profile
}

fn doom() -> Profile {
    let mut profile = base("doom: one call again and again, in one response and in many");
    profile.config.tools = vec![tool("peek", true)];
    profile.config.limits.tool_rounds = 5;
    // Words that come while the last repetition runs are given back unread.
    profile.config.limits.user_messages = 2;
    profile.calls = vec![call("peek", Safety::Exclusive)];
    profile.calls[0].named = false;
    profile.blocks = vec![];
    profile.max_blocks = 4;
    profile.stops = vec![StopReason::ToolUse];
    profile.interrupts = false;
    profile
}

fn hooks() -> Profile {
    let mut profile = base("hooks: two stop hooks that allow, block, go on, halt and fail");
    let hook = |name: &str| HookSpec::new(name);
    profile.config.stop_hooks = vec![hook("h1"), hook("h2")];
    profile.config.limits.stop_hook_blocks = 1;
    profile.config.limits.hook_failures = 2;
    profile.config.limits.user_messages = 2;
    let text = || String::from("r");
    profile.hook_answers = vec![
        HookAnswer::Allowed,
        HookAnswer::Blocked { reason: text() },
        HookAnswer::Continued { context: text() },
        HookAnswer::Halted { reason: text() },
        HookAnswer::Failed { problem: text() },
    ];
    profile
}

fn fallback(preset: Preset) -> Profile {
    let mut profile = base("fallback: three candidates and every class of failure");
    profile.config.candidates = vec![candidate("a"), candidate("b"), candidate("c")];
    profile.config.policy.preset = preset;
    profile.failures = failures(ErrorClass::ALL);
    let mut soon = Failure::new(ErrorClass::Throttled, "soon");
    soon.retry_after_ms = Some(10);
    let mut late = Failure::new(ErrorClass::Throttled, "late");
    late.retry_after_ms = Some(u64::MAX);
    profile.failures.extend([soon, late]);
    profile.stream_errors = true;
    profile.config.limits.user_messages = 2;
    profile
}

fn fallback_with_reads() -> Profile {
    let mut profile = fallback(Preset::SwitchFirst);
    profile.name = "fallback with reads: early reads are discarded with their response";
    profile.config.tools = vec![tool("read", true)];
    profile.calls = vec![call("read", Safety::Concurrent)];
    profile
}

fn windows() -> Profile {
    let mut profile = base("windows: a view that fits some candidates and not others");
    let sized = |name: &str, context_window| Candidate { context_window, ..candidate(name) };
    profile.config.candidates = vec![sized("a", 60), sized("b", 5), sized("c", 50)];
    profile.config.limits.fallback_hops = 1;
    profile.config.limits.continuations = 3;
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    profile.failures = failures(&[ErrorClass::ModelNotFound, ErrorClass::ServerError]);
    profile
}

fn compaction(compact: Compactor) -> Profile {
    let mut profile = base("compaction: a small window fills up, is summarised, or cannot be");
    profile.config.candidates[0].context_window = 200;
    profile.config.policy.compact = compact;
    let limits = &mut profile.config.limits;
    (limits.keep_entries, limits.compactions) = (1, 3);
    (limits.compact_failures, limits.rapid_refills) = (1, 1);
    (limits.continuations, limits.user_messages) = (3, 2);
    profile.interrupts = compact == Compactor::Summary;
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    let summary = |text: &str| Compaction::Summarised { text: text.into(), archive: String::new() };
    profile.compactions = vec![
        summary("a summary that is long enough"),
        summary(&"a summary that is longer than what it sums up ".repeat(10)),
        summary("too short"),
    ];
    profile
}

fn cramped() -> Profile {
    let mut profile = compaction(Compactor::Off);
    profile.name = "cramped: a window so small that cutting the oldest part away does not help";
    profile.config.candidates[0].context_window = 45;
    profile.strays = false;
    profile
}

fn overflow() -> Profile {
    let mut profile = compaction(Compactor::Summary);
    profile.name = "overflow: the provider says that it does not fit";
    let sized = |name: &str, context_window| Candidate { context_window, ..candidate(name) };
    profile.config.candidates = vec![sized("a", 240), sized("b", 150), sized("c", 400)];
    profile.config.limits.continuations = 2;
    profile.config.limits.user_messages = 1;
    profile.compactions.push(Compaction::Failed { problem: String::from("p") });
    profile.failures = failures(&[ErrorClass::ContextOverflow]);
    profile
}

fn ceiling() -> Profile {
    let mut profile = base("ceiling: fewer requests than the other budgets would allow");
    profile.config.limits.model_calls = 2;
    profile.config.limits.http_retries = 3;
    profile.config.limits.continuations = 3;
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    profile.failures = failures(&[ErrorClass::ServerError]);
    profile.config.limits.user_messages = 2;
    profile.strays = true;
    profile
}

fn ceiling_with_reads() -> Profile {
    let mut profile = ceiling();
    profile.name = "ceiling with reads: the last request dies while an early read runs";
    profile.config.limits.model_calls = 1;
    profile.config.limits.user_messages = 1;
    profile.config.tools = vec![tool("read", true)];
    profile.calls = vec![call("read", Safety::Concurrent)];
    profile.strays = false;
    profile
}

fn refused() -> Profile {
    let mut profile = base("refused: a configuration that cannot work");
    profile.config.candidates.clear();
    profile
}
