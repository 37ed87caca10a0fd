//! What the benches of this folder play: R rounds of 50 pieces of text and one call of `search`, whose
//! results of 1 KB differ from round to round. No two rounds are alike: they would be a doom loop.

use machine_spec::config::{Candidate, RunConfig, ToolSpec};
use machine_spec::limits::Limits;
use replay::scenario::{Output, Scenario, ToolPlan, ToolRun};
use wire::Dialect;

/// One candidate of unknown window, one tool that only reads.
pub(crate) fn config(rounds: u32) -> RunConfig {
    let tool = ToolSpec {
        name: "search".into(),
        description: "searches".into(),
        input_schema: "{\"type\":\"object\"}".into(),
        read_only: true,
        ..ToolSpec::default()
    };
    let (name, model) = ("a".into(), "claude-test-1".into());
    RunConfig {
        candidates: vec![Candidate { name, model, max_output: 1024, ..Candidate::default() }],
        tools: vec![tool],
        limits: Limits { tool_rounds: rounds + 1, ..Limits::default() },
        ..RunConfig::default()
    }
}

/// The plan of a session, but for what the model answers.
pub(crate) fn plan(rounds: u32) -> Scenario {
    let mut scenario = Scenario::new(config(rounds), Dialect::Anthropic, "find it");
    let says = |n: u32| ToolRun {
        output: Output::Text(format!("{n:04}{}", "r".repeat(1020))),
        ..ToolRun::default()
    };
    let runs = (0..rounds).map(says).collect();
    scenario.tools.insert("search".into(), ToolPlan { runs, ..ToolPlan::default() });
    scenario
}
