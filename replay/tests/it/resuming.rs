//! A run that is killed at any frame, and killed again, comes to an end; nothing is run twice.

use std::collections::BTreeMap;

use machine_spec::explore::benign_answer;
use machine_spec::invariants;
use machine_spec::message::{Entry, Outcome};
use machine_spec::{Effect, Input, Passage, RoomKind, State, step};
use proptest::prelude::*;
use replay::chooser::Chooser;
use replay::redact::Redactor;
use replay::replayer::{Options, replay};
use replay::sink::MemorySink;
use replay::{Note, Recorder, Recording};

/// Steps inputs, counts what is started, and judges every step.
fn tell(
    state: State,
    input: Input,
    started: &mut BTreeMap<u32, u32>,
) -> Result<State, TestCaseError> {
    let after = step(state.clone(), input.clone());
    invariants::check(&state, &input, &after)
        .map_err(|violation| TestCaseError::fail(violation.to_string()))?;
    for effect in &after.effects {
        if let Effect::RunTool { call, .. } = effect {
            *started.entry(call.0).or_default() += 1;
        }
    }
    Ok(after.state)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_killed_anywhere_is_resumed_to_an_end(profile in 0usize..16, world in prop::collection::vec(any::<u16>(), 0..60)) {
        let sink = crate::support::recorded(profile, &world);
        let whole = Recording::from_memory(&sink).expect("readable");
        for killed in 0..whole.frames.len() {
            let mut cut = whole.clone();
            cut.frames.truncate(killed + 1);
            let resumption = cut.resumption().expect("it was started");
            prop_assert_eq!(&resumption.state, &cut.state_at(killed as u64).expect("there is a frame"));
            let mut started = BTreeMap::new();
            for effect in cut.frames.iter().flat_map(|frame| &frame.effects) {
                if let Effect::RunTool { call, .. } = effect {
                    *started.entry(call.0).or_default() += 1;
                }
            }
            let open = resumption.state.frame().ledger().iter().count();
            prop_assert_eq!(open, resumption.inputs.len() + resumption.timers.len(), "every order is answered or waited for");
            let mut state = resumption.state;
            for input in resumption.inputs {
                // What an earlier answer settled needs none of its own.
                let live = input.answers().is_none_or(|id| state.frame().ledger().iter().any(|(open, _)| open == id));
                if live {
                    state = tell(state, input, &mut started)?;
                }
            }
            for _ in 0..10_000 {
                match benign_answer(&state).filter(|_| !state.is_done()) {
                    Some(input) => state = tell(state, input, &mut started)?,
                    None => break,
                }
            }
            prop_assert!(state.is_done(), "the run hangs in {}", state.room());
            prop_assert!(started.values().all(|n| *n == 1), "{started:?}");
            prop_assert_eq!(state.frame().transcript().first_unpaired(), None);
        }
    }
}

/// A recorded run up to the frame that starts a call.
fn killed_while_a_call_runs() -> MemorySink {
    for seed in 0..2000 {
        let mut chooser = Chooser::seeded(seed);
        let world: Vec<u16> = (0..40).map(|_| chooser.pick(1 << 16) as u16).collect();
        let sink = crate::support::recorded(2, &world);
        let recording = Recording::from_memory(&sink).expect("readable");
        // In Batch the message is complete: what runs there is never discarded with it.
        let in_batch = |passage: &Passage| passage.to == RoomKind::Batch;
        let at = recording.frames.iter().position(|frame| frame.trail.last().is_some_and(in_batch));
        if let Some(at) = at {
            let mut newlines = memchr::memchr_iter(b'\n', &sink.recording);
            let end = newlines.nth(at + 1).expect("a header and that many frames") + 1;
            let recording = sink.recording[..end].to_vec();
            return MemorySink { recording, ..MemorySink::default() };
        }
    }
    panic!("no run of the profile starts a call");
}

/// Goes on with a recording as a new process does: the answers that are due, and no more.
fn repair(sink: MemorySink) -> (MemorySink, State, Vec<Input>) {
    let recording = Recording::from_memory(&sink).expect("readable");
    let resumption = recording.resumption().expect("it was started");
    let redactor = Redactor::default();
    let mut recorder = Recorder::resume(sink, &recording, redactor).expect("it is sound");
    let mut state = resumption.state;
    for input in &resumption.inputs {
        let half = recorder.heard(input);
        let after = step(state, input.clone());
        half.stepped(&after, &Note::default());
        state = after.state;
    }
    (recorder.abandon(), state, resumption.inputs)
}

fn outcomes(state: &State) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for entry in state.frame().transcript().entries() {
        if let Entry::Results(results) = entry {
            outcomes.extend(results.iter().map(|result| result.outcome.clone()));
        }
    }
    outcomes
}

#[test]
fn a_call_that_was_running_is_unknown_and_a_second_resumption_adds_nothing_to_it() {
    let returned = |inputs: &[Input]| {
        inputs.iter().filter(|input| matches!(input, Input::ToolReturned { .. })).count()
    };
    let (sink, _, first) = repair(killed_while_a_call_runs());
    assert!(returned(&first) >= 1, "the running call is answered: {first:?}");
    // Killed again before anything else comes.
    let (sink, mut state, second) = repair(sink);
    assert_eq!(returned(&second), 0, "the repair was recorded once: {second:?}");
    while !state.is_done() {
        let input = benign_answer(&state).expect("a run that is not over awaits something");
        state = step(state, input).state;
    }
    let unknown = |outcome: &&Outcome| matches!(outcome, Outcome::Unknown { .. });
    let found = outcomes(&state).iter().filter(unknown).count();
    assert_eq!(found, returned(&first), "{:?}", state.frame().transcript());
    let recording = Recording::from_memory(&sink).expect("readable");
    assert_eq!(recording.asides.iter().filter(|(_, aside)| aside.resumed.is_some()).count(), 2);
    assert!(replay(&recording, Options::default()).is_identical());
}
