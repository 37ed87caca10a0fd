//! Every order of completions, cancels and settlements leaves the same history.

use machine_spec::config::{Candidate, HookSpec, RunConfig, ToolSpec};
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Permission, Proof, Safety, StopReason,
};
use machine_spec::policy::EarlyStart;
use replay::scenario::{Afterwards, Answer, Library, Scenario, derive};
use replay::schedules::{Orders, orders};
use wire::Dialect;

use crate::fixtures::runs;

/// A response with these calls, one piece of arguments each.
fn calls(safeties: &[Safety], permission: &Permission) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    for (block, safety) in (0..).zip(safeties) {
        let name = match safety {
            Safety::Concurrent => "read",
            Safety::Exclusive => "edit",
        };
        let kind = BlockKind::Call { wire_id: format!("w{block}"), name: name.into() };
        events.push(ModelEvent::BlockBegan { block, kind });
        events.push(ModelEvent::Delta { block, text: format!("{{\"n\":{block}}}") });
        let args = ArgsVerdict::Valid { canonical: u64::from(block) + 1 };
        let permission = permission.clone();
        let done = BlockEnd::Call(CallFacts { permission, ..CallFacts::new(args, *safety) });
        events.push(ModelEvent::BlockDone { block, proof: Proof::BlockStop, done });
    }
    events.push(ModelEvent::finished(StopReason::ToolUse, "tool_use"));
    events
}

fn scenario(safeties: &[Safety], early_start: EarlyStart, parallel: u32) -> Scenario {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: "{}".into(),
        read_only: false,
        ..ToolSpec::default()
    };
    let mut config = RunConfig {
        candidates: vec![Candidate {
            name: "a".into(),
            model: "m".into(),
            context_window: 0,
            max_output: 0,
            ..Candidate::default()
        }],
        tools: vec![tool("read"), tool("edit")],
        ..RunConfig::default()
    };
    config.policy.early_start = early_start;
    config.limits.parallel_tools = parallel;
    let mut scenario = Scenario::new(config, Dialect::Anthropic, "go");
    scenario.answers = vec![Answer::said(calls(safeties, &Permission::Allow))];
    scenario.afterwards = Afterwards::Text;
    scenario
}

fn walked(scenario: &Scenario) -> Orders {
    let orders = orders(scenario, &Library::new()).expect("playable");
    assert_eq!(orders.breach, None);
    assert_eq!(orders.histories.len(), 1, "one history, whatever the order");
    orders
}

#[test]
fn parallel_and_early_started_calls_leave_one_history_in_every_order() {
    use Safety::{Concurrent as C, Exclusive as E};
    let mut told = String::new();
    for (name, safeties, early, parallel) in [
        ("5 in parallel, started at the end", &[C, C, C, C, C][..], EarlyStart::Off, 10),
        ("5 in parallel, started early", &[C, C, C, C, C], EarlyStart::Safe, 10),
        ("5, at most 2 at a time, started early", &[C, C, C, C, C], EarlyStart::Safe, 2),
        ("with barriers, started early", &[C, C, E, C, E, C], EarlyStart::All, 10),
        ("8 in parallel, started early", &[C; 8], EarlyStart::Safe, 10),
    ] {
        let orders = walked(&scenario(safeties, early, parallel));
        told += &format!(
            "{} schedules in {} states; interrupted at {} places, {} settlements | {name}\n",
            orders.schedules, orders.states, orders.interrupts, orders.settlements
        );
    }
    insta::assert_snapshot!("orders", told);
}

#[test]
fn five_calls_at_once_come_back_in_every_order() {
    let orders = walked(&scenario(&[Safety::Concurrent; 5], EarlyStart::Off, 10));
    assert_eq!(orders.schedules, 120, "as many as there are orders of five");
}

#[test]
fn decisions_hooks_and_kept_results_leave_one_history_in_every_order() {
    use Safety::{Concurrent as C, Exclusive as E};
    let mut told = String::new();
    for (name, safeties, hooks, inline) in [
        ("4 that somebody decides about", &[C, C, C, C][..], 0, 1 << 20),
        ("4 with barriers that somebody decides about", &[C, E, C, E], 0, 1 << 20),
        ("3 that a hook sees first and somebody decides about", &[C, E, C], 1, 1 << 20),
        ("3 that somebody decides about, their results put aside", &[C, C, E], 0, 0),
    ] {
        let mut scenario = scenario(safeties, EarlyStart::Safe, 10);
        scenario.answers = vec![Answer::said(calls(safeties, &Permission::Ask))];
        scenario.config.tool_hooks = (0..hooks).map(|_| HookSpec::new("h")).collect();
        scenario.config.limits.inline_result_bytes = inline;
        let orders = walked(&scenario);
        told += &format!("{} schedules in {} states | {name}\n", orders.schedules, orders.states);
    }
    insta::assert_snapshot!("decided", told);
}

#[test]
fn fixtures_with_several_calls_leave_one_history_in_every_order() {
    let mut schedules = 0;
    for (name, recording) in runs() {
        let calls = recording.frames.iter().flat_map(|frame| &frame.effects);
        let calls = calls.filter(|effect| effect.kind() == machine_spec::EffectKind::RunTool);
        // An interrupt of the recording has a place of its own; here it comes at every place.
        if calls.count() < 2 || name.starts_with("interrupted") || name.starts_with("hook") {
            continue;
        }
        let mut scenario = derive(&recording).expect("a known dialect");
        scenario.user.truncate(1);
        let orders = orders(&scenario, &Library::new()).expect("playable");
        assert_eq!(orders.breach, None, "{name}");
        schedules += orders.schedules;
    }
    assert!(schedules > 20, "{schedules} schedules");
}
