//! B029: order, isolation, barrier, for any duration of the tools.

use machine_spec::message::Outcome;
use machine_spec::policy::EarlyStart;
use wire::Dialect::Anthropic;

use super::play::{Play, fails, says};
use super::played::Played;

fn edits(seed: u64, early: EarlyStart, parallel: u32) -> Played {
    Play::with(Anthropic, &["B029-1.sse", "B029-2.sse"])
        .reads("read_file", &[says(300, "many lines"), says(20, "crimson and navy")])
        .reads("grep", &[fails(10, "nothing found")])
        .acts("edit", &[says(50, "edited")])
        .set(|config| config.policy.early_start = early)
        .set(|config| config.limits.parallel_tools = parallel)
        .seeded(seed)
        .run()
}

#[test]
fn b029_order_isolation_and_barrier_hold_for_any_duration() {
    let reference = edits(0, EarlyStart::Safe, 10);
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
    let mut shapes = std::collections::BTreeSet::new();
    for seed in 0..100 {
        for early in EarlyStart::ALL {
            let played = edits(seed, *early, 10);
            assert_eq!(played.body(1), reference.body(1), "seed {seed}, {early}");
            let spans = played.spans();
            let [t1, t2, t3, t4, t5] = spans[..] else { panic!("five calls run: {spans:?}") };
            assert!(t1.0 == t2.0, "seed {seed}: {spans:?} overlap");
            assert!(t3.0 >= t1.1.max(t2.1), "seed {seed}: {spans:?}");
            assert!(t4.0 >= t3.1 && t5.0 >= t4.1, "seed {seed}: {spans:?}");
            assert_eq!(played.end().text(), Some("Both edits are in."));
            shapes.insert(spans);
        }
    }
    assert!(shapes.len() >= 90, "the seeds really differ: {} shapes", shapes.len());
}

#[test]
fn b029_the_parallelism_limit_is_kept() {
    let reference = edits(0, EarlyStart::Safe, 10);
    for seed in 0..20 {
        let played = edits(seed, EarlyStart::Safe, 1);
        for pair in played.spans().windows(2) {
            assert!(pair[1].0 >= pair[0].1, "seed {seed}: {pair:?}");
        }
        assert_eq!(played.body(1), reference.body(1), "seed {seed}");
    }
}
