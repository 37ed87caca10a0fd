//! Testing the tester: each planted defect is caught by the law that names it, and shrinks to a plan
//! that a person can read. Run with `cargo test -p replay --features planted --test planted`.

use std::collections::BTreeMap;

use machine_spec::planted::{Defect, plant};
use replay::scenario::Library;
use replay::shrink::{Shrunk, judge, shrink};
use replay::swarm::scenario_of;

/// Seeds within which a defect must be found.
const SEEDS: u64 = 4_000;

/// The laws that may catch a defect: the first one is the law it was planted against, others notice
/// it on the way.
const fn caught_by(defect: Defect) -> &'static [&'static str] {
    match defect {
        Defect::RetryForgetsEffects => &["T04"],
        Defect::StartsTwice => &["T04"],
        Defect::IgnoresBarrier => &["T03"],
        Defect::RunsMalformed => &["T02"],
        Defect::ForgetsRetraction => &["T09"],
        Defect::ForgetsToCount => &["T07", "T06"],
        Defect::ForgetsTimer => &["I04"],
        Defect::MixesResults => &["I05"],
        Defect::GuessesOutcome => &["T05"],
        Defect::LosesWords => &["I14"],
        Defect::FinishesTwice => &["I03"],
        Defect::RefusesWithTrace => &["I02"],
        Defect::ResumesWithGuess => &["R02"],
        Defect::ResumesWithoutTimer => &["I13"],
        Defect::RecordsWithGap => &["R01"],
        Defect::RecordsAfterFailure => &["R03"],
    }
}

/// The smallest plan of the first seed that breaks one of these laws, and the seed.
fn found(defect: Defect) -> (u64, Shrunk) {
    let library = Library::new();
    for seed in 0..SEEDS {
        let plan = scenario_of(seed);
        let judged = judge(&plan, &library).expect("the generator makes sound plans");
        let caught =
            judged.breach.is_some_and(|breach| caught_by(defect).contains(&breach.law.as_str()));
        if caught {
            let shrunk = shrink(&plan, &library, 20_000).expect("a sound plan");
            return (seed, shrunk.expect("it broke a law a moment ago"));
        }
    }
    panic!("{defect} was not caught by {:?} in {SEEDS} seeds", caught_by(defect));
}

#[test]
fn every_planted_defect_is_caught_by_name_and_shrinks() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut inputs: BTreeMap<Defect, u64> = BTreeMap::new();
    for defect in Defect::ALL {
        plant(Some(*defect));
        let (seed, shrunk) = found(*defect);
        plant(None);
        let plan = serde_json::to_string(&shrunk.plan).expect("a plan is JSON");
        println!(
            "{defect}: {} after {} inputs, seed {seed}, {} candidates, {} faults, {} bytes",
            shrunk.breach.law,
            shrunk.inputs,
            shrunk.tried,
            shrunk.plan.faults.len(),
            plan.len()
        );
        println!("  {}\n  {plan}", shrunk.breach.detail);
        inputs.insert(*defect, shrunk.inputs);
        let healthy = judge(&shrunk.plan, &Library::new()).expect("a sound plan");
        assert_eq!(healthy.breach, None, "{defect}: the plan breaks a sound machine as well");
    }
    let small = inputs.values().filter(|inputs| **inputs <= 6).count();
    assert!(small >= 5, "expected five defects to shrink to 6 inputs, found {small}: {inputs:?}");
}
