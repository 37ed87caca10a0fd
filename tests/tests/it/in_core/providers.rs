//! B024 and B028: waits that a server asks for, and another model that takes over.

use machine_spec::model::ErrorClass;
use machine_spec::{Notice, Terminal, Transcript};
use wire::Dialect::{Anthropic, OpenAiChat};

use super::play::{Play, says};
use super::played::Played;

/// Words that fill a conversation.
const LONG: &str = "The oak stands behind the house, and the elm stands beside the road. \
The oak stands behind the house, and the elm stands beside the road. \
The oak stands behind the house, and the elm stands beside the road. \
The oak stands behind the house, and the elm stands beside the road.";

fn throttled(file: &str) -> Played {
    let play = Play::with(Anthropic, &[file, "B024-2.sse"]);
    play.set(|config| config.limits.http_retries = 3).run()
}

fn waits_told(played: &Played) -> Vec<(u64, u64)> {
    let told = played.run.notices.iter().filter_map(|(at, notice)| match notice {
        Notice::RetryScheduled { after_ms, .. } => Some((*at, *after_ms)),
        _ => None,
    });
    told.collect()
}

#[test]
fn b024_the_wait_is_as_long_as_the_server_asks_for() {
    for (file, wait) in [
        ("B024a-1.http", 30_000),
        ("B024c-1.http", 45_000),
        ("B024d-1.http", 1_500),
        // What cannot be read is no wish: the ordinary backoff.
        ("B024e-1.http", 500),
    ] {
        let played = throttled(file);
        assert_eq!(played.waits(), [wait], "{file}");
        assert_eq!(waits_told(&played), [(0, wait)], "{file}: told at the start of the wait");
        assert_eq!(played.run.requests[1].at_ms, wait, "{file}: not before");
        assert_eq!(played.body(0), played.body(1), "{file}");
        assert_eq!(played.end().text(), Some("ok"), "{file}");
    }
}

#[test]
fn b024b_a_wait_beyond_the_cap_is_not_slept() {
    let played = throttled("B024b-1.http");
    assert_eq!((played.asked(), played.waits()), (1, vec![]));
    match played.end() {
        Terminal::RateLimited { retry_after_ms: 7_200_000, tried } => assert_eq!(tried.len(), 1),
        end => panic!("{end:?}"),
    }
}

#[test]
fn b024b_a_fallback_chain_is_tried_instead() {
    let played = Play::with(Anthropic, &["B024b-1.http", "B024-2.sse"]).then(Anthropic).run();
    assert!(played.waits().is_empty());
    assert_eq!(played.candidates(), [0, 1]);
    assert_eq!(played.end().text(), Some("ok"));
}

#[test]
fn b024_only_one_layer_retries() {
    let played = Play::with(Anthropic, &["B024d-1.http"])
        .for_ever()
        .set(|config| config.limits.http_retries = 3)
        .run();
    assert_eq!(played.asked(), 4);
    assert_eq!(waits_told(&played), [(0, 1_500), (1_500, 1_500), (3_000, 1_500)]);
    assert!(matches!(played.end(), Terminal::ProviderFailed { .. }), "{:?}", played.end());
}

/// The first model is overloaded after its first answer; the second answers with these files.
fn overloaded(second: &[&str]) -> Played {
    let first = ["B028a-1.sse", "B028a-2.http", "B028a-2.http"];
    Play::with(Anthropic, &[&first[..], second].concat())
        .then(Anthropic)
        .acts("deploy", &[says(20, "deployed")])
        .acts("step", &[says(1, "done")])
        .set(|config| config.limits.http_retries = 1)
        .run()
}

#[test]
fn b028a_the_other_model_gets_the_result_and_no_foreign_thinking() {
    let played = overloaded(&["B028a-3.sse"]);
    assert_eq!(played.ledger(), [r#"{"env":"staging"}"#], "the effect happens once");
    assert_eq!(played.candidates(), [0, 0, 0, 1]);
    let words = "user: Write the report.";
    let thinking = "assistant thinks: Plan. [c2lnLUE=]";
    let call = r#"assistant calls toolu_d1 deploy {"env":"staging"}"#;
    let result = "result toolu_d1: deployed";
    for n in [1, 2] {
        assert_eq!(played.conversation(n), [words, thinking, call, result], "to its maker");
    }
    assert_eq!(played.conversation(3), [words, call, result], "to the other model");
    let body = played.body(3)["messages"].to_string();
    for word in ["thinking", "signature", "redacted", "c2lnLUE="] {
        assert!(!body.contains(word), "{word} in {body}");
    }
    let switched = played.told(|notice| match notice {
        Notice::Switched { from, to, class } => Some((from.0, to.0, *class)),
        _ => None,
    });
    assert_eq!(switched, [(0, 1, ErrorClass::Overloaded)]);
    let failed = played.told(|notice| match notice {
        Notice::AttemptFailed { failure, .. } => failure.status,
        _ => None,
    });
    assert_eq!(failed, [529, 529], "every attempt with its own error");
    assert_eq!(played.end().text(), Some("Deployed to staging."));
}

#[test]
fn b028a_the_switch_holds_for_the_turn_and_private_parts_come_home() {
    let played = overloaded(&["B031-1.sse", "B028a-3.sse"]);
    assert_eq!(
        played.candidates(),
        [0, 0, 0, 1, 1],
        "the rest of the turn stays with the other model"
    );
    let next = Play::with(Anthropic, &["B024-2.sse"])
        .then(Anthropic)
        .acts("deploy", &[])
        .says("and now?")
        .set(|config| config.history = played.history())
        .run();
    assert_eq!(next.candidates(), [0], "the next turn begins with the first");
    assert_eq!(next.ledger().len(), 0, "it has run already");
    assert_eq!(next.conversation(0)[1], "assistant thinks: Plan. [c2lnLUE=]");
}

fn overflowing(files: &[&str], history: &Transcript) -> Played {
    Play::with(Anthropic, files)
        .then(OpenAiChat)
        .then(OpenAiChat)
        .set(|config| config.history = history.clone())
        .run()
}

/// The class of every failed attempt, as observers were told.
fn classes(played: &Played) -> Vec<ErrorClass> {
    played.told(|notice| match notice {
        Notice::AttemptFailed { failure, .. } | Notice::ErrorWithheld { failure, .. } => {
            Some(failure.class)
        }
        _ => None,
    })
}

#[test]
fn b028b_an_overflow_is_not_a_failure_of_all_providers() {
    let played = overflowing(&["B028b-1.http"], &Transcript::default());
    match played.end() {
        Terminal::ContextExhausted { limit: 1_000_000, actual: 1_003_377, .. } => {}
        end => panic!("{end:?}"),
    }
    let told = classes(&played);
    assert_eq!(told.len(), played.asked(), "every attempt with its own error");
    assert_eq!(told[0], ErrorClass::ContextOverflow);
}

#[test]
fn b028b_compaction_starts_where_there_is_something_to_summarise() {
    let mut history = Transcript::default();
    for _ in 0..6 {
        let told = Play::with(Anthropic, &["B001-1.sse"])
            .says(LONG)
            .set(|config| config.history = history.clone())
            .run();
        history = told.history();
    }
    let first = ["B028b-1.http", "B028b-1.http"];
    let played = overflowing(&[&first[..], &["B028b-2.http", "B028b-3.http"]].concat(), &history);
    let compacted = played.told(|notice| matches!(notice, Notice::Compacted { .. }).then_some(()));
    assert_eq!(compacted.len(), 1);
    let told = classes(&played);
    assert_eq!(told.len(), played.asked(), "every attempt with its own error: {told:?}");
}
