//! The closed-form bound is reached, and never passed.

use machine_spec::bound::{certificate, model_calls};
use machine_spec::config::{HookSpec, Rule, RunConfig};
use machine_spec::explore::profiles::{self, candidate, small_limits, tool};
use machine_spec::explore::{CallTemplate, Profile, most_model_calls};
use machine_spec::ids::RuleId;
use machine_spec::input::HookAnswer;
use machine_spec::limits::Limits;
use machine_spec::model::{BlockKind, ErrorClass, Failure, Safety, StopReason};
use machine_spec::policy::{Compactor, Policy};
use rstest::rstest;

/// A world that can do everything the budgets are for, but says nothing in vain.
fn world(limits: Limits, build: impl FnOnce(&mut RunConfig)) -> Profile {
    let mut config = RunConfig {
        candidates: vec![candidate("a")],
        tools: vec![tool("read", true)],
        policy: Policy { compact: Compactor::Off, ..Policy::default() },
        limits,
        ..RunConfig::default()
    };
    build(&mut config);
    let call = |tool| CallTemplate { named: false, ..CallTemplate::new(tool, Safety::Exclusive) };
    let failure = |class| Failure::new(class, "f");
    let rules = (0..config.rules.len() as u16).map(RuleId).collect();
    Profile {
        says: vec![rules],
        interrupts: false,
        strays: false,
        blocks: vec![BlockKind::Text],
        calls: vec![call("read"), call("none")],
        max_blocks: 1,
        stops: vec![StopReason::EndOfTurn, StopReason::OutputLimit, StopReason::Paused],
        failures: [ErrorClass::ServerError, ErrorClass::IdleTimeout].map(failure).to_vec(),
        hook_answers: vec![HookAnswer::Allowed, HookAnswer::Blocked { reason: "r".into() }],
        config,
        ..profiles::all().remove(0)
    }
}

fn none() -> Limits {
    let nothing =
        Limits { http_retries: 0, stream_reissues: 0, stall_reissues: 0, ..small_limits() };
    Limits { fallback_hops: 0, tool_rounds: 1, ..nothing }
}

fn hooks(config: &mut RunConfig) {
    config.stop_hooks = vec![HookSpec::new("h")];
}

#[rstest]
#[case::nothing_at_all(none(), |_: &mut RunConfig| {}, 1)]
#[case::retries(Limits { http_retries: 2, stream_reissues: 2, stall_reissues: 1, ..none() }, |_: &mut RunConfig| {}, 6)]
#[case::rounds(Limits { tool_rounds: 3, ..none() }, |_: &mut RunConfig| {}, 3)]
#[case::rounds_and_repairs(Limits { tool_rounds: 2, malformed_repairs: 2, ..none() }, |_: &mut RunConfig| {}, 6)]
#[case::output(Limits { blank_nudges: 1, continuations: 2, pauses: 1, ..none() }, |_: &mut RunConfig| {}, 5)]
#[case::hooks_and_words(Limits { stop_hook_blocks: 2, user_messages: 2, ..none() }, hooks, 6)]
#[case::guard(Limits { guard_retries: 2, ..none() }, |config: &mut RunConfig| {
    config.rules = vec![Rule::new("w", &["read"])];
}, 3)]
#[case::sweep(Limits { fallback_hops: 2, http_retries: 1, ..none() }, |config: &mut RunConfig| {
    config.candidates = ["a", "b", "c"].map(candidate).to_vec();
}, 6)]
#[case::everything(Limits { tool_rounds: 2, malformed_repairs: 1, continuations: 1, http_retries: 1, stop_hook_blocks: 1, fallback_hops: 1, ..none() }, |config: &mut RunConfig| {
    hooks(config);
    config.candidates = ["a", "b"].map(candidate).to_vec();
}, 14)]
fn the_worst_world_reaches_the_bound(
    #[case] limits: Limits,
    #[case] build: impl FnOnce(&mut RunConfig),
    #[case] bound: u32,
) {
    let profile = world(limits, build);
    assert_eq!(model_calls(&profile.config), Some(bound), "the closed form");
    assert_eq!(most_model_calls(&profile), bound, "the explored maximum");
}

#[test]
fn every_profile_stays_within_its_bound() {
    for profile in profiles::all() {
        let bound = certificate(&profile.config).model_calls;
        let most = most_model_calls(&profile);
        assert!(u64::from(most) <= bound, "{}: {most} > {bound}", profile.name);
    }
}

#[test]
fn the_defaults_have_a_bound_that_a_person_can_read() {
    let mut config = RunConfig {
        candidates: ["a", "b"].map(candidate).to_vec(),
        tools: vec![tool("read", true)],
        ..RunConfig::default()
    };
    config.limits.user_messages = 1;
    hooks(&mut config);
    let found = certificate(&config);
    let requests: u64 = found.path.iter().map(|leg| leg.times).sum();
    assert_eq!(requests, found.model_calls, "the legs of the path are all requests there are");
    insta::assert_json_snapshot!("certificate_of_the_defaults", found);
}
