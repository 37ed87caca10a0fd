//! B012, B013, B014, B015, B016, B018: what becomes of a response that is no plain answer.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::message::{NotStarted, Outcome};
use serde_json::{Value, json};
use tests::scene::{AnswerTable, SayTable, Scene, Stage};

use super::act::{Acted, act, act_again, act_on, kind};

fn count(acted: &Acted, word: &str) -> usize {
    acted.events.iter().filter(|event| kind(event) == word).count()
}

fn files(scene: &mut Scene, files: &[&str]) {
    let table = |file: &&str| AnswerTable::of(&format!("cases/{file}"));
    scene.doubles[0].answers = files.iter().map(table).collect();
}

/// The blocks of the reply as the n-th request tells them, without the marks of the prompt cache,
/// which may not stand on thinking.
fn blocks(acted: &Acted, n: usize) -> Value {
    let mut blocks = acted.stage.double("a").bodies()[n]["messages"][1]["content"].clone();
    for block in blocks.as_array_mut().expect("blocks") {
        let thinks = block["type"].as_str().expect("a type").contains("thinking");
        let mark = block.as_object_mut().expect("a block").remove("cache_control");
        assert!(mark.is_none() || !thinks);
    }
    blocks
}

#[test]
fn b012_thinking_goes_back_to_the_byte() {
    let expected = json!([
        {"type": "thinking", "thinking": "First I read the file.\n\n", "signature": "c2lnLTAwMQ=="},
        {"type": "redacted_thinking", "data": "cmVkYWN0ZWQtZGF0YQ=="},
        {"type": "text", "text": "Reading."},
        {"type": "thinking", "thinking": "", "signature": "c2lnLTAwMg=="},
        {"type": "tool_use", "id": "toolu_k1", "name": "read_file", "input": {"path": "a"}},
    ]);
    let fixture = "answered--thinking-goes-back-as-it-came";
    let acted = act(fixture);
    assert_eq!(blocks(&acted, 1), expected);
    // After a retry, and with words of the user behind the result.
    let mut scene = Scene::of_fixture(fixture);
    scene.config += "\n[limits]\nbackoff_base_ms = 1\n";
    files(&mut scene, &["B012-1.sse", "B005-2.http", "B012-2.sse"]);
    scene.doubles[0].always = Some(AnswerTable::of("cases/B024-2.sse"));
    let (words, event) = ("and hurry".into(), "tool_started".into());
    scene.says.push(SayTable { words, event, nth: 1, writes: None });
    let retried = act_on(Stage::set(scene));
    assert_eq!((blocks(&retried, 1), blocks(&retried, 2)), (expected.clone(), expected.clone()));
    // After the session was saved and loaded.
    let saved = engine::resume::last_state(&acted.recording).expect("it was started");
    let history = saved.frame().transcript().settled();
    let mut stage = Scene::of_fixture(fixture);
    files(&mut stage, &["B024-2.sse"]);
    let next = act_again(Stage::set(stage), "and now?", history);
    assert_eq!(blocks(&next, 0), expected);
}

#[test]
fn b013_a_nudge_is_nobodys_word_and_leads_to_the_answer() {
    for fixture in ["answered--a-nudge-after-thinking", "answered--a-nudge-after-a-blank"] {
        let acted = act(fixture);
        assert_eq!((acted.asked("a"), count(&acted, "repair_asked")), (2, 1), "{fixture}");
        let lines = acted.conversation("a", 1);
        assert!(lines.last().is_some_and(|line| line.starts_with("user: ")), "{lines:#?}");
        assert_eq!(acted.end().text(), Some("The answer is 7."), "{fixture}");
        assert_eq!(acted.ended.state.frame().counters().user_messages, 1);
    }
}

#[test]
fn b013b_silence_behind_a_tool_is_nudged_twice() {
    let acted = act("no-visible-output--silence-behind-a-tool");
    assert_eq!(acted.asked("a"), 4);
    let end = Terminal::NoVisibleOutput { thinking_only: false, nudges: 2 };
    assert_eq!(acted.end(), &end);
    assert_eq!(acted.outcomes(), [Outcome::Succeeded { output: "three letters\n".into() }]);
}

#[test]
fn b014_a_cut_call_never_runs() {
    let fixture = "output-limit--a-call-that-is-cut";
    for (file, early) in [("B014-1.sse", "off"), ("B014-1.sse", "all"), ("B014b-1.sse", "off")] {
        let mut scene = Scene::of_fixture(fixture);
        scene.config += &format!("\n[policy]\nearly_start = \"{early}\"\n");
        scene.doubles[0].always = Some(AnswerTable::of(&format!("cases/{file}")));
        let acted = act_on(Stage::set(scene));
        assert_eq!(acted.asked("a"), 4, "{file} {early}: the first and three repeats");
        let end = Terminal::OutputLimit { text: String::new(), continuations: 3 };
        assert_eq!(acted.end(), &end, "{file} {early}");
        let whole = r#"{"path":"a.txt","content":"ok"}"#;
        assert_eq!(acted.stage.lines("ledger"), vec![whole; 4], "{file} {early}");
        assert_eq!(count(&acted, "doom_warned"), 0, "{file} {early}: it is no loop");
        let last = acted.conversation("a", 1).last().cloned().expect("a message");
        assert!(last.starts_with("user: ") && last.contains("cut"), "{last}");
    }
    // Part 7: by default two continuations.
    let mut scene = Scene::of_fixture(fixture);
    scene.config = scene.config.replace("continuations = 3", "");
    assert_eq!(act_on(Stage::set(scene)).asked("a"), 3);
}

