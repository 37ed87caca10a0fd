//! B033: a tool that is forced, and a required tool that is never called.

use std::cell::Cell;

use machine_spec::message::{GateRefusal, Origin, Outcome};
use machine_spec::{Notice, Terminal};
use tests::double::{Exchange, Script};
use wire::Dialect::Anthropic;

use super::play::{Play, case, ok};
use super::played::Played;

fn forces(request: &Exchange) -> bool {
    request.json()["tool_choice"]["type"] == "tool"
}

fn script() -> Script {
    Script::always(case("B033-2.sse")).when(forces, case("B033-1.sse"))
}

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
    let submitted = Cell::new(0);
    let played = Play::with(Anthropic, script())
        .acts("submit_report", |_| {
            submitted.set(submitted.get() + 1);
            (1, ok("submitted"))
        })
        .requires("submit_report")
        .set(|config| config.force_tool = "submit_report".into())
        .run();
    assert_eq!((played.asked.len(), submitted.get()), (2, 1));
    let choice = |n: usize| &played.asked[n].body["tool_choice"];
    assert_eq!(choice(0)["name"], "submit_report");
    assert!(choice(1).is_null() || choice(1)["type"] == "auto", "{}", choice(1));
    assert_eq!(reminders(&played), []);
    assert_eq!(played.end().text(), Some("Report is ready."));
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
}

#[test]
fn b033a_a_limit_of_no_tool_rounds_lifts_the_force() {
    let played = Play::with(Anthropic, script())
        .acts("submit_report", |_| panic!("no tool may run"))
        .set(|config| config.force_tool = "submit_report".into())
        .set(|config| config.limits.tool_rounds = 0)
        .run();
    assert_eq!(played.asked.len(), 1);
    assert_ne!(played.asked[0].body["tool_choice"]["type"], "tool");
}

#[test]
fn b033b_two_reminders_then_the_answer_with_a_warning() {
    let played = Play::with(Anthropic, script())
        .acts("submit_report", |_| panic!("nobody calls it"))
        .requires("submit_report")
        .set(|config| config.limits.guard_retries = 2)
        .run();
    assert_eq!(played.asked.len(), 3, "the answer and two reminders");
    assert_eq!(reminders(&played), [("submit_report".into(), 1), ("submit_report".into(), 2)]);
    assert_eq!(played.origins(), [Origin::User, Origin::Guard, Origin::Guard]);
    assert!(played.conversation(1).last().is_some_and(|line| line.contains("submit_report")));
    assert_eq!(played.end(), &missing());
}

#[test]
fn b033c_a_call_that_failed_satisfies_nothing() {
    let script = Script::list([case("B033c-1.sse")]).then_always(case("B033-2.sse"));
    let played = Play::with(Anthropic, script)
        .acts("submit_report", |_| panic!("its arguments do not fit"))
        .fits("submit_report", |args| args["title"].is_string())
        .requires("submit_report")
        .set(|config| config.limits.guard_retries = 2)
        .run();
    match &played.outcomes()[..] {
        [Outcome::Refused { why: GateRefusal::InvalidArgs { .. } }] => {}
        outcomes => panic!("{outcomes:?}"),
    }
    assert_eq!(played.asked.len(), 4, "the bad call, the answer after its repair, two reminders");
    assert_eq!(reminders(&played).len(), 2);
    assert_eq!(played.end(), &missing());
}
