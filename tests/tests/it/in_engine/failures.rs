//! B005, B006, B019, B020, B021: responses that fail, break off, or fall silent.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::because::Owner;
use machine_spec::message::Outcome;
use machine_spec::model::{ErrorClass, Failure};
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act, act_again, act_on, kind};

fn owners(acted: &Acted) -> Vec<Owner> {
    acted.told(|event| match event {
        Event::ModelAttempt { owner, .. } => Some(*owner),
        _ => None,
    })
}

fn failures(acted: &Acted) -> Vec<Failure> {
    acted.told(|event| match event {
        Event::AttemptFailed { failure, .. } => Some(failure.clone()),
        _ => None,
    })
}

fn set(scene: &mut Scene, files: &[&str]) {
    let table = |file: &&str| AnswerTable::of(&format!("cases/{file}"));
    scene.doubles[0].answers = files.iter().map(table).collect();
}

const PAID: &str = "answered--a-payment-happens-once";

#[test]
fn b005_a_finished_call_is_in_every_later_request_and_runs_once() {
    let acted = act(PAID);
    assert_eq!(acted.stage.lines("ledger").len(), 1);
    let seen = acted.stage.double("a").exchanges();
    let later: Vec<&[u8]> = seen[1..].iter().map(|one| &one.body[..]).collect();
    assert!(later.len() == 3 && later.iter().all(|body| *body == later[0]), "to the byte");
    assert!(acted.conversation("a", 1).last().is_some_and(|line| line.contains("paid")));
    let retries = acted.events.iter().filter(|event| kind(event) == "retry_scheduled").count();
    assert_eq!(retries, 2);
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}

#[test]
fn b005_a_run_that_gives_up_still_knows_what_was_paid() {
    let mut scene = Scene::of_fixture(PAID);
    scene.config = scene.config.replace("http_retries = 3", "http_retries = 1");
    let failed = act_on(Stage::set(scene));
    assert!(matches!(failed.end(), Terminal::ProviderFailed { .. }), "{:?}", failed.end());
    assert_eq!(failed.outcomes(), [Outcome::Succeeded { output: "paid\n".into() }]);
    let (stage, history) = (failed.stage, failed.ended.history());
    let next = act_again(stage, "go on", history);
    assert!(matches!(next.end(), Terminal::Answered { .. }), "{:?}", next.end());
    assert_eq!(next.stage.lines("ledger").len(), 1, "it is not paid again");
}

#[test]
fn b006_what_a_dead_attempt_said_is_taken_back() {
    let acted = act("answered--a-dead-attempt-is-taken-back");
    let mut shown = String::new();
    let mut attempts = Vec::new();
    for event in &acted.events {
        match event {
            Event::TextDelta { attempt, text, .. } => {
                shown.push_str(text);
                attempts.push(attempt.0);
            }
            Event::OutputRetracted { attempt } => {
                assert_eq!(attempts.iter().max(), Some(&attempt.0));
                shown.clear();
            }
            _ => {}
        }
    }
    assert_eq!(attempts.first(), Some(&1));
    assert_eq!(attempts.last(), Some(&2));
    let text = "Three stages: scan, fix, test.";
    assert_eq!((&*shown, acted.end().text()), (text, Some(text)));
    assert_eq!(acted.ended.history().len(), 2, "one answer");
}

const ENDLESS: &str = "answered--a-stream-without-its-end";