#[test]
fn b015_a_cut_text_is_one_text() {
    let hook = "\n[[hook]]\nevent = \"Stop\"\ncommand = [\"sh\", \"-c\", \"echo x >>asked\"]\ncwd = \".\"\n";
    let mut scene = Scene::of_fixture("answered--a-text-in-two-parts");
    scene.config += hook;
    let acted = act_on(Stage::set(scene));
    assert_eq!((acted.asked("a"), acted.stage.lines("asked").len()), (2, 1));
    assert_eq!(acted.end().text(), Some("Part one, and part two."));
    let lines = acted.conversation("a", 1);
    assert!(lines.last().is_some_and(|line| line.starts_with("user: ")), "{lines:#?}");
    let acted = act("output-limit--a-text-without-end");
    assert_eq!(acted.asked("a"), 3, "Part 7: by default two continuations");
    assert_eq!(acted.end().text(), Some(&*"Part one, and ".repeat(3)));
}

#[test]
fn b016_a_pause_goes_back_as_it_came() {
    let acted = act("answered--a-pause-is-resumed");
    let bodies = acted.stage.double("a").bodies();
    assert_eq!((bodies.len(), bodies[1]["messages"].as_array().map(Vec::len)), (2, Some(2)));
    assert_eq!(bodies[0]["tools"], bodies[1]["tools"]);
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
        "input": {"query": "weather archive"}});
    assert_eq!(blocks(&acted, 1), json!([{"type": "text", "text": "Searching."}, search]));
    assert_eq!(acted.end().text(), Some("Searching.Found it."));
    let usage = acted.ended.state.frame().counters().usage;
    assert_eq!((usage.input, usage.output), (Some(80), Some(37)));
    let mut scene = Scene::of_fixture("pause-limit--paused-for-ever");
    scene.config = scene.config.replace("pauses = 2", "pauses = 5");
    let acted = act_on(Stage::set(scene));
    assert_eq!((acted.asked("a"), acted.end()), (6, &Terminal::PauseLimit { pauses: 5 }));
}

#[test]
fn b018_a_refusal_is_an_ending() {
    for fixture in
        ["refused--without-a-word", "refused--behind-a-thought", "filtered--before-the-first-word"]
    {
        let acted = act(fixture);
        assert_eq!(acted.asked("a"), 1, "{fixture}");
        assert_eq!(count(&acted, "hook_started"), 0, "{fixture}: no stop hook is asked");
        assert_eq!(count(&acted, "repair_asked"), 0, "{fixture}: no nudge");
        let stopped = matches!(acted.end(), Terminal::Refused { .. } | Terminal::Filtered { .. });
        assert!(stopped, "{fixture}: {:?}", acted.end());
        if let Terminal::Refused { details: Some(said), .. } = acted.end() {
            assert_eq!((said.category.as_str(), said.explanation.as_str()), ("policy", "declined"));
        } else {
            assert_ne!(fixture, "refused--without-a-word", "what the provider says stands in it");
        }
        let (stage, history) = (acted.stage, acted.ended.history());
        let next = act_again(stage, "Something else, then.", history);
        let told = next.conversation("a", 1).concat();
        assert!(!told.contains("Thinking about it"), "{fixture}: it is left out: {told}");
    }
}

#[test]
fn b018c_a_full_window_is_an_overflow() {
    let acted = act("answered--the-window-was-full");
    assert_eq!((acted.asked("a"), count(&acted, "compaction")), (5, 1));
    assert_eq!(acted.end().text(), Some("The list containsContinuing, done."));
}

#[test]
fn b018d_a_word_nobody_has_seen_is_carried() {
    let acted = act("answered--a-stop-reason-nobody-has-seen");
    let (text, stop) = ("Fine.".into(), "some_future_reason".into());
    assert_eq!(acted.end(), &Terminal::Answered { text, stop });
}

/// What the case calls early start: closing its block is not enough for a call.
#[test]
fn b014c_an_early_start_needs_arguments_that_parse() {
    let mut scene = Scene::of_fixture("output-limit--a-call-that-is-cut");
    scene.config += "\n[policy]\nearly_start = \"all\"\n";
    let acted = act_on(Stage::set(scene));
    let started = acted.told(|event| match event {
        Event::ToolStarted { args, .. } => Some(args.clone()),
        _ => None,
    });
    assert!(started.iter().all(|args| args.contains("a.txt")), "{started:?}");
    let cut = |outcome: &Outcome| match outcome {
        Outcome::NotStarted { why: NotStarted::OutputLimit } | Outcome::Refused { .. } => true,
        outcome => outcome.is_success(),
    };
    assert!(acted.outcomes().iter().all(cut));
}
