//! Properties over scenarios: the three loops that hurt most, and what stands around them.

use machine_spec::bound;
use machine_spec::config::{HookSpec, Rule};
use machine_spec::ids::RuleId;
use machine_spec::input::HookAnswer;
use machine_spec::model::ErrorClass;
use machine_spec::policy::{Compactor, Preset};
use proptest::prelude::*;
use replay::arena::{How, Outcome, play_plan};
use replay::faults::{Fault, Placed, Seam};
use replay::scenario::{Act, HookPlan, Library, Scenario};
use replay::swarm::scenario_of;

/// A scenario of a seed, with no faults of its own.
fn scenarios() -> impl Strategy<Value = Scenario> {
    (0_u64..1 << 40).prop_map(|seed| {
        let mut plan = scenario_of(seed);
        plan.faults.clear();
        plan
    })
}

fn hook_answers() -> impl Strategy<Value = HookAnswer> {
    prop_oneof![
        Just(HookAnswer::Allowed),
        "[a-z ]{0,12}".prop_map(|reason| HookAnswer::Blocked { reason }),
        "[a-z ]{0,12}".prop_map(|context| HookAnswer::Continued { context }),
        Just(HookAnswer::Failed { problem: "broken".into() }),
    ]
}

/// Plays, and insists that every law holds and an end comes within the bound.
fn played(plan: &Scenario) -> Result<Outcome, TestCaseError> {
    plan.validate(&Library::new()).map_err(|bad| TestCaseError::fail(bad.to_string()))?;
    let outcome = play_plan(plan, &Library::new(), How::FULL).expect("playable");
    let text = || serde_json::to_string(plan).unwrap_or_default();
    prop_assert_eq!(&outcome.breach, &None, "{}", text());
    prop_assert!(outcome.state.is_done(), "{:?}", outcome.trouble);
    let most = bound::certificate(&plan.config);
    prop_assert!(outcome.requests <= most.model_calls);
    prop_assert!(outcome.executions as u64 <= most.tool_executions);
    prop_assert!(u64::from(outcome.hooks) <= most.hook_runs);
    prop_assert!(u64::from(outcome.compactions) <= most.compactions);
    Ok(outcome)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_loop_guard_ends(mut plan in scenarios(), retries in 0_u32..4, tool in 0_usize..3) {
        let name = plan.config.tools[tool].name.clone();
        plan.config.rules = vec![Rule { when: "go".into(), tools: vec![name] }];
        plan.config.limits.guard_retries = retries;
        if let Act::Says { rules, .. } = &mut plan.user[0].act {
            *rules = vec![RuleId(0)];
        }
        let outcome = played(&plan)?;
        let reminders = outcome.state.frame().guard().active.iter().map(|rule| rule.reminders);
        prop_assert!(reminders.max().unwrap_or(0) <= retries);
    }

    #[test]
    fn stop_hooks_let_go(
        mut plan in scenarios(),
        blocks in 0_u32..6,
        answers in prop::collection::vec(prop::collection::vec(hook_answers(), 1..6), 1..3),
    ) {
        plan.config.limits.stop_hook_blocks = blocks;
        plan.config.stop_hooks =
            answers.iter().enumerate().map(|(n, _)| HookSpec { name: format!("h{n}") }).collect();
        plan.hooks =
            answers.into_iter().map(|answers| HookPlan { answers, ..HookPlan::default() }).collect();
        played(&plan)?;
    }

    #[test]
    fn a_fallback_sweep_visits_each_candidate_once(
        mut plan in scenarios(),
        preset in 0_usize..3,
        class in 0_usize..21,
        times in 1_u32..8,
    ) {
        plan.config.policy.preset = Preset::ALL[preset];
        let class = ErrorClass::ALL[class % ErrorClass::ALL.len()];
        plan.faults = vec![Placed::new(Fault::RequestFails(class), Seam::Answer(1)).times(times)];
        let outcome = played(&plan)?;
        let sweep = outcome.state.frame().sweep();
        prop_assert!(sweep.hops <= plan.config.limits.fallback_hops);
        let mut tried: Vec<u16> = sweep.tried.iter().map(|tried| tried.candidate.0).collect();
        let visited = tried.len();
        tried.dedup();
        prop_assert_eq!(tried.len(), visited, "a candidate was left twice");
    }

    #[test]
    fn a_stream_may_break_at_any_event_as_often_as_it_likes(
        mut plan in scenarios(),
        event in 1_u32..40,
        kind in 0_usize..5,
        times in 1_u32..6,
    ) {
        let fault = [
            Fault::EventDuplicated, Fault::EventDropped, Fault::EventSwapped,
            Fault::EventMalformed, Fault::ErrorInStream,
        ][kind];
        let at = Seam::Event { answer: 1, event };
        plan.faults = vec![Placed::new(fault, at).times(times)];
        if plan.validate(&Library::new()).is_ok() {
            let limits = &plan.config.limits;
            let sweep = played(&plan)?.state.frame().sweep().clone();
            prop_assert!(sweep.reissues <= limits.stream_reissues);
            prop_assert!(sweep.http_retries <= limits.http_retries);
        }
    }

    #[test]
    fn compaction_makes_room_or_says_that_it_cannot(
        mut plan in scenarios(),
        window in 30_u64..400,
        by in 0_usize..3,
        fails in 0_u32..3,
    ) {
        plan.config.policy.compact = Compactor::ALL[by];
        for candidate in &mut plan.config.candidates {
            (candidate.context_window, candidate.max_output) = (window, 10);
        }
        plan.faults = (1..=fails)
            .map(|n| Placed::new(Fault::CompactionFails, Seam::Compaction(n)))
            .collect();
        if plan.validate(&Library::new()).is_ok() {
            played(&plan)?;
        }
    }

    #[test]
    fn a_run_that_is_killed_anywhere_twice_comes_to_an_end(
        mut plan in scenarios(),
        first in 0_u32..40,
        later in 1_u32..20,
        bytes in 0_u64..300,
    ) {
        plan.faults = vec![
            Placed::new(Fault::CrashAt, Seam::Frame(first)),
            Placed::new(Fault::TornWrite { bytes }, Seam::Frame(first + later)),
        ];
        let outcome = played(&plan)?;
        // Whoever reads the recording sees the same run.
        let told: Vec<_> = outcome.tape.iter().map(|told| &told.input).collect();
        let (_, state) = replay::checkers::judge_inputs(plan.config.clone(), told.into_iter())
            .map_err(|breach| TestCaseError::fail(breach.to_string()))?;
        prop_assert_eq!(state.digest(), outcome.state.digest());
    }
}
