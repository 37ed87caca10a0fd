//! B001: stop hooks that always block, say nothing, or cannot work.

use machine_spec::effect::HookQuestion;
use machine_spec::input::HookAnswer;
use machine_spec::message::Origin;
use machine_spec::{Notice, Terminal};
use wire::Dialect::Anthropic;

use super::play::Play;
use super::played::Played;

fn asked_by(answer: HookAnswer) -> Played {
    let play = Play::with(Anthropic, &["B001-1.sse"]).for_ever().hook(answer);
    play.set(|config| config.limits.stop_hook_blocks = 3).run()
}

#[test]
fn b001a_a_hook_that_always_blocks_is_capped() {
    let reason = String::from("tests were not run");
    let played = asked_by(HookAnswer::Blocked { reason: reason.clone() });
    assert_eq!(played.asked(), 4);
    let told = played.run.questions.iter().map(|asked| match &asked.question {
        HookQuestion::Stop { active, reentries, .. } => (*active, *reentries),
        question @ (HookQuestion::Tool { .. }
        | HookQuestion::Batch { .. }
        | HookQuestion::Compact { .. }) => panic!("a stop hook was asked {question:?}"),
    });
    assert_eq!(told.collect::<Vec<_>>(), [(false, 0), (true, 1), (true, 2), (true, 3)]);
    let mut lines = vec!["user: Write the report.".to_owned()];
    for n in 0..4 {
        assert_eq!(played.conversation(n), lines, "request {}", n + 1);
        lines.push("assistant: All steps are finished.".into());
        lines.push("user: tests were not run".into());
    }
    match played.end() {
        Terminal::StopHookLimit { limit: 3, last_feedback, text } => {
            assert_eq!((last_feedback, text.as_str()), (&reason, "All steps are finished."));
        }
        end => panic!("{end:?}"),
    }
}

#[test]
fn b001b_silence_adds_nothing() {
    let played = asked_by(HookAnswer::Allowed);
    assert_eq!(played.asked(), 1);
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
    assert_eq!(played.origins(), [Origin::User]);
    assert_eq!(played.history().len(), 2, "the words of the user and the answer");
}

#[test]
fn b001c_a_broken_hook_is_no_block() {
    let problem = String::from("no such program");
    let played = asked_by(HookAnswer::Failed { problem: problem.clone() });
    assert_eq!(played.asked(), 1);
    assert!(matches!(played.end(), Terminal::Answered { .. }), "{:?}", played.end());
    assert_eq!(played.origins(), [Origin::User]);
    let told = played.told(|notice| match notice {
        Notice::HookFailed { hook, problem } => Some((hook.0, problem.clone())),
        _ => None,
    });
    assert_eq!(told, [(0, problem)]);
}
