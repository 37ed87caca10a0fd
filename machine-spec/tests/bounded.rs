//! Property tests of the three loops that hurt most: loop guard, stop-hook re-entry, fallback sweep.
//!
//! For any scripted provider, hooks and tools the run ends within the closed-form bound of its
//! budgets, with exactly one terminal, calls and results paired, and no call executed twice
//! (T1, T4, T6, T8). A world is a list of choices among the inputs that fit; when the list is used
//! up, the world turns benign and the run must still end (I12, I13).

use std::collections::BTreeMap;

use machine_spec::config::{HookSpec, Rule, RunConfig, ToolKind, ToolSpec};
use machine_spec::explore::profiles::{base, candidate, tool};
use machine_spec::explore::{CallTemplate, Profile, alphabet, benign_answer};
use machine_spec::ids::RuleId;
use machine_spec::input::{
    Decision, GrantScope, HookAnswer, OutputVerdict, Recall, Refresh, Spent, Stored, ToolStatus,
};
use machine_spec::invariants::{self, Chronicle};
use machine_spec::limits::Limits;
use machine_spec::model::{
    ArgsVerdict, BlockKind, ErrorClass, Failure, Permission, Safety, StopReason,
};
use machine_spec::policy::{Denial, EarlyStart, Policy, Preset, Tasks};
use machine_spec::{Effect, Input, State, Step, TerminalKind, bound, start, step};
use proptest::prelude::*;

/// Drives one run to its end and judges every step on the way.
fn drive(profile: &Profile, choices: &[u16]) -> Result<State, TestCaseError> {
    let Step { mut state, effects, .. } = start(profile.config.clone());
    prop_assert!(effects.is_empty(), "the configuration is sound: {effects:?}");
    let mut chronicle = Chronicle::default();
    let ceiling = bound::model_calls(&profile.config).expect("the bound is a number");
    let mut choices = choices.iter();
    for _ in 0..100_000 {
        if state.is_done() {
            prop_assert_eq!(chronicle.finishes, 1);
            prop_assert!(chronicle.model_calls <= ceiling, "{} > {ceiling}", chronicle.model_calls);
            return Ok(state);
        }
        let input = next_input(&state, profile, choices.next());
        let after = step(state.clone(), input.clone());
        invariants::check(&state, &input, &after)
            .and_then(|()| chronicle.note(&input, &after))
            .map_err(|violation| TestCaseError::fail(format!("{violation} on {input:?}")))?;
        state = after.state;
    }
    Err(TestCaseError::fail(format!("the run hangs in {}", state.room())))
}

fn next_input(state: &State, profile: &Profile, choice: Option<&u16>) -> Input {
    if let Some(choice) = choice {
        let inputs = alphabet(state, profile);
        if !inputs.is_empty() {
            return inputs[usize::from(*choice) % inputs.len()].clone();
        }
    }
    benign_answer(state).expect("a run that is not over awaits something")
}

fn call(tool: &'static str, safety: Safety, valid: bool) -> CallTemplate {
    let args = if valid {
        ArgsVerdict::Valid { canonical: 1 }
    } else {
        ArgsVerdict::Malformed { at: 0, problem: "p".into() }
    };
    CallTemplate { named: valid, args, ..CallTemplate::new(tool, safety) }
}

prop_compose! {
    fn limits()(
        rounds in 0u32..4,
        retries in (0u32..3, 0u32..3, 0u32..2),
        hops in 0u32..4,
        repairs in (0u32..3, 0u32..3, 0u32..3, 0u32..3),
        guard in 0u32..3,
        blocks in 0u32..4,
        failures in 1u32..4,
        parallel in 1u32..4,
        messages in 1u32..5,
    ) -> Limits {
        Limits {
            tool_rounds: rounds,
            http_retries: retries.0,
            stream_reissues: retries.1,
            stall_reissues: retries.2,
            fallback_hops: hops,
            malformed_repairs: repairs.0,
            blank_nudges: repairs.1,
            continuations: repairs.2,
            pauses: repairs.3,
            guard_retries: guard,
            stop_hook_blocks: blocks,
            hook_failures: failures,
            parallel_tools: parallel,
            user_messages: messages,
            inbox: 2,
            ..Limits::default()
        }
    }
}

prop_compose! {
    fn policy()(
        preset in prop::sample::select(Preset::ALL.to_vec()),
        early_start in prop::sample::select(EarlyStart::ALL.to_vec()),
    ) -> Policy {
        Policy { preset, early_start, ..Policy::default() }
    }
}

