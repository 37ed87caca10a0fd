//! B007, B008, B009, B022, B023: what is made of the bytes of a response, over real connections.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::message::Outcome;
use machine_spec::model::Usage;
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act, act_on};

/// The calls that ran, as `tool arguments`.
fn ran(acted: &Acted) -> Vec<String> {
    acted.told(|event| match event {
        Event::ToolStarted { tool, args, .. } => Some(format!("{tool} {args}")),
        _ => None,
    })
}

/// The scene of a fixture with other answers.
fn answered(fixture: &str, files: &[&str]) -> Acted {
    let mut scene = Scene::of_fixture(fixture);
    let table = |file: &&str| AnswerTable::of(&format!("cases/{file}"));
    scene.doubles[0].answers = files.iter().map(table).collect();
    act_on(Stage::set(scene))
}

#[test]
fn b007_no_piece_of_a_call_lands_in_another() {
    let acted = act("answered--fragments-of-two-calls");
    let calls = [
        r#"read_file {"path":"src/lib.rs"}"#,
        r#"grep {"pattern":"TODO"}"#,
        r#"search {"q":"first"}"#,
        r#"search {"q":"second"}"#,
    ];
    let mut started = ran(&acted);
    started[..2].sort_by_key(|call| !call.starts_with("read_file"));
    started[2..].sort();
    assert_eq!(started, calls);
    let lines = acted.conversation("a", 2);
    let sent: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("assistant calls ")).collect();
    assert!(sent[0].starts_with("call_a ") && sent[0].ends_with(calls[0]), "in index order");
    assert!(sent.iter().zip(calls).all(|(line, call)| line.ends_with(call)), "{lines:#?}");
}

#[test]
fn b007c_pieces_are_routed_by_their_item() {
    let acted = act("answered--items-of-two-calls");
    let lines = acted.conversation("a", 1);
    let sent: Vec<&String> =
        lines.iter().filter(|line| line.starts_with("assistant calls ")).collect();
    assert_eq!(
        sent,
        [
            r#"assistant calls call_1 read_file {"path":"a.rs"}"#,
            r#"assistant calls call_2 grep {"pattern":"x"}"#,
        ]
    );
    assert_eq!(acted.outcomes().len(), 2);
}

#[test]
fn b008_what_is_empty_is_absent() {
    let acted = act("answered--empty-strings-are-absent");
    assert_eq!(ran(&acted), [r#"convert {"amount": "5 km"}"#, "ping_db {}"]);
    let lines = acted.conversation("a", 2);
    assert_eq!(lines[1], r#"assistant calls call_8c convert {"amount": "5 km"}"#);
    assert_eq!(lines[3], "assistant calls call_h ping_db {}", "not null and not nothing");
    let acted = act("answered--a-call-without-arguments");
    assert_eq!(ran(&acted), ["list_windows {}"]);
    assert_eq!(acted.conversation("a", 1)[1], "assistant calls toolu_e1 list_windows {}");
}

#[test]
fn b009a_calls_without_ids_get_the_same_ones_every_time() {
    let first = act("answered--calls-without-ids");
    let again = act("answered--calls-without-ids");
    let lines = first.conversation("a", 1);
    assert_eq!(lines, again.conversation("a", 1));
    let id = |line: &String| line.split(' ').nth(2).expect("an id").to_owned();
    let (a, b) = (id(&lines[1]), id(&lines[2]));
    assert!(a != b && !a.is_empty(), "{lines:#?}");
    let results = [format!("result {a}: "), format!("result {b}: ")];
    assert!(lines[3..].iter().zip(results).all(|(line, head)| line.starts_with(&head)));
}

#[test]
fn b009b_an_id_that_comes_again_is_changed_where_it_comes_again() {
    let acted = act("answered--an-id-that-comes-again");
    assert_eq!(ran(&acted), [r#"exec {"cmd":"ls"}"#, r#"exec {"cmd":"pwd"}"#]);
    assert_eq!(acted.stage.lines("ledger"), [r#"{"cmd":"ls"}"#, r#"{"cmd":"pwd"}"#]);
    let (second, third) = (acted.conversation("a", 1), acted.conversation("a", 2));
    assert_eq!(third[..second.len()], second, "the cached prefix stays valid");
    assert!(third[1].starts_with("assistant calls exec:0 "), "{third:#?}");
    assert!(!third[3].contains(" exec:0 ") && third[3].contains("pwd"), "{third:#?}");
}

#[test]
fn b022_bytes_are_no_characters_and_lines_are_no_events() {
    let fixture = "answered--lines-that-are-no-events";
    assert_eq!(act(fixture).end().text(), Some("ok"));
    assert_eq!(answered(fixture, &["B022c-1.sse"]).end().text(), Some("joined"));
    // Every byte is a chunk of its own.
    let acted = answered("answered--a-stop-reason-nobody-has-seen", &["B022a-1.sse"]);
    let text = acted.end().text().expect("an answer");
    assert!(text.chars().any(|c| c.len_utf8() == 4) && !text.contains('\u{fffd}'), "{text}");
}

#[test]
fn b023_the_last_report_of_usage_counts() {
    let usage = |input, output, cache_read| Usage {
        input: Some(input),
        output: Some(output),
        cache_read,
        ..Usage::default()
    };
    let chat = answered("answered--lines-that-are-no-events", &["B023a-1.sse"]);
    let anthropic = answered("answered--a-stop-reason-nobody-has-seen", &["B023b-1.sse"]);
    for (acted, expected) in [
        (chat, usage(10, 50, None)),
        (anthropic, usage(25, 15, Some(100))),
        (act("answered--usage-that-grows"), usage(12, 3, None)),
    ] {
        assert_eq!(acted.end().text(), Some("Hi."));
        assert_eq!(acted.ended.state.frame().counters().usage, expected);
        assert!(acted.events.iter().any(|event| matches!(event, Event::UsageReported { .. })));
    }
}

#[test]
fn b008_a_piece_of_json_is_not_empty() {
    let acted = answered("answered--a-call-without-arguments", &["B014-1.sse", "B024-2.sse"]);
    let outcomes = acted.outcomes();
    assert!(outcomes.iter().all(|outcome| !outcome.is_success()), "{outcomes:?}");
    assert!(matches!(outcomes[0], Outcome::Refused { .. }), "nobody has that tool");
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}
