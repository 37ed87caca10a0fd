//! B040, B022: parameters that an endpoint does not know, and answers in one piece.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::model::ErrorClass;
use serde_json::Value;
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{Acted, act_on, kind};

/// A chat endpoint whose stop hook objects once, so that there is a second request.
const CHAT: &str = r#"
prompt = "Write the report."
config = '''
[[provider]]
name = "a"
dialect = "openai-chat"
model = "gpt-test-1"
base_url = "{a}"
api_key_env = "LOOPWRIGHT_TEST_KEY"
max_tokens = 9

[[hook]]
event = "Stop"
command = ["./once.sh"]
cwd = "."
'''

[[double]]
name = "a"
answers = [{ file = "cases/B040a-1.http" }]
always = { file = "cases/B040-2.sse" }

[[file]]
name = "once.sh"
text = '''
#!/bin/sh
[ -e asked ] && exit 0
echo >asked
echo "say more" >&2
exit 2
'''
"#;

/// With another line in the table of the provider, which refuses nothing.
fn configured(line: &str) -> Acted {
    let mut scene = Scene::read(CHAT);
    scene.doubles[0].answers.clear();
    scene.config = scene.config.replace("max_tokens = 9", &format!("max_tokens = 9\n{line}"));
    act_on(Stage::set(scene))
}

/// What the configuration leaves out is never sent, so nothing is refused and nothing is repeated.
#[test]
fn what_an_endpoint_is_known_not_to_know_is_never_sent() {
    let acted = configured("leave_out = [\"max_tokens_name\", \"stream_options\"]");
    assert_eq!(acted.end().text(), Some("ok"));
    assert_eq!(left_out(&acted), [""; 0]);
    let bodies = acted.stage.double("a").bodies();
    assert_eq!(bodies.len(), 2);
    for body in &bodies {
        assert_eq!(body["max_completion_tokens"], 9);
        assert!(body.get("max_tokens").is_none() && body.get("stream_options").is_none(), "{body}");
    }
}

/// The bounds of a response are those of the configuration; a recording knows them.
#[test]
fn a_response_beyond_its_bounds_is_refused_by_name() {
    let acted = configured("decode_limits = { event_bytes = 40 }");
    let Terminal::ProviderFailed { failure, .. } = acted.end() else { panic!("{:?}", acted.end()) };
    assert_eq!(failure.class, ErrorClass::Garbled);
    assert!(failure.message.contains("an event may have 40 bytes"), "{}", failure.message);
}

fn refused_with(file: &str) -> Acted {
    let mut scene = Scene::read(CHAT);
    scene.doubles[0].answers[0] = AnswerTable::of(&format!("cases/{file}"));
    act_on(Stage::set(scene))
}

fn left_out(acted: &Acted) -> Vec<String> {
    acted.told(|event| match event {
        Event::ParameterLeftOut { what, .. } => Some(what.clone()),
        _ => None,
    })
}

/// Without the members that must differ.
fn rest(body: &Value, gone: &[&str]) -> Value {
    let mut rest = body.clone();
    let members = rest.as_object_mut().expect("a body is an object");
    gone.iter().for_each(|name| drop(members.remove(*name)));
    rest
}

#[test]
fn b040a_a_parameter_is_renamed_once_and_for_the_run() {
    let acted = refused_with("B040a-1.http");
    assert_eq!(acted.end().text(), Some("ok"));
    assert_eq!(left_out(&acted), ["max_tokens_name"]);
    let bodies = acted.stage.double("a").bodies();
    let names = ["max_tokens", "max_completion_tokens"];
    assert_eq!(bodies.len(), 3, "the refusal, its repetition, and the second round");
    assert_eq!((&bodies[0][names[0]], bodies[0].get(names[1])), (&9.into(), None));
    for body in &bodies[1..] {
        assert_eq!((body.get(names[0]), &body[names[1]]), (None, &9.into()));
    }
    assert_eq!(rest(&bodies[0], &names), rest(&bodies[1], &names), "nothing else changes");
}

