//! What is wrong with a configuration is listed whole, each fault with its place.

use std::fmt::Write as _;

use machine_spec::config::{
    ANY_TOOL, FailMode, HookSpec, LongPrice, Price, Rule, RunConfig, ToolKind, ToolSpec,
};
use machine_spec::explore::profiles::{candidate, tool};
use machine_spec::ids::HookId;
use machine_spec::message::{Entry, Origin, Said};
use machine_spec::model::Usage;
use machine_spec::policy::{Compactor, Tasks};
use machine_spec::{Terminal, start};

fn sound() -> RunConfig {
    let tools = vec![tool("read", true), tool("write", false)];
    RunConfig { candidates: vec![candidate("a")], tools, ..RunConfig::default() }
}

fn faults(change: impl FnOnce(&mut RunConfig)) -> String {
    let mut config = sound();
    change(&mut config);
    let mut told = String::new();
    for fault in config.faults() {
        writeln!(told, "{} {} {:?}", fault.at, fault.kind, fault.found).expect("text");
    }
    // Whatever is wrong ends the run before it begins.
    let step = start(config.clone());
    let refused = Terminal::ConfigRefused { faults: config.faults() };
    assert_eq!(step.state.is_done(), !told.is_empty());
    assert_eq!(step.state.terminal(), (!told.is_empty()).then_some(&refused));
    told
}

#[test]
fn a_sound_configuration_has_none() {
    assert_eq!(faults(|_| {}), "");
    assert_eq!(faults(|config| config.force_tool = "read".into()), "");
    assert_eq!(faults(|config| config.force_tool = ANY_TOOL.into()), "");
    assert_eq!(faults(|config| config.rules = vec![Rule::new("x", &["read", "write"])]), "");
    let closed = || HookSpec { on_failure: FailMode::Closed, ..HookSpec::new("h") };
    assert_eq!(faults(|config| config.tool_hooks = vec![closed()]), "");
    let window = |config: &mut RunConfig| {
        (config.candidates[0].context_window, config.candidates[0].max_output) = (100, 99);
    };
    assert_eq!(faults(window), "");
    let unlimited = |config: &mut RunConfig| {
        (config.candidates[0].context_window, config.candidates[0].max_output) = (0, 99);
    };
    assert_eq!(faults(unlimited), "");
}

#[test]
fn all_faults_of_candidates_and_tools_are_told() {
    let told = faults(|config| {
        config.candidates = vec![candidate("a"), candidate("a"), candidate("")];
        config.candidates[1].context_window = 100;
        config.candidates[1].max_output = 100;
        config.candidates[2].model = String::new();
        config.tools.push(tool("read", true));
        config.tools.push(tool("", true));
        config.force_tool = "nobody".into();
        config.limits.tool_rounds = 0;
    });
    insta::assert_snapshot!(told);
    assert_eq!(faults(|config| config.candidates.clear()), "candidates no_candidate \"\"\n");
}

#[test]
fn all_faults_of_rules_hooks_and_bounds_are_told() {
    let told = faults(|config| {
        config.rules = vec![Rule::new("first", &[]), Rule::new("second", &["read", "nobody"])];
        config.rules[1].args.insert("write".into(), "{}".into());
        let closed = HookSpec { on_failure: FailMode::Closed, ..HookSpec::new("h") };
        config.stop_hooks = vec![closed.clone()];
        config.batch_hooks = vec![HookSpec::new("open"), closed];
        config.limits.parallel_tools = 0;
        config.limits.hook_failures = 0;
        config.limits.nanos = 1;
        config.policy.flush = true;
        config.policy.compact = Compactor::Off;
    });
    insta::assert_snapshot!(told);
}

#[test]
fn a_wait_for_tasks_needs_tasks_that_may_be_waited_for() {
    let waits = |config: &mut RunConfig| {
        config.policy.tasks = Tasks::Wait;
        config.limits.task_wait_ms = 0;
    };
    assert_eq!(faults(waits), "", "there is no task to wait for");
    let with_task = |config: &mut RunConfig| {
        waits(config);
        config.tools[0].kind = ToolKind::Task;
    };
    assert_eq!(faults(with_task), "limits.task_wait_ms limit_too_small \"0\"\n");
    let waited = |config: &mut RunConfig| {
        with_task(config);
        config.limits.task_wait_ms = 1;
    };
    assert_eq!(faults(waited), "");
}

