//! What a run is configured with: candidates, tools, hooks, requirements, limits, policy.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::flags::Flags;
use crate::ids::HookId;
use crate::limits::Limits;
use crate::model::{CallFacts, Usage, closed_enum};
use crate::policy::{Compactor, Policy, Tasks};
use crate::transcript::Transcript;

/// The word that forces some tool without naming one.
pub const ANY_TOOL: &str = "*";

/// Everything that is known before the first input. It is part of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The fallback chain, first choice first.
    pub candidates: Vec<Candidate>,
    /// The tools that may be called. `start` sorts them by name, so that their order in a request
    /// never depends on the order of declaration (B040).
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// The stop hooks, in the order in which their answers are weighed.
    #[serde(default)]
    pub stop_hooks: Vec<HookSpec>,
    /// The hooks that are asked about every call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_hooks: Vec<HookSpec>,
    /// The hooks that see every complete batch of results before the model does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch_hooks: Vec<HookSpec>,
    /// The hooks that are asked before a compaction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compact_hooks: Vec<HookSpec>,
    /// The required-tool rules.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// The system prompt; may be empty.
    #[serde(default)]
    pub system: String,
    /// The tool the first request must call; [`ANY_TOOL`] for whichever the model wants, empty for
    /// none.
    #[serde(default)]
    pub force_tool: String,
    /// The JSON Schema that the answer must satisfy, as JSON text; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_schema: String,
    /// The names of the runs from the outermost to this one; empty for a run that is nobody's
    /// child. Approvals carry it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<String>,
    /// The call that an earlier run of the session left pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<DeferredCall>,
    /// Every bound.
    #[serde(default)]
    pub limits: Limits,
    /// Every choice between two lawful behaviours.
    #[serde(default)]
    pub policy: Policy,
    /// What was said in earlier runs of the session.
    #[serde(default)]
    pub history: Transcript,
    /// Numbered behaviour flags for old recordings.
    #[serde(default)]
    pub flags: Flags,
}

/// One model behind one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Candidate {
    /// Name of the endpoint in the configuration.
    pub name: String,
    /// Model as the endpoint knows it.
    pub model: String,
    /// Context window in tokens; 0 when unknown (then nothing is refused for its size).
    pub context_window: u64,
    /// Tokens of the window that are reserved for the output.
    pub max_output: u64,
    /// What it costs; absent when that is not known, which is not nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Whether its credential can be looked up again when it is not accepted.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub refreshable: bool,
}

/// Tokens that providers add to a request themselves and count: a preamble of their own, and one for
/// tools. Recorded requests of 42 vendors show no more, but for two (`wire/tests/outbound/reading.rs`).
const PREAMBLE: u64 = 500;

impl Candidate {
    /// Tokens of its window that input and output may fill between them: all but what the provider may
    /// add (of a small window, a hundredth).
    pub(crate) fn usable_window(&self) -> u64 {
        self.context_window - PREAMBLE.min(self.context_window / 100)
    }
}

/// What tokens cost, in billionths of a dollar for one token: three dollars for a million tokens
/// are 3,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the prompt cache.
    pub cache_read: u64,
    /// Input written to the prompt cache.
    pub cache_write: u64,
    /// What a request costs whose input is long, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrice>,
}

/// What all tokens of a request cost whose input is longer than a threshold; units as in [`Price`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPrice {
    /// The threshold, in tokens of the whole input, however they were read.
    pub above: u64,
    /// Input.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the prompt cache.
    pub cache_read: u64,
    /// Input written to the prompt cache.
    pub cache_write: u64,
}

impl Price {
    /// What this usage costs, in billionths of a dollar. Unreported parts cost nothing here.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> u64 {
        let input = usage.whole_input().unwrap_or(0);
        let prices = match self.long {
            Some(long) if input > long.above => {
                [long.input, long.output, long.cache_read, long.cache_write]
            }
            Some(_) | None => [self.input, self.output, self.cache_read, self.cache_write],
        };
        let counts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let costs = counts.into_iter().zip(prices);
        costs.fold(0, |sum, (n, price)| sum.saturating_add(n.unwrap_or(0).saturating_mul(price)))
    }
}

