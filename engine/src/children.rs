//! Child runs: an agent is a tool, and a call of it is a run with a conversation of its own.
//!
//! A child can do less than its parent and never more: its tools are some of the parent's, the
//! rules and hooks that judge calls are the parent's, and it spends what the parent has left. What it
//! comes back with is what it said; how it ended is told in plain words and never as a finding.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use machine_spec::config::{Candidate, RunConfig};
use machine_spec::effect::Allowance;
use machine_spec::ids::CallId;
use machine_spec::input::{ToolReport, ToolStatus};
use machine_spec::limits::Limits;
use machine_spec::message::Entry;
use machine_spec::policy::Tasks;
use machine_spec::terminal::TerminalClass;
use serde_json::Value;

use crate::approve::Approvals;
use crate::clock::Clock;
use crate::driver::{self, Ended, Stage};
use crate::error::EngineError;
use crate::events::{Event, Events, Observer};
use crate::inbox::{Handle, Inputs, Line};
use crate::setup::Setup;

/// An agent: what makes a child run different from its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Name, as the model knows it.
    pub name: String,
    /// Its system prompt.
    pub system: String,
    /// The tools it may call, by name. They are the parent's.
    pub tools: Vec<String>,
    /// The candidates it asks, as `name/model`. Empty for all of its parent's.
    pub chain: Vec<String>,
    /// Its bounds, before the allowance of its parent.
    pub limits: Limits,
}

impl Agent {
    /// A candidate as a chain names it.
    pub(crate) fn link(candidate: &Candidate) -> String {
        format!("{}/{}", candidate.name, candidate.model)
    }
}

/// What a child run is born with, besides its setup.
#[derive(Debug)]
pub(crate) struct Birth {
    pub(crate) call: CallId,
    pub(crate) prompt: String,
    pub(crate) allowance: Allowance,
    pub(crate) recording: Option<PathBuf>,
    pub(crate) session: String,
    pub(crate) clock: Clock,
    /// Whoever is asked for the parent is asked for the child.
    pub(crate) approvals: Approvals,
    /// How it is spoken to.
    pub(crate) speak: Handle,
    /// How its parent's observers hear of it.
    pub(crate) line: Line,
}

/// The recording of a child: beside its parent's, under the name of the call.
pub(crate) fn beside(recording: &Path, call: CallId) -> PathBuf {
    let stem = recording.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    recording.with_file_name(format!("{stem}.{call}.jsonl"))
}

