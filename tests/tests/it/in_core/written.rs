//! B011: calls that the model wrote into its text.

use machine_spec::Terminal;
use machine_spec::message::Outcome;
use wire::Dialect::OpenAiChat;

use super::play::{Play, says};

#[test]
fn b011a_a_written_call_is_a_call_and_leaves_no_markup() {
    let played = Play::with(OpenAiChat, &["B011a-1.sse", "B017-2.sse"])
        .reads("read_file", &[says(1, "[workspace]")])
        .recovers()
        .run();
    assert_eq!(played.ledger(), [r#"{"path":"Cargo.toml"}"#]);
    assert_eq!(played.outcomes(), [Outcome::Succeeded { output: "[workspace]".into() }]);
    let lines = played.conversation(1);
    assert_eq!(lines[1], "assistant: Let me look.", "{lines:#?}");
    assert!(!lines.concat().contains("tool_call>"), "{lines:#?}");
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
}

#[test]
fn b011b_an_example_in_a_fence_is_text() {
    let played = Play::with(OpenAiChat, &["B011b-1.sse"])
        .reads("read_file", &[says(1, "x")])
        .recovers()
        .run();
    assert_eq!((played.asked(), played.ledger().len()), (1, 0));
    let text = played.end().text().unwrap_or_default();
    assert!(text.contains("<tool_call>") && text.ends_with("the whole format."), "{text}");
}

/// Without recovery, and where the tool is not declared, the text stays what it is.
#[test]
fn b011a_what_is_not_recovered_is_shown() {
    for (tool, recovers) in [("read_file", false), ("another", true)] {
        let play = Play::with(OpenAiChat, &["B011a-1.sse"]).reads(tool, &[says(1, "x")]);
        let played = if recovers { play.recovers() } else { play }.run();
        assert_eq!((played.asked(), played.ledger().len()), (1, 0), "{tool}");
        let text = played.end().text().unwrap_or_default();
        assert!(text.contains("</tool_call>"), "{tool}: {text}");
    }
}
