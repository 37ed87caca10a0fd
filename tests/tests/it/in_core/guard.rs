//! B033: a tool that is forced, and a required tool that is never called.

use machine_spec::config::FaultKind;
use machine_spec::message::{GateRefusal, Origin, Outcome};
use machine_spec::{Notice, Terminal};
use wire::Dialect::Anthropic;

use super::play::{Play, says};
use super::played::Played;

/// The call of B033c lacks a body.
const SCHEMA: &str = r#"{"type":"object","required":["title","body"]}"#;

fn reminders(played: &Played) -> Vec<(String, u32)> {
    played.told(|notice| match notice {
        Notice::GuardReminded { tool, n, .. } => Some((tool.clone(), *n)),
        _ => None,
    })
}

fn missing() -> Terminal {
    let missing = vec!["submit_report".into()];
    Terminal::RequiredToolMissing { missing, text: "Report is ready.".into() }
}

#[test]
fn b033a_a_forced_tool_is_forced_once() {
    let played = Play::with(Anthropic, &["B033-1.sse", "B033-2.sse"])
        .acts("submit_report", &[says(1, "submitted")])
        .requires("submit_report")
        .set(|config| config.force_tool = "submit_report".into())
        .run();
    assert_eq!((played.asked(), played.ledger().len()), (2, 1));
    let choice = |n: usize| played.body(n)["tool_choice"].clone();
    assert_eq!(choice(0)["name"], "submit_report");
    assert!(choice(1).is_null() || choice(1)["type"] == "auto", "{}", choice(1));
    assert_eq!(reminders(&played), []);
    assert_eq!(played.end().text(), Some("Report is ready."));
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
}

#[test]
fn b033a_a_force_that_no_round_could_obey_is_refused() {
    let played = Play::with(Anthropic, &["B033-2.sse"])
        .acts("submit_report", &[])
        .set(|config| config.force_tool = "submit_report".into())
        .set(|config| config.limits.tool_rounds = 0)
        .run();
    assert_eq!(played.asked(), 0);
    let Terminal::ConfigRefused { faults } = played.end() else { panic!("{:?}", played.end()) };
    assert_eq!(faults[0].kind, FaultKind::ForcedWithoutRounds);
}

#[test]
fn b033b_two_reminders_then_the_answer_with_a_warning() {
    let played = Play::with(Anthropic, &["B033-2.sse"])
        .for_ever()
        .acts("submit_report", &[])
        .requires("submit_report")
        .set(|config| config.limits.guard_retries = 2)
        .run();
    assert_eq!(played.asked(), 3, "the answer and two reminders");
    assert_eq!(reminders(&played), [("submit_report".into(), 1), ("submit_report".into(), 2)]);
    assert_eq!(played.origins(), [Origin::User, Origin::Guard, Origin::Guard]);
    assert!(played.conversation(1).last().is_some_and(|line| line.contains("submit_report")));
    assert_eq!(played.end(), &missing());
}

#[test]
fn b033c_a_call_that_failed_satisfies_nothing() {
    let played = Play::with(Anthropic, &["B033c-1.sse", "B033-2.sse"])
        .for_ever()
        .acts("submit_report", &[])
        .requires("submit_report")
        .set(|config| config.tools[0].input_schema = SCHEMA.into())
        .set(|config| config.limits.guard_retries = 2)
        .run();
    match &played.outcomes()[..] {
        [Outcome::Refused { why: GateRefusal::InvalidArgs { .. } }] => {}
        outcomes => panic!("{outcomes:?}"),
    }
    assert_eq!(played.asked(), 4, "the bad call, the answer after its repair, two reminders");
    assert_eq!(played.ledger().len(), 0, "it never ran");
    assert_eq!(reminders(&played).len(), 2);
    assert_eq!(played.end(), &missing());
}
