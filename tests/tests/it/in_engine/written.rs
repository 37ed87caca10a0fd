//! B011: calls that the model wrote into its text.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::effect::OutputFault;
use machine_spec::message::Outcome;
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act, act_on};

const WRITTEN: &str = "answered--a-call-written-as-text";

/// Everything that was shown of the answers, as it came.
fn shown(acted: &Acted) -> String {
    acted
        .told(|event| match event {
            Event::TextDelta { text, .. } => Some(text.clone()),
            _ => None,
        })
        .concat()
}

fn answered(files: &[&str]) -> Scene {
    let mut scene = Scene::of_fixture(WRITTEN);
    scene.doubles[0].answers = files.iter().map(|file| AnswerTable::of(file)).collect();
    scene
}

#[test]
fn b011a_a_written_call_is_a_call_and_leaves_no_markup() {
    let acted = act(WRITTEN);
    assert_eq!(acted.stage.lines("ledger"), ["read"]);
    assert_eq!(acted.outcomes(), [Outcome::Succeeded { output: "[workspace]\n".into() }]);
    let lines = acted.conversation("a", 1);
    let [user, text, call, result] = &lines[..] else { panic!("{lines:#?}") };
    assert!(user.starts_with("user: "), "{user}");
    assert_eq!(text, "assistant: Let me look.");
    assert!(call.contains(r#"read_file {"path":"Cargo.toml"}"#), "{call}");
    assert!(result.contains("[workspace]"), "{result}");
    assert!(!lines.concat().contains("tool_call>"), "{lines:#?}");
    assert!(shown(&acted).starts_with("Let me look."), "{}", shown(&acted));
    assert!(!shown(&acted).contains('<'), "{}", shown(&acted));
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}

#[test]
fn b011b_an_example_in_a_fence_is_shown_whole() {
    let acted = act_on(Stage::set(answered(&["cases/B011b-1.sse"])));
    assert_eq!((acted.asked("a"), acted.stage.lines("ledger").len()), (1, 0));
    let text = shown(&acted);
    assert!(text.contains("<tool_call>") && text.ends_with("That is the whole format."), "{text}");
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}

#[test]
fn b011c_two_written_calls_are_two_calls() {
    let acted = act_on(Stage::set(answered(&["cases/B011c-1.sse", "cases/B017-2.sse"])));
    assert_eq!(acted.stage.lines("ledger"), ["read", "read"]);
    assert_eq!(acted.outcomes().len(), 2);
}

/// Without recovery nothing runs, and the model is asked once to mend it; the markup is not shown and
/// not sent back.
#[test]
fn b011a_without_recovery_leads_to_one_repair() {
    let mut scene = answered(&["cases/B011a-1.sse", "cases/B017-2.sse"]);
    scene.config = scene.config.replace("[[tool]]", "recover_text_calls = false\n\n[[tool]]");
    let acted = act_on(Stage::set(scene));
    assert_eq!((acted.asked("a"), acted.stage.lines("ledger").len()), (2, 0));
    assert!(!shown(&acted).contains("<tool_call>"), "{}", shown(&acted));
    let repairs = acted.told(|event| match event {
        Event::RepairAsked { fault, n } => Some((*fault, *n)),
        _ => None,
    });
    assert_eq!(repairs, [(OutputFault::MalformedCall, 1)]);
    let told = acted.conversation("a", 1).concat();
    assert!(told.contains("found one that is written as text"), "{told}");
    assert!(!told.contains("<tool_call>") && !told.contains("<function="), "{told}");
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}
