//! B029: order, isolation, barrier, for any duration of the tools.

use std::cell::RefCell;

use machine_spec::input::{ToolReport, ToolStatus};
use machine_spec::message::Outcome;
use machine_spec::policy::EarlyStart;
use serde_json::Value;
use tests::double::Script;
use wire::Dialect::Anthropic;

use super::play::{Play, case, ok};
use super::played::Played;

/// Durations that differ from seed to seed; the same for the same seed.
fn durations(seed: u64) -> impl FnMut(u64) -> u64 {
    const STEP: u64 = 6_364_136_223_846_793_005;
    let mut state = seed.wrapping_mul(STEP).wrapping_add(1);
    move |most| {
        state = state.wrapping_mul(STEP).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % most
    }
}

fn edits(durations: impl FnMut(u64) -> u64, early: EarlyStart, parallel: u32) -> Played {
    let (file, draw) = (RefCell::new(String::from("red and blue")), RefCell::new(durations));
    let time = |most| (draw.borrow_mut())(most);
    let nothing = ToolReport { status: ToolStatus::Failed, output: "nothing found".into() };
    Play::with(Anthropic, Script::list([case("B029-1.sse"), case("B029-2.sse")]))
        .reads("read_file", |args| {
            if args.contains("big.log") {
                (time(600), ok("many lines"))
            } else {
                (time(20), ok(&file.borrow()))
            }
        })
        .reads("grep", |_| (time(20), nothing.clone()))
        .acts("edit", |args| {
            let args: Value = serde_json::from_str(args).expect("arguments");
            let word = |name: &str| args[name].as_str().expect("a word").to_owned();
            let changed = file.borrow().replace(&word("old"), &word("new"));
            *file.borrow_mut() = changed;
            (time(50), ok("edited"))
        })
        .set(|config| config.policy.early_start = early)
        .set(|config| config.limits.parallel_tools = parallel)
        .run()
}

#[test]
fn b029_order_isolation_and_barrier_hold_for_any_duration() {
    let reference = edits(|_| 1, EarlyStart::Safe, 10);
    let succeeded = |output: &str| Outcome::Succeeded { output: output.into() };
    assert_eq!(
        reference.outcomes(),
        [
            succeeded("many lines"),
            Outcome::Failed { output: "nothing found".into() },
            succeeded("edited"),
            succeeded("edited"),
            succeeded("crimson and navy"),
        ]
    );
    for seed in 0..100 {
        for early in [EarlyStart::Off, EarlyStart::Safe, EarlyStart::All] {
            let played = edits(durations(seed), early, 10);
            assert_eq!(played.asked[1].body, reference.asked[1].body, "seed {seed}, {early}");
            let [t1, t2, t3, t4, t5] = &played.tools[..] else { panic!("five calls run") };
            assert!(t1.from < t2.end() && t2.from < t1.end(), "{t1:?} and {t2:?} overlap");
            assert!(t3.from >= t1.end().max(t2.end()), "seed {seed}: {t3:?}");
            assert!(t4.from >= t3.end() && t5.from >= t4.end(), "seed {seed}: {t4:?} {t5:?}");
            assert_eq!(played.end().text(), Some("Both edits are in."));
        }
    }
}

#[test]
fn b029_the_parallelism_limit_is_kept() {
    let reference = edits(|_| 1, EarlyStart::Safe, 10);
    for seed in 0..20 {
        let played = edits(durations(seed), EarlyStart::Safe, 1);
        for pair in played.tools.windows(2) {
            assert!(pair[1].from >= pair[0].end(), "seed {seed}: {pair:?}");
        }
        assert_eq!(played.asked[1].body, reference.asked[1].body, "seed {seed}");
    }
}
