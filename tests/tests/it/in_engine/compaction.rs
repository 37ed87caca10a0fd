//! B004, B025, B026, B027: what becomes of a conversation that grows too large, and memory of it.

use std::sync::Arc;

use engine::{Event, Setup};
use machine_spec::ids::AttemptId;
use machine_spec::message::{Block, Entry, Origin, Reply, Said, Wholeness};
use machine_spec::model::Usage;
use machine_spec::{Terminal, Transcript};
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act, act_while, kind, with_step};

fn scene(more: &str, answers: &[&str]) -> Scene {
    let config = format!(
        r#"
[[provider]]
name = "a"
dialect = "anthropic"
model = "claude-test-1"
base_url = "{{a}}"
api_key_env = "LOOPWRIGHT_TEST_KEY"
context_window = 20000
max_output = 1000

[[tool]]
name = "step"
command = ["./step.sh"]
cwd = "."

[[tool]]
name = "next_step"
command = ["echo", "done"]

[policy]
compact = "model"
truncate = false
{more}
"#
    );
    with_step("rename --fast to --quick", &config, answers)
}

/// Earlier turns of the session: what was asked, and an answer of about so many tokens.
fn history(turns: &[&str], tokens: usize) -> Transcript {
    let mut transcript = Transcript::default();
    for words in turns {
        transcript.append(Entry::Said(Said::words(Origin::User, *words)));
        transcript.append(Entry::Reply(Reply {
            by: Arc::from("a/claude-test-1"),
            attempt: AttemptId(0),
            blocks: vec![Block::Text(format!(
                "Done: {words}. {}",
                "and so on ".repeat(tokens / 3)
            ))],
            wholeness: Wholeness::Whole,
            stop: None,
            usage: Usage::default(),
        }));
    }
    transcript
}

const EARLIER: [&str; 8] = [
    "set up the linter",
    "add a flag --fast",
    "write its help",
    "test it",
    "mend the test",
    "document it",
    "bump the version",
    "tidy up",
];

fn bodies(acted: &Acted) -> Vec<String> {
    acted.stage.double("a").bodies().iter().map(ToString::to_string).collect()
}

fn compactions(acted: &Acted) -> usize {
    acted.events.iter().filter(|event| kind(event) == "compaction").count()
}

#[test]
fn b025_an_overflow_is_withheld_and_mended() {
    let files = ["cases/B025-1.http", "cases/B025-9.sse", "cases/B025-10.sse"];
    let stage = Stage::set(scene("", &files));
    let change = |setup: &mut Setup| {
        setup.machine.history = history(&EARLIER, 50);
        // The provider knows better than we do.
        setup.machine.candidates[0].context_window = 0;
    };
    let acted = act_while(stage, change, |_, _| {});
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
    assert_eq!((acted.asked("a"), compactions(&acted)), (3, 1));
    let failed = acted.events.iter().filter(|event| kind(event) == "attempt_failed").count();
    assert_eq!(failed, 0, "the user sees no error");
    let archived = std::fs::read_dir(acted.stage.path("archive")).expect("the head is kept");
    let file = archived.flatten().next().expect("a file").path();
    let lines = std::fs::read_to_string(&file).expect("readable");
    assert!(lines.contains("set up the linter"), "{lines}");
    let entry: Entry = serde_json::from_str(lines.lines().next().expect("a line")).expect("entry");
    assert!(matches!(entry, Entry::Said(said) if said.text == "set up the linter"));
    let told = bodies(&acted)[2].clone();
    let reference = format!("archive/{}", file.file_name().expect("a name").display());
    assert!(told.contains(&reference), "{reference} is told to the model");
}

