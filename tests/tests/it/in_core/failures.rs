//! B005, B006, B019, B020, B021: responses that fail, break off, or fall silent.

use machine_spec::because::Owner;
use machine_spec::message::Outcome;
use machine_spec::model::{ErrorClass, StreamPhase};
use machine_spec::{Notice, Terminal};
use replay::scenario::Answer;
use tests::house;
use wire::Dialect::{self, Anthropic, OpenAiChat, OpenAiResponses};

use super::play::{Play, says};
use super::played::Played;

fn pays(files: &[&str], retries: u32) -> Play {
    Play::with(Anthropic, files)
        .for_ever()
        .acts("post_payment", &[says(10, "paid")])
        .set(|config| config.limits.http_retries = retries)
}

#[test]
fn b005_a_finished_call_is_in_every_later_request_and_runs_once() {
    let files = ["B005-1.sse", "B005-2.http", "B005-3.http", "B005-4.sse"];
    let played = pays(&files, 3).run();
    assert_eq!((played.asked(), played.ledger().len()), (4, 1));
    assert_eq!(played.owners()[1..], [Owner::ToolFeedback, Owner::HttpRetry, Owner::HttpRetry]);
    for n in [1, 2, 3] {
        assert_eq!(played.run.requests[n].body, played.run.requests[1].body, "to the byte");
        assert!(played.conversation(n).last().is_some_and(|line| line.ends_with("paid")));
    }
    assert_eq!(played.waits().len(), 2, "two retries");
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
}

#[test]
fn b005_a_run_that_gives_up_still_knows_what_was_paid() {
    let files = ["B005-1.sse", "B005-2.http", "B005-3.http"];
    let failed = pays(&files, 1).run();
    assert!(matches!(failed.end(), Terminal::ProviderFailed { .. }), "{:?}", failed.end());
    assert_eq!(failed.outcomes(), [Outcome::Succeeded { output: "paid".into() }]);
    let next = pays(&["B005-4.sse"], 1).says("go on").set(|c| c.history = failed.history()).run();
    assert_eq!(next.ledger().len(), 0, "it is not paid again");
    let lines = next.conversation(0);
    assert!(lines.iter().any(|line| line.starts_with("result ") && line.ends_with("paid")));
}

#[test]
fn b006_what_a_dead_attempt_said_is_taken_back() {
    let played = Play::with(OpenAiChat, &["B006-1.sse", "B006-2.sse"]).run();
    assert_eq!((played.asked(), played.retractions()), (2, 1));
    assert_eq!(played.end().text(), Some("Three stages: scan, fix, test."));
    assert_eq!(played.history().len(), 2, "one answer");
    let attempts = played.told(|notice| match notice {
        Notice::Retracted { attempt } | Notice::AttemptFailed { attempt, .. } => Some(attempt.0),
        _ => None,
    });
    assert_eq!(attempts, [1, 1], "it failed, and what it showed is void");
}

fn mails(dialect: Dialect, files: &[&str]) -> Play {
    Play::with(dialect, files)
        .acts("send_mail", &[says(1, "sent")])
        .acts("write_file", &[says(1, "written")])
}

#[test]
fn b019_a_call_of_a_stream_without_its_end_is_not_believed() {
    let files = ["B019a-1.sse", "B019a-2.sse", "B019a-3.sse"];
    let played = mails(OpenAiChat, &files).run();
    assert_eq!(played.owners()[1], Owner::StreamReissue);
    assert_eq!(played.ledger(), [r#"{"to":"ops@example.org"}"#]);
    assert!(played.conversation(2)[1].contains("call_1b"), "the call of the second attempt");
    assert_eq!(played.end().text(), Some("Sent."));
    let failures = played.failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].class, ErrorClass::Incomplete);
}

#[test]
fn b019b_a_call_without_its_arguments_does_not_run() {
    let played = mails(OpenAiChat, &["B019b-1.sse", "B019a-3.sse"]).run();
    assert_eq!((played.asked(), played.ledger().len()), (2, 0));
    assert_eq!(played.end().text(), Some("Sent."));
}

#[test]
fn b019c_closed_blocks_are_no_end_of_a_message() {
    let played = mails(Anthropic, &["B019c-1.sse", "B024-2.sse"]).run();
    assert_eq!((played.asked(), played.ledger().len()), (2, 0));
    assert_eq!(played.body(0), played.body(1));
    assert_eq!(played.end().text(), Some("ok"));
}

#[test]
fn b019d_a_finish_reason_is_an_end() {
    let played = Play::with(OpenAiChat, &["B019d-1.sse"]).run();
    assert_eq!(played.asked(), 1);
    assert_eq!(played.end().text(), Some("All good."));
}

