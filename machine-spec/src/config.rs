//! What a run is configured with: candidates, tools, hooks, requirements, limits, policy.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::flags::Flags;
use crate::limits::Limits;
use crate::model::closed_enum;
use crate::policy::Policy;
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Candidate {
    /// Name of the endpoint in the configuration.
    pub name: String,
    /// Model as the endpoint knows it.
    pub model: String,
    /// Context window in tokens; 0 when unknown (then nothing is refused for its size).
    pub context_window: u64,
    /// Tokens of the window that are reserved for the output.
    pub max_output: u64,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
}

/// A hook of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HookSpec {
    /// Name for people.
    pub name: String,
}

/// When the user's words match `when`, each of `tools` must be called successfully.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// The pattern, for people; it is matched at the edge.
    pub when: String,
    /// The required tools.
    pub tools: Vec<String>,
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
        self.judge_limits(&mut faults);
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
            for (j, tool) in rule.tools.iter().enumerate() {
                if self.tool(tool).is_none() {
                    let at = format!("rules[{i}].tools[{j}]");
                    faults.push(fault(at, FaultKind::UnknownTool, tool));
                }
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

    /// The tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

fn fault(at: String, kind: FaultKind, found: &str) -> Fault {
    Fault { at, kind, found: found.into() }
}
