//! B030: a tool starts while the stream is still running, then the stream dies.

use engine::Event;
use machine_spec::because::Owner;
use machine_spec::message::Outcome;

use super::act::{Acted, act, kind};

fn owners(acted: &Acted) -> Vec<Owner> {
    acted.told(|event| match event {
        Event::ModelAttempt { owner, .. } => Some(*owner),
        _ => None,
    })
}

#[test]
fn b030a_what_has_started_is_kept_and_never_repeated() {
    let acted = act("answered--the-stream-died-behind-an-effect");
    let ledger: Vec<String> = acted.stage.lines("ledger");
    let ledger: Vec<&String> = ledger.iter().filter(|line| !line.is_empty()).collect();
    assert_eq!(ledger, [r#"{"line":"x"}"#], "once, and only the first call");
    assert_eq!(acted.outcomes(), [Outcome::Succeeded { output: "appended\n".into() }]);
    assert_eq!(owners(&acted), [Owner::Step, Owner::ToolFeedback], "no repetition");
    let started = acted.place(|event| kind(event) == "tool_started");
    let died = acted.place(|event| kind(event) == "attempt_failed");
    assert!(started < died, "it started while the stream was running");
    let sealed = acted.told(|event| match event {
        Event::ResponseSealed { calls, .. } => Some(*calls),
        _ => None,
    });
    assert_eq!(sealed, [1], "the unfinished call is dropped");
    let lines = acted.conversation("a", 1);
    let kept = [
        "user: Log one line.",
        r#"assistant calls toolu_a1 append_log {"line":"x"}"#,
        "result toolu_a1: appended\\n",
    ];
    assert_eq!(lines[..3], kept);
    let [notice] = &lines[3..] else { panic!("one notice: {lines:#?}") };
    assert!(notice.starts_with("user: ") && notice.contains("stream"), "{notice}");
    for word in ["cancel", "interrupt", "reject"] {
        assert!(!notice.contains(word), "the stream failed, nobody did this: {notice}");
    }
    assert_eq!(acted.end().text(), Some("Logged once."));
}

#[test]
fn b030b_an_early_read_is_thrown_away_with_its_attempt() {
    let acted = act("answered--an-early-read-is-forgotten");
    assert_eq!(owners(&acted), [Owner::Step, Owner::StreamReissue]);
    let bodies = acted.stage.double("a").bodies();
    assert_eq!(bodies[0], bodies[1], "the same request again");
    assert_eq!(acted.outcomes(), [], "the result is used for nothing");
    acted.place(|event| kind(event) == "output_retracted");
    assert_eq!(acted.end().text(), Some("Logged once."));
}
