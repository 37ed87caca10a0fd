//! What if: another limit, another answer, from a frame on.

use machine_spec::input::{HookAnswer, ToolReport, ToolStatus};
use machine_spec::{Effect, Input, TerminalKind};
use replay::Recording;
use replay::fork::{Change, fork};
use replay::replayer::terminal;
use serde_json::json;

use crate::fixtures::folder;

fn fixture(name: &str) -> Recording {
    Recording::read(&folder().join("runs").join(name).join("run.jsonl")).expect("a fixture")
}

fn ended(recording: &Recording) -> Option<TerminalKind> {
    terminal(recording).map(|terminal| terminal.kind())
}

#[test]
fn another_limit_lets_a_run_go_on() {
    let recording = fixture("max-turns--two-rounds");
    assert_eq!(ended(&recording), Some(TerminalKind::MaxTurns));
    let config = Some(json!({ "limits": { "tool_rounds": 9 } }));
    let change = Change { config, ..Change::default() };
    let last = recording.frames.len() as u64 - 2;
    let forked = fork(&recording, last, &change).expect("the limit shows at the end alone");
    assert_eq!(ended(&forked.recording), Some(TerminalKind::Answered));
    assert_eq!((forked.differs_at, forked.breach), (Some(last + 1), None));
    let config = Some(json!({ "limits": { "tool_rounds": 1 } }));
    let early = fork(&recording, last, &Change { config, ..Change::default() });
    let text = early.expect_err("it shows earlier").to_string();
    assert!(text.contains("the change shows at frame"), "{text}");
}

#[test]
fn another_answer_of_a_hook_ends_a_run_elsewhere() {
    let recording = fixture("hook-stopped--continue-is-false");
    let (at, id) = recording
        .frames
        .iter()
        .find_map(|frame| match &frame.input {
            Some(Input::HookAnswered { id, answer: HookAnswer::Halted { .. } }) => {
                Some((frame.seq, *id))
            }
            _ => None,
        })
        .expect("a hook halted it");
    let answers = vec![Input::HookAnswered { id, answer: HookAnswer::Allowed }];
    let change = Change { answers, ..Change::default() };
    let forked = fork(&recording, at - 1, &change).expect("it fits");
    assert_eq!(forked.differs_at, Some(at));
    assert_ne!(ended(&forked.recording), Some(TerminalKind::HookStopped));
    let late = fork(&recording, at, &change).expect_err("it was answered before");
    assert!(late.to_string().contains("which is not behind"), "{late}");
}

#[test]
fn another_result_of_a_tool_is_what_the_model_reads() {
    let recording = fixture("answered--the-stream-died-behind-an-effect");
    let (at, id) = recording
        .frames
        .iter()
        .find_map(|frame| match &frame.input {
            Some(Input::ToolReturned { id, .. }) => Some((frame.seq, *id)),
            _ => None,
        })
        .expect("a tool ran");
    let report = ToolReport::new(ToolStatus::Failed, "no space left");
    let answers = vec![Input::ToolReturned { id, report }];
    let forked = fork(&recording, at - 1, &Change { answers, ..Change::default() }).expect("fits");
    assert_eq!((forked.differs_at, forked.breach), (Some(at), None));
    let text = format!("{:?}", forked.recording.frames[at as usize].input);
    assert!(text.contains("no space left"), "{text}");
    let starts = |recording: &Recording| {
        let effects = recording.frames.iter().flat_map(|frame| &frame.effects);
        effects.filter(|effect| matches!(effect, Effect::RunTool { .. })).count()
    };
    assert_eq!(starts(&forked.recording), starts(&recording));
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let recording = fixture("max-turns--two-rounds");
    let refused = |at, change: Change| fork(&recording, at, &change).expect_err("bad").to_string();
    let none = Change::default();
    assert!(refused(4_000, none).contains("--at: expected a frame from 0 to"));
    let config = Some(json!({ "limits": { "wishes": 3 } }));
    let text = refused(0, Change { config, ..Change::default() });
    assert!(text.contains("--config") && text.contains("wishes"), "{text}");
    let said = Input::UserSaid { text: "no".into(), images: vec![], rules: vec![] };
    let text = refused(0, Change { answers: vec![said], ..Change::default() });
    assert!(text.contains("--answer 1: expected an answer to an effect"), "{text}");
    let id = machine_spec::ids::EffectId(99);
    let answers = vec![Input::TimerFired { id }];
    let text = refused(0, Change { answers, ..Change::default() });
    assert!(text.contains("the recording holds no timer_fired for e99"), "{text}");
}
