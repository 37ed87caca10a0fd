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
    // Every fault that has a place in some fixture was tried, and none without effect.
    assert_eq!((whole.faults.len(), whole.untouched), (Fault::ALL.len(), 0), "{:?}", whole.faults);
    assert!(whole.endings.len() >= TerminalKind::ALL.len() - 1, "{:?}", whole.endings);
}
