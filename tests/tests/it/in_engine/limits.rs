//! B031, B032: the limit of tool rounds, what is a loop, and how much may go wrong.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::message::Outcome;
use machine_spec::terminal::BudgetKind;
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act, act_on};

#[test]
fn b031_the_calls_of_the_last_round_run_and_nothing_more_is_asked() {
    for rounds in [2, 1] {
        let mut scene = Scene::of_fixture("max-turns--two-rounds");
        scene.config = scene.config.replace("tool_rounds = 2", &format!("tool_rounds = {rounds}"));
        let acted = act_on(Stage::set(scene));
        let n = rounds as usize;
        assert_eq!(acted.asked("a"), n);
        assert_eq!(acted.outcomes(), vec![Outcome::Succeeded { output: "done\n".into() }; n]);
        let end = Terminal::MaxTurns { limit: rounds, used: rounds, text: String::new() };
        assert_eq!(acted.end(), &end);
        assert_eq!(acted.ended.history().first_unpaired(), None);
    }
}

#[test]
fn b031d_a_last_word_is_counted_apart_and_offers_no_tools() {
    let fixture = "max-turns--a-last-word";
    let acted = act(fixture);
    assert_eq!(acted.asked("a"), 3);
    let body = &acted.stage.double("a").bodies()[2];
    assert_eq!(body["tool_choice"]["type"], "none", "{body}");
    let text = "So far: steps 1 and 2.".to_owned();
    assert_eq!(acted.end(), &Terminal::MaxTurns { limit: 2, used: 2, text });
    let mut scene = Scene::of_fixture(fixture);
    scene.doubles[0].answers[2] = AnswerTable::of("cases/B031-1.sse");
    let acted = act_on(Stage::set(scene));
    assert_eq!(acted.end(), &Terminal::MaxTurns { limit: 2, used: 2, text: String::new() });
    let ran = acted.told(|event| matches!(event, Event::ToolStarted { .. }).then_some(()));
    assert_eq!(ran.len(), 2, "a call that comes all the same is dropped");
}

fn warnings(acted: &Acted) -> Vec<Vec<String>> {
    acted.told(|event| match event {
        Event::DoomWarned { cycle } => Some(cycle.clone()),
        _ => None,
    })
}

#[test]
fn b032_a_cycle_that_goes_on_after_its_warning_is_the_end() {
    // (e) The same arguments in another order are the same arguments.
    let mut other_order = Scene::of_fixture("doom-loop--two-calls-in-turns");
    let files = ["cases/B032-K1.sse", "cases/B032-K2.sse"];
    other_order.doubles[0].answers =
        files.iter().cycle().take(8).map(|f| AnswerTable::of(f)).collect();
    for (name, acted) in [
        ("a", act("doom-loop--the-same-find")),
        ("c", act("doom-loop--two-calls-in-turns")),
        ("e", act_on(Stage::set(other_order))),
    ] {
        assert_eq!(warnings(&acted), [["find"]], "({name}): one warning that names the cycle");
        let Terminal::DoomLoop { cycle } = acted.end() else {
            panic!("({name}) {:?}", acted.end())
        };
        assert_eq!(cycle.len(), 1, "({name})");
        assert!(acted.asked("a") <= 6, "({name}): {}", acted.asked("a"));
    }
}

#[test]
fn b032_polling_and_other_arguments_are_no_loop() {
    let acted = act("answered--polling-is-no-loop");
    assert_eq!((acted.asked("a"), warnings(&acted).len()), (5, 0));
    let mut scene = Scene::of_fixture("answered--polling-is-no-loop");
    scene.config =
        scene.config.replace("job_status\"", "label\"").replace("./job_status.sh", "true");
    let files = ["B032-D1.sse", "B032-D2.sse", "B032-D3.sse", "B024-2.sse"];
    let table = |file: &str| AnswerTable::of(&format!("cases/{file}"));
    scene.doubles[0].answers = files.map(table).to_vec();
    let acted = act_on(Stage::set(scene));
    assert_eq!((acted.outcomes().len(), warnings(&acted).len()), (3, 0));
    assert_eq!(acted.end().text(), Some("ok"));
}

#[test]
fn rounds_that_go_wrong_in_turns_are_counted_together() {
    let acted = act("budget-exhausted--too-much-went-wrong");
    let end = Terminal::BudgetExhausted { kind: BudgetKind::Anomalies, limit: 2 };
    assert_eq!((acted.asked("a"), acted.end()), (3, &end));
}
