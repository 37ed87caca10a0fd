//! Plans that once broke a law break none any more.

use replay::faults::{Fault, Placed, Seam};
use replay::regressions::{Regression, keep, load, play, read};
use replay::swarm::scenario_of;

use crate::fixtures::folder;

#[test]
fn no_regression_comes_back() {
    let kept = load(&folder().join("regressions")).expect("sound regressions");
    assert!(kept.len() >= 2, "{} regressions", kept.len());
    let mut inputs: Vec<u64> = Vec::new();
    for kept in kept {
        let judged = play(&kept.regression).expect("playable");
        let (law, folder) = (&kept.regression.law, kept.folder.display());
        assert_eq!(judged.breach, None, "{folder} broke {law} once, and breaks again");
        inputs.push(judged.inputs);
    }
    inputs.sort_unstable();
    assert!(inputs[inputs.len() / 2] <= 24, "{inputs:?}");
}

#[test]
fn a_regression_is_kept_under_the_next_number_and_reads_back() {
    let place = tempfile::tempdir().expect("a folder");
    let mut scenario = scenario_of(5);
    scenario.faults = vec![Placed::new(Fault::Interrupt, Seam::Input(3))];
    let found = "seed 5".to_owned();
    let regression = Regression { law: "T05".into(), found, defect: None, scenario };
    for number in ["0001-a-slug", "0002-a-slug"] {
        let path = keep(place.path(), "a-slug", &regression, "Why.").expect("kept");
        assert!(path.ends_with(number), "{}", path.display());
        let bytes = std::fs::read(path.join("plan.json")).expect("a plan");
        assert_eq!(read(&bytes).expect("sound"), regression);
    }
    assert_eq!(load(place.path()).expect("sound").len(), 2);
    std::fs::remove_dir_all(place.path().join("0001-a-slug")).expect("removed");
    let text = load(place.path()).expect_err("a number is missing").to_string();
    assert!(text.contains("expected a name that begins with 0001-"), "{text}");
}
