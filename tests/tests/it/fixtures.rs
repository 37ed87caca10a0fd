//! Every fixture replays identically, and so does every prefix of it.

use std::fs;
use std::path::{Path, PathBuf};

use machine_spec::table::EDGES;
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
    assert!(found.len() >= 18, "{} fixtures", found.len());
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
fn every_prefix_of_every_fixture_can_be_taken_up_again() {
    for (name, path) in recordings() {
        let bytes = fs::read(&path).expect("a readable fixture");
        for end in line_ends(&bytes).into_iter().skip(1) {
            let read = Recording::from_bytes(&bytes[..end], ReadLimits::default(), Bodies::none());
            let recording = read.expect("a readable prefix");
            assert_eq!(recording.tail, Tail::Clean, "{name}");
            let again = recording.resumption().unwrap_or_else(|| panic!("{name}: {end} bytes"));
            let last = recording.frames.last().expect("at least one frame").seq;
            assert_eq!(recording.state_at(last).as_ref(), Some(&again.state), "{name}");
        }
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