#[test]
fn b019_when_the_budget_is_used_up_what_is_missing_is_told() {
    let whole = |play: Play| {
        play.for_ever()
            .set(|config| config.limits.stream_reissues = 2)
            .set(|config| config.limits.stream_fallbacks = 0)
            .run()
    };
    let played = whole(mails(OpenAiChat, &["B019a-1.sse"]));
    assert_eq!((played.asked(), played.ledger().len()), (3, 0));
    match played.end() {
        Terminal::ProviderFailed { failure, .. } => {
            assert_eq!(failure.class, ErrorClass::Incomplete)
        }
        end => panic!("{end:?}"),
    }
    // Part 7, decision 6: a text whose block is complete is reported as a part of the answer.
    let file = std::fs::read_to_string(house::wire_file("cases/B020-2.sse")).expect("a wire file");
    let whole_block = &file[..file.find("event: message_delta").expect("an end")];
    let played = whole(Play::answered(Anthropic, vec![Answer::stream(whole_block)]));
    match played.end() {
        Terminal::AnsweredInPart { text, failure } => {
            assert_eq!((&**text, failure.class), ("Whole answer.", ErrorClass::Incomplete));
        }
        end => panic!("{end:?}"),
    }
}

#[test]
fn b020_an_error_inside_a_stream_is_a_failure_like_any_other() {
    for (file, phase, owner, retracted) in [
        ("B020a-1.sse", StreamPhase::BeforeFirst, Owner::HttpRetry, 0),
        ("B020b-1.sse", StreamPhase::Partial, Owner::StreamReissue, 1),
    ] {
        let played = Play::with(Anthropic, &[file, "B020-2.sse"]).run();
        assert_eq!(played.owners(), [Owner::Step, owner], "{file}");
        assert_eq!((played.waits().len(), played.retractions()), (1, retracted), "{file}");
        assert_eq!(played.end().text(), Some("Whole answer."), "{file}");
        let told = played.told(|notice| match notice {
            Notice::AttemptFailed { phase, failure, .. } => Some((*phase, failure.clone())),
            _ => None,
        });
        let [(at, failure)] = &told[..] else { panic!("{file}: {told:?}") };
        assert_eq!((*at, failure.class), (phase, ErrorClass::Overloaded), "{file}");
        assert_eq!((&*failure.code, &*failure.message), ("overloaded_error", "Overloaded"));
    }
}

#[test]
fn b020c_an_error_that_is_ours_is_not_repeated() {
    let played = Play::with(Anthropic, &["B020c-1.sse"]).run();
    assert_eq!(played.asked(), 1);
    match played.end() {
        Terminal::ProviderFailed { failure, .. } => {
            assert_eq!(failure.class, ErrorClass::BadRequest);
            assert_eq!(&*failure.code, "invalid_request_error");
            assert_eq!(&*failure.message, "messages.4: bad block");
        }
        end => panic!("{end:?}"),
    }
}

fn open_line(files: &[&str]) -> Played {
    Play::with(OpenAiResponses, files)
        .idle_ms(800)
        .set(|config| config.limits.http_retries = 1)
        .set(|config| config.limits.stall_reissues = 1)
        .set(|config| config.limits.stream_fallbacks = 0)
        .run()
}

#[test]
fn b021_a_told_failure_is_acted_upon_at_once_and_silence_when_its_time_is_over() {
    for (file, class, at, owner) in [
        ("B021a-1.sse", ErrorClass::Overloaded, 0, Owner::HttpRetry),
        ("B021b-1.sse", ErrorClass::IdleTimeout, 800, Owner::StreamReissue),
        ("B021c-1.sse", ErrorClass::Overloaded, 0, Owner::HttpRetry),
    ] {
        let played = open_line(&[file, "B021-2.sse"]);
        assert_eq!(played.owners(), [Owner::Step, owner], "{file}");
        let told = played.run.notices.iter().find_map(|(at, notice)| match notice {
            Notice::AttemptFailed { failure, .. } => Some((*at, failure.class)),
            _ => None,
        });
        assert_eq!(told, Some((at, class)), "{file}");
        assert_eq!(played.end().text(), Some("Recovered."), "{file}");
        let failure = &played.failures()[0];
        let named = !failure.message.is_empty() && (at > 0 || !failure.code.is_empty());
        assert!(named, "{file}: {failure:?}");
    }
}

#[test]
fn b021_the_ending_names_the_telling_failure() {
    for (files, class) in [
        (["B021a-1.sse", "B021a-1.sse"], ErrorClass::Overloaded),
        (["B021b-1.sse", "B021b-1.sse"], ErrorClass::IdleTimeout),
    ] {
        match open_line(&files).end() {
            Terminal::ProviderFailed { failure, .. } => assert_eq!(failure.class, class),
            end => panic!("{end:?}"),
        }
    }
    // A line that breaks after an overload is still the overload.
    let reset = Answer::fault(ErrorClass::Transport);
    let played = Play::answered(OpenAiResponses, vec![Answer::file("B021a-1.sse"), reset])
        .set(|config| config.limits.http_retries = 1)
        .set(|config| config.limits.stream_fallbacks = 0)
        .run();
    match played.end() {
        Terminal::ProviderFailed { failure, .. } => {
            assert_eq!(failure.class, ErrorClass::Overloaded)
        }
        end => panic!("{end:?}"),
    }
}
