//! B012, B013, B014, B015, B016, B018: what becomes of a response that is no plain answer.

use machine_spec::input::HookAnswer;
use machine_spec::message::{Aside, Entry, GateRefusal, NotStarted, Origin, Outcome};
use machine_spec::model::{ErrorClass, StopDetails, StopReason};
use machine_spec::policy::EarlyStart;
use machine_spec::{Notice, Terminal};
use replay::scenario::{After, Answer};
use serde_json::{Value, json};
use wire::Dialect::{Anthropic, OpenAiResponses};

use super::play::{Play, says, summary, with_text};
use super::played::Played;

/// The blocks of B012, as they came.
fn five_blocks() -> Value {
    json!([
        {"type": "thinking", "thinking": "First I read the file.\n\n", "signature": "c2lnLTAwMQ=="},
        {"type": "redacted_thinking", "data": "cmVkYWN0ZWQtZGF0YQ=="},
        {"type": "text", "text": "Reading."},
        {"type": "thinking", "thinking": "", "signature": "c2lnLTAwMg=="},
        {"type": "tool_use", "id": "toolu_k1", "name": "read_file", "input": {"path": "a"}},
    ])
}

/// Without the marks of the prompt cache, which may stand on calls and texts.
fn unmarked(blocks: &Value) -> Value {
    let mut blocks = blocks.clone();
    for block in blocks.as_array_mut().expect("blocks") {
        let kind = block["type"].as_str().expect("a type").to_owned();
        let mark = block.as_object_mut().expect("a block").remove("cache_control");
        assert!(mark.is_none() || !kind.contains("thinking"), "a mark on {kind}");
    }
    blocks
}

fn reads(files: &[&str]) -> Play {
    Play::with(Anthropic, files).reads("read_file", &[says(5, "text")])
}

#[test]
fn b012_thinking_goes_back_to_the_byte() {
    let later = |play: Play| play.says_later("and hurry", After::ToolStarts(1), 1);
    for (name, played) in [
        ("plainly", reads(&["B012-1.sse", "B012-2.sse"]).run()),
        ("with a late message", later(reads(&["B012-1.sse", "B012-2.sse"])).run()),
        ("after a retry", reads(&["B012-1.sse", "B005-2.http", "B012-2.sse"]).run()),
    ] {
        assert_eq!(played.end().text(), Some("Done."), "{name}");
        for n in 1..played.asked() {
            let content = &played.body(n)["messages"][1]["content"];
            assert_eq!(unmarked(content), five_blocks(), "{name}, request {n}");
        }
    }
}

#[test]
fn b012_thinking_survives_its_process_and_its_run() {
    let whole = reads(&["B012-1.sse", "B012-2.sse"]).run();
    let frames = whole.recording().frames.len() as u64;
    let mut resumed = 0;
    for killed in 1..frames - 1 {
        let played = reads(&["B012-1.sse", "B012-2.sse"]).for_ever().run_killed_after(killed);
        let last = played.body(played.asked() - 1);
        if last["messages"][1]["content"].as_array().is_some_and(|blocks| blocks.len() == 5) {
            assert_eq!(unmarked(&last["messages"][1]["content"]), five_blocks(), "{killed}");
            resumed += 1;
        }
    }
    assert!(resumed > 3, "{resumed} of {frames}");
    let next = reads(&["B024-2.sse"]).set(|config| config.history = whole.history()).run();
    assert_eq!(unmarked(&next.body(0)["messages"][1]["content"]), five_blocks());
}

#[test]
fn b012_a_compaction_takes_whole_blocks_of_older_turns() {
    let whole = reads(&["B012-1.sse", "B012-2.sse"]).run();
    let played = reads(&["B012-1.sse", "B025-1.http", "B024-2.sse"])
        .compacts(&[summary("The file was read, and it says text.")])
        .set(|config| config.history = whole.history())
        .run();
    let messages = played.body(played.asked() - 1)["messages"].clone();
    let kept =
        messages.as_array().expect("messages").iter().filter(|one| one["role"] == "assistant");
    let kept: Vec<&Value> = kept.collect();
    let [latest] = &kept[..] else { panic!("the latest one stays: {messages:#}") };
    let ours = unmarked(&latest["content"]);
    assert_eq!(ours.as_array().map(Vec::len), Some(5));
    assert_eq!(ours[0], five_blocks()[0], "nothing of it is shortened");
}

fn nudged(played: &Played) -> usize {
    played.told(|notice| matches!(notice, Notice::RepairAsked { .. }).then_some(())).len()
}

