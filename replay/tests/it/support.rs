//! Recorded runs for tests: choices among the inputs that fit, then a benign world to the end.

use machine_spec::explore::{Profile, alphabet, benign_answer, profiles};
use machine_spec::{State, start, step};
use replay::format::Chain;
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

/// The contents of the lines of a recording, without their checks: they can be edited and sealed
/// again, as someone does who knows the format.
pub(crate) fn contents(sink: &MemorySink) -> Vec<String> {
    let text = std::str::from_utf8(&sink.recording).expect("recordings are text");
    let content = |line: &str| {
        let (content, _) = line.rsplit_once(",\"check\":").expect("every line has a check");
        content.to_owned()
    };
    text.lines().map(content).collect()
}

/// Seals edited contents.
pub(crate) fn sealed<S: AsRef<str>>(contents: &[S]) -> Vec<u8> {
    let mut chain = Chain::new();
    let mut recording = Vec::new();
    for content in contents {
        let mut line = content.as_ref().as_bytes().to_vec();
        chain.seal(&mut line);
        recording.extend(line);
    }
    recording
}
