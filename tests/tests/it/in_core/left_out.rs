//! B040: parameters that an endpoint does not know.

use machine_spec::input::HookAnswer;
use machine_spec::{Notice, Terminal};
use wire::Dialect::OpenAiChat;

use super::play::{Play, says};
use super::played::Played;

/// An endpoint that refuses the first request so; a stop hook objects once, so that there is a
/// further one.
fn refused(file: &str) -> Play {
    Play::with(OpenAiChat, &[file, "B040-2.sse"])
        .for_ever()
        .hook(HookAnswer::Blocked { reason: "say more".into() })
        .set(|config| config.limits.stop_hook_blocks = 1)
}

fn left_out(played: &Played) -> Vec<String> {
    played.told(|notice| match notice {
        Notice::ParameterLeftOut { what, .. } => Some(what.to_string()),
        _ => None,
    })
}

#[test]
fn b040_a_parameter_is_left_out_once_and_for_the_run() {
    for (file, what, member) in [
        ("B040a-1.http", "max_tokens_name", "max_tokens"),
        ("B040b-1.http", "stream_options", "stream_options"),
    ] {
        let played = refused(file).run();
        assert_eq!(left_out(&played), [what], "{file}");
        assert_eq!(played.asked(), 3, "{file}: the refusal, its repetition, the next request");
        for n in [1, 2] {
            assert_eq!(played.body(n).get(member), None, "{file}: request {n} starts right");
        }
        assert_eq!(played.body(0)["messages"], played.body(1)["messages"], "{file}");
        assert_eq!(played.end().text(), Some("ok"), "{file}");
        assert!(matches!(played.end(), Terminal::StopHookLimit { .. }), "{:?}", played.end());
    }
}

#[test]
fn b040c_a_force_that_is_refused_becomes_a_reminder() {
    let played = Play::with(OpenAiChat, &["B040c-1.http", "B040-2.sse"])
        .for_ever()
        .acts("submit_report", &[says(1, "submitted")])
        .requires("submit_report")
        .set(|config| config.force_tool = "submit_report".into())
        .run();
    assert_eq!(left_out(&played), ["tool_choice"]);
    assert_eq!(played.asked(), 4, "the refusal, its repetition, two reminders");
    assert_eq!(played.body(1).get("tool_choice"), None);
    let missing = vec!["submit_report".to_owned()];
    assert_eq!(played.end(), &Terminal::RequiredToolMissing { missing, text: "ok".into() });
}

#[test]
fn b040_a_complaint_is_mended_once_and_another_one_not_at_all() {
    let always = |file: &str| Play::with(OpenAiChat, &[file]).for_ever().run();
    let played = always("B040a-1.http");
    assert_eq!((played.asked(), left_out(&played).len()), (2, 1));
    assert!(matches!(played.end(), Terminal::ProviderFailed { .. }), "{:?}", played.end());
    let played = always("B025-7.http");
    assert_eq!((played.asked(), left_out(&played).len()), (1, 0));
}

#[test]
fn b040e_the_order_of_tools_is_not_the_order_of_their_declaration() {
    let tools = |names: [&str; 2]| {
        let play = Play::with(OpenAiChat, &["B040-2.sse"]);
        let played = names.iter().fold(play, |play, name| play.reads(name, &[])).run();
        played.body(0)["tools"].to_string()
    };
    assert_eq!(tools(["x_find", "y_find"]), tools(["y_find", "x_find"]));
}