#[test]
fn b013a_and_c_one_nudge_and_then_the_answer() {
    for file in ["B013a-1.sse", "B013c-1.sse"] {
        let played = Play::with(Anthropic, &[file, "B013a-2.sse"]).run();
        assert_eq!((played.asked(), nudged(&played)), (2, 1), "{file}");
        let last = played.conversation(1).last().cloned().expect("a nudge");
        assert!(last.starts_with("user: "), "{file}: {last}");
        assert_eq!(played.end().text(), Some("The answer is 7."), "{file}");
        assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
        assert_eq!(played.origins(), [Origin::User, Origin::Repair], "it is nobody's word");
        assert_eq!(played.run.state.frame().counters().user_messages, 1);
        // Scaffolding is gone when the next run begins.
        assert_eq!(played.history().len(), 2, "{file}");
    }
}

#[test]
fn b013b_silence_behind_a_tool_is_nudged_twice() {
    let played = Play::with(Anthropic, &["B013b-1.sse", "B013b-2.sse"])
        .for_ever()
        .acts("collect_mail", &[says(1, "three letters")])
        .run();
    assert_eq!((played.asked(), nudged(&played)), (4, 2));
    assert_eq!(played.ledger().len(), 1);
    assert_eq!(played.outcomes(), [Outcome::Succeeded { output: "three letters".into() }]);
    let end = Terminal::NoVisibleOutput { thinking_only: false, nudges: 2 };
    assert_eq!(played.end(), &end);
    for n in 2..4 {
        assert_ne!(played.body(n - 1), played.body(n), "no request is sent again as it was");
    }
}

fn cut(file: &str, continuations: u32, early: EarlyStart) -> Played {
    Play::with(Anthropic, &[file])
        .for_ever()
        .acts("write_file", &[says(1, "written")])
        .set(|config| config.limits.continuations = continuations)
        .set(|config| config.policy.early_start = early)
        .run()
}

#[test]
fn b014_a_cut_call_never_runs() {
    for file in ["B014-1.sse", "B014b-1.sse"] {
        for early in EarlyStart::ALL {
            // The case allows three repeats; by default Part 7 allows two.
            for (continuations, asked) in [(3, 4), (2, 3)] {
                let played = cut(file, continuations, *early);
                assert_eq!(played.asked(), asked, "{file} {early}");
                let end = Terminal::OutputLimit { text: String::new(), continuations };
                assert_eq!(played.end(), &end, "{file} {early}");
                let whole = r#"{"path":"a.txt","content":"ok"}"#;
                assert_eq!(played.ledger(), vec![whole; asked], "{file} {early}");
                // A block that was never closed is dropped; a closed one is answered as cut.
                let (ran, cut): (Vec<Outcome>, Vec<Outcome>) =
                    played.outcomes().into_iter().partition(Outcome::is_success);
                assert_eq!(ran.len(), asked, "{file} {early}");
                assert_eq!(cut.len(), if file == "B014-1.sse" { asked } else { 0 });
                for outcome in cut {
                    let told = match &outcome {
                        Outcome::NotStarted { why: NotStarted::OutputLimit } => true,
                        Outcome::Refused { why: GateRefusal::MalformedArgs { problem, .. } } => {
                            problem.contains("cut")
                        }
                        _ => false,
                    };
                    assert!(told, "{file} {early}: {outcome:?}");
                }
                let doom =
                    |notice: &Notice| matches!(notice, Notice::DoomWarned { .. }).then_some(());
                assert_eq!(played.told(doom), [], "it is no loop");
                assert_eq!(played.run.state.frame().counters().malformed_streak, 0);
                let last = played.conversation(1).last().cloned().expect("a message");
                assert!(last.starts_with("user: ") && last.contains("cut"), "{last}");
            }
        }
    }
}

#[test]
fn b015_a_cut_text_is_one_text() {
    let allows = HookAnswer::Allowed;
    let played = Play::with(Anthropic, &["B015-1.sse", "B015-2.sse"]).hook(allows.clone()).run();
    assert_eq!(played.asked(), 2);
    assert_eq!(played.run.questions.len(), 1, "no stop hook in between");
    assert_eq!(played.end().text(), Some("Part one, and part two."));
    let lines = played.conversation(1);
    assert!(lines[1].starts_with("assistant: Part one,"), "{lines:#?}");
    assert!(lines.last().is_some_and(|line| line.starts_with("user: ")), "{lines:#?}");
    assert_eq!(played.run.state.frame().counters().tool_rounds, 0);
    // By default Part 7 allows two continuations, the case three.
    for (continuations, asked) in [(2, 3), (3, 4)] {
        let played = Play::with(Anthropic, &["B015-1.sse"])
            .for_ever()
            .hook(allows.clone())
            .set(|config| config.limits.continuations = continuations)
            .run();
        assert_eq!((played.asked(), played.run.questions.len()), (asked, 0));
        let text = "Part one, and ".repeat(asked);
        assert_eq!(played.end(), &Terminal::OutputLimit { text, continuations });
    }
}

