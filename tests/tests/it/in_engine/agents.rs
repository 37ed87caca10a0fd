//! B031 (b): runs within a run, their ends, their bounds and their own recordings.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::input::{InterruptedBy, ToolStatus};
use machine_spec::message::{GateRefusal, Outcome};
use machine_spec::terminal::TerminalKind;
use replay::reader::Recording;
use replay::replayer::{Options, replay_file, terminal};
use tests::processes::alive_in_group;
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act_on, act_while, kind};

/// A parent that asks `a` and has a scout that asks `b` and can take steps.
const FAMILY: &str = r#"
prompt = "Send the scout."
config = '''
[[provider]]
name = "a"
dialect = "anthropic"
model = "claude-test-1"
base_url = "{a}"
api_key_env = "LOOPWRIGHT_TEST_KEY"

[[provider]]
name = "b"
dialect = "anthropic"
model = "claude-test-2"
base_url = "{b}"
api_key_env = "LOOPWRIGHT_TEST_KEY"

[[tool]]
name = "step"
command = ["./step.sh"]
cwd = "."

[[agent]]
name = "scout"
description = "walks"
system = "You walk."
tools = ["step"]
provider = "b"
limits = { tool_rounds = 2 }
'''

[[double]]
name = "a"
answers = [{ file = "cases/agent-1.sse" }]
always = { file = "cases/agent-2.sse" }

[[double]]
name = "b"
answers = [{ file = "cases/B031-1.sse" }, { file = "cases/B031-2.sse" }]
always = { file = "cases/B031-3.sse" }

[[file]]
name = "step.sh"
text = '''
#!/bin/sh
cat >>ledger
echo >>ledger
echo "a step"
'''
"#;

fn family() -> Scene {
    Scene::read(FAMILY)
}

/// How the child of this call ended, by its own recording, which replays.
fn child(acted: &Acted, call: &str) -> Terminal {
    let path = acted.stage.path(&format!("run.{call}.jsonl"));
    let report = replay_file(&path, Options::default()).expect("a readable recording");
    assert!(report.is_identical(), "{report:#?}");
    let recording = Recording::read(&path).expect("a readable recording");
    terminal(&recording).cloned().expect("an ending")
}

