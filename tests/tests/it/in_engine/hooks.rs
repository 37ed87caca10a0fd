//! B001: stop hooks that always block, say nothing, or cannot work.

use engine::Event;
use machine_spec::Terminal;
use serde_json::Value;
use tests::scene::{Scene, Stage};

use super::act::{Acted, act, act_on, kind};

#[test]
fn b001a_a_hook_that_always_blocks_is_capped() {
    let acted = act("stop-hook-limit--tests-were-not-run");
    assert_eq!(acted.asked("a"), 4);
    let asked = acted.stage.lines("asked");
    let asked: Vec<(Value, Value)> = asked
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("the question of a hook is JSON"))
        .map(|told: Value| (told["stop_hook_active"].clone(), told["stop_hook_reentries"].clone()))
        .collect();
    let expected = [(false, 0), (true, 1), (true, 2), (true, 3)];
    assert_eq!(asked, expected.map(|(active, n)| (Value::from(active), Value::from(n))));
    let mut lines = vec![format!("user: {}", acted.stage.prompt())];
    for n in 0..4 {
        assert_eq!(acted.conversation("a", n), lines, "request {}", n + 1);
        lines.push("assistant: All steps are finished.".into());
        lines.push("user: tests were not run".into());
    }
    match acted.end() {
        Terminal::StopHookLimit { limit: 3, last_feedback, text } => {
            assert_eq!(last_feedback, "tests were not run");
            assert_eq!(text, "All steps are finished.");
        }
        end => panic!("{end:?}"),
    }
}

#[test]
fn b001b_silence_adds_nothing() {
    let acted = act("answered--the-stop-hook-is-silent");
    assert_eq!(acted.asked("a"), 1);
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
    assert_eq!(acted.ended.history().len(), 2, "the words of the user and the answer");
}

const BROKEN: &str = "answered--the-stop-hook-is-broken";

#[test]
fn b001c_a_broken_hook_is_no_block() {
    no_block(&act(BROKEN), "no such program");
}

#[test]
fn b001c_a_hook_that_is_not_there_is_no_block() {
    let mut scene = Scene::of_fixture(BROKEN);
    scene.files.clear();
    no_block(&act_on(Stage::set(scene)), "stop.sh");
}

fn no_block(acted: &Acted, problem: &str) {
    assert_eq!(acted.asked("a"), 1);
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
    let warnings = acted.told(|event| match event {
        Event::Warning { message, .. } => Some(message.clone()),
        _ => None,
    });
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    assert!(warning.contains("stop.sh"), "it names the hook: {warning}");
    assert!(warning.contains(problem), "and what went wrong: {warning}");
    assert!(!acted.events.iter().any(|event| kind(event) == "hook_blocked"));
}
