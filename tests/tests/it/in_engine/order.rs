//! B029: order, isolation, barrier, with real processes.

use engine::Event;
use machine_spec::message::Outcome;
use machine_spec::policy::EarlyStart;
use tests::scene::{Scene, Stage};

use super::act::{Acted, act, act_on};

const FIXTURE: &str = "answered--five-calls-in-order";

/// Starts and ends of the calls, in the order in which they happened: `+1` starts, `-1` ends.
fn spans(acted: &Acted) -> Vec<String> {
    acted.told(|event| match event {
        Event::ToolStarted { call, .. } => Some(format!("+{}", call.0)),
        Event::ToolFinished { call, .. } => Some(format!("-{}", call.0)),
        _ => None,
    })
}

#[test]
fn b029_order_isolation_and_barrier() {
    let acted = act(FIXTURE);
    let spans = spans(&acted);
    let spans: Vec<&str> = spans.iter().map(String::as_str).collect();
    assert_eq!(spans[..2], ["+1", "+2"], "the reads overlap");
    let mut ended = spans[2..4].to_vec();
    ended.sort_unstable();
    assert_eq!(ended, ["-1", "-2"], "in whatever order they end");
    assert_eq!(spans[4..], ["+3", "-3", "+4", "-4", "+5", "-5"], "then one after the other");
    let succeeded = |output: &str| Outcome::Succeeded { output: output.into() };
    let outcomes = acted.outcomes();
    assert!(matches!(outcomes[1], Outcome::Failed { .. }), "{:?}", outcomes[1]);
    let others = [&outcomes[0], &outcomes[2], &outcomes[3], &outcomes[4]];
    let expected = ["many lines\n", "replaced red\n", "replaced blue\n", "crimson and navy\n"];
    assert_eq!(others.map(Clone::clone), expected.map(succeeded));
    let lines = acted.conversation("a", 1);
    let results: Vec<&str> = lines.iter().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(
        results[6..],
        ["result toolu_1", "error toolu_2", "result toolu_3", "result toolu_4", "result toolu_5"]
    );
    assert_eq!(acted.end().text(), Some("Both edits are in."));
}

/// The scene with another order of the two reads: each does this before it says anything.
fn with_reads(first: &str, second: &str) -> Scene {
    let mut scene = Scene::of_fixture(FIXTURE);
    for file in &mut scene.files {
        let waits = "cat overlap >/dev/null; echo";
        match file.name.as_str() {
            "read_file.sh" => {
                assert!(file.text.contains(waits), "{}", file.text);
                file.text = file.text.replace(waits, &format!("{first}; echo"));
            }
            "grep.sh" => {
                assert!(file.text.contains("echo >overlap\n"), "{}", file.text);
                file.text = file.text.replace("echo >overlap\n", &format!("{second}\n"));
            }
            _ => {}
        }
    }
    scene
}

#[test]
fn b029_the_next_request_does_not_depend_on_who_is_faster() {
    let reference = act(FIXTURE).stage.double("a").exchanges()[1].body.clone();
    let (tells, waits) = ("echo >overlap", "cat overlap >/dev/null");
    for early in EarlyStart::ALL {
        for (first, second) in [(tells, waits), (waits, tells), (":", ":")] {
            let mut scene = with_reads(first, second);
            scene.config += &format!("\n[policy]\nearly_start = \"{early}\"\n");
            let acted = act_on(Stage::set(scene));
            let body = acted.stage.double("a").exchanges()[1].body.clone();
            assert!(body == reference, "{early}:\n{:#?}", acted.conversation("a", 1));
        }
    }
}
