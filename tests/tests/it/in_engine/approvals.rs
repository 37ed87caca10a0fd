//! B034: calls that may not run without somebody's word, with real tools and somebody who answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::approve::{Answer, Wanted, Word};
use engine::{Approvals, Approver, Event};
use machine_spec::input::{Decision, GrantScope, InterruptedBy};
use machine_spec::message::{NotApproved, NotStarted, Outcome};
use machine_spec::{RoomKind, Terminal};
use tests::scene::{FileTable, InterruptTable, Scene, Stage};

use super::act::{Acted, act_asking, kind};

const STAGING: &str = "use the staging db";

/// Says about each tool what it was told to say, or nothing at all; remembers what it was asked.
#[derive(Clone, Debug, Default)]
struct Somebody {
    words: Arc<BTreeMap<String, Word>>,
    asked: Arc<Mutex<Vec<Wanted>>>,
}

impl Approver for Somebody {
    fn decide<'a>(&'a self, wanted: &'a Wanted) -> Answer<'a> {
        self.asked.lock().expect("nobody panics").push(wanted.clone());
        let word = self.words.get(&wanted.tool).cloned();
        Box::pin(async move {
            match word {
                Some(word) => word,
                None => std::future::pending().await,
            }
        })
    }
}

fn somebody(words: &[(&str, Word)]) -> Somebody {
    let words = words.iter().map(|(tool, word)| ((*tool).to_owned(), word.clone()));
    Somebody { words: Arc::new(words.collect()), ..Somebody::default() }
}

fn scene() -> Scene {
    Scene::read(include_str!("approvals.toml"))
}

/// The scene with this before everything else of its configuration.
fn set_with(settings: &str) -> Stage {
    let mut scene = scene();
    scene.config = format!("{settings}\n{}", scene.config);
    Stage::set(scene)
}

fn acted(stage: Stage, words: &[(&str, Word)]) -> (Acted, Vec<Wanted>) {
    let somebody = somebody(words);
    let acted = act_asking(stage, Some(Approvals::by(somebody.clone())));
    let asked = somebody.asked.lock().expect("nobody panics").clone();
    (acted, asked)
}

fn succeeded(output: &str) -> Outcome {
    Outcome::Succeeded { output: format!("{output}\n") }
}

fn not_approved(how: NotApproved) -> Outcome {
    Outcome::NotApproved { how }
}

