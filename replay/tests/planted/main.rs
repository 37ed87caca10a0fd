//! Testing the tester: each planted defect is caught by the law that names it, and shrinks to a plan
//! that a person can read. Run with
//! `cargo test --workspace --features replay/planted --test planted`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use machine_spec::planted::{Defect, plant};
use replay::Recording;
use replay::boundary::{Profile, every_boundary};
use replay::scenario::{Library, derive};
use replay::shrink::{Shrunk, judge, shrink};
use replay::swarm::scenario_of;

/// The switch is one for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

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
    let _alone = ONE_AT_A_TIME.lock();
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

/// What `loopwright run` recorded over a real connection, with tools, breaks like a drawn plan.
#[test]
fn a_recorded_run_breaks_at_a_boundary_and_shrinks_the_same_way() {
    let _alone = ONE_AT_A_TIME.lock();
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/runs");
    for (name, defect) in [
        ("answered--five-calls-in-order", Defect::MixesResults),
        ("answered--the-stream-died-behind-an-effect", Defect::RetryForgetsEffects),
        ("interrupted--three-tools-in-three-states", Defect::ResumesWithGuess),
    ] {
        let recording = Recording::read(&runs.join(name).join("run.jsonl")).expect("a fixture");
        let scenario = derive(&recording).expect("a known dialect");
        plant(Some(defect));
        let library = Library::new();
        let tally = every_boundary(&scenario, &library, Profile::SMALL, |_| {}).expect("playable");
        let law = caught_by(defect)[0];
        let found = tally.findings.iter().find(|finding| finding.breach.law == law);
        let found = found.unwrap_or_else(|| panic!("{name}: {defect} was not caught by {law}"));
        let plan = found.plan(&scenario);
        let shrunk = shrink(&plan, &library, 20_000).expect("sound").expect("it broke a law");
        plant(None);
        println!(
            "{name}: {defect} caught by {law}; {} faults, {} inputs",
            shrunk.plan.faults.len(),
            shrunk.inputs
        );
        assert_eq!(shrunk.breach.law, law);
        assert!(shrunk.inputs <= 16, "{name}: {} inputs", shrunk.inputs);
        assert_eq!(judge(&shrunk.plan, &library).expect("sound").breach, None, "{name}");
    }
}