#[test]
fn b016_a_pause_goes_back_as_it_came() {
    let played = Play::with(Anthropic, &["B016-1.sse", "B016-2.sse"])
        .acts("web_search", &[])
        .set(|config| config.limits.tool_rounds = 1)
        .run();
    let (first, second) = (played.body(0), played.body(1));
    assert_eq!(first["tools"], second["tools"]);
    let messages = second["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 2, "no user message is added: {messages:#?}");
    assert_eq!(
        unmarked(&messages[1]["content"]),
        json!([
            {"type": "text", "text": "Searching."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
                "input": {"query": "weather archive"}},
        ])
    );
    assert_eq!(played.ledger().len(), 0, "no tool of ours runs");
    assert_eq!(played.end().text(), Some("Searching.Found it."));
    let usage = played.run.state.frame().counters().usage;
    assert_eq!((usage.input, usage.output), (Some(80), Some(37)));
}

#[test]
fn b016_pauses_are_counted_apart() {
    let paused = |answers: Vec<Answer>| {
        Play::answered(Anthropic, answers)
            .for_ever()
            .set(|config| config.limits.pauses = 5)
            .set(|config| config.limits.tool_rounds = 1)
            .run()
    };
    let text_last = with_text("B015-1.sse", "max_tokens", "pause_turn");
    for answer in [Answer::file("B016-1.sse"), text_last] {
        let played = paused(vec![answer]);
        assert_eq!(played.asked(), 6);
        assert_eq!(played.end(), &Terminal::PauseLimit { pauses: 5 });
    }
}

#[test]
fn b018_a_refusal_is_an_ending() {
    let none = String::new;
    let declined = StopDetails { category: "policy".into(), explanation: "declined".into() };
    let declined = Some(Box::new(declined));
    for (dialect, file, end) in [
        (Anthropic, "B018a-1.sse", Terminal::Refused { text: none(), details: declined }),
        (Anthropic, "B018b-1.sse", Terminal::Refused { text: none(), details: None }),
        (OpenAiResponses, "B018e-1.sse", Terminal::Filtered { text: none(), details: None }),
    ] {
        let blocks = HookAnswer::Blocked { reason: "go on".into() };
        let played = Play::with(dialect, &[file]).hook(blocks).run();
        assert_eq!((played.asked(), played.run.questions.len()), (1, 0), "{file}");
        assert_eq!(played.end(), &end, "{file}");
        let entries = played.run.state.frame().transcript().entries();
        let marked = |entry: &Entry| matches!(entry, Entry::Aside(Aside::RefusedReply(_)));
        assert!(entries.into_iter().any(marked), "{file}");
        let next = Play::with(dialect, &[file]).says("Something else, then.");
        let next = next.set(|config| config.history = played.history()).run();
        let told = next.conversation(0).join("\n");
        assert!(!told.contains("Thinking about it"), "{file}: {told}");
    }
}

#[test]
fn b018c_a_full_window_is_an_overflow() {
    let text = "a line of a file\n".repeat(300);
    let files = ["B031-1.sse", "B031-2.sse", "B018c-1.sse", "B025-10.sse"];
    let played = Play::with(Anthropic, &files)
        .acts("step", &[says(1, &text)])
        .compacts(&[summary("Two steps were done, each with 300 lines.")])
        .set(|config| config.candidates[0].context_window = 200_000)
        .set(|config| config.candidates[0].max_output = 8_000)
        .run();
    let compacted = |notice: &Notice| matches!(notice, Notice::Compacted { .. }).then_some(());
    assert_eq!((played.asked(), played.told(compacted).len()), (4, 1), "{:?}", played.end());
    assert_eq!(played.end().text(), Some("The list containsContinuing, done."));
    let lines = played.conversation(3);
    assert!(lines[0].contains("Two steps were done"), "{lines:#?}");
}

#[test]
fn b018d_a_word_nobody_has_seen_is_carried() {
    let played = Play::with(Anthropic, &["B018d-1.sse"]).run();
    let (text, stop) = ("Fine.".into(), "some_future_reason".into());
    assert_eq!(played.end(), &Terminal::Answered { text, stop });
}

#[test]
fn b018_another_model_may_be_tried_once() {
    let played = Play::with(Anthropic, &["B018a-1.sse", "B024-2.sse"]).then(Anthropic).run();
    assert!(played.asked() <= 2, "each other model once: {:?}", played.candidates());
    let contradicted = played.told(|notice| match notice {
        Notice::Contradiction { stop, .. } => Some(*stop),
        _ => None,
    });
    assert_eq!(contradicted, [] as [StopReason; 0]);
    assert!(played.failures().iter().all(|failure| failure.class == ErrorClass::ContentRefused));
}