/// What an agent is asked: the schema of its tool wants it.
pub(crate) fn prompt(args: &str) -> String {
    let args: Value = serde_json::from_str(args).unwrap_or_default();
    args.get("prompt").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The setup of a child run; `Err` with a plain sentence if there is nothing left to run it with.
pub(crate) fn setup(parent: &Setup, agent: &Agent, left: &Allowance) -> Result<Setup, String> {
    for (what, left) in [("tokens", left.tokens), ("money", left.nanos)] {
        if left == Some(0) {
            return Err(format!("not started: the budget of {what} is spent"));
        }
    }
    let mut limits = agent.limits.clone();
    limits.tokens = capped(limits.tokens, left.tokens);
    limits.nanos = capped(limits.nanos, left.nanos);
    let asks = |link: &str| agent.chain.is_empty() || agent.chain.iter().any(|one| one == link);
    let may = |name: &str| agent.tools.iter().any(|tool| tool == name);
    let own = &parent.machine;
    let mut lineage = own.lineage.clone();
    lineage.push(agent.name.clone());
    let mut policy = own.policy.clone();
    (policy.recall, policy.flush) = (false, false);
    // Nobody would ever hear of what a child leaves running.
    policy.tasks = match policy.tasks {
        Tasks::Wait | Tasks::Leave => Tasks::Wait,
        Tasks::Cancel => Tasks::Cancel,
    };
    let machine = RunConfig {
        candidates: own.candidates.iter().filter(|one| asks(&Agent::link(one))).cloned().collect(),
        tools: own.tools.iter().filter(|tool| may(&tool.name)).cloned().collect(),
        tool_hooks: own.tool_hooks.clone(),
        batch_hooks: own.batch_hooks.clone(),
        compact_hooks: own.compact_hooks.clone(),
        system: agent.system.clone(),
        lineage,
        limits,
        policy,
        flags: own.flags,
        ..RunConfig::default()
    };
    let mut child = parent.clone();
    child.providers.retain(|one| asks(&format!("{}/{}", one.name, one.model)));
    child.tools.retain(|name, _| may(name));
    child.agents.retain(|name, _| may(name));
    // The hooks stand in the order of their ids, and those of the end of a turn come first.
    child.hooks.drain(..own.stop_hooks.len().min(parent.hooks.len()));
    child.rules = Default::default();
    (child.memory, child.shape) = (None, None);
    child.machine = machine;
    Ok(child)
}

/// The smaller of a limit of its own and what is left; zero is no limit.
fn capped(own: u64, left: Option<u64>) -> u64 {
    match left {
        None => own,
        Some(left) if own == 0 => left,
        Some(left) => own.min(left),
    }
}

/// Lives a child run through to its end, and reports of it.
pub(crate) async fn live(
    agent: Arc<Agent>,
    setup: Result<Setup, String>,
    inputs: Inputs,
    birth: Birth,
) -> ToolReport {
    let setup = match setup {
        Ok(setup) => setup,
        Err(problem) => return ToolReport::new(ToolStatus::Failed, problem),
    };
    let Birth { call, prompt, recording, session, clock, approvals, speak, line, .. } = birth;
    let (name, shown) = (agent.name.clone(), recording.as_deref());
    let shown = shown.map(|path| path.display().to_string());
    line.tell(Event::ChildStarted { call, agent: name.clone(), recording: shown });
    // A run of which nothing was said yet hears everything.
    let _ = speak.say(prompt);
    drop(speak);
    let (observer, events) = Observer::new();
    let approvals = Some(approvals);
    let stage = Stage { recording, clock, session, approvals, ..Stage::default() };
    let run = boxed(setup, inputs, observer, stage);
    let (ended, ()) = tokio::join!(run, pass_on(events, &line, &name));
    match ended {
        Ok(ended) => {
            let spent = ended.state.frame().counters().spent;
            let terminal = ended.terminal.kind();
            line.tell(Event::ChildEnded { call, agent: name, terminal, spent });
            report(&ended)
        }
        Err(error) => {
            let message = format!("agent `{name}`: {error}");
            line.tell(Event::Warning { code: error.code(), message });
            let output = format!("the agent could not be run: {}", error.reason());
            ToolReport::new(ToolStatus::Failed, output)
        }
    }
}

type Run = Pin<Box<dyn Future<Output = Result<Ended, EngineError>> + Send>>;

/// A run within a run: behind a pointer, since its future would otherwise hold its own kind.
fn boxed(setup: Setup, inputs: Inputs, observer: Observer, stage: Stage) -> Run {
    Box::pin(driver::run(setup, inputs, observer, stage))
}

/// Passes on what the parent's observers must know: that something is not as it should be.
async fn pass_on(mut events: Events, line: &Line, agent: &str) {
    while let Some(event) = events.recv().await {
        if let Event::Warning { code, message } = event {
            line.tell(Event::Warning { code, message: format!("agent `{agent}`: {message}") });
        }
    }
}

/// What the parent's model may know of how a child ended.
fn report(ended: &Ended) -> ToolReport {
    let kind = ended.terminal.kind();
    let said = ended.terminal.text().map(str::trim).filter(|text| !text.is_empty());
    let said = said.map(str::to_owned).or_else(|| last_words(ended));
    let in_part = |said: Option<String>| match said {
        Some(said) => {
            let output = format!("[the agent ended with `{kind}` before it was done]\n{said}");
            (ToolStatus::Partial, output)
        }
        None => (ToolStatus::Failed, format!("the agent ended with `{kind}` and said nothing")),
    };
    let (status, output) = match kind.class() {
        TerminalClass::Success => (ToolStatus::Succeeded, said.unwrap_or_default()),
        TerminalClass::Warned | TerminalClass::Limit => in_part(said),
        TerminalClass::Aborted => (ToolStatus::Cancelled, said.unwrap_or_default()),
        // What it said before it failed is no finding.
        TerminalClass::Suspended | TerminalClass::Blocked | TerminalClass::Failed => {
            (ToolStatus::Failed, format!("the agent ended with `{kind}`; it has no answer"))
        }
    };
    let spent = ended.state.frame().counters().spent;
    ToolReport { spent, ..ToolReport::new(status, output) }
}

/// What a child said last, if it said anything.
fn last_words(ended: &Ended) -> Option<String> {
    let transcript = ended.state.frame().transcript();
    transcript.newest_first().find_map(|entry| match entry {
        Entry::Reply(reply) => {
            let text = reply.text();
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        }
        Entry::Said(_) | Entry::Results(_) | Entry::Aside(_) | Entry::Boundary(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use machine_spec::effect::Allowance;
    use machine_spec::ids::CallId;

    use super::{beside, capped, prompt, setup};
    use crate::config::Overrides;
    use crate::setup::Setup;

    const CONFIG: &str = r#"
[[provider]]
name = "a"
dialect = "anthropic"
model = "claude-test-1"
base_url = "http://127.0.0.1:9"
api_key_env = ""

[[provider]]
name = "b"
dialect = "anthropic"
model = "claude-test-2"
base_url = "http://127.0.0.1:9"
api_key_env = ""

[[tool]]
name = "read"
command = ["cat"]

[[tool]]
name = "write"
command = ["tee"]

[[hook]]
event = "Stop"
command = ["true"]

[[require]]
when = "x"
tools = ["write"]

[[agent]]
name = "scout"
description = "looks around"
system = "You look around."
tools = ["read", "scout"]
provider = "b"
limits = { tokens = 500, tool_rounds = 3 }

[policy]
recall = true

[memory]
dir = "m"
"#;

    fn parent() -> Setup {
        let path = Path::new("/nowhere/loopwright.toml");
        let setup = Setup::parse(CONFIG, path, &Overrides::default(), &|_| None);
        setup.unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_child_can_do_less_than_its_parent() {
        let parent = parent();
        let agent = &parent.agents["scout"];
        let left = Allowance { tokens: Some(200), nanos: Some(7), depth: 1 };
        let child = setup(&parent, agent, &left).expect("there is something left");
        let tools: Vec<&str> = child.machine.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(tools, ["read", "scout"]);
        assert_eq!(child.tools.keys().collect::<Vec<_>>(), ["read"]);
        assert_eq!(child.agents.keys().collect::<Vec<_>>(), ["scout"]);
        assert_eq!(child.machine.lineage, ["scout"]);
        assert_eq!(child.machine.system, "You look around.");
        assert_eq!((child.machine.limits.tokens, child.machine.limits.nanos), (200, 7));
        assert_eq!(child.machine.limits.tool_rounds, 3);
        assert_eq!(child.machine.limits.http_retries, parent.machine.limits.http_retries);
        assert_eq!(child.machine.candidates.len(), 1);
        assert_eq!(child.providers[0].model, "claude-test-2");
        assert!(child.hooks.is_empty() && child.machine.rules.is_empty());
        assert!(!child.machine.policy.recall && child.memory.is_none());
        let grandchild = setup(&child, agent, &left);
        assert_eq!(grandchild.expect("there is something left").machine.lineage, ["scout"; 2]);
    }

    #[test]
    fn a_child_is_not_born_where_nothing_is_left() {
        let parent = parent();
        let left = Allowance { tokens: Some(0), ..Allowance::default() };
        let problem = setup(&parent, &parent.agents["scout"], &left).expect_err("nothing is left");
        assert_eq!(problem, "not started: the budget of tokens is spent");
    }

    #[test]
    fn limits_names_and_prompts() {
        assert_eq!((capped(0, None), capped(5, None)), (0, 5));
        assert_eq!((capped(0, Some(3)), capped(5, Some(3)), capped(2, Some(3))), (3, 3, 2));
        let beside = beside(Path::new("runs/run.jsonl"), CallId(3));
        assert_eq!(beside, Path::new("runs/run.call-3.jsonl"));
        assert_eq!(prompt(r#"{"prompt":"look"}"#), "look");
        assert_eq!(prompt("{"), "");
    }
}