/// A call that a run left pending.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeferredCall {
    /// Name of the tool.
    pub name: String,
    /// The arguments, as JSON text.
    pub args: String,
    /// What the edge found out about them.
    pub facts: CallFacts,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments, as JSON text.
    pub input_schema: String,
    /// Whether it has no effect on the world: a started call may then be discarded with the
    /// response it came from.
    pub read_only: bool,
    /// What a call of it is.
    #[serde(default, skip_serializing_if = "ToolKind::is_plain")]
    pub kind: ToolKind,
}

closed_enum! {
    /// What a call of a tool is.
    #[derive(Default)]
    ToolKind {
        /// Something that ends before the model goes on.
        #[default]
        Plain = "plain",
        /// A background task: its result is an acknowledgement.
        Task = "task",
        /// A child run that ends before the model goes on.
        Child = "child",
        /// A child run in the background.
        ChildTask = "child_task",
    }
}

impl ToolKind {
    const fn is_plain(&self) -> bool {
        match self {
            ToolKind::Plain => true,
            ToolKind::Task | ToolKind::Child | ToolKind::ChildTask => false,
        }
    }

    /// Whether a call of it runs on in the background.
    #[must_use]
    pub const fn is_task(self) -> bool {
        match self {
            ToolKind::Task | ToolKind::ChildTask => true,
            ToolKind::Plain | ToolKind::Child => false,
        }
    }

    /// Whether a call of it is a run of its own.
    #[must_use]
    pub const fn is_child(self) -> bool {
        match self {
            ToolKind::Child | ToolKind::ChildTask => true,
            ToolKind::Plain | ToolKind::Task => false,
        }
    }
}

/// A hook of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HookSpec {
    /// Name for people.
    pub name: String,
    /// What its failure means. Only a tool hook may fail closed.
    #[serde(default, skip_serializing_if = "FailMode::is_open")]
    pub on_failure: FailMode,
}

closed_enum! {
    /// What the failure of a hook means.
    #[derive(Default)]
    FailMode {
        /// Nothing: the run goes on.
        #[default]
        Open = "open",
        /// The call it was asked about does not run.
        Closed = "closed",
    }
}

impl FailMode {
    const fn is_open(&self) -> bool {
        match self {
            FailMode::Open => true,
            FailMode::Closed => false,
        }
    }
}

closed_enum! {
    /// What a hook is asked about.
    HookPoint {
        /// The end of the turn.
        Stop = "stop",
        /// A call.
        Tool = "tool",
        /// A complete batch of results.
        Batch = "batch",
        /// A compaction.
        Compact = "compact",
    }
}

/// When the user's words match `when`, each of `tools` must be called successfully.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// The pattern, for people; it is matched at the edge.
    pub when: String,
    /// The required tools.
    pub tools: Vec<String>,
    /// Whether they must be called in this order: a later one is refused until the earlier ones
    /// have succeeded.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub ordered: bool,
    /// The arguments that a call must have to count, by tool: a JSON object whose members it must
    /// hold. It is matched at the edge.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
}

impl Rule {
    /// A rule that requires these tools, in any order, with any arguments.
    #[must_use]
    pub fn new(when: &str, tools: &[&str]) -> Rule {
        let tools = tools.iter().map(|tool| String::from(*tool)).collect();
        Rule { when: when.into(), tools, ordered: false, args: BTreeMap::new() }
    }
}

impl HookSpec {
    /// A hook whose failure means nothing.
    #[must_use]
    pub fn new(name: &str) -> HookSpec {
        HookSpec { name: name.into(), on_failure: FailMode::Open }
    }
}

