//! Every boundary of every fixture, in the small profile; the lane tries all of them.

use machine_spec::TerminalKind;
use replay::boundary::{Profile, Tally, every_boundary};
use replay::faults::Fault;
use replay::scenario::{Library, derive};

use crate::fixtures::runs;

#[test]
fn no_fixture_breaks_at_any_boundary_of_the_small_profile() {
    let mut whole = Tally::default();
    for (name, recording) in runs() {
        let scenario = derive(&recording).expect("a known dialect");
        let tally = every_boundary(&scenario, &Library::new(), Profile::SMALL, |_| {});
        let tally = tally.expect("playable");
        for finding in &tally.findings {
            let faults: Vec<String> = finding.faults.iter().map(ToString::to_string).collect();
            eprintln!("{name}: {} | {faults:?} {:?}", finding.breach, finding.when_cancelled);
        }
        whole.merge(tally);
    }
    assert!(whole.findings.is_empty(), "{} findings", whole.findings.len());
    assert!(whole.variants > 10_000 && whole.distinct > 2_000, "{whole:?}");
    // Every fault that has a place in some fixture was tried, and hardly one without effect: of two
    // faults in one run the first may end it before the second has its turn.
    assert_eq!(whole.faults.len(), Fault::ALL.len(), "{:?}", whole.faults);
    assert!(whole.untouched * 1_000 < whole.variants, "{} of {}", whole.untouched, whole.variants);
    assert!(whole.endings.len() >= TerminalKind::ALL.len() - 1, "{:?}", whole.endings);
}
