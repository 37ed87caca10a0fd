//! The swarm keeps every law, and its digest is the same wherever it flies.

use std::collections::BTreeMap;

use replay::chooser::Chooser;
use replay::scenario::{Library, Scenario};
use replay::shrink::judge;
use replay::swarm::{Flight, Size, fly, scenario, scenario_of};

fn flown(flight: Flight) -> Flight {
    assert!(flight.unsound.is_empty(), "{:?}", flight.unsound.first());
    let mut kinds = BTreeMap::new();
    for (seed, breach) in &flight.findings {
        kinds.entry((&breach.law, &breach.detail)).or_insert(seed);
    }
    for ((law, detail), seed) in kinds.iter().take(50) {
        eprintln!("seed {seed}: {law}: {detail}");
    }
    assert!(flight.findings.is_empty(), "{} findings", flight.findings.len());
    flight
}

#[test]
fn thousands_of_seeds_keep_every_law() {
    let once = flown(fly(0..3_000));
    assert_eq!(once.runs, 3_000);
    let mut halves = fly(0..1_111);
    halves.merge(fly(1_111..3_000));
    assert_eq!(halves, once, "what a seed comes to depends on the seed alone");
    assert!(once.endings.len() >= 20, "{:?}", once.endings);
    assert!(once.struck.len() >= 29, "{:?}", once.struck);
}

#[test]
fn every_choice_of_the_tiny_generator_keeps_every_law() {
    let mut chooser = Chooser::exhaustive();
    let mut plans = 0;
    loop {
        let plan = scenario(&mut chooser, Size::TINY);
        let judged = judge(&plan, &Library::new()).expect("the generator makes sound plans");
        assert_eq!(judged.breach, None, "{:?}", plan.faults);
        plans += 1;
        if !chooser.next_combination() {
            break;
        }
    }
    assert!(plans > 1_000, "{plans} plans");
}

#[test]
fn a_seed_is_only_provenance_its_plan_is_text() {
    for seed in 0..50 {
        let plan = scenario_of(seed);
        let text = serde_json::to_vec(&plan).expect("a plan is JSON");
        assert_eq!(Scenario::read(&text).expect("a sound plan"), plan, "seed {seed}");
    }
}