/// A fault of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fault {
    /// Where: a field path such as `rules[0].tools[1]`.
    pub at: String,
    /// What is wrong with it.
    pub kind: FaultKind,
    /// The value that was found there.
    pub found: String,
}

closed_enum! {
    /// What can be wrong with a configuration.
    FaultKind {
        /// The fallback chain is empty.
        NoCandidate = "no_candidate",
        /// Two candidates are the same model behind the same endpoint name.
        DuplicateCandidate = "duplicate_candidate",
        /// A name is empty.
        EmptyName = "empty_name",
        /// Two tools have the same name.
        DuplicateTool = "duplicate_tool",
        /// No tool has this name.
        UnknownTool = "unknown_tool",
        /// Only a tool hook may fail closed.
        CannotFailClosed = "cannot_fail_closed",
        /// There is a money budget, and nobody knows what this candidate costs.
        UnknownPrice = "unknown_price",
        /// Memory should see what a compaction takes away, and compaction is off.
        NothingToFlush = "nothing_to_flush",
        /// A tool is forced, and no tool round is allowed.
        ForcedWithoutRounds = "forced_without_rounds",
        /// A rule requires nothing.
        EmptyRule = "empty_rule",
        /// A bound is too small for anything to happen.
        LimitTooSmall = "limit_too_small",
        /// A bound is so large that the closed-form bound of the run is not a number any more.
        LimitTooLarge = "limit_too_large",
        /// The output reserve leaves nothing of the window.
        WindowTooSmall = "window_too_small",
        /// The history of the session is not paired.
        HistoryUnpaired = "history_unpaired",
    }
}

