//! The closed-form bound, term by term. That it holds is shown by `certificate` and `bounded`; here
//! stands what each setting adds to it.

use std::fmt::Write as _;

use machine_spec::bound::{certificate, model_calls};
use machine_spec::config::{HookSpec, Rule, RunConfig, ToolKind, ToolSpec};
use machine_spec::explore::profiles::{candidate, small_limits, tool};
use machine_spec::policy::{Compactor, EarlyStart, Policy};

fn bare() -> RunConfig {
    let policy =
        Policy { compact: Compactor::Off, early_start: EarlyStart::Off, ..Policy::default() };
    let mut limits = small_limits();
    (limits.http_retries, limits.stream_reissues, limits.stall_reissues) = (0, 0, 0);
    RunConfig { candidates: vec![candidate("a")], limits, policy, ..RunConfig::default() }
}

type Change = fn(&mut RunConfig);

const CHANGES: &[(&str, Change)] = &[
    ("nothing", |_| {}),
    ("no round", |config| config.limits.tool_rounds = 0),
    ("three rounds", |config| config.limits.tool_rounds = 3),
    ("three rounds, two repairs", |config| {
        (config.limits.tool_rounds, config.limits.malformed_repairs) = (3, 2);
    }),
    ("nudges, continuations, pauses", |config| {
        let limits = &mut config.limits;
        (limits.blank_nudges, limits.continuations, limits.pauses) = (2, 3, 4);
    }),
    ("two rules, three reminders", |config| {
        config.rules = vec![Rule::new("a", &["t"]), Rule::new("b", &["t"])];
        config.limits.guard_retries = 3;
    }),
    ("blocks without a hook", |config| config.limits.stop_hook_blocks = 3),
    ("three blocks, two messages", |config| {
        config.stop_hooks = vec![HookSpec::new("h")];
        (config.limits.stop_hook_blocks, config.limits.user_messages) = (3, 2);
    }),
    ("retries without a schema", |config| config.limits.structured_retries = 2),
    ("two retries of a schema", |config| {
        config.output_schema = "{}".into();
        config.limits.structured_retries = 2;
    }),
    ("tasks without a tool", |config| config.limits.tasks = 3),
    ("three tasks", |config| {
        config.tools = vec![ToolSpec { kind: ToolKind::Task, ..tool("bg", false) }];
        config.limits.tasks = 3;
    }),
    ("a last word", |config| config.policy.wrap_up = true),
    ("three candidates, one hop", |config| {
        config.candidates = ["a", "b", "c"].map(candidate).to_vec();
        config.limits.fallback_hops = 1;
    }),
    ("two candidates, five hops, three parameters", |config| {
        config.candidates = ["a", "b"].map(candidate).to_vec();
        (config.limits.fallback_hops, config.limits.param_degrades) = (5, 3);
    }),
    ("refreshes of nobody", |config| config.limits.credential_refreshes = 2),
    ("two refreshes", |config| {
        config.candidates[0].refreshable = true;
        config.limits.credential_refreshes = 2;
    }),
    ("a stream in one piece", |config| config.limits.stream_fallbacks = 1),
    ("two retries, three rounds", |config| {
        (config.limits.http_retries, config.limits.tool_rounds) = (2, 3);
    }),
    ("two reissues, one of a stall", |config| {
        (config.limits.stream_reissues, config.limits.stall_reissues) = (2, 1);
    }),
    ("compaction", |config| {
        config.policy.compact = Compactor::Summary;
        (config.limits.compactions, config.limits.compact_failures) = (3, 2);
    }),
    ("compaction that never fails", |config| {
        config.policy.compact = Compactor::Model;
        (config.limits.compactions, config.limits.compact_failures) = (3, 0);
    }),
    ("a smaller output", |config| {
        (config.limits.least_output, config.candidates[0].max_output) = (10, 100);
    }),
    ("no output to make smaller", |config| config.limits.least_output = 10),
    ("an output that stays", |config| config.candidates[0].max_output = 100),
    ("tools, two rounds", |config| {
        config.tools = vec![tool("read", true), tool("write", false)];
        config.limits.tool_rounds = 2;
    }),
    ("reads that start early", |config| {
        config.tools = vec![tool("read", true), tool("write", false)];
        config.policy.early_start = EarlyStart::Safe;
        (config.limits.tool_rounds, config.limits.http_retries) = (2, 2);
    }),
    ("writes that start early", |config| {
        config.tools = vec![tool("write", false)];
        config.policy.early_start = EarlyStart::All;
        (config.limits.tool_rounds, config.limits.http_retries) = (2, 2);
    }),
    ("tools without a round", |config| {
        config.tools = vec![tool("read", true)];
        config.limits.tool_rounds = 0;
    }),
    ("hooks of every kind", |config| {
        config.tools = vec![tool("read", true)];
        config.stop_hooks = vec![HookSpec::new("s")];
        config.tool_hooks = vec![HookSpec::new("t"), HookSpec::new("u")];
        config.batch_hooks = vec![HookSpec::new("b"), HookSpec::new("c"), HookSpec::new("d")];
        config.compact_hooks = vec![HookSpec::new("e")];
        config.policy.compact = Compactor::Summary;
        config.limits.compactions = 2;
        (config.limits.tool_rounds, config.limits.stop_hook_blocks) = (2, 1);
        (config.limits.calls_per_response, config.limits.compact_failures) = (3, 1);
    }),
    ("a ceiling of four requests", |config| {
        (config.limits.tool_rounds, config.limits.http_retries) = (9, 2);
        config.limits.model_calls = 4;
    }),
];

#[test]
fn every_setting_adds_its_term() {
    let mut told = String::new();
    for (name, change) in CHANGES {
        let mut config = bare();
        change(&mut config);
        let bound = certificate(&config);
        let path: Vec<String> =
            bound.path.iter().map(|leg| format!("{} {}", leg.owner, leg.times)).collect();
        writeln!(
            told,
            "{name}: calls {} of {:?}, responses {}, tools {}, hooks {}, compactions {}, \
             backoff {}, wait {}: {}",
            bound.model_calls,
            model_calls(&config),
            bound.responses,
            bound.tool_executions,
            bound.hook_runs,
            bound.compactions,
            bound.backoff_ms,
            bound.longest_wait_ms,
            path.join(", ")
        )
        .expect("text");
    }
    insta::assert_snapshot!(told);
}

#[test]
fn what_is_no_number_of_requests_any_more_is_none() {
    let mut config = bare();
    config.limits.tool_rounds = u32::MAX;
    assert_eq!(model_calls(&config), Some(u32::MAX));
    config.limits.continuations = 1;
    assert_eq!(model_calls(&config), None);
}
