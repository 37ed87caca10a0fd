//! Draws what a run is configured with, and what its tools, hooks and user do.

use machine_spec::config::{Candidate, DeferredCall, HookSpec, Rule, RunConfig, ToolSpec};
use machine_spec::ids::RuleId;
use machine_spec::input::{Decision, HookAnswer, InterruptedBy, OutputVerdict, ToolStatus};
use machine_spec::limits::Limits;
use machine_spec::model::{ArgsVerdict, CallFacts, Permission, Safety};
use machine_spec::policy::{Compactor, EarlyStart, Policy, Preset};
use wire::Dialect;

use super::Size;
use crate::chooser::Chooser;
use crate::scenario::{
    Act, After, Afterwards, Approval, HookPlan, Output, Scenario, ToolPlan, ToolRun, UserAct,
    WhenCancelled,
};

/// The tools of the swarm: name, whether their calls may overlap, whether they only read.
pub(super) const TOOLS: [(&str, Safety, bool); 3] = [
    ("read", Safety::Concurrent, true),
    ("log", Safety::Concurrent, false),
    ("edit", Safety::Exclusive, false),
];

/// Draws the configuration.
pub(super) fn draw(chooser: &mut Chooser, size: Size) -> Scenario {
    let tools = TOOLS.iter().map(|(name, _, read_only)| ToolSpec {
        name: (*name).into(),
        description: String::new(),
        input_schema: "{}".into(),
        read_only: *read_only,
        ..ToolSpec::default()
    });
    let mut config = RunConfig {
        candidates: vec![candidate(0, 0)],
        tools: tools.collect(),
        ..RunConfig::default()
    };
    if size.configuration {
        vary(chooser, &mut config);
    }
    let mut scenario = Scenario::new(config, Dialect::Anthropic, "go");
    scenario.afterwards = Afterwards::Text;
    scenario.most_inputs = 20_000;
    scenario
}

fn candidate(n: u32, context_window: u64) -> Candidate {
    let name = ["a", "b", "c"][n as usize % 3];
    let max_output = if context_window == 0 { 0 } else { 10 };
    Candidate {
        name: name.into(),
        model: "m".into(),
        context_window,
        max_output,
        ..Candidate::default()
    }
}

fn vary(chooser: &mut Chooser, config: &mut RunConfig) {
    let window = [0, 0, 0, 200, 90, 45][chooser.pick(6) as usize];
    config.candidates = (0..1 + chooser.pick(3)).map(|n| candidate(n, window)).collect();
    config.limits = limits(chooser);
    config.policy = Policy {
        preset: *chooser.one_of(Preset::ALL).unwrap_or(&Preset::Balanced),
        early_start: *chooser.one_of(EarlyStart::ALL).unwrap_or(&EarlyStart::Safe),
        compact: *chooser.one_of(Compactor::ALL).unwrap_or(&Compactor::Off),
        truncate: chooser.chance(1, 2),
        ..Policy::default()
    };
    if chooser.chance(1, 4) {
        let tool = TOOLS[chooser.pick(3) as usize].0;
        config.rules = vec![Rule::new("go", &[tool])];
    }
    let hooks = [0, 0, 1, 2][chooser.pick(4) as usize];
    config.stop_hooks = (0..hooks).map(|n| HookSpec::new(&format!("h{n}"))).collect();
    if chooser.chance(1, 12) {
        config.force_tool = TOOLS[0].0.into();
    }
}

fn limits(chooser: &mut Chooser) -> Limits {
    if chooser.chance(1, 4) {
        return Limits::default();
    }
    Limits {
        tool_rounds: 1 + chooser.pick(7),
        model_calls: [0, 0, 0, 4][chooser.pick(4) as usize],
        http_retries: chooser.pick(3),
        stream_reissues: chooser.pick(3),
        stall_reissues: chooser.pick(2),
        fallback_hops: chooser.pick(3),
        malformed_repairs: chooser.pick(3),
        blank_nudges: chooser.pick(3),
        continuations: chooser.pick(3),
        pauses: chooser.pick(3),
        guard_retries: chooser.pick(3),
        stop_hook_blocks: chooser.pick(4),
        hook_failures: 1 + chooser.pick(3),
        compactions: chooser.pick(3),
        compact_failures: chooser.pick(3),
        // One configuration in a hundred cannot work, and says so.
        parallel_tools: if chooser.chance(1, 100) { 0 } else { 1 + chooser.pick(3) },
        inbox: 1 + chooser.pick(2),
        user_messages: 1 + chooser.pick(4),
        ..Limits::default()
    }
}