impl RunConfig {
    /// All faults, in the order of the fields.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.judge_candidates(&mut faults);
        self.judge_tools(&mut faults);
        self.judge_rules(&mut faults);
        self.judge_hooks(&mut faults);
        self.judge_limits(&mut faults);
        self.judge_budgets(&mut faults);
        if let Some(at) = self.history.first_unpaired() {
            faults.push(fault(format!("history[{at}]"), FaultKind::HistoryUnpaired, ""));
        }
        faults
    }

    fn judge_candidates(&self, faults: &mut Vec<Fault>) {
        if self.candidates.is_empty() {
            faults.push(fault("candidates".into(), FaultKind::NoCandidate, ""));
        }
        let mut seen = BTreeSet::new();
        for (i, candidate) in self.candidates.iter().enumerate() {
            if candidate.name.is_empty() {
                faults.push(fault(format!("candidates[{i}].name"), FaultKind::EmptyName, ""));
            }
            if candidate.model.is_empty() {
                faults.push(fault(format!("candidates[{i}].model"), FaultKind::EmptyName, ""));
            }
            if !seen.insert((&candidate.name, &candidate.model)) {
                let at = format!("candidates[{i}]");
                faults.push(fault(at, FaultKind::DuplicateCandidate, &candidate.name));
            }
            if candidate.context_window != 0 && candidate.max_output >= candidate.context_window {
                let at = format!("candidates[{i}].max_output");
                let found = format!("{}", candidate.max_output);
                faults.push(fault(at, FaultKind::WindowTooSmall, &found));
            }
        }
    }

    fn judge_tools(&self, faults: &mut Vec<Fault>) {
        let mut seen = BTreeSet::new();
        for (i, tool) in self.tools.iter().enumerate() {
            if tool.name.is_empty() {
                faults.push(fault(format!("tools[{i}].name"), FaultKind::EmptyName, ""));
            }
            if !seen.insert(&tool.name) {
                faults.push(fault(format!("tools[{i}]"), FaultKind::DuplicateTool, &tool.name));
            }
        }
        if !self.force_tool.is_empty() && self.limits.tool_rounds == 0 {
            let at = "force_tool".into();
            faults.push(fault(at, FaultKind::ForcedWithoutRounds, &self.force_tool));
        }
        let named = !matches!(self.force_tool.as_str(), "" | ANY_TOOL);
        if named && self.tool(&self.force_tool).is_none() {
            faults.push(fault("force_tool".into(), FaultKind::UnknownTool, &self.force_tool));
        }
    }

    fn judge_rules(&self, faults: &mut Vec<Fault>) {
        for (i, rule) in self.rules.iter().enumerate() {
            if rule.tools.is_empty() {
                faults.push(fault(format!("rules[{i}].tools"), FaultKind::EmptyRule, &rule.when));
            }
            for tool in rule.args.keys().filter(|tool| !rule.tools.contains(tool)) {
                faults.push(fault(format!("rules[{i}].args"), FaultKind::UnknownTool, tool));
            }
            for (j, tool) in rule.tools.iter().enumerate() {
                if self.tool(tool).is_none() {
                    let at = format!("rules[{i}].tools[{j}]");
                    faults.push(fault(at, FaultKind::UnknownTool, tool));
                }
            }
        }
    }

    fn judge_hooks(&self, faults: &mut Vec<Fault>) {
        for (_, point, hook) in self.hooks() {
            if point != HookPoint::Tool && hook.on_failure == FailMode::Closed {
                let at = format!("{point}_hooks.{}.on_failure", hook.name);
                faults.push(fault(at, FaultKind::CannotFailClosed, "closed"));
            }
        }
    }

    /// What contradicts itself about budgets and children.
    fn judge_budgets(&self, faults: &mut Vec<Fault>) {
        if self.limits.nanos > 0 {
            for (i, candidate) in self.candidates.iter().enumerate() {
                if candidate.price.is_none() {
                    let at = format!("candidates[{i}].price");
                    faults.push(fault(at, FaultKind::UnknownPrice, &candidate.model));
                }
            }
        }
        if self.policy.flush && self.policy.compact == Compactor::Off {
            faults.push(fault("policy.flush".into(), FaultKind::NothingToFlush, "off"));
        }
        if self.policy.tasks == Tasks::Wait && self.limits.task_wait_ms == 0 {
            let wants = self.tools.iter().any(|tool| tool.kind.is_task());
            if wants {
                faults.push(fault("limits.task_wait_ms".into(), FaultKind::LimitTooSmall, "0"));
            }
        }
    }

    fn judge_limits(&self, faults: &mut Vec<Fault>) {
        let limits = &self.limits;
        for (name, value) in [
            ("parallel_tools", limits.parallel_tools),
            ("inbox", limits.inbox),
            ("user_messages", limits.user_messages),
            ("calls_per_response", limits.calls_per_response),
            ("hook_failures", limits.hook_failures),
        ] {
            if value == 0 {
                let at = format!("limits.{name}");
                faults.push(fault(at, FaultKind::LimitTooSmall, "0"));
            }
        }
        if self.candidates.len() > usize::from(u16::MAX)
            || crate::bound::model_calls(self).is_none()
        {
            faults.push(fault("limits".into(), FaultKind::LimitTooLarge, ""));
        }
    }

    /// All hooks with what they are asked about, in the order of their ids.
    pub fn hooks(&self) -> impl Iterator<Item = (HookId, HookPoint, &HookSpec)> {
        self.stop_hooks
            .iter()
            .map(|hook| (HookPoint::Stop, hook))
            .chain(self.tool_hooks.iter().map(|hook| (HookPoint::Tool, hook)))
            .chain(self.batch_hooks.iter().map(|hook| (HookPoint::Batch, hook)))
            .chain(self.compact_hooks.iter().map(|hook| (HookPoint::Compact, hook)))
            .enumerate()
            .map(|(at, (point, hook))| (HookId(at as u16), point, hook))
    }

    /// The hook with this id.
    #[must_use]
    pub fn hook(&self, id: HookId) -> Option<&HookSpec> {
        self.hooks().nth(usize::from(id.0)).map(|(_, _, hook)| hook)
    }

    /// The tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

fn fault(at: String, kind: FaultKind, found: &str) -> Fault {
    Fault { at, kind, found: found.into() }
}