#[test]
fn b019_a_call_of_a_stream_without_its_end_is_not_believed() {
    let acted = act(ENDLESS);
    assert_eq!(owners(&acted)[..2], [Owner::Step, Owner::StreamReissue]);
    assert_eq!(acted.stage.lines("ledger"), [r#"{"to":"ops@example.org"}"#]);
    assert!(acted.conversation("a", 2)[1].contains("call_1b"));
    assert_eq!(failures(&acted)[0].class, ErrorClass::Incomplete);
    assert_eq!(acted.end().text(), Some("Sent."));
}

#[test]
fn b019_each_wire_has_its_own_end() {
    let play = |fixture: &str, files: &[&str]| {
        let mut scene = Scene::of_fixture(fixture);
        set(&mut scene, files);
        act_on(Stage::set(scene))
    };
    // (b) The name of a tool is no call.
    let acted = play(ENDLESS, &["B019b-1.sse", "B019a-3.sse"]);
    assert_eq!((acted.asked("a"), acted.outcomes().len()), (2, 0));
    assert_eq!(acted.end().text(), Some("Sent."));
    // (c) Closed blocks are no end of a message.
    let acted = play("answered--errors-inside-of-streams", &["B019c-1.sse", "B020-2.sse"]);
    assert_eq!((acted.asked("a"), acted.outcomes().len()), (2, 0));
    assert_eq!(acted.end().text(), Some("Whole answer."));
    // (d) A finish reason is one.
    let acted = play(ENDLESS, &["B019d-1.sse"]);
    assert_eq!((acted.asked("a"), acted.end().text()), (1, Some("All good.")));
}

#[test]
fn b019_when_the_budget_is_used_up_what_is_missing_is_told() {
    let mut scene = Scene::of_fixture(ENDLESS);
    scene.config = scene.config.replace("[limits]", "[limits]\nstream_fallbacks = 0");
    set(&mut scene, &[]);
    scene.doubles[0].always = Some(AnswerTable::of("cases/B019a-1.sse"));
    let acted = act_on(Stage::set(scene));
    assert_eq!((acted.asked("a"), acted.stage.lines("ledger").len()), (3, 0));
    match acted.end() {
        Terminal::ProviderFailed { failure, .. } => {
            assert_eq!(failure.class, ErrorClass::Incomplete)
        }
        end => panic!("{end:?}"),
    }
    let acted = act("answered-in-part--a-reset-behind-a-text");
    assert!(matches!(acted.end(), Terminal::AnsweredInPart { .. }), "{:?}", acted.end());
}

#[test]
fn b020_an_error_inside_a_stream_is_a_failure_like_any_other() {
    let acted = act("answered--errors-inside-of-streams");
    assert_eq!(owners(&acted), [Owner::Step, Owner::HttpRetry, Owner::StreamReissue]);
    for failure in failures(&acted) {
        assert_eq!(failure.class, ErrorClass::Overloaded);
        assert_eq!((&*failure.code, &*failure.message), ("overloaded_error", "Overloaded"));
    }
    let void = acted.told(|event| match event {
        Event::OutputRetracted { attempt } => Some(attempt.0),
        _ => None,
    });
    assert_eq!(void, [2], "the first had shown nothing");
    assert_eq!(acted.end().text(), Some("Whole answer."));
}

#[test]
fn b020c_an_error_that_is_ours_is_not_repeated() {
    let acted = act("provider-failed--an-error-that-is-ours");
    assert_eq!(acted.asked("a"), 1);
    match acted.end() {
        Terminal::ProviderFailed { failure, .. } => {
            assert_eq!(&*failure.code, "invalid_request_error");
            assert_eq!(&*failure.message, "messages.4: bad block");
        }
        end => panic!("{end:?}"),
    }
}

#[test]
fn b021_a_told_failure_is_acted_upon_and_silence_is_not_for_ever() {
    let acted = act("answered--failures-on-an-open-line");
    let classes: Vec<ErrorClass> = failures(&acted).iter().map(|failure| failure.class).collect();
    let expected = [ErrorClass::Overloaded, ErrorClass::Overloaded, ErrorClass::IdleTimeout];
    assert_eq!(classes, expected);
    assert!(failures(&acted)[2].message.contains("300 ms"), "{:?}", failures(&acted)[2]);
    // The connections that stayed open were closed by us.
    let seen =
        acted.stage.double("a").wait_for(|seen| seen[..3].iter().all(|one| one.is_abandoned()));
    assert_eq!(seen.len(), 4);
    assert_eq!(acted.end().text(), Some("Recovered."));
}

#[test]
fn b021_the_ending_names_the_telling_failure() {
    for (file, class) in
        [("B021a-1.sse", ErrorClass::Overloaded), ("B021b-1.sse", ErrorClass::IdleTimeout)]
    {
        let mut scene = Scene::of_fixture("answered--failures-on-an-open-line");
        let limits = "http_retries = 1\nstall_reissues = 1\nstream_fallbacks = 0";
        scene.config = scene.config.replace("[limits]", &format!("[limits]\n{limits}"));
        set(&mut scene, &[]);
        scene.doubles[0].always = Some(AnswerTable::of(&format!("cases/{file}")));
        let acted = act_on(Stage::set(scene));
        assert_eq!(acted.asked("a"), 2, "{file}");
        match acted.end() {
            Terminal::ProviderFailed { failure, .. } => assert_eq!(failure.class, class, "{file}"),
            end => panic!("{file}: {end:?}"),
        }
    }
}
