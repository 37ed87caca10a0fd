//! `loopwright decode`: what a stream says, and what is no stream.

use machine_spec::model::Failure;
use serde_json::Value;
use tests::house;

use crate::{code, loopwright, nothing};

fn decode(wire: &str, file: &str) -> Value {
    let path = house::wire_file("cases").join(file);
    let ran =
        loopwright(&nothing(), &["decode", "--wire", wire, "--json", &path.to_string_lossy()]);
    assert_eq!(code(&ran), 0, "{ran:#?}");
    serde_json::from_str(&ran.stdout).expect("one object")
}

#[test]
fn both_wires_give_the_same_object() {
    let said = decode("anthropic", "B028a-1.sse");
    assert_eq!(said["thinking"], "Plan.");
    assert_eq!(said["tool_calls"][0]["name"], "deploy");
    assert_eq!(said["tool_calls"][0]["args"]["env"], "staging");
    assert_eq!(said["stop_reason"], "tool_use");
    let said = decode("openai-chat", "B017-1.sse");
    assert_eq!(said["thinking"], "I need three lists.");
    assert_eq!(said["text"], "Fetching three lists.");
    assert_eq!(said["tool_calls"].as_array().map(Vec::len), Some(3));
    assert_eq!(said["stop_reason"], "stop");
}

#[test]
fn bad_input_is_told_and_never_a_panic() {
    let stage = nothing();
    std::fs::write(stage.path("bytes.sse"), b"data: \xff\xfe\x00\n\n").expect("a file");
    let absent = loopwright(&stage, &["decode", "--wire", "anthropic", "absent.sse"]);
    assert_eq!(code(&absent), 3);
    assert!(absent.stderr.contains("LW5004"), "{absent:#?}");
    let klingon = loopwright(&stage, &["decode", "--wire", "klingon", "bytes.sse"]);
    assert_eq!(code(&klingon), 2);
    assert!(klingon.stderr.contains("anthropic"), "it says what would be right: {klingon:#?}");
    for wire in ["anthropic", "openai-chat"] {
        let bytes = loopwright(&stage, &["decode", "--wire", wire, "--json", "bytes.sse"]);
        assert!((0..=8).contains(&code(&bytes)), "{bytes:#?}");
        assert!(!bytes.stderr.contains("panicked"), "{bytes:#?}");
    }
}

fn refusal(wire: &str, rest: &[&str]) -> Value {
    let args = [&["decode", "--errors", "--wire", wire, "--json"], rest].concat();
    let ran = loopwright(&nothing(), &args);
    assert_eq!(code(&ran), 0, "{ran:#?}");
    serde_json::from_str(&ran.stdout).expect("one object")
}

#[test]
fn an_error_body_is_told_with_its_class_its_wait_and_its_sizes() {
    let case = |name: &str| house::wire_file("cases").join(name).to_string_lossy().into_owned();
    let told = refusal("anthropic", &[&case("B024a-1.http")]);
    assert_eq!((&told["class"], &told["retry_after_ms"]), (&"throttled".into(), &30_000.into()));
    let told = refusal("anthropic", &[&case("B025-1.http")]);
    assert_eq!(told["class"], "context_overflow");
    assert!(told["limit"].as_u64() < told["actual"].as_u64(), "{told}");
    // A flag is believed before the file.
    let told = refusal(
        "anthropic",
        &["--header", "retry-after-ms: 250", "--status", "529", &case("B024e-1.http")],
    );
    assert_eq!((&told["status"], &told["retry_after_ms"]), (&529.into(), &250.into()));
    let text = loopwright(
        &nothing(),
        &["decode", "--errors", "--wire", "anthropic", &case("B025-1.http")],
    );
    assert!(text.stdout.starts_with("class: context_overflow\nstatus: 400\n"), "{text:#?}");
    assert!(text.stdout.contains("\nlimit: ") && text.stdout.contains("\nactual: "), "{text:#?}");
}

#[test]
fn the_head_of_an_error_may_be_a_file_or_flags() {
    let stage = nothing();
    std::fs::write(stage.path("body.json"), "").expect("a file");
    std::fs::write(stage.path("head.json"), r#"{"http_status":429,"headers":{"retry-after":"7"}}"#)
        .expect("a file");
    let with = |rest: &[&str]| {
        let args = [&["decode", "--errors", "--wire", "gemini"], rest].concat();
        loopwright(&stage, &args)
    };
    let told = with(&["--head", "head.json", "body.json"]);
    assert_eq!(code(&told), 0, "{told:#?}");
    assert!(told.stdout.contains("class: throttled\n"), "{told:#?}");
    assert!(told.stdout.contains("retry after: 7000 ms\n"), "{told:#?}");
    for (rest, fault) in [
        (&["body.json"][..], "LW5008"),
        (&["--status", "500", "--header", "x", "body.json"], "LW5007"),
        (&["--head", "body.json", "body.json"], "LW5006"),
    ] {
        let refused = with(rest);
        assert!(refused.stderr.contains(fault) && code(&refused) != 0, "{refused:#?}");
    }
}

/// The recorded error bodies, through the command, as the library reads them.
#[test]
fn recorded_error_bodies_are_told_as_the_library_reads_them() {
    let folder = house::root().join("../shared/streams");
    let Ok(manifest) = std::fs::read_to_string(folder.join("MANIFEST.jsonl")) else {
        println!("SKIPPED: no recorded streams beside the workspace (../shared/streams)");
        return;
    };
    let mut told = 0;
    for line in manifest.lines().filter(|line| line.contains("\"errors/")) {
        let row: Value = serde_json::from_str(line).expect("a row");
        let file = row["file"].as_str().filter(|file| file.starts_with("errors/"));
        let Some(file) = file else { continue };
        let wire = row["wire"].as_str().expect("a wire").trim_end_matches("-messages");
        let stage = nothing();
        std::fs::write(stage.path("row.json"), line).expect("a file");
        let body = folder.join(file);
        let body = body.to_string_lossy();
        let args = ["decode", "--errors", "--wire", wire, "--json", "--head", "row.json", &body];
        let ran = loopwright(&stage, &args);
        assert_eq!(code(&ran), 0, "{file}: {ran:#?}");
        let ours: Failure = serde_json::from_str(&ran.stdout).expect("a failure");
        let expected = std::fs::read(
            folder.join(format!("expected/{}.json", row["id"].as_str().expect("an id"))),
        );
        let expected: Value = serde_json::from_slice(&expected.expect("expected")).expect("JSON");
        let status = expected["error"]["status"].as_u64();
        assert_eq!(ours.status.map(u64::from), status, "{file}");
        let headers = row["headers"].as_object().into_iter().flatten();
        let headers: Vec<(String, String)> = headers
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
        let bytes = std::fs::read(folder.join(file)).expect("a body");
        let dialect = wire.parse().expect("a wire");
        let status = status.and_then(|status| u16::try_from(status).ok()).expect("a status");
        assert_eq!(ours, wire::classify(dialect, status, &headers, &bytes, None), "{file}");
        told += 1;
    }
    assert_eq!(told, 93);
}