/// Everything at once: the themes below narrow it.
fn profile(
    limits: Limits,
    policy: Policy,
    candidates: usize,
    hooks: usize,
    rules: usize,
) -> Profile {
    let names = ["a", "b", "c", "d"];
    let required = |n: usize| Rule::new("w", &[["submit", "note"][n % 2]]);
    let config = RunConfig {
        candidates: names[..candidates].iter().map(|name| candidate(name)).collect(),
        tools: vec![tool("read", true), tool("note", false), tool("submit", false)],
        stop_hooks: (0..hooks).map(|n| HookSpec::new(&format!("h{n}"))).collect(),
        rules: (0..rules).map(required).collect(),
        limits,
        policy,
        ..RunConfig::default()
    };
    let all_rules: Vec<RuleId> = (0..rules as u16).map(RuleId).collect();
    Profile {
        config,
        says: vec![all_rules, vec![]],
        interrupts: false,
        blocks: vec![BlockKind::Text, BlockKind::Thinking],
        calls: vec![
            call("read", Safety::Concurrent, true),
            call("note", Safety::Concurrent, true),
            call("submit", Safety::Exclusive, true),
            call("none", Safety::Exclusive, true),
            call("note", Safety::Exclusive, false),
        ],
        max_blocks: 3,
        stops: vec![StopReason::EndOfTurn, StopReason::ToolUse, StopReason::OutputLimit],
        tool_statuses: ToolStatus::ALL.to_vec(),
        hook_answers: vec![HookAnswer::Allowed],
        ..base("random")
    }
}

/// Who has a say about a call or works beside the loop, and what the run may cost.
#[derive(Clone, Copy, Debug)]
struct Guests {
    hooks: (usize, usize, usize),
    tasks: Tasks,
    denial: Denial,
    wrap_up: bool,
    recall: bool,
    schema: bool,
    tokens: u64,
    wall: bool,
}

prop_compose! {
    fn guests()(
        hooks in (0usize..3, 0usize..3, 0usize..3),
        tasks in prop::sample::select(Tasks::ALL.to_vec()),
        denial in prop::sample::select(Denial::ALL.to_vec()),
        switches in any::<[bool; 4]>(),
        tokens in prop::sample::select(vec![0u64, 200, 2_000]),
    ) -> Guests {
        let [wrap_up, recall, schema, wall] = switches;
        Guests { hooks, tasks, denial, wrap_up, recall, schema, tokens, wall }
    }
}

fn hook_list(n: usize) -> Vec<HookSpec> {
    (0..n).map(|n| HookSpec::new(&format!("h{n}"))).collect()
}

/// A run to which all of them are invited, in a world that lets each do what it likes.
fn invited(limits: Limits, policy: Policy, guests: Guests) -> Profile {
    let Guests { hooks, tasks, denial, wrap_up, recall, schema, tokens, wall } = guests;
    let policy = Policy { tasks, denial, wrap_up, recall, ..policy };
    let limits = Limits {
        tasks: 2,
        parallel_tasks: 1,
        structured_retries: 1,
        anomalies: 3,
        param_degrades: 1,
        credential_refreshes: 1,
        stream_fallbacks: 1,
        inline_result_bytes: 0,
        tokens,
        wall_ms: u64::from(wall),
        ..limits
    };
    let mut profile = profile(limits, policy, 2, hooks.0, 1);
    profile.config.tool_hooks = hook_list(hooks.1);
    profile.config.batch_hooks = hook_list(hooks.2);
    profile.config.output_schema = if schema { "{}".into() } else { String::new() };
    profile.config.candidates[0].refreshable = true;
    profile.config.tools.push(ToolSpec { kind: ToolKind::Task, ..tool("bg", false) });
    profile.config.tools.push(ToolSpec { kind: ToolKind::Child, ..tool("agent", false) });
    let ask = |tool, safety| CallTemplate {
        permission: Permission::Ask,
        ..CallTemplate::new(tool, safety)
    };
    profile.calls.extend([
        ask("note", Safety::Concurrent),
        ask("bg", Safety::Exclusive),
        CallTemplate::new("bg", Safety::Concurrent),
        CallTemplate::new("agent", Safety::Concurrent),
    ]);
    profile.interrupts = true;
    profile.strays = true;
    profile.spent = Spent { tokens: 50, nanos: 0 };
    let refused = Failure { remedy: "x".into(), ..Failure::new(ErrorClass::ParamRejected, "f") };
    profile.failures = vec![refused, Failure::new(ErrorClass::Auth, "f")];
    profile.failures.push(Failure::new(ErrorClass::Transport, "f"));
    let text = || String::from("r");
    profile.decisions = vec![
        Decision::Allowed,
        Decision::Denied { reason: text() },
        Decision::Deferred,
        Decision::AllowedAlways { scope: GrantScope::Tool },
        Decision::NoVerdict,
    ];
    profile.hook_answers = vec![
        HookAnswer::Allowed,
        HookAnswer::Denied { reason: text() },
        HookAnswer::Asked { reason: text(), edit: None },
        HookAnswer::Deferred,
        HookAnswer::Continued { context: text() },
        HookAnswer::Failed { problem: text() },
    ];
    profile.stores = vec![Stored::Kept { reference: text() }, Stored::Failed { problem: text() }];
    profile.recalls = vec![Recall::Nothing, Recall::Found { text: text() }];
    profile.refreshes = vec![Refresh::Refreshed, Refresh::Failed { problem: text() }];
    let misfit = OutputVerdict::Misfits { path: text(), problem: text() };
    profile.verdicts = vec![OutputVerdict::Fits, misfit];
    profile
}