#[test]
fn b031b_a_child_at_its_limit_is_no_success() {
    let acted = act_on(Stage::set(family()));
    assert_eq!(acted.end().text(), Some("The scout is back."));
    assert_eq!((acted.asked("a"), acted.asked("b")), (2, 2));
    assert!(matches!(child(&acted, "call-1"), Terminal::MaxTurns { limit: 2, .. }));
    assert_eq!(acted.stage.lines("ledger"), [r#"{"n":1}"#, r#"{"n":2}"#]);
    let outcomes = acted.outcomes();
    let [Outcome::Partial { output }] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(output, "[the agent ended with `max_turns` before it was done]\nGoing on.");
    let told = acted.conversation("a", 1);
    assert!(told.last().is_some_and(|line| line.starts_with("error toolu_a1: ")), "{told:#?}");
    let ended = acted.told(|event| match event {
        Event::ChildEnded { terminal, spent, .. } => Some((*terminal, spent.tokens)),
        _ => None,
    });
    let [(TerminalKind::MaxTurns, tokens)] = ended[..] else { panic!("{ended:?}") };
    assert!(tokens > 80, "{tokens}");
    assert!(acted.ended.state.frame().counters().spent.tokens > tokens, "the parent pays for it");
    let asked = &acted.stage.double("b").bodies()[0];
    assert_eq!(asked["tools"].as_array().expect("tools").len(), 1, "no tool but its own");
    assert!(asked["system"].to_string().contains("You walk."));
    assert!(asked["messages"].to_string().contains("Walk two steps."));
}

#[test]
fn a_child_that_answers_is_a_success() {
    let mut scene = family();
    scene.doubles[1].answers.clear();
    let acted = act_on(Stage::set(scene));
    assert_eq!(acted.outcomes(), [Outcome::Succeeded { output: "So far: steps 1 and 2.".into() }]);
    assert!(matches!(child(&acted, "call-1"), Terminal::Answered { .. }));
}

#[test]
fn a_child_that_fails_has_no_findings() {
    let mut scene = family();
    scene.doubles[1].answers = vec![AnswerTable::of("cases/B031-2.sse")];
    scene.doubles[1].always = Some(AnswerTable::of("anthropic/wrong-key.http"));
    let acted = act_on(Stage::set(scene));
    let output = "the agent ended with `provider_failed`; it has no answer".to_owned();
    assert_eq!(acted.outcomes(), [Outcome::Failed { output }]);
}

#[test]
fn runs_stand_only_so_deep() {
    let mut scene = family();
    scene.config = scene.config.replace("tools = [\"step\"]", "tools = [\"scout\"]");
    scene.config += "\n[limits]\nchild_depth = 2\n";
    scene.doubles[1].answers =
        ["cases/agent-1.sse", "cases/agent-1.sse"].map(AnswerTable::of).to_vec();
    let acted = act_on(Stage::set(scene));
    assert_eq!(acted.end().text(), Some("The scout is back."));
    assert!(matches!(child(&acted, "call-1"), Terminal::Answered { .. }));
    let deepest = acted.stage.path("run.call-1.call-1.jsonl");
    let recording = Recording::read(&deepest).expect("a readable recording");
    assert_eq!(recording.header.config.lineage, ["scout", "scout"]);
    let state = recording.frames.last().and_then(|frame| recording.state_at(frame.seq));
    let state = state.expect("a state");
    let refused = state.frame().transcript().newest_first().any(|entry| match entry {
        machine_spec::message::Entry::Results(results) => results.iter().any(|result| {
            let why = GateRefusal::TooDeep { limit: 2 };
            result.outcome == Outcome::Refused { why }
        }),
        _ => false,
    });
    assert!(refused, "{:#?}", state.frame().transcript());
    assert!(!acted.stage.path("run.call-1.call-1.call-1.jsonl").exists());
}

#[test]
fn children_stand_beside_each_other_where_they_may() {
    for (safe, together) in [(true, true), (false, false)] {
        let mut scene = family();
        scene.config += &format!("concurrency_safe = {safe}\n");
        scene.doubles[0].answers[0] = AnswerTable::of("cases/agent-two-1.sse");
        scene.doubles[1].answers.clear();
        let acted = act_on(Stage::set(scene));
        let kinds: Vec<String> = acted.events.iter().map(kind).collect();
        let of_children = kinds.iter().filter(|kind| kind.starts_with("child_"));
        let order: Vec<&str> = of_children.map(String::as_str).collect();
        let beside = order[..2] == ["child_started", "child_started"];
        assert_eq!(beside, together, "{order:?}");
        assert_eq!(order.len(), 4);
        assert_eq!(acted.outcomes().len(), 2);
        child(&acted, "call-1");
        child(&acted, "call-2");
    }
}

#[test]
fn an_interrupt_reaches_the_tools_of_a_child() {
    let mut scene = family();
    scene.files[0].text = "#!/bin/sh\necho $$ >pid\necho begun\necho >up\nexec sleep 300\n".into();
    scene.interrupt = Some(tests::scene::InterruptTable::Pipe("up".into()));
    let acted = act_on(Stage::set(scene));
    assert!(matches!(acted.end(), Terminal::Interrupted { .. }), "{:?}", acted.end());
    let group = acted.stage.lines("pid").concat().parse().expect("the id of a process");
    assert!(alive_in_group(group).is_empty());
    let Terminal::Interrupted { by, .. } = child(&acted, "call-1") else { panic!("another end") };
    assert_eq!(by, InterruptedBy::Parent);
    let status = acted.told(|event| match event {
        Event::ToolFinished { status, .. } => Some(*status),
        _ => None,
    });
    assert_eq!(status, [ToolStatus::Cancelled]);
}

#[test]
fn a_child_spends_what_its_parent_has_left() {
    let mut scene = family();
    // The parent's first request takes some of it, and the child's first one the rest.
    scene.config += "\n[limits]\ntokens = 90\n";
    let acted = act_on(Stage::set(scene));
    let end = child(&acted, "call-1");
    let Terminal::BudgetExhausted { limit, .. } = end else { panic!("{end:?}") };
    assert!(limit < 90, "{limit}");
    assert!(matches!(acted.end(), Terminal::BudgetExhausted { .. }), "{:?}", acted.end());
}

#[test]
fn a_child_in_the_background_reports_when_it_is_over() {
    let mut scene = family();
    scene.config += "background = true\n";
    scene.doubles[1].answers.clear();
    let acted = act_while(Stage::set(scene), |_| {}, |_, _| {});
    let told = acted.told(|event| match event {
        Event::TaskFinished { status, output, .. } => Some((*status, output.clone())),
        _ => None,
    });
    assert_eq!(told, [(ToolStatus::Succeeded, "So far: steps 1 and 2.".to_owned())]);
    let last = acted.asked("a") - 1;
    let told = acted.conversation("a", last).join("\n");
    assert!(told.contains("The background task task-1 (scout) is done"), "{told}");
    assert!(acted.stage.path("run.call-1.jsonl").exists());
}