#[test]
fn b026a_a_compaction_that_does_not_help_ends_the_run() {
    let mut scene = scene("", &["cases/B026a-1.sse"]);
    scene.config = format!(
        "system = \"{}\"\n{}",
        "The oak stands behind the house. ".repeat(8_200),
        scene.config
    );
    scene.doubles[0].always = Some(AnswerTable::of("cases/B026a-2.sse"));
    let change = |setup: &mut Setup| {
        setup.machine.history = history(&EARLIER, 1_550);
        setup.machine.candidates[0].context_window = 200_000;
    };
    let acted = act_while(Stage::set(scene), change, |_, _| {});
    match acted.end() {
        Terminal::CompactionThrash { before, after } => {
            assert!(after * 20 > before * 19, "{before} to {after}");
        }
        end => panic!("{end:?} {:?}", acted.events),
    }
    assert!(compactions(&acted) <= 1, "at most one without progress");
}

#[test]
fn b026b_a_head_that_is_too_long_is_tried_again_shorter() {
    let mut scene = scene("", &["cases/B025-1.http"]);
    scene.doubles[0].always = Some(AnswerTable::of("cases/B026b-1.http"));
    let change = |setup: &mut Setup| {
        setup.machine.history = history(&EARLIER, 50);
        setup.machine.candidates[0].context_window = 0;
    };
    let acted = act_while(Stage::set(scene), change, |_, _| {});
    let bodies = bodies(&acted);
    let lengths: Vec<usize> = bodies[1..].iter().map(String::len).collect();
    assert!((2..=4).contains(&lengths.len()), "{lengths:?}");
    assert!(lengths.windows(2).all(|pair| pair[1] < pair[0]), "{lengths:?}");
    // From the oldest side, and by whole rounds.
    assert!(bodies[1].contains("set up the linter") && !bodies[2].contains("set up the linter"));
    match acted.end() {
        Terminal::ContextExhausted { limit: 200_000, actual: 204_812, compaction } => {
            assert!(compaction.contains("too long"), "{compaction}");
        }
        end => panic!("{end:?}"),
    }
}

#[test]
fn b027_after_a_compaction_the_current_task_goes_on() {
    let more = "\n[limits]\nkeep_entries = 2\ninline_result_bytes = 100000\n\n[[require]]\n\
                when = \"rename\"\ntools = [\"submit\"]\n\n[[tool]]\nname = \"submit\"\n\
                command = [\"true\"]\n";
    let files = ["cases/B026a-1.sse", "cases/B027-1.sse", "cases/B027-2.sse"];
    let mut scene = scene(more, &files);
    scene.config = scene.config.replace(
        r#"["echo", "done"]"#,
        r#"["sh", "-c", "yes 'a line of the changed file' | head -n 2200"]"#,
    );
    scene.doubles[0].always = Some(AnswerTable::of("cases/B024-2.sse"));
    let change = |setup: &mut Setup| {
        setup.machine.history = history(&EARLIER, 9_000);
        setup.machine.candidates[0].context_window = 200_000;
    };
    let mut said = false;
    let acted = act_while(Stage::set(scene), change, |event, handle| {
        if kind(event) == "compaction" && !std::mem::replace(&mut said, true) {
            handle.say("m10: and tell me the port").expect("the run goes on");
        }
    });
    assert_eq!(compactions(&acted), 1, "{:?}", acted.end());
    let bodies = acted.stage.double("a").bodies();
    assert!(bodies.len() > 2, "{:?}", acted.end());
    let after = bodies[2]["messages"].as_array().expect("messages");
    let first = after[0].to_string();
    assert!(first.contains("Linter set up earlier."), "{first}");
    assert!(first.contains("The current task, word for word:"), "{first}");
    assert!(first.contains("rename --fast to --quick"), "{first}");
    let all = bodies[2]["messages"].to_string();
    assert!(!all.contains("\"set up the linter\""), "{all}");
    assert!(all.contains("a line of the changed file"), "the call and its result stand");
    let heard: Vec<usize> =
        bodies.iter().map(|body| body["messages"].to_string().matches("m10: ").count()).collect();
    assert_eq!(heard[..4], [0, 0, 0, 1], "it waits for its turn and comes once");
    assert!(heard[4..].iter().all(|count| *count == 1), "{heard:?}");
    let Terminal::RequiredToolMissing { missing, .. } = acted.end() else {
        panic!("the guard forgets nothing: {:?}", acted.end())
    };
    assert_eq!(missing, &["submit"]);
    let guarded = acted.events.iter().filter(|event| kind(event) == "guard_reminded").count();
    assert_eq!(guarded, 2);
}

