//! Every fixture replays identically, and so does every prefix of it; from every prefix its run is
//! taken up to the same end. Together they show every ending and every cause.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use machine_spec::because::Because;
use machine_spec::explore::benign_answer;
use machine_spec::invariants;
use machine_spec::table::EDGES;
use machine_spec::{Effect, Input, State, TerminalKind, step};
use replay::format::ReadLimits;
use replay::format::v1::BodyNote;
use replay::reader::{Bodies, Recording, Tail};
use replay::replayer::{Options, Report, Verdict, Warning, replay_bytes, replay_file};
use replay::sink::bodies_folder;
use tests::house;

/// The recordings of `fixtures/runs`, with the names of their folders.
fn recordings() -> Vec<(String, PathBuf)> {
    let runs = house::root().join("fixtures/runs");
    let mut found: Vec<(String, PathBuf)> = fs::read_dir(&runs)
        .expect("there are fixtures")
        .map(|entry| {
            let folder = entry.expect("an entry").path();
            let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
            (name, folder.join("run.jsonl"))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 90, "{} fixtures", found.len());
    found
}

fn identical(name: &str, report: &Report) {
    assert_eq!(report.verdict, Verdict::Identical, "{name}: {report:#?}");
}

#[test]
fn every_fixture_replays_identically_and_ends_as_its_name_says() {
    for (name, path) in recordings() {
        let report = replay_file(&path, Options::default()).expect("a readable fixture");
        identical(&name, &report);
        assert_eq!(report.warnings, [], "{name}");
        let ending = report.terminal.as_ref().unwrap_or_else(|| panic!("{name} has no ending"));
        let word = ending.kind().word().replace('_', "-");
        assert!(name.starts_with(&format!("{word}--")), "{name} ends as {word}");
    }
}

#[test]
fn every_request_and_every_response_of_a_fixture_is_compared() {
    for (name, path) in recordings() {
        let recording = Recording::read(&path).expect("a readable fixture");
        let effects = recording.frames.iter().flat_map(|frame| &frame.effects);
        let asked = effects.filter(|effect| effect.kind() == machine_spec::EffectKind::CallModel);
        let asked = asked.count() as u64;
        let report = replay_file(&path, Options::default()).expect("a readable fixture");
        assert_eq!((report.requests.compared, report.requests.skipped), (asked, 0), "{name}");
        // What a refusal came to depends on its headers, which are not kept.
        let refused = |note: &&BodyNote| note.status.is_some_and(|status| status != 200);
        let refused = recording.responses().filter(refused).count() as u64;
        assert_eq!(report.responses.skipped, refused, "{name}");
    }
}

#[test]
fn every_passage_of_a_fixture_is_a_door_of_the_table() {
    for (name, path) in recordings() {
        let recording = Recording::read(&path).expect("a readable fixture");
        for passage in recording.frames.iter().flat_map(|frame| &frame.trail) {
            let declared = EDGES.iter().any(|edge| {
                (edge.from, edge.on, edge.because, edge.to)
                    == (passage.from, passage.on, passage.because, passage.to)
            });
            assert!(declared, "{name}: {passage:?}");
        }
    }
}

#[test]
fn every_prefix_of_every_fixture_replays_identically() {
    for (name, path) in recordings() {
        let bytes = fs::read(&path).expect("a readable fixture");
        let ends = line_ends(&bytes);
        for (n, end) in ends.iter().enumerate() {
            let report = replay_prefix(&bytes[..*end], &path);
            identical(&name, &report);
            assert!(report.frames <= n as u64, "{name}: {n} lines");
            assert!(!report.warnings.iter().any(is_torn), "{name}: {n} lines");
        }
        // A process that dies while it writes leaves a part of a line.
        for pair in ends.windows(2) {
            let torn = pair[0] + (pair[1] - pair[0]) / 2;
            let report = replay_prefix(&bytes[..torn], &path);
            identical(&name, &report);
            assert!(report.warnings.iter().any(is_torn), "{name}: cut at byte {torn}");
        }
    }
}

#[test]
fn every_ending_and_every_cause_is_in_some_fixture() {
    let (mut endings, mut causes) = (BTreeSet::new(), BTreeSet::new());
    for (name, path) in recordings() {
        let recording = Recording::read(&path).expect("a readable fixture");
        let trails = recording.frames.iter().flat_map(|frame| &frame.trail);
        causes.extend(trails.map(|passage| passage.because));
        let end = replay::replayer::terminal(&recording);
        endings.insert(end.unwrap_or_else(|| panic!("{name} has no ending")).kind());
    }
    let unseen: Vec<_> = TerminalKind::ALL.iter().filter(|kind| !endings.contains(kind)).collect();
    assert!(unseen.is_empty(), "endings without a fixture: {unseen:?}");
    let unseen: Vec<_> = Because::ALL.iter().filter(|cause| !causes.contains(cause)).collect();
    assert!(unseen.is_empty(), "causes without a fixture: {unseen:?}");
}

/// A prefix of a recording, read as whoever takes it up reads it.
fn prefix(bytes: &[u8]) -> Recording {
    let read = Recording::from_bytes(bytes, ReadLimits::default(), Bodies::none());
    let recording = read.expect("a readable prefix");
    assert_eq!(recording.tail, Tail::Clean);
    recording
}

#[test]
fn every_prefix_of_every_fixture_is_taken_up_and_comes_to_the_same_end() {
    for (name, path) in recordings() {
        let whole = Recording::read(&path).expect("a readable fixture");
        let bytes = fs::read(&path).expect("a readable fixture");
        let last = whole.frames.last().expect("at least the start");
        let ended = whole.state_at(last.seq).expect("there is a last frame");
        assert_eq!(last.digest, Some(ended.digest()), "{name}");
        let mut taken_up = 0;
        for end in line_ends(&bytes).into_iter().skip(1) {
            let left = prefix(&bytes[..end]);
            let again = left.resumption().unwrap_or_else(|| panic!("{name}: {end} bytes"));
            if std::mem::replace(&mut taken_up, left.frames.len()) == left.frames.len() {
                // A line that is no frame leads to the same state.
                continue;
            }
            let mut state = again.state;
            for frame in &whole.frames[left.frames.len()..] {
                let input = frame.input.clone().expect("only the start has no input");
                let after = step(state, input);
                let at = format!("{name}: taken up behind {taken_up} frames, frame {}", frame.seq);
                assert_eq!(after.effects, frame.effects, "{at}");
                assert_eq!(after.trail, frame.trail, "{at}");
                state = after.state;
            }
            assert_eq!(state.digest(), ended.digest(), "{name}: behind {taken_up} frames");
            assert_eq!(state.terminal(), replay::replayer::terminal(&whole), "{name}");
        }
        assert_eq!(taken_up, whole.frames.len(), "{name}");
    }
}

/// What a process finds that takes up a run whose process was killed: nobody knows what came of
/// what was open, and then the world is kind.
#[test]
fn every_prefix_of_every_fixture_left_by_a_killed_process_comes_to_an_end() {
    for (name, path) in recordings() {
        let whole = Recording::read(&path).expect("a readable fixture");
        for killed in 1..=whole.frames.len() {
            let mut left = whole.clone();
            left.frames.truncate(killed);
            let orders = left.frames.iter().flat_map(|frame| &frame.effects);
            let mut started = BTreeMap::new();
            orders.for_each(|effect| note_start(effect, &mut started));
            let again = left.resumption().expect("it was started");
            let mut state = again.state;
            for input in again.inputs {
                let is_open = |id| state.frame().ledger().iter().any(|(open, _)| open == id);
                if input.answers().is_none_or(is_open) {
                    state = judged(state, input, &mut started);
                }
            }
            while !state.is_done() {
                let input = benign_answer(&state);
                let input = input.unwrap_or_else(|| panic!("{name}: hangs in {}", state.room()));
                state = judged(state, input, &mut started);
            }
            assert!(started.values().all(|n| *n == 1), "{name} behind {killed}: {started:?}");
            assert_eq!(state.frame().transcript().first_unpaired(), None, "{name}: {killed}");
        }
    }
}

/// Steps, judges the step by every invariant, and counts what it starts.
fn judged(state: State, input: Input, started: &mut BTreeMap<u32, u32>) -> State {
    let after = step(state.clone(), input.clone());
    if let Err(violation) = invariants::check(&state, &input, &after) {
        panic!("{violation}");
    }
    after.effects.iter().for_each(|effect| note_start(effect, started));
    after.state
}

fn note_start(effect: &Effect, started: &mut BTreeMap<u32, u32>) {
    if let Effect::RunTool { call, .. } | Effect::StartTask { call, .. } = effect {
        *started.entry(call.0).or_default() += 1;
    }
}

fn line_ends(bytes: &[u8]) -> Vec<usize> {
    let newlines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    newlines.map(|(at, _)| at + 1).collect()
}

fn is_torn(warning: &Warning) -> bool {
    matches!(warning, Warning::TornTail(_))
}

fn replay_prefix(bytes: &[u8], path: &Path) -> Report {
    let limits = ReadLimits::default();
    let bodies = Bodies::folder(bodies_folder(path), limits);
    let report = replay_bytes(bytes, limits, None, bodies, Options::default());
    report.expect("a readable prefix")
}
