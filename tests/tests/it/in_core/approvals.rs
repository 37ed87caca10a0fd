//! B034: calls that may not run without somebody's word.

use machine_spec::config::{DeferredCall, HookSpec, Rule};
use machine_spec::effect::Gated;
use machine_spec::ids::RuleId;
use machine_spec::input::{Decision, GrantScope, HookAnswer};
use machine_spec::message::{GateRefusal, NotApproved, NotStarted, Outcome};
use machine_spec::model::{CallFacts, Permission, Safety};
use machine_spec::policy::Denial;
use machine_spec::{Effect, Input, Notice, Terminal, step};
use wire::Dialect::Anthropic;
use wire::canonical_args;

use super::play::{Play, says};
use super::played::Played;

const STAGING: &str = "use the staging db";

fn succeeded(output: &str) -> Outcome {
    Outcome::Succeeded { output: output.into() }
}

fn denied(reason: &str) -> Decision {
    Decision::Denied { reason: reason.into() }
}

fn refused_by_user(reason: &str) -> Outcome {
    Outcome::NotApproved { how: NotApproved::Denied { reason: reason.into() } }
}

/// Three calls: `edit` and `run_cmd` ask, `read_file` does not. The decisions come at their times.
fn three(edit: (u64, Decision), run_cmd: (u64, Decision)) -> Play {
    Play::with(Anthropic, &["B034-1.sse", "B034-2.sse"])
        .acts("edit", &[says(5, "edited")])
        .acts("run_cmd", &[says(5, "dropped")])
        .reads("read_file", &[says(5, "text of f")])
        .permits("edit", Permission::Ask)
        .permits("run_cmd", Permission::Ask)
        .decides(vec![edit, run_cmd])
}

