//! B024 and B028: waits that a server asks for, and another model that takes over.

use std::cell::RefCell;

use machine_spec::ids::CandidateId;
use machine_spec::model::ErrorClass;
use machine_spec::{Notice, Terminal, Transcript};
use tests::double::Script;
use wire::Dialect::{Anthropic, OpenAiChat};

use super::play::{Play, case, ok};
use super::played::Played;

/// Words that fill a conversation.
const LONG: &str = "The oak stands behind the house, and the elm stands beside the road. \
The oak stands behind the house, and the elm stands beside the road. \
The oak stands behind the house, and the elm stands beside the road. \
The oak stands behind the house, and the elm stands beside the road.";

fn throttled(file: &str) -> Played {
    let script = Script::list([case(file), case("B024-2.sse")]);
    Play::with(Anthropic, script).set(|config| config.limits.http_retries = 3).run()
}

fn waits_told(played: &Played) -> Vec<(u64, u64)> {
    let told = played.notices.iter().filter_map(|(at, notice)| match notice {
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
        assert_eq!(played.waits, [(0, wait)], "{file}");
        assert_eq!(waits_told(&played), [(0, wait)], "{file}: told at the start of the wait");
        assert_eq!(played.asked[1].at, wait, "{file}: not before");
        assert_eq!(played.asked[0].body, played.asked[1].body, "{file}");
        assert_eq!(played.end().text(), Some("ok"), "{file}");
    }
}

#[test]
fn b024b_a_wait_beyond_the_cap_is_not_slept() {
    let played = throttled("B024b-1.http");
    assert_eq!((played.asked.len(), &played.waits[..]), (1, &[][..]));
    match played.end() {
        Terminal::RateLimited { retry_after_ms: 7_200_000, tried } => assert_eq!(tried.len(), 1),
        end => panic!("{end:?}"),
    }
}

#[test]
fn b024b_a_fallback_chain_is_tried_instead() {
    let played = Play::with(Anthropic, Script::list([case("B024b-1.http")]))
        .then(Anthropic, Script::list([case("B024-2.sse")]))
        .run();
    assert_eq!(played.waits, []);
    assert_eq!(played.asked[1].candidate, CandidateId(1));
    assert_eq!(played.end().text(), Some("ok"));
}

#[test]
fn b024_only_one_layer_retries() {
    let played = Play::with(Anthropic, Script::always(case("B024d-1.http")))
        .set(|config| config.limits.http_retries = 3)
        .run();
    assert_eq!(played.asked.len(), 4);
    assert_eq!(waits_told(&played), [(0, 1_500), (1_500, 1_500), (3_000, 1_500)]);
    assert!(matches!(played.end(), Terminal::ProviderFailed { .. }), "{:?}", played.end());
}

fn overloaded(second: Script) -> (Played, Vec<String>) {
    let first = Script::list(["B028a-1.sse", "B028a-2.http", "B028a-2.http"].map(case));
    let ledger = RefCell::new(Vec::new());
    let played = Play::with(Anthropic, first)
        .then(Anthropic, second)
        .acts("deploy", |args| {
            ledger.borrow_mut().push(args.to_owned());
            (20, ok("deployed"))
        })
        .acts("step", |_| (1, ok("done")))
        .set(|config| config.limits.http_retries = 1)
        .run();
    (played, ledger.into_inner())
}

#[test]
fn b028a_the_other_model_gets_the_result_and_no_foreign_thinking() {
    let (played, ledger) = overloaded(Script::list([case("B028a-3.sse")]));
    assert_eq!(ledger, [r#"{"env":"staging"}"#], "the effect happens once");
    let to: Vec<u16> = played.asked.iter().map(|asked| asked.candidate.0).collect();
    assert_eq!(to, [0, 0, 0, 1]);
    let words = "user: Write the report.";
    let thinking = "assistant thinks: Plan. [c2lnLUE=]";
    let call = r#"assistant calls toolu_d1 deploy {"env":"staging"}"#;
    let result = "result toolu_d1: deployed";
    for n in [1, 2] {
        assert_eq!(played.conversation(n), [words, thinking, call, result], "to its maker");
    }
    assert_eq!(played.conversation(3), [words, call, result], "to the other model");
    let body = played.asked[3].body["messages"].to_string();
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
    let second = Script::list([case("B031-1.sse"), case("B028a-3.sse")]);
    let (played, _) = overloaded(second);
    let to: Vec<u16> = played.asked.iter().map(|asked| asked.candidate.0).collect();
    assert_eq!(to, [0, 0, 0, 1, 1], "the rest of the turn stays with the other model");
    let next = Play::with(Anthropic, Script::list([case("B024-2.sse")]))
        .then(Anthropic, Script::list([]))
        .acts("deploy", |_| panic!("it has run already"))
        .says("and now?")
        .set(|config| config.history = played.transcript.clone())
        .run();
    assert_eq!(next.asked[0].candidate, CandidateId(0), "the next turn begins with the first");
    assert_eq!(next.conversation(0)[1], "assistant thinks: Plan. [c2lnLUE=]");
}

fn overflowing(history: &Transcript) -> Played {
    Play::with(Anthropic, Script::always(case("B028b-1.http")))
        .then(OpenAiChat, Script::always(case("B028b-2.http")))
        .then(OpenAiChat, Script::always(case("B028b-3.http")))
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
    let played = overflowing(&Transcript::default());
    match played.end() {
        Terminal::ContextExhausted { limit: 1_000_000, actual: 1_003_377, .. } => {}
        end => panic!("{end:?}"),
    }
    let told = classes(&played);
    assert_eq!(told.len(), played.asked.len(), "every attempt with its own error");
    assert_eq!(told[0], ErrorClass::ContextOverflow);
}

#[test]
fn b028b_compaction_starts_where_there_is_something_to_summarise() {
    let mut history = Transcript::default();
    for _ in 0..6 {
        let told = Play::with(Anthropic, Script::list([case("B001-1.sse")]))
            .says(LONG)
            .set(|config| config.history = history.clone())
            .run();
        history = told.transcript.clone();
    }
    let played = overflowing(&history);
    assert_eq!(played.compactions, 1);
    let told = classes(&played);
    assert_eq!(told.len(), played.asked.len(), "every attempt with its own error: {told:?}");
}
