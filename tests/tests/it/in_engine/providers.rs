//! B024 and B028: waits that a server asks for, and another model that takes over.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::model::ErrorClass;
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act, act_again, act_on, kind};

const WAIT: &str = "answered--after-a-wait-the-server-asked-for";

fn throttled(file: &str) -> Acted {
    let mut scene = Scene::of_fixture(WAIT);
    scene.config += "\n[limits]\nhttp_retries = 3\n";
    scene.doubles[0].answers[0] = AnswerTable::of(&format!("cases/{file}"));
    act_on(Stage::set(scene))
}

/// The waits that were told.
fn waits(acted: &Acted) -> Vec<u64> {
    acted.told(|event| match event {
        Event::RetryScheduled { wait_ms, .. } => Some(*wait_ms),
        _ => None,
    })
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
        let acted = throttled(file);
        let told = waits(&acted);
        let [told] = told[..] else { panic!("{file}: one wait: {told:?}") };
        assert!((wait..=wait + wait / 4).contains(&told), "{file}: {told}, jitter only upwards");
        let scheduled = acted.place(|event| kind(event) == "retry_scheduled");
        let attempts =
            acted.told(|event| matches!(event, Event::ModelAttempt { .. }).then_some(()));
        assert_eq!(attempts.len(), 2, "{file}");
        let behind = &acted.events[scheduled..];
        assert!(behind.iter().any(|event| kind(event) == "model_attempt"), "{file}: told before");
        let bodies = acted.stage.double("a").bodies();
        assert_eq!(bodies[0], bodies[1], "{file}");
        assert_eq!(acted.end().text(), Some("ok"), "{file}");
    }
}

#[test]
fn b024b_a_wait_beyond_the_cap_is_not_slept() {
    let acted = act("rate-limited--two-hours");
    assert_eq!((acted.asked("a"), waits(&acted)), (1, vec![]));
    match acted.end() {
        Terminal::RateLimited { retry_after_ms: 7_200_000, tried } => assert_eq!(tried.len(), 1),
        end => panic!("{end:?}"),
    }
}

#[test]
fn b024_only_one_layer_retries() {
    let mut scene = Scene::of_fixture("rate-limited--two-hours");
    scene.config += "\n[limits]\nhttp_retries = 3\n";
    scene.doubles[0].always = Some(AnswerTable::of("cases/B024d-1.http"));
    let acted = act_on(Stage::set(scene));
    assert_eq!(acted.asked("a"), 4);
    assert_eq!(waits(&acted).len(), 3);
}

#[test]
fn b028a_the_other_model_gets_the_result_and_no_foreign_thinking() {
    let acted = act("answered--another-model-takes-over");
    assert_eq!((acted.asked("a"), acted.asked("b")), (3, 1));
    assert_eq!(acted.stage.lines("ledger"), ["deployed"], "the effect happens once");
    let words = "user: Deploy to staging.";
    let thinking = "assistant thinks: Plan. [c2lnLUE=]";
    let call = r#"assistant calls toolu_d1 deploy {"env":"staging"}"#;
    let result = "result toolu_d1: deployed to staging\\n";
    for n in [1, 2] {
        assert_eq!(acted.conversation("a", n), [words, thinking, call, result], "to its maker");
    }
    assert_eq!(acted.conversation("b", 0), [words, call, result], "to the other model");
    let body = acted.stage.double("b").bodies()[0]["messages"].to_string();
    for word in ["thinking", "signature", "redacted", "c2lnLUE="] {
        assert!(!body.contains(word), "{word} in {body}");
    }
    let hops = acted.told(|event| match event {
        Event::FallbackHop { from, to, class } => Some((from.clone(), to.clone(), *class)),
        _ => None,
    });
    let [(from, to, ErrorClass::Overloaded)] = &hops[..] else { panic!("{hops:?}") };
    assert!(from.contains("claude-test-1") && to.contains("claude-test-2"), "{hops:?}");
    let failed = acted.told(|event| match event {
        Event::AttemptFailed { failure, .. } => failure.status,
        _ => None,
    });
    assert_eq!(failed, [529, 529], "every attempt with its own error");
    assert_eq!(acted.end().text(), Some("Deployed to staging."));
}

#[test]
fn b028a_private_parts_come_home() {
    let mut scene = Scene::of_fixture("answered--another-model-takes-over");
    scene.doubles[0].answers.push(AnswerTable::of("cases/B024-2.sse"));
    let first = act_on(Stage::set(scene));
    let history = first.ended.history();
    let second = act_again(first.stage, "and now?", history);
    assert_eq!(second.asked("a"), 4, "the next turn begins with the first model");
    assert_eq!(second.conversation("a", 3)[1], "assistant thinks: Plan. [c2lnLUE=]");
    assert_eq!(second.stage.lines("ledger").len(), 1);
}

#[test]
fn b028b_an_overflow_is_not_a_failure_of_all_providers() {
    let acted = act("context-exhausted--the-prompt-is-too-long");
    match acted.end() {
        Terminal::ContextExhausted { limit: 1_000_000, actual: 1_003_377, .. } => {}
        end => panic!("{end:?}"),
    }
    let failed = acted.told(|event| match event {
        Event::AttemptFailed { failure, .. } | Event::ErrorWithheld { failure, .. } => {
            Some(failure.class)
        }
        _ => None,
    });
    assert_eq!(failed.len(), acted.asked("a") + acted.asked("b"), "each with its own error");
    assert_eq!(failed[0], ErrorClass::ContextOverflow);
}