#[test]
fn b034_each_call_has_its_own_decision() {
    let words = [("edit", Word::Yes), ("run_cmd", Word::No(STAGING.into()))];
    let (acted, asked) = acted(set_with(""), &words);
    let asked: Vec<(&str, &str)> =
        asked.iter().map(|wanted| (wanted.tool.as_str(), wanted.args.as_str())).collect();
    let edit = r#"{"path":"f","old":"a","new":"b"}"#;
    assert_eq!(asked, [("edit", edit), ("run_cmd", r#"{"cmd":"drop table t"}"#)]);
    let denied = NotApproved::Denied { reason: STAGING.into() };
    assert_eq!(
        acted.outcomes(),
        [succeeded("edited"), not_approved(denied), succeeded("text of f")]
    );
    assert_eq!(acted.stage.lines("ledger"), [edit, r#"{"path":"f"}"#]);
    let lines = acted.conversation("a", 1);
    let told =
        format!("error toolu_2: denied by the user; it did not run. The user says: {STAGING}");
    assert_eq!(lines[5], told, "{lines:#?}");
    let decided: Vec<(String, Decision)> = acted.told(|event| match event {
        Event::ApprovalGiven { tool, decision, .. } => Some((tool.clone(), decision.clone())),
        _ => None,
    });
    let denied = Decision::Denied { reason: STAGING.into() };
    assert_eq!(decided, [("edit".into(), Decision::Allowed), ("run_cmd".into(), denied)]);
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}

#[test]
fn b034b_a_reason_stays_with_its_call() {
    let words = [("edit", Word::No("not this file".into())), ("run_cmd", Word::No(String::new()))];
    let (acted, _) = acted(set_with(""), &words);
    let denied = |reason: &str| not_approved(NotApproved::Denied { reason: reason.into() });
    assert_eq!(acted.outcomes(), [denied("not this file"), denied(""), succeeded("text of f")]);
}

#[test]
fn b034c_a_denial_may_stop_the_batch() {
    let mut scene = scene();
    scene.config += "\n[policy]\ndenial = \"batch\"\n";
    let words = [("edit", Word::No(STAGING.into())), ("run_cmd", Word::Yes)];
    let (acted, _) = acted(Stage::set(scene), &words);
    let stopped = Outcome::NotStarted { why: NotStarted::BatchDenied };
    let denied = not_approved(NotApproved::Denied { reason: STAGING.into() });
    assert_eq!(acted.outcomes(), [denied, stopped.clone(), stopped]);
    assert_eq!(acted.stage.lines("ledger").len(), 0);
}

#[test]
fn an_edit_runs_and_is_judged_like_any_other() {
    // The command that is edited in needs no word of its own any more: who edits has seen it.
    let words = [
        ("edit", Word::Edit(r#"{"path":"g"}"#.into())),
        ("run_cmd", Word::Always(GrantScope::Tool)),
    ];
    let (acted, _) = acted(set_with(""), &words);
    let ran = [r#"{"path":"g"}"#, r#"{"cmd":"drop table t"}"#, r#"{"path":"f"}"#];
    assert_eq!(acted.stage.lines("ledger"), ran);
    let lines = acted.conversation("a", 1);
    assert!(lines[4].contains(r#"the arguments were changed before it ran, to: {"path":"g"}"#));

    let mut scene = scene();
    let schema = "[[tool]]\nname = \"edit\"\ninput_schema = { required = [\"old\"] }";
    scene.config = scene.config.replace("[[tool]]\nname = \"edit\"", schema);
    let (acted, _) = self::acted(Stage::set(scene), &words);
    let outcomes = acted.outcomes();
    assert!(matches!(outcomes[0], Outcome::Refused { .. }), "{outcomes:?}");
}

#[test]
fn silence_is_told_as_silence() {
    let (acted, _) = acted(set_with("approval_timeout_ms = 20"), &[("run_cmd", Word::Yes)]);
    assert_eq!(acted.outcomes()[0], not_approved(NotApproved::TimedOut));
    assert_eq!(acted.outcomes()[1], succeeded("dropped"));
}

#[test]
fn an_interrupt_withdraws_the_questions() {
    let mut scene = scene();
    scene.interrupt = Some(InterruptTable::Event("approval_asked".into()));
    let (acted, asked) = acted(Stage::set(scene), &[]);
    assert_eq!(asked.len(), 1, "the second question never came to its turn");
    let never = Outcome::NotStarted { why: NotStarted::Interrupted };
    assert_eq!(acted.outcomes(), [never.clone(), never.clone(), never]);
    let end = Terminal::Interrupted {
        by: InterruptedBy::User,
        during: RoomKind::Batch,
        settled: 0,
        unknown: 0,
    };
    assert_eq!(acted.end(), &end);
    assert!(!acted.events.iter().any(|event| kind(event) == "approval_given"));
}

#[test]
fn nobody_is_there_and_the_configuration_stands_in() {
    let nobody = |standing: &str| act_asking(set_with(standing), None);
    let acted = nobody("");
    assert_eq!(acted.outcomes()[0], not_approved(NotApproved::NoVerdict));
    let acted = nobody("on_approval = \"allow\"");
    assert_eq!(acted.outcomes()[0], succeeded("edited"));
    let acted = nobody("on_approval = \"queue\"\napproval_queue = \"queue.jsonl\"");
    let outcomes = acted.outcomes();
    let Outcome::NotApproved { how: NotApproved::Queued { ticket } } = &outcomes[0] else {
        panic!("{outcomes:?}")
    };
    let listed = acted.stage.lines("queue.jsonl");
    assert_eq!(listed.len(), 2);
    assert!(listed[0].contains(&format!("\"ticket\":\"{ticket}\"")), "{listed:?}");
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}

/// A scene with a hook of this kind that is this script.
fn hooked(event: &str, more: &str, script: &str) -> Stage {
    let mut scene = scene();
    scene.config += &format!(
        "\n[[hook]]\nevent = \"{event}\"\ncommand = [\"./hook.sh\"]\ncwd = \".\"\n{more}\n"
    );
    let text = format!("#!/bin/sh\ncat >>asked\n{script}\n");
    scene.files.push(FileTable { name: "hook.sh".into(), text });
    scene.config = format!("on_approval = \"allow\"\n{}", scene.config);
    Stage::set(scene)
}

#[test]
fn a_hook_is_asked_about_the_calls_of_its_tools() {
    let stage =
        hooked("PreToolUse", "matcher = \"edit|write\"", "echo 'not in this house' >&2; exit 2");
    let acted = act_asking(stage, None);
    let lines = acted.conversation("a", 1);
    assert_eq!(lines[4], "error toolu_1: forbidden: not in this house; nothing was run");
    assert_eq!(acted.outcomes()[1..], [succeeded("dropped"), succeeded("text of f")]);
    assert_eq!(acted.stage.lines("asked").len(), 1, "{:?}", acted.stage.lines("asked"));
    assert_eq!(acted.events.iter().filter(|event| kind(event) == "hook_started").count(), 1);
}

#[test]
fn a_hook_may_change_what_runs() {
    let said =
        r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"cmd":"ls"}}}"#;
    let stage = hooked("PreToolUse", "matcher = \"run_.*\"", &format!("echo '{said}'"));
    let acted = act_asking(stage, None);
    assert_eq!(acted.stage.lines("ledger")[1], r#"{"cmd":"ls"}"#);
    let lines = acted.conversation("a", 1);
    assert!(lines[5].contains("the arguments were changed before it ran"), "{}", lines[5]);
}

#[test]
fn a_hook_that_is_broken_may_keep_calls_from_running() {
    let more = "matcher = \"edit\"\non_failure = \"closed\"";
    let acted = act_asking(hooked("PreToolUse", more, "exit 3"), None);
    let lines = acted.conversation("a", 1);
    assert!(
        lines[4].starts_with("error toolu_1: forbidden: it ended with exit code 3"),
        "{lines:?}"
    );
    let acted = act_asking(hooked("PreToolUse", "matcher = \"edit\"", "exit 3"), None);
    assert_eq!(acted.outcomes()[0], succeeded("edited"));
}

#[test]
fn a_hook_reads_the_batch_and_adds_to_it() {
    let said = r#"{"hookSpecificOutput":{"additionalContext":"mind the index"}}"#;
    let acted = act_asking(hooked("PostToolBatch", "", &format!("echo '{said}'")), None);
    let asked = acted.stage.lines("asked").concat();
    let asked: serde_json::Value = serde_json::from_str(&asked).expect("one question");
    let calls = asked["tool_calls"].as_array().expect("the calls");
    let read: Vec<&str> = calls.iter().filter_map(|call| call["tool_response"].as_str()).collect();
    assert_eq!(read, ["edited\n", "dropped\n", "text of f\n"]);
    let lines = acted.conversation("a", 1);
    assert_eq!(lines.last().map(String::as_str), Some("user: mind the index"));
}

#[test]
fn a_hook_may_stop_the_turn_at_a_batch() {
    let acted = act_asking(hooked("PostToolBatch", "", "echo 'enough' >&2; exit 2"), None);
    assert_eq!(acted.asked("a"), 1, "the model does not see the results");
    assert_eq!(acted.end(), &Terminal::HookStopped { reason: "enough".into() });
    assert_eq!(acted.outcomes()[0], succeeded("edited"), "and they stand in history");
}

#[test]
fn b034_the_fixture_of_two_calls_that_wait_on_a_list() {
    let acted = super::act::act("answered--two-calls-wait-on-a-list");
    let outcomes = acted.outcomes();
    let [Outcome::NotApproved { .. }, Outcome::NotApproved { .. }, third] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert!(third.is_success(), "{third:?}");
    let tickets: Vec<&str> = outcomes[..2]
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::NotApproved { how: NotApproved::Queued { ticket } } => Some(&**ticket),
            _ => None,
        })
        .collect();
    assert!(tickets.len() == 2 && tickets[0] != tickets[1], "each has its own: {tickets:?}");
    let lines = acted.conversation("a", 1);
    for (line, ticket) in lines[4..].iter().zip(tickets) {
        assert!(line.contains(ticket), "{line}");
    }
}