#[test]
fn b040b_usage_becomes_unknown_and_is_not_nothing() {
    let acted = refused_with("B040b-1.http");
    assert_eq!(left_out(&acted), ["stream_options"]);
    let bodies = acted.stage.double("a").bodies();
    assert!(bodies[0].get("stream_options").is_some());
    assert!(bodies[1..].iter().all(|body| body.get("stream_options").is_none()));
    let usage = acted.ended.state.frame().counters().usage;
    assert_eq!((usage.input, usage.output), (None, None));
}

#[test]
fn b040c_a_force_that_is_refused_becomes_a_reminder() {
    let mut scene = Scene::read(CHAT);
    scene.doubles[0].answers[0] = AnswerTable::of("cases/B040c-1.http");
    scene.config = format!(
        "force_tool = \"submit_report\"\n{}\n[[tool]]\nname = \"submit_report\"\n\
         command = [\"true\"]\n\n[[require]]\nwhen = \"report\"\ntools = [\"submit_report\"]\n",
        scene.config
    );
    let acted = act_on(Stage::set(scene));
    assert_eq!(left_out(&acted), ["tool_choice"]);
    let bodies = acted.stage.double("a").bodies();
    assert!(bodies[0].get("tool_choice").is_some());
    assert!(bodies[1..].iter().all(|body| body.get("tool_choice").is_none()));
    assert_eq!(bodies.len(), 4, "the refusal, its repetition, two reminders");
    let missing = vec!["submit_report".to_owned()];
    assert_eq!(acted.end(), &Terminal::RequiredToolMissing { missing, text: "ok".into() });
}

#[test]
fn b040_a_complaint_is_mended_once() {
    let mut scene = Scene::read(CHAT);
    scene.doubles[0].always = Some(AnswerTable::of("cases/B040a-1.http"));
    let acted = act_on(Stage::set(scene));
    assert_eq!((acted.asked("a"), left_out(&acted).len()), (2, 1));
    assert!(matches!(acted.end(), Terminal::ProviderFailed { .. }), "{:?}", acted.end());
}

#[test]
fn b040e_the_order_of_tools_is_not_the_order_of_their_declaration() {
    let tools = |names: [&str; 2]| {
        let mut scene = Scene::read(CHAT);
        scene.doubles[0].answers.clear();
        for name in names {
            scene.config += &format!("\n[[tool]]\nname = \"{name}\"\ncommand = [\"true\"]\n");
        }
        let acted = act_on(Stage::set(scene));
        let bodies = acted.stage.double("a").bodies();
        let tools: Vec<String> = bodies.iter().map(|body| body["tools"].to_string()).collect();
        assert_eq!(tools[0], tools[1]);
        tools[0].clone()
    };
    assert_eq!(tools(["x_find", "y_find"]), tools(["y_find", "x_find"]));
}

#[test]
fn where_streams_break_the_answer_is_asked_for_in_one_piece() {
    let scene = Scene::read(
        r#"
prompt = "Say it."
config = '''
[[provider]]
name = "a"
dialect = "anthropic"
model = "claude-test-1"
base_url = "{a}"
api_key_env = "LOOPWRIGHT_TEST_KEY"

[limits]
stream_reissues = 0
'''

[[double]]
name = "a"
answers = [
  { file = "cases/B001-1.sse", cut = 400, end = "reset" },
  { file = "cases/whole-1.http" },
]
"#,
    );
    let acted = act_on(Stage::set(scene));
    assert_eq!(acted.end().text(), Some("Whole."));
    let seen = acted.stage.double("a").exchanges();
    let (first, second) = (&seen[0], &seen[1]);
    assert_eq!(first.json()["stream"], true);
    assert_eq!(second.json()["stream"], false);
    assert_eq!(second.header("accept"), Some("application/json"));
    assert_eq!(rest(&first.json(), &["stream"]), rest(&second.json(), &["stream"]));
    let began = acted.place(|event| kind(event) == "attempt_failed");
    let said =
        acted.place(|event| matches!(event, Event::TextDelta { text, .. } if text == "Whole."));
    assert!(began < said);
}
