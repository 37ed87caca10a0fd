//! B003, B010, B017: what becomes of calls.

use machine_spec::input::InterruptedBy;
use machine_spec::message::{GateRefusal, NotStarted, Outcome};
use machine_spec::model::StopReason;
use machine_spec::{Notice, RoomKind, Terminal};
use replay::scenario::Answer;
use wire::Dialect::{Anthropic, OpenAiChat};

use super::play::{Play, fails, says, with_text};
use super::played::Played;

fn succeeded(output: &str) -> Outcome {
    Outcome::Succeeded { output: output.into() }
}

fn three_things(interrupt_at: u64) -> Played {
    Play::with(Anthropic, &["B003-1.sse"])
        .reads("read_file", &[says(10, "the text of a.txt")])
        .acts("run_cmd", &[says(10_000, "built")])
        .interrupted_at(interrupt_at)
        .run()
}

fn taken_up(first: &Played) -> Played {
    let second = Play::with(Anthropic, &["B003-2.sse"])
        .reads("read_file", &[])
        .acts("run_cmd", &[])
        .says("use the other branch")
        .set(|config| config.history = first.history())
        .run();
    assert_eq!(second.ledger().len(), 0, "nothing runs again");
    second
}

#[test]
fn b003_an_interrupt_tells_three_truths() {
    let first = three_things(50);
    let expected = Terminal::Interrupted {
        by: InterruptedBy::User,
        during: RoomKind::Batch,
        settled: 1,
        unknown: 1,
    };
    assert_eq!(first.end(), &expected);
    assert_eq!(
        first.outcomes(),
        [
            succeeded("the text of a.txt"),
            Outcome::Unknown { output: String::new() },
            Outcome::NotStarted { why: NotStarted::Interrupted },
        ]
    );
    let second = taken_up(&first);
    assert!(matches!(second.end(), Terminal::Answered { .. }), "{:?}", second.end());
    let lines = second.conversation(0);
    let unknown = "interrupted while running; it may have had effects; no output so far";
    assert_eq!(
        lines,
        [
            "user: Write the report.",
            "assistant: Checking three things.",
            r#"assistant calls toolu_t1 read_file {"path":"a.txt"}"#,
            r#"assistant calls toolu_t2 run_cmd {"cmd":"make build"}"#,
            r#"assistant calls toolu_t3 run_cmd {"cmd":"make test"}"#,
            "result toolu_t1: the text of a.txt",
            &format!("error toolu_t2: {unknown}"),
            "error toolu_t3: not started: the run was interrupted before its turn came",
            "user: use the other branch",
        ]
    );
    assert!(!lines.concat().contains("reject"), "nobody rejected anything: {lines:?}");
}

#[test]
fn b003_an_interrupt_at_any_instant_leaves_a_paired_history() {
    // Every instant at which something changes, and one between each two.
    for at in [0, 1, 5, 10, 11, 50, 10_009, 10_010, 10_011, 15_000, 20_009] {
        let first = three_things(at);
        assert!(matches!(first.end(), Terminal::Interrupted { .. }), "{at}: {:?}", first.end());
        let second = taken_up(&first);
        assert!(matches!(second.end(), Terminal::Answered { .. }), "{at}: {:?}", second.end());
    }
}

fn misnamed(files: &[&str]) -> Played {
    Play::with(Anthropic, files)
        .for_ever()
        .reads("read_file", &[says(5, "text of a")])
        .reads("grep", &[fails(5, "nothing found")])
        .run()
}

#[test]
fn b010_a_tool_that_nobody_has_is_mended_twice() {
    let played = misnamed(&["B010-1.sse", "B010-2.sse"]);
    assert_eq!(played.asked(), 4, "the mixed round, the first mistake, two repairs");
    assert_eq!(played.ledger().len(), 1, "the valid call runs once");
    let outcomes = played.outcomes();
    match &outcomes[0] {
        Outcome::Refused { why: GateRefusal::UnknownTool { nearest } } => {
            assert_eq!(nearest, &["read_file", "grep"]);
        }
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(outcomes[1], succeeded("text of a"));
    let told = played.conversation(1);
    assert!(told[3].starts_with("error toolu_u1: ") && told[3].contains("read_file"), "{told:#?}");
    assert_eq!(told[4], "result toolu_v1: text of a");
    let tool = "read_files".into();
    assert_eq!(played.end(), &Terminal::MalformedToolUse { tool, repairs: 2 });
}

#[test]
fn b010_a_usable_call_opens_a_new_repair_budget() {
    let played = misnamed(&["B010-2.sse", "B010-1.sse", "B010-2.sse"]);
    assert_eq!(played.asked(), 5);
    assert!(matches!(played.end(), Terminal::MalformedToolUse { repairs: 2, .. }));
}

/// The same stream with another word for its end.
fn ends_as(file: &str, old: &str, new: &str) -> Answer {
    let member = |word: &str| format!(r#""finish_reason":"{word}""#);
    with_text(file, &member(old), &member(new))
}

fn lists(answers: Vec<Answer>) -> Played {
    let rows = [says(9, "3 rows of a"), says(3, "3 rows of b"), says(6, "3 rows of c")];
    Play::answered(OpenAiChat, answers).for_ever().reads("list", &rows).run()
}

#[test]
fn b017_calls_count_more_than_the_word_for_the_end() {
    for word in ["stop", "other", "eos", "function_call", "tool_calls"] {
        let first = ends_as("B017-1.sse", "stop", word);
        let played = lists(vec![first, Answer::file("B017-2.sse")]);
        assert_eq!((played.asked(), played.ledger().len()), (2, 3), "{word}");
        assert_eq!(
            played.conversation(1),
            [
                "user: Write the report.",
                "assistant: Fetching three lists.",
                r#"assistant calls call_1 list {"kind":"a"}"#,
                r#"assistant calls call_2 list {"kind":"b"}"#,
                r#"assistant calls call_3 list {"kind":"c"}"#,
                "result call_1: 3 rows of a",
                "result call_2: 3 rows of b",
                "result call_3: 3 rows of c",
            ],
            "{word}"
        );
        assert_eq!(played.end().text(), Some("Three lists, 9 rows."), "{word}");
        let contradictions = played.told(|notice| match notice {
            Notice::Contradiction { stop, calls } => Some((*stop, *calls)),
            _ => None,
        });
        // Only a word that is known to mean an end without calls contradicts them.
        let ends = ["stop", "eos"].contains(&word);
        let expected: &[_] = if ends { &[(StopReason::EndOfTurn, 3)] } else { &[] };
        assert_eq!(contradictions, expected, "{word}");
    }
}

#[test]
fn b017b_an_end_for_calls_without_a_call_is_an_empty_answer() {
    for word in ["tool_calls", "other", "eos", "function_call", "stop"] {
        let played = lists(vec![ends_as("B017b-1.sse", "tool_calls", word)]);
        assert_eq!(played.asked(), 3, "{word}: the answer and two nudges");
        let expected = Terminal::NoVisibleOutput { thinking_only: false, nudges: 2 };
        assert_eq!(played.end(), &expected, "{word}");
    }
}
