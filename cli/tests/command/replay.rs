//! `loopwright replay`: the exit codes, and where a difference is told.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tests::house;
use tests::scene::{Ran, Stage};

use crate::{code, loopwright, nothing};

const FIXTURE: &str = "fixtures/runs/max-turns--two-rounds/run.jsonl";

fn replay(stage: &Stage, path: &Path) -> Ran {
    loopwright(stage, &["replay", &path.to_string_lossy()])
}

/// A stage with one recording of these bytes.
fn with_recording(bytes: impl AsRef<[u8]>) -> (Stage, PathBuf) {
    let stage = nothing();
    let path = stage.path("run.jsonl");
    fs::write(&path, bytes).expect("a file");
    (stage, path)
}

fn fixture() -> String {
    fs::read_to_string(house::root().join(FIXTURE)).expect("a fixture")
}

#[test]
fn all_fixtures_replay_identically() {
    let runs = house::root().join("fixtures/runs");
    let ran = replay(&nothing(), &runs);
    assert_eq!(code(&ran), 0, "{ran:#?}");
    let names = fs::read_dir(&runs).expect("there are fixtures").flatten();
    let mut count = 0;
    for name in names.map(|entry| entry.file_name().to_string_lossy().into_owned()) {
        let line = ran.stdout.lines().find(|line| line.contains(&name));
        assert!(line.is_some_and(|line| line.contains("identical")), "{name}: {line:?}");
        count += 1;
    }
    assert!(ran.stdout.contains(&format!("{count} of {count} recordings replay identically")));
}

#[test]
fn one_changed_byte_of_any_frame_is_told_where_it_is() {
    let text = fixture();
    let mut frames = 0;
    for (n, line) in text.lines().enumerate() {
        let Ok(Value::Object(frame)) = serde_json::from_str(line) else { panic!("line {}", n + 1) };
        let Some(seq) = frame.get("seq") else { continue };
        frames += 1;
        // A digit of the frame's own number stays: a byte behind it is changed.
        let from = text.lines().take(n).map(|line| line.len() + 1).sum::<usize>();
        let at = from + line.len() / 2;
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
        let (stage, path) = with_recording(bytes);
        let ran = replay(&stage, &path);
        assert_eq!(code(&ran), 1, "byte {at}: {ran:#?}");
        let place = format!("at frame {seq}");
        assert!(ran.stdout.contains(&place), "byte {at}: expected {place}\n{}", ran.stdout);
        assert!(ran.stdout.contains("LW1") && ran.stdout.contains("loopwright replay"));
    }
    assert!(frames > 10, "{frames} frames");
}

#[test]
fn a_torn_tail_is_a_warning() {
    let text = fixture();
    let (stage, path) = with_recording(&text[..text.len() - 40]);
    let ran = replay(&stage, &path);
    assert_eq!(code(&ran), 0, "{ran:#?}");
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("LW1201"), "{ran:#?}");
}

#[test]
fn what_cannot_be_read_exits_with_3_and_nothing_to_read_with_4() {
    let newer = fixture().replacen("loopwright/1.0", "loopwright/2.0", 1);
    for (bytes, word) in [
        (newer.into_bytes(), "LW1103"),
        (b"\xff\xfe\x00".to_vec(), "LW1102"),
        (b"{\"format\":\"loopwright/1.0\"}\n".to_vec(), "LW11"),
        (vec![b'['; 100_000], "LW11"),
    ] {
        let (stage, path) = with_recording(bytes);
        let ran = replay(&stage, &path);
        assert_eq!(code(&ran), 3, "{ran:#?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(word), "{word}: {ran:#?}");
    }
    let stage = nothing();
    assert_eq!(code(&replay(&stage, Path::new("absent.jsonl"))), 3);
    assert_eq!(code(&replay(&stage, Path::new("."))), 4, "a folder without a recording");
    assert_eq!(code(&loopwright(&stage, &["replay", "--no-such-flag"])), 2);
}
