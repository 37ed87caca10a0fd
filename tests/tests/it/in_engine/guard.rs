//! B033: a tool that is forced, and a required tool that is never called.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::message::{GateRefusal, Outcome};

use super::act::{Acted, act};

fn reminders(acted: &Acted) -> Vec<(String, u32)> {
    acted.told(|event| match event {
        Event::GuardReminded { tool, n } => Some((tool.clone(), *n)),
        _ => None,
    })
}

fn missing() -> Terminal {
    let missing = vec!["submit_report".into()];
    Terminal::RequiredToolMissing { missing, text: "Report is ready.".into() }
}

#[test]
fn b033a_a_forced_tool_is_forced_once() {
    let acted = act("answered--a-forced-tool-is-forced-once");
    assert_eq!(acted.asked("a"), 2);
    assert_eq!(acted.stage.lines("ledger"), ["submitted"]);
    let bodies = acted.stage.double("a").bodies();
    assert_eq!(bodies[0]["tool_choice"]["name"], "submit_report");
    let second = &bodies[1]["tool_choice"];
    assert!(second.is_null() || second["type"] == "auto", "{second}");
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}

#[test]
fn b033b_two_reminders_then_the_answer_with_a_warning() {
    let acted = act("required-tool-missing--two-reminders");
    assert_eq!(acted.asked("a"), 3, "the answer and two reminders");
    assert_eq!(reminders(&acted), [("submit_report".into(), 1), ("submit_report".into(), 2)]);
    for n in [1, 2] {
        let lines = acted.conversation("a", n);
        let last = lines.last().expect("a reminder");
        assert!(last.starts_with("user: ") && last.contains("submit_report"), "{last}");
    }
    assert_eq!(acted.stage.lines("ledger").len(), 0);
    assert_eq!(acted.end(), &missing());
}

#[test]
fn b033c_a_call_that_failed_satisfies_nothing() {
    let acted = act("required-tool-missing--the-report-is-invalid");
    match &acted.outcomes()[..] {
        [Outcome::Refused { why: GateRefusal::InvalidArgs { path, .. } }] => {
            assert_eq!(path, "/title");
        }
        outcomes => panic!("{outcomes:?}"),
    }
    assert_eq!(acted.stage.lines("ledger").len(), 0, "it never ran");
    assert_eq!(acted.asked("a"), 4, "the bad call, the answer after its repair, two reminders");
    assert_eq!(reminders(&acted).len(), 2);
    assert_eq!(acted.end(), &missing());
}
