//! Draws what a run is configured with, and what its tools, hooks and user do.

use machine_spec::config::{
    Candidate, DeferredCall, FailMode, HookPoint, HookSpec, Rule, RunConfig, ToolKind, ToolSpec,
};
use machine_spec::ids::RuleId;
use machine_spec::input::{
    CallEdit, Decision, GrantScope, HookAnswer, InterruptedBy, OutputVerdict, Recall, Refresh,
    Stored, ToolStatus,
};
use machine_spec::limits::Limits;
use machine_spec::model::{ArgsVerdict, CallFacts, Permission, Safety};
use machine_spec::policy::{Compactor, Denial, EarlyStart, Policy, Preset, Tasks};
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
    for (name, safety, _) in TOOLS {
        let permission = if size.configuration { permission(chooser) } else { Permission::Allow };
        let plan = ToolPlan { safety, permission, ..ToolPlan::default() };
        scenario.tools.insert(name.into(), plan);
    }
    scenario
}

/// What the rules say about a tool: mostly nothing.
fn permission(chooser: &mut Chooser) -> Permission {
    match chooser.pick(16) {
        0..=2 => Permission::Ask,
        3 => Permission::Deny { reason: "not here".into() },
        4 => Permission::OutOfScope,
        _ => Permission::Allow,
    }
}

/// What a tool is: mostly plain.
fn kind(chooser: &mut Chooser) -> ToolKind {
    match chooser.pick(10) {
        0 => ToolKind::Task,
        1 => ToolKind::ChildTask,
        2 => ToolKind::Child,
        _ => ToolKind::Plain,
    }
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
    config.policy = policy(chooser);
    for tool in &mut config.tools {
        tool.kind = kind(chooser);
    }
    for candidate in &mut config.candidates {
        candidate.refreshable = chooser.chance(1, 3);
    }
    if chooser.chance(1, 4) {
        let tool = TOOLS[chooser.pick(3) as usize].0;
        config.rules = vec![Rule::new("go", &[tool])];
    }
    config.stop_hooks = hooks(chooser, "stop", 4);
    config.tool_hooks = hooks(chooser, "tool", 8);
    if let Some(hook) = config.tool_hooks.first_mut()
        && chooser.chance(1, 2)
    {
        hook.on_failure = FailMode::Closed;
    }
    config.batch_hooks = hooks(chooser, "batch", 8);
    config.compact_hooks = hooks(chooser, "compact", 8);
    if chooser.chance(1, 12) {
        config.force_tool = TOOLS[0].0.into();
    }
}

/// One or two hooks in two of so many configurations.
fn hooks(chooser: &mut Chooser, name: &str, one_of: u32) -> Vec<HookSpec> {
    let count = match chooser.pick(one_of) {
        n @ 0..=1 => n + 1,
        _ => 0,
    };
    (0..count).map(|n| HookSpec::new(&format!("{name}{n}"))).collect()
}

fn policy(chooser: &mut Chooser) -> Policy {
    let compact = *chooser.one_of(Compactor::ALL).unwrap_or(&Compactor::Off);
    Policy {
        preset: *chooser.one_of(Preset::ALL).unwrap_or(&Preset::Balanced),
        early_start: *chooser.one_of(EarlyStart::ALL).unwrap_or(&EarlyStart::Safe),
        compact,
        truncate: chooser.chance(1, 2),
        recall: chooser.chance(1, 8),
        flush: compact != Compactor::Off && chooser.chance(1, 4),
        wrap_up: chooser.chance(1, 4),
        denial: *chooser.one_of(Denial::ALL).unwrap_or(&Denial::One),
        tasks: *chooser.one_of(Tasks::ALL).unwrap_or(&Tasks::Wait),
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
        param_degrades: chooser.pick(2),
        credential_refreshes: chooser.pick(2),
        stream_fallbacks: chooser.pick(2),
        anomalies: [0, 0, 0, 3][chooser.pick(4) as usize],
        tasks: chooser.pick(4),
        parallel_tasks: 1 + chooser.pick(2),
        child_depth: chooser.pick(2),
        // What a tool says is longer than four bytes.
        inline_result_bytes: [1 << 20, 1 << 20, 4][chooser.pick(3) as usize],
        tokens: [0, 0, 0, 40][chooser.pick(4) as usize],
        wall_ms: [0, 0, 0, 30][chooser.pick(4) as usize],
        task_wait_ms: [1, 5, 1_000][chooser.pick(3) as usize],
        inbox: 1 + chooser.pick(2),
        user_messages: 1 + chooser.pick(4),
        ..Limits::default()
    }
}

