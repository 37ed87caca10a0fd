//! B011: calls that the model wrote into its text.

use machine_spec::Terminal;
use machine_spec::message::{GateRefusal, Outcome};
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

#[test]
fn b011c_two_written_calls_are_two_calls() {
    let played = Play::with(OpenAiChat, &["B011c-1.sse", "B017-2.sse"])
        .reads("read_file", &[says(1, "x"), says(1, "y")])
        .recovers()
        .run();
    assert_eq!(played.ledger(), [r#"{"path":"x"}"#, r#"{"path":"y"}"#]);
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
}

/// Every declared tool, and nothing but declared tools: the text stays what it is.
#[test]
fn b011a_a_call_of_a_tool_that_is_not_declared_is_text() {
    for play in [Play::recovers, Play::tells] {
        let played = Play::with(OpenAiChat, &["B011a-1.sse"]).reads("another", &[says(1, "x")]);
        let played = play(played).run();
        assert_eq!((played.asked(), played.ledger().len()), (1, 0));
        let text = played.end().text().unwrap_or_default();
        assert!(text.contains("</tool_call>"), "{text}");
    }
}

#[test]
fn b011a_without_recovery_the_model_is_asked_once_to_mend_it() {
    let played = Play::with(OpenAiChat, &["B011a-1.sse", "B017-2.sse"])
        .reads("read_file", &[says(1, "x")])
        .tells()
        .run();
    assert_eq!((played.asked(), played.ledger().len()), (2, 0), "nothing ran");
    let [Outcome::Refused { why: GateRefusal::MalformedArgs { at: 0, problem } }] =
        &played.outcomes()[..]
    else {
        panic!("{:?}", played.outcomes())
    };
    assert_eq!(problem, "expected a call of the tool, found one that is written as text");
    let lines = played.conversation(1);
    let told = lines.concat();
    assert!(told.contains(problem) && told.contains("None of your calls could be used"), "{told}");
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
}

/// A model that goes on writing its calls does not get away with it for ever.
#[test]
fn b011a_a_model_that_cannot_mend_it_ends_the_run() {
    let played = Play::with(OpenAiChat, &["B011a-1.sse"; 4])
        .reads("read_file", &[says(1, "x")])
        .tells()
        .run();
    assert_eq!(played.ledger().len(), 0);
    assert!(matches!(played.end(), Terminal::MalformedToolUse { .. }), "{:?}", played.end());
}

/// An example in a fence is text, whoever looks.
#[test]
fn b011b_without_recovery_an_example_is_not_mended() {
    let played =
        Play::with(OpenAiChat, &["B011b-1.sse"]).reads("read_file", &[says(1, "x")]).tells().run();
    assert_eq!((played.asked(), played.ledger().len()), (1, 0));
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
}

/// Recordings from before the model was told end with the text.
#[test]
fn b011a_who_wants_neither_gets_the_text() {
    let played = Play::with(OpenAiChat, &["B011a-1.sse"]).reads("read_file", &[says(1, "x")]).run();
    assert_eq!((played.asked(), played.ledger().len()), (1, 0));
    let text = played.end().text().unwrap_or_default();
    assert!(text.contains("</tool_call>"), "{text}");
}