#[test]
fn what_leaves_the_view_is_remembered_and_found_by_a_later_session() {
    let more = "flush = true\nrecall = true\n\n[memory]\ndir = \"memory\"\n";
    let files = ["cases/B025-1.http", "cases/B025-9.sse", "cases/B025-10.sse"];
    let change = |setup: &mut Setup| {
        setup.machine.history = history(&EARLIER, 50);
        setup.machine.candidates[0].context_window = 0;
    };
    let mut first = scene(more, &files);
    first.doubles[0].always = Some(AnswerTable::of("cases/B024-2.sse"));
    let acted = act_while(Stage::set(first), change, |_, _| {});
    assert!(!acted.events.iter().any(|event| matches!(event, Event::MemoryFailed { .. })));
    let kept = std::fs::read_to_string(acted.stage.path("memory/memory.jsonl"));
    assert!(kept.expect("memory is kept").contains("set up the linter"));
    let empty = Transcript::default();
    let again = super::act::act_again(acted.stage, "is the linter set up?", empty);
    let asked = again.stage.double("a").bodies().last().expect("a request").to_string();
    assert!(asked.contains("From memory of earlier sessions"), "{asked}");
    assert!(asked.contains("- set up the linter"), "{asked}");
    assert!(!again.ended.history().is_empty());
    let history = serde_json::to_string(&again.ended.history()).expect("JSON");
    assert!(!history.contains("From memory"), "it leaves the history with its turn");
}

#[test]
fn b004_a_cut_never_parts_a_call_from_its_result() {
    let acted = act("answered--the-cut-keeps-a-pair-together");
    assert_eq!((acted.asked("a"), compactions(&acted)), (5, 1));
    let lines = acted.conversation("a", 4);
    let [summary, first, second, third, fourth] = &lines[..] else { panic!("{lines:#?}") };
    assert!(summary.starts_with("user: ") && summary.contains("Goal: rename flag."), "{summary}");
    assert!(summary.contains("Rename the flag and check it."), "word for word: {summary}");
    assert!(first.starts_with("assistant calls ") && second.starts_with("assistant calls "));
    assert!(third.starts_with("result ") && fourth.starts_with("result "), "{lines:#?}");
    assert_eq!(acted.end().text(), Some("Both checks passed."));
}

/// A conversation that meets an overflow in this spelling, on this wire.
fn overflow(dialect: &str, files: &[&str]) -> Acted {
    let mut scene = scene("", &[]);
    scene.config = scene
        .config
        .replace("dialect = \"anthropic\"", &format!("dialect = \"{dialect}\""))
        .replace("compact = \"model\"", "compact = \"summary\"");
    let table = |file: &&str| AnswerTable::of(&format!("cases/{file}"));
    scene.doubles[0].answers = files.iter().map(table).collect();
    let change = |setup: &mut Setup| {
        setup.machine.history = history(&EARLIER, 50);
        setup.machine.candidates[0].context_window = 0;
    };
    act_while(Stage::set(scene), change, |_, _| {})
}

#[test]
fn b025_one_condition_in_six_spellings_is_withheld_and_mended() {
    for (dialect, file, end) in [
        ("anthropic", "B025-1.http", "B025-10.sse"),
        ("openai-chat", "B025-2.http", "B040-2.sse"),
        ("openai-chat", "B025-3.http", "B040-2.sse"),
        ("openai-chat", "B025-5.http", "B040-2.sse"),
        ("gemini", "B025-6.http", "B023c-1.sse"),
        ("openai-responses", "B025-8.sse", "B021-2.sse"),
    ] {
        let acted = overflow(dialect, &[file, end]);
        assert!(matches!(acted.end(), Terminal::Answered { .. }), "{file}: {:?}", acted.end());
        assert_eq!((acted.asked("a"), compactions(&acted)), (2, 1), "{file}");
        let shown = acted.events.iter().filter(|event| kind(event) == "attempt_failed").count();
        assert_eq!(shown, 0, "{file}: the user sees no error");
    }
    for file in ["B025-4.http", "B025-7.http"] {
        let acted = overflow("anthropic", &[file]);
        assert_eq!((acted.asked("a"), compactions(&acted)), (1, 0), "{file}");
        assert!(matches!(acted.end(), Terminal::ProviderFailed { .. }), "{:?}", acted.end());
    }
}

