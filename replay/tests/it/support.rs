//! Recorded runs for tests: choices among the inputs that fit, then a benign world to the end.

use machine_spec::explore::{Profile, alphabet, benign_answer, profiles};
use machine_spec::{State, start, step};
use replay::redact::Redactor;
use replay::sink::{MemorySink, Sink};
use replay::{Header, Note, Recorder};

/// Records a run of a profile into a sink.
pub(crate) fn record_into<S: Sink>(sink: S, profile: &Profile, choices: &[u16]) -> (S, State) {
    let header = Header::new(profile.config.clone(), vec![]);
    let mut recorder = Recorder::create(sink, header, Redactor::default());
    let begun = start(recorder.header().config.clone());
    recorder.started(&begun, &Note::at(0));
    let mut state = begun.state;
    let mut choices = choices.iter();
    let mut at_ms = 0;
    while !state.is_done() {
        let inputs = alphabet(&state, profile);
        let input = match choices.next() {
            Some(choice) if !inputs.is_empty() => {
                inputs[usize::from(*choice) % inputs.len()].clone()
            }
            Some(_) | None => benign_answer(&state).expect("a run that is not over awaits"),
        };
        at_ms += 7;
        let note = if at_ms % 2 == 0 { Note::at(at_ms) } else { Note::default() };
        let half = recorder.heard(&input);
        let after = step(state, input);
        half.stepped(&after, &note);
        state = after.state;
    }
    let (sink, failures) = recorder.finish();
    assert!(failures.is_empty(), "memory never fails: {failures:?}");
    (sink, state)
}

/// A run of the n-th profile.
pub(crate) fn recorded(profile: usize, choices: &[u16]) -> MemorySink {
    let all = profiles::all();
    record_into(MemorySink::default(), &all[profile % all.len()], choices).0
}