#[test]
fn a_bound_that_is_no_number_is_a_fault() {
    let told = faults(|config| {
        config.limits.tool_rounds = u32::MAX;
        config.limits.http_retries = u32::MAX;
        config.limits.user_messages = u32::MAX;
    });
    assert_eq!(told, "limits limit_too_large \"\"\n");
}

#[test]
fn a_history_is_paired() {
    let orphan = [Entry::Said(Said::words(Origin::User, "go")), Entry::Results(Vec::new())];
    let told = faults(|config| config.history = orphan.into_iter().collect());
    assert_eq!(told, "history[1] history_unpaired \"\"\n");
}

#[test]
fn hooks_are_numbered_in_the_order_of_their_kinds() {
    let mut config = sound();
    config.compact_hooks = vec![HookSpec::new("compact")];
    config.batch_hooks = vec![HookSpec::new("batch")];
    config.tool_hooks = vec![HookSpec::new("tool")];
    config.stop_hooks = vec![HookSpec::new("stop"), HookSpec::new("again")];
    let names: Vec<String> =
        config.hooks().map(|(id, point, hook)| format!("{} {point} {}", id.0, hook.name)).collect();
    assert_eq!(
        names,
        ["0 stop stop", "1 stop again", "2 tool tool", "3 batch batch", "4 compact compact"]
    );
    assert_eq!(config.hook(HookId(2)).map(|hook| hook.name.as_str()), Some("tool"));
    assert_eq!(config.hook(HookId(5)), None);
    assert_eq!(config.tool("write").map(|tool| tool.read_only), Some(false));
    assert_eq!(config.tool("nobody"), None);
    // What is usual is not written.
    let written = |hook: HookSpec| serde_json::to_value(hook).expect("it is JSON");
    let closed = HookSpec { on_failure: FailMode::Closed, ..HookSpec::new("h") };
    assert_eq!(written(HookSpec::new("h")), serde_json::json!({"name": "h"}));
    assert_eq!(written(closed), serde_json::json!({"name": "h", "on_failure": "closed"}));
}

#[test]
fn kinds_of_tools_say_what_their_calls_are() {
    let written =
        |kind| serde_json::to_string(&ToolSpec { kind, ..tool("t", true) }).expect("JSON");
    for kind in ToolKind::ALL {
        let usual = *kind == ToolKind::default();
        assert_eq!(written(*kind).contains("\"kind\""), !usual, "{kind}");
    }
    let tasks: Vec<&str> =
        ToolKind::ALL.iter().filter(|kind| kind.is_task()).map(|kind| kind.word()).collect();
    assert_eq!(tasks, ["task", "child_task"]);
}

#[test]
fn a_price_is_of_every_part_and_long_input_has_its_own() {
    let long = LongPrice { above: 100, input: 10, output: 20, cache_read: 30, cache_write: 40 };
    let price = Price { input: 1, output: 2, cache_read: 3, cache_write: 4, long: Some(long) };
    let usage = |input: u64| Usage {
        input: Some(input),
        output: Some(10),
        cache_read: Some(10),
        cache_write: Some(10),
        reasoning: Some(10),
    };
    assert_eq!(price.of(&usage(80)), 80 + 20 + 30 + 40, "exactly the threshold is not above it");
    assert_eq!(price.of(&usage(81)), 810 + 200 + 300 + 400);
    assert_eq!(price.of(&Usage::default()), 0);
    assert_eq!(Price { long: None, ..price }.of(&usage(81)), 81 + 20 + 30 + 40);
    let dear = Price { input: u64::MAX, output: u64::MAX, ..Price::default() };
    assert_eq!(dear.of(&usage(80)), u64::MAX, "it is the most there is, and no less");
    let mut sum = usage(1);
    sum.add(&Usage { input: None, ..usage(0) });
    sum.add(&Usage { output: None, ..usage(2) });
    assert_eq!((sum.input, sum.output, sum.cache_read), (Some(3), Some(20), Some(30)));
    assert_eq!((sum.cache_write, sum.reasoning), (Some(30), Some(30)));
}
