//! B007, B008, B009, B022, B023: what is made of the bytes of a response.

use machine_spec::Terminal;
use machine_spec::message::{Entry, Outcome};
use machine_spec::model::Usage;
use replay::scenario::Answer;
use wire::Dialect::{self, Anthropic, Gemini, OpenAiChat, OpenAiResponses};

use super::play::{Play, says, with_text};
use super::played::Played;

fn looks(dialect: Dialect, files: &[&str]) -> Played {
    let tools = ["read_file", "grep", "search", "convert", "ping_db", "list_windows", "exec"];
    let play = Play::with(dialect, files);
    tools.iter().fold(play, |play, tool| play.acts(tool, &[says(1, "seen")])).run()
}

/// The calls that ran, as `tool arguments`.
fn ran(played: &Played) -> Vec<String> {
    let executions = played.run.executions.iter();
    executions.map(|ran| format!("{} {}", ran.tool, ran.args)).collect()
}

#[test]
fn b007a_fragments_that_come_in_turns_stay_apart() {
    let played = looks(OpenAiChat, &["B007a-1.sse", "B040-2.sse"]);
    let calls = [r#"read_file {"path":"src/lib.rs"}"#, r#"grep {"pattern":"TODO"}"#];
    assert_eq!(ran(&played), calls);
    assert_eq!(
        played.conversation(1)[1..],
        [
            format!("assistant calls call_a {}", calls[0]),
            format!("assistant calls call_b {}", calls[1]),
            "result call_a: seen".into(),
            "result call_b: seen".into(),
        ]
    );
}

#[test]
fn b007b_two_calls_on_one_index_are_two_calls() {
    let played = looks(OpenAiChat, &["B007b-1.sse", "B040-2.sse"]);
    assert_eq!(ran(&played), [r#"search {"q":"first"}"#, r#"search {"q":"second"}"#]);
    let calls = played.conversation(1);
    assert!(calls[1].contains("call_a") && calls[2].contains("call_b"), "{calls:#?}");
}

#[test]
fn b007c_pieces_are_routed_by_their_item() {
    let played = looks(OpenAiResponses, &["B007c-1.sse", "B021-2.sse"]);
    assert_eq!(ran(&played), [r#"read_file {"path":"a.rs"}"#, r#"grep {"pattern":"x"}"#]);
    let lines = played.conversation(1);
    assert_eq!(lines[1], "assistant: Two look-ups.", "{lines:#?}");
    assert_eq!(lines[lines.len() - 2..], ["result call_1: seen", "result call_2: seen"]);
}

#[test]
fn b008a_empty_strings_say_nothing() {
    let played = looks(OpenAiChat, &["B008a-1.sse", "B040-2.sse"]);
    assert_eq!(ran(&played), [r#"convert {"amount": "5 km"}"#]);
    assert_eq!(
        played.conversation(1)[1..],
        [r#"assistant calls call_8c convert {"amount": "5 km"}"#, "result call_8c: seen"]
    );
}

#[test]
fn b008b_and_c_no_arguments_are_the_empty_object() {
    for (dialect, file, tool, id) in [
        (Anthropic, "B008b-1.sse", "list_windows", "toolu_e1"),
        (OpenAiChat, "B008c-1.sse", "ping_db", "call_h"),
    ] {
        let end = if dialect == Anthropic { "B024-2.sse" } else { "B040-2.sse" };
        let played = looks(dialect, &[file, end]);
        assert_eq!(ran(&played), [format!("{tool} {{}}")], "{file}");
        let call = format!("assistant calls {id} {tool} {{}}");
        assert_eq!(played.conversation(1)[1], call, "{file}: not null and not nothing");
    }
}

#[test]
fn b008_blanks_are_no_arguments_either_and_a_piece_of_json_is_no_blank() {
    for (text, runs) in [(" \\n ", 1), ("{\\\"q", 0)] {
        let first =
            with_text("B008c-1.sse", r#""arguments":"""#, &format!(r#""arguments":"{text}""#));
        let answers = vec![first, Answer::file("B040-2.sse")];
        let played = Play::answered(OpenAiChat, answers).acts("ping_db", &[says(1, "up")]).run();
        assert_eq!(played.ledger(), vec!["{}"; runs], "{text}");
        assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
    }
}

/// The ids of all calls of the conversation, as the machine knows them.
fn ids(played: &Played) -> Vec<String> {
    let mut ids = Vec::new();
    for entry in played.run.state.frame().transcript().entries() {
        if let Entry::Results(results) = entry {
            ids.extend(results.iter().map(|result| result.wire_id.to_string()));
        }
    }
    ids
}

#[test]
fn b009a_minted_ids_depend_on_their_place_alone_and_are_unique_in_the_session() {
    let files = ["B009a-1.sse", "B009a-2.sse"];
    let play = || Play::with(OpenAiChat, &files).reads("read_file", &[says(1, "text")]);
    let (first, again) = (play().run(), play().run());
    assert_eq!(ids(&first), ids(&again));
    assert_eq!(first.outcomes().len(), 2);
    let next = play().says("And now?").set(|config| config.history = first.history()).run();
    let mut all = ids(&next);
    assert_eq!(all.len(), 4);
    assert_eq!(all[..2], ids(&first));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4, "{all:?}");
    let (call, result) = (&first.conversation(1)[1], &first.conversation(1)[3]);
    assert!(call.contains(&ids(&first)[0]) && result.contains(&ids(&first)[0]), "{call}, {result}");
}

#[test]
fn b009b_an_id_that_comes_again_is_changed_where_it_comes_again() {
    let played = looks(OpenAiChat, &["B009b-1.sse", "B009b-2.sse", "B009b-3.sse"]);
    assert_eq!(played.ledger(), [r#"{"cmd":"ls"}"#, r#"{"cmd":"pwd"}"#], "both run");
    let ids = ids(&played);
    assert_eq!(ids[0], "exec:0", "the first pair is as it was");
    assert_ne!(ids[1], ids[0]);
    let (second, third) = (played.conversation(1), played.conversation(2));
    assert_eq!(third[..second.len()], second, "the cached prefix stays valid");
    let call = format!(r#"assistant calls {} exec {{"cmd":"pwd"}}"#, ids[1]);
    assert_eq!(third[3..], [call, format!("result {}: seen", ids[1])]);
}

#[test]
fn b009_a_true_repeat_within_one_response_runs_once() {
    let call = r#"{"index":0,"id":"exec:0","type":"function","function":{"name":"exec","arguments":"{\"cmd\":\"ls\"}"}}"#;
    let twice = format!("{call},{}", call.replace(r#""index":0"#, r#""index":1"#));
    let answers = vec![with_text("B009b-1.sse", call, &twice), Answer::file("B009b-3.sse")];
    let played = Play::answered(OpenAiChat, answers).acts("exec", &[says(1, "seen")]).run();
    assert_eq!(played.ledger(), [r#"{"cmd":"ls"}"#]);
    assert_eq!(played.outcomes(), [Outcome::Succeeded { output: "seen".into() }]);
}

#[test]
fn b022_bytes_are_no_characters_and_lines_are_no_events() {
    for (dialect, file, text) in [
        (Anthropic, "B022a-1.sse", None),
        (OpenAiChat, "B022b-1.sse", Some("ok")),
        (OpenAiChat, "B022c-1.sse", Some("joined")),
    ] {
        let played = Play::with(dialect, &[file]).run();
        let said = played.end().text().expect("an answer");
        assert!(!said.contains('\u{fffd}') && !said.is_empty(), "{file}: {said}");
        assert!(text.is_none_or(|text| text == said), "{file}: {said}");
        assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
    }
}

#[test]
fn b023_reports_of_usage_are_totals_and_the_last_one_counts() {
    let (input, output) = (Some(10), Some(50));
    let chat = Usage { input, output, ..Usage::default() };
    let cached = Usage { input: Some(25), output: Some(15), cache_read: Some(100), ..chat };
    let grown = Usage { input: Some(12), output: Some(3), ..chat };
    for (dialect, file, usage) in [
        (OpenAiChat, "B023a-1.sse", chat),
        (Anthropic, "B023b-1.sse", cached),
        (Gemini, "B023c-1.sse", grown),
    ] {
        let played = Play::with(dialect, &[file]).run();
        assert_eq!(played.end().text(), Some("Hi."), "{file}");
        assert_eq!(played.run.state.frame().counters().usage, usage, "{file}");
    }
}

#[test]
fn b023_the_usage_of_a_run_is_the_sum_over_its_requests() {
    let files = ["B031-1.sse", "B023b-1.sse"];
    let played = Play::with(Anthropic, &files).acts("step", &[says(1, "done")]).run();
    let usage = played.run.state.frame().counters().usage;
    assert_eq!((usage.input, usage.output, usage.cache_read), (Some(65), Some(24), Some(100)));
}
