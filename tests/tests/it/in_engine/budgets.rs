//! Budgets of time, tokens and money; wanted shapes; keys that are looked up again.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::config::Price;
use machine_spec::terminal::BudgetKind;
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act_on, act_while, kind, with_step};

fn scene(before: &str, more: &str, answers: &[&str]) -> Scene {
    let config = format!(
        r#"
{before}
[[provider]]
name = "a"
dialect = "anthropic"
model = "claude-test-1"
base_url = "{{a}}"
{more}
"#
    );
    with_step("How many are there?", &config, answers)
}

const KEY: &str = "api_key_env = \"LOOPWRIGHT_TEST_KEY\"\n";
const STEP: &str = "[[tool]]\nname = \"step\"\ncommand = [\"./step.sh\"]\ncwd = \".\"\n";

#[test]
fn time_is_a_budget() {
    let mut scene = scene("", &format!("{KEY}[limits]\nwall_ms = 150\n"), &[]);
    let silent = AnswerTable {
        end: Some(tests::double::End::Hang),
        cut: Some(400),
        ..AnswerTable::of("cases/B001-1.sse")
    };
    scene.doubles[0].answers.push(silent);
    let acted = act_on(Stage::set(scene));
    let end = Terminal::BudgetExhausted { kind: BudgetKind::Time, limit: 150 };
    assert_eq!(acted.end(), &end);
    let seen = acted.stage.double("a").wait_for(|seen| seen.iter().all(|one| one.is_abandoned()));
    assert_eq!(seen.len(), 1, "its connection is closed");
}

#[test]
fn tokens_are_a_budget() {
    let mut scene = scene("", &format!("{KEY}{STEP}[limits]\ntokens = 60\n"), &[]);
    scene.doubles[0].always = Some(AnswerTable::of("cases/B031-1.sse"));
    let acted = act_on(Stage::set(scene));
    let end = Terminal::BudgetExhausted { kind: BudgetKind::Tokens, limit: 60 };
    assert_eq!((acted.end(), acted.asked("a")), (&end, 2), "49 tokens, and then 98");
    assert_eq!(acted.ended.exit_code(), 5);
}

#[test]
fn money_is_a_budget() {
    let mut scene = scene("", &format!("{KEY}{STEP}"), &[]);
    scene.doubles[0].always = Some(AnswerTable::of("cases/B031-1.sse"));
    let acted = act_while(
        Stage::set(scene),
        |setup| {
            setup.machine.candidates[0].price =
                Some(Price { input: 3, output: 15, ..Price::default() });
            setup.machine.limits.nanos = 500;
        },
        |_, _| {},
    );
    // 40 tokens of input and 9 of output cost 255.
    let end = Terminal::BudgetExhausted { kind: BudgetKind::Money, limit: 500 };
    assert_eq!((acted.end(), acted.asked("a")), (&end, 2));
}

fn shaped(answers: &[&str]) -> Acted {
    let schema = "output_schema = { type = \"object\", required = [\"n\"], \
                  properties = { n = { type = \"integer\" } } }\n";
    let mut scene = scene(schema, &format!("{KEY}[limits]\nstructured_retries = 2\n"), answers);
    scene.doubles[0].always = Some(AnswerTable::of("cases/shape-1.sse"));
    act_on(Stage::set(scene))
}

#[test]
fn an_answer_is_asked_for_until_it_has_the_wanted_shape() {
    let acted = shaped(&["cases/shape-1.sse", "cases/shape-2.sse", "cases/shape-3.sse"]);
    assert_eq!(acted.end().text(), Some("{\"n\":3}"));
    assert_eq!(acted.asked("a"), 3);
    let (first, second) = (acted.conversation("a", 1), acted.conversation("a", 2));
    assert!(first.last().is_some_and(|line| line.contains("not plain JSON")), "{first:#?}");
    assert!(second.last().is_some_and(|line| line.contains("at /n")), "{second:#?}");
}

#[test]
fn an_answer_that_never_has_the_wanted_shape_is_an_ending() {
    let acted = shaped(&[]);
    let Terminal::StructuredOutputInvalid { text, retries: 2, .. } = acted.end() else {
        panic!("{:?}", acted.end())
    };
    assert_eq!((text.as_str(), acted.asked("a")), ("There are three.", 3));
}

/// A provider whose key is printed by a script that counts how often it was asked.
fn keyed(script: &str) -> Acted {
    let more = "api_key_command = [\"./key.sh\"]\n";
    let mut scene = scene("", more, &["anthropic/wrong-key.http"]);
    scene.doubles[0].always = Some(AnswerTable::of("cases/B024-2.sse"));
    scene.files[0].name = "key.sh".into();
    scene.files[0].text = format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"\n{script}\n");
    act_on(Stage::set(scene))
}

#[test]
fn a_key_that_is_not_accepted_is_looked_up_again() {
    let acted =
        keyed("echo x >>asked; echo \"key-number-$(wc -l <asked | tr -d ' ')-of-the-house\"");
    assert_eq!(acted.end().text(), Some("ok"));
    let seen = acted.stage.double("a").exchanges();
    let keys: Vec<_> = seen.iter().map(|one| one.header("x-api-key").expect("a key")).collect();
    assert_eq!(keys, ["key-number-1-of-the-house", "key-number-2-of-the-house"]);
    let recording = std::fs::read_to_string(acted.stage.path("run.jsonl")).expect("a recording");
    assert!(!recording.contains("of-the-house"), "no key is recorded");
}

#[test]
fn the_same_key_is_no_other_one() {
    let acted = keyed("echo the-one-key-of-the-house");
    assert!(matches!(acted.end(), Terminal::ProviderFailed { .. }), "{:?}", acted.end());
    assert_eq!(acted.asked("a"), 1);
    let missing = acted.told(|event| match event {
        Event::CredentialMissing { problem, .. } => Some(problem.clone()),
        _ => None,
    });
    assert_eq!(missing, ["the key is the same as before"]);
    assert!(acted.events.iter().any(|event| kind(event) == "attempt_failed"));
}