/// Draws what tools, hooks and the user do.
pub(super) fn draw_world(chooser: &mut Chooser, size: Size, scenario: &mut Scenario) {
    for (name, ..) in TOOLS {
        let runs = (0..if size.configuration { 1 + chooser.pick(3) } else { 1 })
            .map(|n| tool_run(chooser, size, name, n))
            .collect();
        if let Some(plan) = scenario.tools.get_mut(name) {
            plan.runs = runs;
        }
    }
    let points: Vec<HookPoint> = scenario.config.hooks().map(|(_, point, _)| point).collect();
    scenario.hooks = points.into_iter().map(|point| hook_plan(chooser, point)).collect();
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
    scenario.approvals = (0..chooser.pick(5)).map(|_| approval(chooser)).collect();
    scenario.stores = (0..chooser.pick(4)).map(|n| stored(chooser, n)).collect();
    let refreshes = (0..chooser.pick(3)).map(|_| match chooser.chance(2, 3) {
        true => Refresh::Refreshed,
        false => Refresh::Failed { problem: "expired".into() },
    });
    scenario.refreshes = refreshes.collect();
    let recalls = (0..chooser.pick(3)).map(|n| match chooser.pick(4) {
        0 => Recall::Failed { problem: "gone".into() },
        1 => Recall::Nothing,
        _ => Recall::Found { text: format!("remembered {n}") },
    });
    scenario.recalls = recalls.collect();
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
        scenario.approvals.insert(0, Approval::at_once(decision));
    }
}

/// What somebody decides about a call, and when.
fn approval(chooser: &mut Chooser) -> Approval {
    let decision = match chooser.pick(12) {
        0 => Decision::Denied { reason: "no".into() },
        1 => Decision::TimedOut,
        2 => Decision::Queued { ticket: "t".into() },
        3 => Decision::Deferred,
        4 => Decision::NoVerdict,
        5 => {
            let (args, facts) = edited(chooser);
            Decision::Edited { args, facts }
        }
        6 => Decision::AllowedAlways { scope: GrantScope::Call },
        7 => Decision::AllowedAlways { scope: GrantScope::Tool },
        _ => Decision::Allowed,
    };
    Approval { decision, delay_ms: [0, 0, 3, 40][chooser.pick(4) as usize] }
}

/// The arguments that somebody puts in the place of the model's own, and the verdict over them: the
/// same arguments are the same call, and they may be as wrong as any.
fn edited(chooser: &mut Chooser) -> (String, CallFacts) {
    let (args, verdict, safety) = match chooser.pick(3) {
        0 => {
            let wrong = ArgsVerdict::Invalid { path: "/n".into(), problem: "no".into() };
            ("{\"n\":\"x\"}", wrong, Safety::Exclusive)
        }
        1 => ("{\"n\":98}", ArgsVerdict::Valid { canonical: 98 }, Safety::Concurrent),
        _ => ("{\"n\":99}", ArgsVerdict::Valid { canonical: 99 }, Safety::Exclusive),
    };
    (args.into(), CallFacts::new(verdict, safety))
}

fn stored(chooser: &mut Chooser, n: u32) -> Stored {
    match chooser.chance(1, 3) {
        true => Stored::Failed { problem: "full".into() },
        false => Stored::Kept { reference: format!("kept/{n}") },
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

fn hook_plan(chooser: &mut Chooser, point: HookPoint) -> HookPlan {
    let answers = (0..1 + chooser.pick(3)).map(|_| match point {
        HookPoint::Tool => tool_hook_answer(chooser),
        HookPoint::Stop | HookPoint::Batch | HookPoint::Compact => hook_answer(chooser),
    });
    let answers = answers.collect();
    HookPlan { answers, delay_ms: u64::from(chooser.pick(3)), ..HookPlan::default() }
}

fn hook_answer(chooser: &mut Chooser) -> HookAnswer {
    match chooser.pick(8) {
        0 | 1 => HookAnswer::Blocked { reason: "not yet".into() },
        2 => HookAnswer::Continued { context: "and".into() },
        3 => HookAnswer::Halted { reason: "stop".into() },
        4 => HookAnswer::Failed { problem: "broken".into() },
        _ => HookAnswer::Allowed,
    }
}

fn tool_hook_answer(chooser: &mut Chooser) -> HookAnswer {
    match chooser.pick(10) {
        0 => HookAnswer::Denied { reason: "never".into() },
        1 => {
            let edit = chooser.chance(1, 2).then(|| {
                let (args, facts) = edited(chooser);
                Box::new(CallEdit { args, facts })
            });
            HookAnswer::Asked { reason: "is that wanted?".into(), edit }
        }
        2 => {
            let (args, facts) = edited(chooser);
            HookAnswer::Edited { args, facts }
        }
        3 => HookAnswer::Deferred,
        4 => hook_answer(chooser),
        _ => HookAnswer::Allowed,
    }
}