#[test]
fn b034_each_call_has_its_own_decision() {
    // The denial first, the approval first, both at once.
    for (edit_ms, run_cmd_ms) in [(40, 10), (10, 40), (10, 10)] {
        let played = three((edit_ms, Decision::Allowed), (run_cmd_ms, denied(STAGING))).run();
        let expected = [succeeded("edited"), refused_by_user(STAGING), succeeded("text of f")];
        assert_eq!(played.outcomes(), expected);
        let edit = r#"{"path":"f","old":"a","new":"b"}"#;
        assert_eq!(played.ledger(), [edit, r#"{"path":"f"}"#], "what ran is what was approved");
        let decided = edit_ms.max(run_cmd_ms);
        assert!(played.run.requests[1].at_ms >= decided, "nothing goes out before all is decided");
        let lines = played.conversation(1);
        assert_eq!(
            lines[lines.len() - 3..],
            [
                "result toolu_1: edited".to_owned(),
                format!(
                    "error toolu_2: denied by the user; it did not run. The user says: {STAGING}"
                ),
                "result toolu_3: text of f".to_owned(),
            ]
        );
        assert_eq!(played.end().text(), Some("Using staging."));
    }
}

#[test]
fn b034_two_approvals_wait_for_their_turn_to_run() {
    for run_cmd_ms in [5, 10, 12, 40] {
        let play = three((10, Decision::Allowed), (run_cmd_ms, Decision::Allowed));
        let outcomes = play.run().outcomes();
        let expected = [succeeded("edited"), succeeded("dropped"), succeeded("text of f")];
        assert_eq!(outcomes, expected, "{run_cmd_ms}");
    }
}

#[test]
fn b034b_a_reason_stays_with_its_call() {
    let played = three((10, denied("not this file")), (5, denied(""))).run();
    assert_eq!(
        played.outcomes(),
        [refused_by_user("not this file"), refused_by_user(""), succeeded("text of f")]
    );
    let lines = played.conversation(1).concat();
    assert_eq!(lines.matches("not this file").count(), 1);
    assert!(lines.contains("toolu_2: denied by the user, without a reason"), "{lines}");
}

#[test]
fn b034c_a_denial_may_stop_the_batch() {
    let played = three((40, Decision::Allowed), (10, denied(STAGING)))
        .set(|config| config.policy.denial = Denial::Batch)
        .run();
    let stopped = Outcome::NotStarted { why: NotStarted::BatchDenied };
    assert_eq!(played.outcomes(), [stopped.clone(), refused_by_user(STAGING), stopped]);
    assert_eq!(played.ledger().len(), 0);
}

#[test]
fn b034_a_pending_question_survives_the_process() {
    let whole = three((40, Decision::Allowed), (10, denied(STAGING))).run();
    let frames = whole.recording().frames.len() as u64;
    let begun = whole.recording().frames.iter().position(|frame| {
        frame.effects.iter().any(|effect| matches!(effect, Effect::AskApproval { .. }))
    });
    let begun = begun.expect("somebody is asked") as u64;
    let ended = whole
        .recording()
        .frames
        .iter()
        .rposition(|frame| matches!(frame.input, Some(Input::ApprovalGiven { .. })));
    let ended = ended.expect("somebody has decided") as u64;
    assert!(begun < ended && ended < frames);
    // From the frame that asks to the one in which the last question is still open.
    for killed in begun + 1..=ended {
        let play = three((40, Decision::Allowed), (10, denied(STAGING)));
        let played = play.run_killed_after(killed);
        assert_eq!(played.outcomes(), whole.outcomes(), "killed after {killed} frames");
        assert_eq!(played.ledger(), whole.ledger(), "killed after {killed} frames");
    }
}

#[test]
fn b034_a_second_answer_has_no_effect() {
    let played = three((40, Decision::Allowed), (10, denied(STAGING))).run();
    let recording = played.recording();
    for frame in &recording.frames {
        let Some(Input::ApprovalGiven { id, .. }) = frame.input else { continue };
        let before = recording.state_at(frame.seq).expect("a state");
        let again = Input::ApprovalGiven { id, decision: Decision::Allowed };
        let after = step(before.clone(), again);
        assert!(matches!(after.effects[..], [Effect::Reject(_)]), "{:?}", after.effects);
        assert_eq!(after.state, before);
    }
}

/// `edit` asks, and this is decided about it; `run_cmd` may run.
fn one(decision: Decision) -> Played {
    three((10, decision), (0, Decision::NoVerdict)).permits("run_cmd", Permission::Allow).run()
}

#[test]
fn silence_and_a_list_are_no_refusal() {
    let ticket = "s:call-0".to_owned();
    for (decision, told) in [
        (Decision::TimedOut, "error toolu_1: not run: nobody answered"),
        (
            Decision::Queued { ticket },
            "result toolu_1: submitted for approval as s:call-0; it has not run yet",
        ),
        (Decision::NoVerdict, "error toolu_1: not run: it needs approval, and there is nobody"),
        // Only a lone call can be left for later.
        (Decision::Deferred, "error toolu_1: not run: it needs approval, and there is nobody"),
    ] {
        let played = one(decision);
        let line = &played.conversation(1)[4];
        assert!(line.starts_with(told), "{line}");
        assert_eq!(played.ledger().len(), 2, "the others ran");
        let gated = played.told(|notice| match notice {
            Notice::CallGated { verdict, .. } => Some(*verdict),
            _ => None,
        });
        assert_eq!(gated, [Gated::Unanswered]);
    }
}

#[test]
fn edited_arguments_run_and_are_told() {
    let args = r#"{"path":"g","old":"a","new":"b"}"#;
    let facts = CallFacts::new(canonical_args(args), Safety::Exclusive);
    let played = one(Decision::Edited { args: args.into(), facts });
    assert_eq!(played.ledger()[0], args);
    let told = &played.conversation(1)[4];
    assert!(told.contains("the arguments were changed before it ran, to: {"), "{told}");
    assert!(told.contains(r#""path":"g""#), "{told}");
}

#[test]
fn a_lasting_word_is_not_asked_for_again() {
    let scopes = [(GrantScope::Tool, 1), (GrantScope::Call, 2)];
    for (scope, questions) in scopes {
        // Two calls of the same tool with other arguments each.
        let played = Play::with(Anthropic, &["B031-1.sse", "B031-2.sse", "B034-2.sse"])
            .acts("step", &[says(1, "done")])
            .permits("step", Permission::Ask)
            .decides(vec![(1, Decision::AllowedAlways { scope }), (1, Decision::Allowed)])
            .run();
        assert_eq!(played.ledger().len(), 2, "{scope}");
        let effects = played.recording().frames.iter().flat_map(|frame| &frame.effects);
        let asked = effects.filter(|effect| matches!(effect, Effect::AskApproval { .. })).count();
        assert_eq!(asked, questions, "{scope}");
    }
}

fn deploy(answer: HookAnswer) -> Play {
    Play::with(Anthropic, &["B028a-1.sse", "B034-2.sse"])
        .acts("deploy", &[says(1, "deployed")])
        .tool_hook(&[answer])
}

#[test]
fn a_hook_cannot_lift_a_rule() {
    let reason = "never on a Friday".to_owned();
    let deny = Permission::Deny { reason: reason.clone() };
    let played = deploy(HookAnswer::Allowed).permits("deploy", deny).run();
    assert_eq!(played.outcomes(), [Outcome::Refused { why: GateRefusal::Denied { reason } }]);
    let played = deploy(HookAnswer::Allowed).permits("deploy", Permission::OutOfScope).run();
    assert_eq!(played.outcomes(), [Outcome::Refused { why: GateRefusal::OutOfScope }]);
    assert_eq!(played.ledger().len(), 0);
}

#[test]
fn a_hook_that_fails_lets_a_call_run_unless_it_fails_closed() {
    let broken = HookAnswer::Failed { problem: "no such program".into() };
    assert_eq!(deploy(broken.clone()).run().outcomes(), [succeeded("deployed")]);
    let closed = deploy(broken).set(|config| {
        let on_failure = machine_spec::config::FailMode::Closed;
        config.tool_hooks = vec![HookSpec { on_failure, ..HookSpec::new("check.sh") }];
    });
    let reason = "no such program".to_owned();
    assert_eq!(closed.run().outcomes(), [Outcome::Refused { why: GateRefusal::Denied { reason } }]);
}

/// A run that leaves its lone call for later.
fn pending() -> (Played, DeferredCall) {
    let played = deploy(HookAnswer::Deferred).run();
    assert_eq!((played.asked(), played.ledger().len()), (1, 0));
    assert_eq!(played.outcomes(), [Outcome::NotStarted { why: NotStarted::Deferred }]);
    let Terminal::ToolDeferred { call } = played.end().clone() else {
        panic!("{:?}", played.end())
    };
    (played, call)
}

#[test]
fn a_call_that_is_left_for_later_runs_once_in_the_next_run() {
    let (first, call) = pending();
    let history = first.history();
    let second = Play::with(Anthropic, &["B034-2.sse"])
        .says("Go on.")
        .acts("deploy", &[says(1, "deployed")])
        .tool_hook(&[HookAnswer::Allowed])
        .set(|config| (config.history, config.deferred) = (history, Some(call)))
        .run();
    assert_eq!(second.ledger(), [r#"{"env":"staging"}"#]);
    let lines = second.conversation(0).concat();
    assert!(lines.contains("it waits for a decision"), "{lines}");
    assert!(lines.contains("taken up again") && lines.contains("deployed"), "{lines}");
    assert!(matches!(second.end(), Terminal::Answered { .. }), "{:?}", second.end());
}

#[test]
fn a_pending_call_whose_tool_is_gone_is_told_so() {
    let (first, call) = pending();
    let history = first.history();
    let second = Play::with(Anthropic, &[])
        .says("Go on.")
        .set(|config| (config.history, config.deferred) = (history, Some(call)))
        .run();
    assert_eq!(second.end(), &Terminal::ToolDeferredUnavailable { tool: "deploy".into() });
}

#[test]
fn tools_that_are_required_in_order_wait_for_each_other() {
    let mut play = Play::with(Anthropic, &["B034-1.sse", "B034-2.sse"])
        .acts("edit", &[says(1, "edited")])
        .acts("run_cmd", &[says(1, "ran")])
        .reads("read_file", &[says(1, "text")])
        .requires("run_cmd");
    play = play.set(|config| {
        let rule = Rule::new("(?i)report", &["run_cmd", "edit"]);
        config.rules = vec![Rule { ordered: true, ..rule }];
        config.limits.guard_retries = 0;
    });
    let played = play.run();
    let first = "run_cmd".to_owned();
    assert_eq!(
        played.outcomes(),
        [
            Outcome::Refused { why: GateRefusal::OutOfOrder { first } },
            succeeded("ran"),
            succeeded("text"),
        ]
    );
    let reminded = played.told(|notice| match notice {
        Notice::GuardReminded { rule, .. } => Some(*rule),
        _ => None,
    });
    assert_eq!(reminded, [] as [RuleId; 0]);
    assert!(
        matches!(played.end(), Terminal::RequiredToolMissing { missing, .. } if missing == &["edit"]),
        "{:?}",
        played.end()
    );
}
