//! A next run that goes on from the recording of an earlier one, however that ended.

use engine::resume::last_state;
use machine_spec::config::ToolKind;
use machine_spec::input::InterruptedBy;
use machine_spec::message::{Aside, Entry, Fate, NotStarted, Outcome};
use machine_spec::{Effect, State, Terminal};
use replay::reader::Recording;
use wire::Dialect::Anthropic;

use super::play::{Play, says};

fn deploys(kind: ToolKind) -> Play {
    Play::with(Anthropic, &["B028a-1.sse", "B034-2.sse"])
        .for_ever()
        .acts("deploy", &[says(1_000, "deployed")])
        .set(|config| config.tools[0].kind = kind)
}

/// The recording up to the frame that gives an order of this kind.
fn dies_with(play: impl Fn() -> Play, ordered: impl Fn(&Effect) -> bool) -> Recording {
    let whole = play().run();
    let frames = &whole.recording().frames;
    let at = frames.iter().position(|frame| frame.effects.iter().any(&ordered));
    play().killed_after(at.expect("it is ordered") as u64 + 1)
}

fn results(state: &State) -> Vec<Outcome> {
    let entries = state.frame().transcript().entries();
    let results = entries.into_iter().filter_map(|entry| match entry {
        Entry::Results(results) => Some(results),
        Entry::Said(_) | Entry::Reply(_) | Entry::Aside(_) | Entry::Boundary(_) => None,
    });
    results.flatten().map(|result| result.outcome.clone()).collect()
}

#[test]
fn a_call_that_ran_when_the_process_died_is_unknown() {
    let recording =
        dies_with(|| deploys(ToolKind::Plain), |effect| matches!(effect, Effect::RunTool { .. }));
    let state = last_state(&recording).expect("it was started");
    let end = state.terminal();
    let by = InterruptedBy::Shutdown;
    assert!(matches!(end, Some(Terminal::Interrupted { by: told, .. }) if *told == by), "{end:?}");
    assert_eq!(results(&state), [Outcome::Unknown { output: String::new() }]);
}

#[test]
fn a_task_that_ran_when_the_process_died_is_told_of_once() {
    let task = || deploys(ToolKind::Task);
    let recording = dies_with(task, |effect| matches!(effect, Effect::StartTask { .. }));
    let state = last_state(&recording).expect("it was started");
    let entries = state.frame().transcript().entries();
    let orphans: Vec<Fate> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Aside(Aside::Orphans(orphans)) => Some(orphans.iter().map(|one| one.fate)),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(orphans, [Fate::Cancelled]);
    let history = state.frame().transcript().settled();
    let next = Play::with(Anthropic, &["B034-2.sse"])
        .says("Go on.")
        .set(|config| config.history = history)
        .run();
    let lines = next.conversation(0).concat();
    assert_eq!(lines.matches("was stopped; it may have had effects").count(), 1, "{lines}");
}

#[test]
fn a_question_that_was_open_when_the_process_died_is_no_refusal() {
    let asks = || deploys(ToolKind::Plain).permits("deploy", machine_spec::model::Permission::Ask);
    let recording = dies_with(asks, |effect| matches!(effect, Effect::AskApproval { .. }));
    let state = last_state(&recording).expect("it was started");
    assert_eq!(results(&state), [Outcome::NotStarted { why: NotStarted::Interrupted }]);
}
