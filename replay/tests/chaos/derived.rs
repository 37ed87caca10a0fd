//! A recording becomes a scenario, and the scenario plays the same run.

use machine_spec::Input;
use replay::arena::{How, Told, play_plan};
use replay::checkers::judge_recording;
use replay::replayer::terminal;
use replay::scenario::{Library, Scenario, derive};

use crate::fixtures::runs;

#[test]
fn every_fixture_keeps_the_laws_as_they_look_from_outside() {
    for (name, recording) in runs() {
        judge_recording(&recording).unwrap_or_else(|breach| panic!("{name}: {breach}"));
    }
}

#[test]
fn a_derived_scenario_plays_the_run_it_was_derived_from() {
    for (name, recording) in runs() {
        let scenario = derive(&recording).expect("a known dialect");
        scenario.validate(&Library::new()).unwrap_or_else(|bad| panic!("{name}: {bad}"));
        let outcome = play_plan(&scenario, &Library::new(), How::FULL).expect("playable");
        assert_eq!(outcome.breach, None, "{name}");
        assert_eq!(outcome.trouble, None, "{name}");
        assert_eq!(outcome.state.terminal(), terminal(&recording), "{name}");
        let recorded: Vec<Input> =
            recording.frames.iter().filter_map(|frame| frame.input.clone()).collect();
        let told: Vec<Input> = outcome.tape.into_iter().map(|told: Told| told.input).collect();
        let first = told.iter().zip(&recorded).position(|(told, recorded)| told != recorded);
        let first = first.map(|at| (at, &told[at], &recorded[at]));
        assert_eq!((first, told.len()), (None, recorded.len()), "{name}");
        // What is derived is a plan like any other: it is text, and it reads back.
        let text = serde_json::to_vec_pretty(&scenario).expect("a plan is JSON");
        assert_eq!(Scenario::read(&text).expect("a sound plan"), scenario, "{name}");
    }
}
