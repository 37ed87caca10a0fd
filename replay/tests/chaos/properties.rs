//! Properties over scenarios: the three loops that hurt most, and what stands around them.

use machine_spec::bound;
use machine_spec::config::{HookSpec, Rule, ToolKind};
use machine_spec::ids::{RuleId, TaskId};
use machine_spec::input::{Decision, HookAnswer};
use machine_spec::model::{BlockEnd, ErrorClass, ModelEvent, Permission};
use machine_spec::policy::{Compactor, Preset, Tasks};
use machine_spec::{Effect, Notice};
use proptest::prelude::*;
use replay::arena::{How, Outcome, play_plan};
use replay::faults::{Fault, Placed, Seam};
use replay::scenario::{Act, Approval, HookPlan, Library, Scenario, ToolRun, What};
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

/// Makes every call of every response one that somebody must allow.
fn ask_about_every_call(plan: &mut Scenario) {
    for tool in plan.tools.values_mut() {
        tool.permission = Permission::Ask;
    }
    for answer in &mut plan.answers {
        let What::Said(events) = &mut answer.what else { continue };
        for event in events {
            if let ModelEvent::BlockDone { done: BlockEnd::Call(facts), .. } = event {
                facts.permission = Permission::Ask;
            }
        }
    }
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
        plan.config.rules = vec![Rule::new("go", &[&name])];
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
            answers.iter().enumerate().map(|(n, _)| HookSpec::new(&format!("h{n}"))).collect();
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
    fn every_call_is_decided_about_once_and_runs_only_if_it_may(
        mut plan in scenarios(),
        decisions in prop::collection::vec((0_usize..5, 0_u64..50), 0..6),
        late in prop::collection::vec((1_u32..5, 0_usize..2), 0..3),
    ) {
        // Nobody else has a say, so what runs was allowed.
        plan.config.tool_hooks.clear();
        (plan.config.deferred, plan.hooks) = (None, Vec::new());
        for tool in &mut plan.config.tools {
            tool.kind = ToolKind::Plain;
        }
        ask_about_every_call(&mut plan);
        let decision = |n: usize| match n {
            0 | 1 => Decision::Allowed,
            2 => Decision::Denied { reason: "no".into() },
            3 => Decision::TimedOut,
            _ => Decision::Queued { ticket: "t".into() },
        };
        let allowed = decisions.iter().filter(|(n, _)| *n < 2).count();
        plan.approvals = decisions
            .into_iter()
            .map(|(n, delay_ms)| Approval { decision: decision(n), delay_ms })
            .collect();
        let mut faults: Vec<Placed> = late
            .into_iter()
            .map(|(n, kind)| {
                let fault = [Fault::ApprovalHang, Fault::ApprovalLate { by_ms: 9 }][kind];
                Placed::new(fault, Seam::Approval(n))
            })
            .collect();
        faults.sort_by_key(|placed| (placed.at, placed.fault));
        faults.dedup_by_key(|placed| (placed.at, placed.fault));
        plan.faults = faults;
        let outcome = played(&plan)?;
        prop_assert!(outcome.executions <= allowed, "{} ran", outcome.executions);
    }

    #[test]
    fn every_task_is_reported_once_or_told_as_left_behind(
        mut plan in scenarios(),
        tasks in 1_u32..4,
        policy in 0_usize..3,
        delays in prop::collection::vec(0_u64..2_000, 1..4),
    ) {
        plan.config.policy.tasks = Tasks::ALL[policy % Tasks::ALL.len()];
        (plan.config.limits.tasks, plan.config.limits.parallel_tasks) = (tasks, tasks);
        for tool in &mut plan.config.tools {
            tool.kind = ToolKind::Task;
        }
        for tool in plan.tools.values_mut() {
            tool.permission = Permission::Allow;
            tool.runs = delays
                .iter()
                .map(|delay_ms| ToolRun { delay_ms: *delay_ms, ..ToolRun::says("done") })
                .collect();
        }
        let outcome = played(&plan)?;
        let mut told: Vec<TaskId> = Vec::new();
        let mut state = machine_spec::start(plan.config.clone());
        for input in outcome.tape.iter().map(|told| told.input.clone()) {
            state = machine_spec::step(state.state, input);
            for effect in &state.effects {
                if let Effect::Notify(Notice::TaskReported { task }) = effect {
                    prop_assert!(!told.contains(task), "{task} is reported twice");
                    told.push(*task);
                }
            }
        }
        let started = outcome.executions;
        prop_assert!(told.len() <= started);
        prop_assert!(started as u32 <= tasks);
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
