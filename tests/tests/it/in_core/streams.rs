//! B030: a tool starts while the stream is still running, then the stream dies.

use machine_spec::because::Owner;
use machine_spec::message::Outcome;
use machine_spec::policy::EarlyStart;
use machine_spec::{Notice, Terminal};
use wire::Dialect::Anthropic;

use super::play::{Play, says};

const DYING: &[&str] = &["B030-1.sse", "B030-2.sse"];

#[test]
fn b030a_what_has_started_is_kept_and_never_repeated() {
    // The tool ends before the reset, at the same instant, or long after it.
    for ms in [200, 250, 4_000] {
        let played = Play::with(Anthropic, DYING)
            .acts("append_log", &[says(ms, "appended")])
            .set(|config| config.policy.early_start = EarlyStart::All)
            .run();
        assert_eq!(played.ledger(), [r#"{"line":"x"}"#], "{ms}: once, and only the first call");
        assert_eq!(played.spans(), [(0, ms)], "{ms}: it starts before the stream is over");
        assert_eq!(played.outcomes(), [Outcome::Succeeded { output: "appended".into() }]);
        assert_eq!(played.owners(), [Owner::Step, Owner::ToolFeedback], "{ms}: no repetition");
        let lines = played.conversation(1);
        let kept = [
            "user: Write the report.",
            r#"assistant calls toolu_a1 append_log {"line":"x"}"#,
            "result toolu_a1: appended",
        ];
        assert_eq!(lines[..3], kept);
        let [notice] = &lines[3..] else { panic!("one notice: {lines:#?}") };
        assert!(notice.starts_with("user: ") && notice.contains("stream"), "{notice}");
        for word in ["cancel", "interrupt", "reject"] {
            assert!(!notice.contains(word), "the stream failed, nobody did this: {notice}");
        }
        let sealed = played.told(|notice| match notice {
            Notice::Sealed { calls, .. } => Some(*calls),
            _ => None,
        });
        assert_eq!(sealed, [1], "{ms}: the unfinished call is dropped");
        assert_eq!(played.end().text(), Some("Logged once."));
    }
}

#[test]
fn b030b_an_early_read_is_thrown_away_with_its_attempt() {
    for ms in [200, 4_000] {
        let early = [says(ms, "would append")];
        let played = Play::with(Anthropic, DYING).reads("append_log", &early).run();
        assert_eq!(played.ledger().len(), 1, "{ms}: it had started early");
        assert_eq!(played.owners(), [Owner::Step, Owner::StreamReissue]);
        assert_eq!(played.body(0), played.body(1), "{ms}: the same request again");
        assert_eq!(played.outcomes(), [], "{ms}: the result is used for nothing");
        let retracted = played.told(|notice| match notice {
            Notice::Retracted { attempt } => Some(attempt.0),
            _ => None,
        });
        assert_eq!(retracted.len(), 1, "{ms}");
        assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
    }
}

#[test]
fn b030_without_early_start_nothing_has_started_and_the_request_is_repeated() {
    let played = Play::with(Anthropic, DYING)
        .acts("append_log", &[])
        .set(|config| config.policy.early_start = EarlyStart::Safe)
        .run();
    assert_eq!(played.ledger().len(), 0, "nothing may start");
    assert_eq!(played.body(0), played.body(1));
    assert_eq!(played.end().text(), Some("Logged once."));
}