#[test]
fn b026b_the_fixture_of_a_head_that_is_always_too_long() {
    let acted = act("context-exhausted--every-head-is-too-long");
    let lengths: Vec<usize> = bodies(&acted)[5..].iter().map(String::len).collect();
    assert!((2..=4).contains(&lengths.len()), "{lengths:?}");
    assert!(lengths.windows(2).all(|pair| pair[1] < pair[0]), "{lengths:?}");
    assert!(matches!(acted.end(), Terminal::ContextExhausted { .. }), "{:?}", acted.end());
}

#[test]
fn b027_the_fixture_of_what_outlives_a_compaction() {
    let acted = act("required-tool-missing--the-guard-outlives-a-compaction");
    assert_eq!(compactions(&acted), 1);
    let lines = acted.conversation("a", 4);
    assert!(lines[0].contains("Linter set up earlier."), "{lines:#?}");
    assert!(lines[0].contains("rename --fast to --quick"), "{lines:#?}");
    let heard: Vec<usize> =
        bodies(&acted).iter().map(|body| body.matches("m10: ").count()).collect();
    assert_eq!(heard.iter().rposition(|n| *n == 0), Some(heard.len() - 2), "once, at its place");
    assert_eq!(heard.last(), Some(&1));
    let Terminal::RequiredToolMissing { missing, .. } = acted.end() else {
        panic!("the guard forgets nothing: {:?}", acted.end())
    };
    assert_eq!(missing, &["submit"]);
}

#[test]
fn a_hook_is_asked_before_a_compaction_and_may_forbid_it() {
    let acted = act("answered--an-overflow-is-withheld");
    let asked = acted.stage.lines("looked").concat();
    let asked: serde_json::Value = serde_json::from_str(&asked).expect("one question");
    assert_eq!(asked["hook_event_name"], "PreCompact", "{asked}");
    assert_eq!(compactions(&acted), 1);
    let kept = acted.stage.lines("memory.jsonl").concat();
    assert!(kept.contains("Do all steps."), "memory has seen what left the view: {kept}");
    let acted = act("context-exhausted--a-hook-forbids-compaction");
    assert_eq!((acted.asked("a"), compactions(&acted)), (2, 0), "nothing is summed up");
    assert_eq!(acted.stage.lines("asked").concat().matches("PreCompact").count(), 1);
    match acted.end() {
        Terminal::ContextExhausted { limit: 200_000, actual: 204_812, compaction } => {
            assert!(compaction.contains("the minutes are not written yet"), "{compaction}");
        }
        end => panic!("{end:?}"),
    }
}

#[test]
fn what_does_not_fit_is_asked_for_in_fewer_tokens_or_cut_away_as_the_last_resort() {
    let acted = act("answered--fewer-tokens-are-asked-for");
    let asked: Vec<u64> = acted
        .stage
        .double("a")
        .bodies()
        .iter()
        .map(|body| body["max_tokens"].as_u64().expect("a number"))
        .collect();
    assert!(asked[0] == 3_000 && (1_024..3_000).contains(&asked[1]), "{asked:?}");
    let acted = act("answered--the-oldest-part-is-cut-away");
    let cut = acted.told(|event| match event {
        Event::ContextTruncated { dropped } => Some(*dropped),
        _ => None,
    });
    assert_eq!(cut, [3]);
    let lines = acted.conversation("a", 2);
    assert!(lines[0].contains("cut away"), "the model is told: {lines:#?}");
}
