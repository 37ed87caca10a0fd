//! `loopwright decode`: what a stream says, and what is no stream.

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