/// Draws what tools, hooks and the user do.
pub(super) fn draw_world(chooser: &mut Chooser, size: Size, scenario: &mut Scenario) {
    for (name, safety, _) in TOOLS {
        let runs = (0..if size.configuration { 1 + chooser.pick(3) } else { 1 })
            .map(|n| tool_run(chooser, size, name, n))
            .collect();
        scenario.tools.insert(name.into(), ToolPlan { safety, runs, ..ToolPlan::default() });
    }
    scenario.hooks = scenario.config.stop_hooks.iter().map(|_| hook_plan(chooser)).collect();
    if !scenario.config.rules.is_empty()
        && let Act::Says { rules, .. } = &mut scenario.user[0].act
    {
        rules.push(RuleId(0));
    }
    if size.configuration {
        for n in 0..[0, 0, 1, 2][chooser.pick(4) as usize] {
            let after = After::Inputs(u64::from(1 + chooser.pick(40)));
            let act = match chooser.pick(3) {
                0 => Act::Interrupts { by: InterruptedBy::User },
                _ => Act::Says { text: format!("more {n}"), images: Vec::new(), rules: Vec::new() },
            };
            let plus_ms = [0, 0, 3][chooser.pick(3) as usize];
            scenario.user.push(UserAct { act, after, plus_ms });
        }
    }
    if size.configuration {
        guests(chooser, scenario);
    }
}

/// Draws who has a say besides: a schema the answer must satisfy, a call an earlier run left pending.
fn guests(chooser: &mut Chooser, scenario: &mut Scenario) {
    if chooser.chance(1, 10) {
        scenario.config.output_schema = "{}".into();
        scenario.config.limits.structured_retries = chooser.pick(3);
        let misfit = |_| OutputVerdict::Misfits { path: "/x".into(), problem: "no".into() };
        scenario.shapes = (0..chooser.pick(4)).map(misfit).collect();
    }
    if chooser.chance(1, 12) {
        let (name, safety, _) = TOOLS[chooser.pick(3) as usize];
        let name = if chooser.chance(1, 3) { "gone" } else { name };
        let valid = ArgsVerdict::Valid { canonical: 1 };
        let facts = CallFacts { permission: Permission::Ask, ..CallFacts::new(valid, safety) };
        let call = DeferredCall { name: name.into(), args: "{}".into(), facts };
        scenario.config.deferred = Some(call);
        let decisions = [Decision::Deferred, Decision::Allowed, Decision::NoVerdict];
        let decision = decisions[chooser.pick(3) as usize].clone();
        scenario.approvals = vec![Approval::at_once(decision)];
    }
}

fn tool_run(chooser: &mut Chooser, size: Size, name: &str, n: u32) -> ToolRun {
    if !size.configuration {
        return ToolRun::says("o");
    }
    let status = match chooser.pick(8) {
        0 => ToolStatus::Failed,
        1 => ToolStatus::TimedOut,
        2 => ToolStatus::Cancelled,
        _ => ToolStatus::Succeeded,
    };
    ToolRun {
        status,
        output: Output::Text(format!("{name} {n}")),
        delay_ms: [0, 0, 1, 5, 40][chooser.pick(5) as usize],
        when_cancelled: match chooser.pick(3) {
            0 => WhenCancelled::GoesOn,
            1 => WhenCancelled::IsSilent,
            _ => WhenCancelled::Stops,
        },
        ..ToolRun::default()
    }
}

fn hook_plan(chooser: &mut Chooser) -> HookPlan {
    let answers = (0..1 + chooser.pick(3)).map(|_| match chooser.pick(8) {
        0 | 1 => HookAnswer::Blocked { reason: "not yet".into() },
        2 => HookAnswer::Continued { context: "and".into() },
        3 => HookAnswer::Halted { reason: "stop".into() },
        4 => HookAnswer::Failed { problem: "broken".into() },
        _ => HookAnswer::Allowed,
    });
    let answers = answers.collect();
    HookPlan { answers, delay_ms: u64::from(chooser.pick(3)), ..HookPlan::default() }
}