fn worlds() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_loop_guard_is_bounded(limits in limits(), policy in policy(), rules in 1usize..4, world in worlds()) {
        let guarded = profile(limits, policy, 1, 0, rules);
        let end = drive(&guarded, &world)?;
        let reminders = end.frame().guard().active.iter().map(|rule| rule.reminders);
        let limit = guarded.config.limits.guard_retries;
        prop_assert!(reminders.into_iter().all(|n| n <= limit));
    }

    #[test]
    fn stop_hook_reentry_is_bounded(limits in limits(), policy in policy(), hooks in 1usize..4, world in worlds()) {
        let mut hooked = profile(limits, policy, 1, hooks, 0);
        let text = || String::from("again");
        hooked.hook_answers = vec![
            HookAnswer::Blocked { reason: text() },
            HookAnswer::Continued { context: text() },
            HookAnswer::Failed { problem: text() },
            HookAnswer::Allowed,
            HookAnswer::Halted { reason: text() },
        ];
        drive(&hooked, &world)?;
    }

    #[test]
    fn a_hook_that_always_blocks_ends_at_the_cap(limits in limits(), policy in policy(), hooks in 1usize..4, world in prop::collection::vec(any::<u16>(), 400)) {
        let mut hooked = profile(limits, policy, 1, hooks, 0);
        hooked.hook_answers = vec![HookAnswer::Blocked { reason: "never".into() }];
        hooked.blocks = vec![BlockKind::Text];
        hooked.calls = vec![];
        hooked.stops = vec![StopReason::EndOfTurn];
        let end = drive(&hooked, &world)?;
        // Once the world turns benign the hooks allow, so only a run that ended before is judged.
        let blocks = end.frame().counters().hook_blocks;
        prop_assert!(blocks <= hooked.config.limits.stop_hook_blocks);
        if world.len() == 400 {
            let ended = end.terminal().map(machine_spec::Terminal::kind);
            prop_assert_ne!(ended, Some(TerminalKind::Answered), "a block is never an answer");
        }
    }

    #[test]
    fn fallback_sweeps_are_bounded(limits in limits(), policy in policy(), candidates in 1usize..5, world in worlds()) {
        let mut failing = profile(limits, policy, candidates, 0, 0);
        failing.failures = ErrorClass::ALL.iter().map(|class| Failure::new(*class, "f")).collect();
        failing.stream_errors = true;
        let end = drive(&failing, &world)?;
        let mut visits: BTreeMap<u16, u32> = BTreeMap::new();
        for tried in &end.frame().sweep().tried {
            *visits.entry(tried.candidate.0).or_default() += 1;
        }
        prop_assert!(visits.values().all(|n| *n == 1), "a sweep visits each candidate once");
    }

    #[test]
    fn everything_at_once_is_bounded(limits in limits(), policy in policy(), sizes in (1usize..4, 0usize..3, 0usize..3), world in worlds()) {
        let mut wild = profile(limits, policy, sizes.0, sizes.1, sizes.2);
        wild.interrupts = true;
        wild.strays = true;
        wild.stops = StopReason::ALL.to_vec();
        wild.failures = ErrorClass::ALL.iter().map(|class| Failure::new(*class, "f")).collect();
        wild.hook_answers = vec![HookAnswer::Blocked { reason: "r".into() }, HookAnswer::Allowed, HookAnswer::Failed { problem: "p".into() }];
        drive(&wild, &world)?;
    }

    #[test]
    fn guests_are_bounded(limits in limits(), policy in policy(), guests in guests(), world in worlds()) {
        let invited = invited(limits, policy, guests);
        let end = drive(&invited, &world)?;
        prop_assert!(end.frame().tasks().is_empty(), "no task outlives its run");
    }

    #[test]
    fn a_round_trip_between_any_two_steps_changes_nothing(limits in limits(), policy in policy(), world in worlds()) {
        let mut wild = profile(limits, policy, 2, 1, 1);
        wild.interrupts = true;
        wild.failures = vec![Failure::new(ErrorClass::Transport, "f")];
        let mut state = start(wild.config.clone()).state;
        for choice in world.iter().take(120) {
            let inputs = alphabet(&state, &wild);
            if inputs.is_empty() {
                break;
            }
            let input = inputs[usize::from(*choice) % inputs.len()].clone();
            let json = serde_json::to_string(&state).expect("a state is serialisable");
            let read: State = serde_json::from_str(&json).expect("a state reads back");
            prop_assert_eq!(&read, &state);
            prop_assert_eq!(read.digest(), state.digest());
            let input_json = serde_json::to_string(&input).expect("an input is serialisable");
            prop_assert_eq!(&serde_json::from_str::<Input>(&input_json).expect("reads back"), &input);
            let (a, b) = (step(state, input.clone()), step(read, input));
            let effects = serde_json::to_string(&a.effects).expect("effects are serialisable");
            let reread: Vec<Effect> = serde_json::from_str(&effects).expect("effects read back");
            prop_assert_eq!(&reread, &a.effects);
            prop_assert_eq!(&a, &b);
            state = a.state;
        }
    }
}
