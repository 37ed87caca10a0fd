//! `loopwright run`: one terminal event whatever happens, and a recording that replays.

use std::path::Path;

use serde_json::Value;
use tests::processes::alive_in_group;
use tests::scene::{KEY, KEY_NAME, Ran, Scene, Stage};

use crate::{LOOPWRIGHT, code, loopwright, nothing};

/// Plays a scene as its fixture was recorded.
fn play(stage: &Stage) -> Ran {
    stage.play(Path::new(LOOPWRIGHT))
}

/// The last event, which must be the only terminal one.
fn terminal(ran: &Ran) -> Value {
    let events = ran.events();
    let terminals = events.iter().filter(|event| event["type"] == "terminal").count();
    assert_eq!(terminals, 1, "{ran:#?}");
    let last = events.last().expect("at least one event").clone();
    assert_eq!(last["type"], "terminal", "{ran:#?}");
    assert_eq!(last["exit_code"], code(ran), "{ran:#?}");
    last
}

#[test]
fn every_scene_of_the_fixtures_still_ends_as_its_name_says() {
    let runs = tests::house::root().join("fixtures/runs");
    let mut played = 0;
    for entry in std::fs::read_dir(runs).expect("there are fixtures") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let stage = Stage::set(Scene::of_fixture(&name));
        let ran = play(&stage);
        let reason = terminal(&ran)["reason"].clone();
        let expected = name.split("--").next().expect("a name").replace('-', "_");
        assert_eq!(reason, expected, "{name}: {ran:#?}");
        let again = loopwright(&stage, &["replay", "run.jsonl"]);
        assert_eq!(code(&again), 0, "{name}: {again:#?}");
        let told = format!("{}{}{}", ran.stdout, ran.stderr, again.stdout);
        assert!(!told.contains(KEY), "{name} shows the key");
        played += 1;
    }
    assert!(played >= 18, "{played} scenes");
}

/// A scene with one provider and this further configuration.
fn scene(config: &str, files: &[(&str, &str)]) -> Stage {
    let mut scene = Scene::of_fixture("answered--a-plain-text");
    scene.config += config;
    for (name, text) in files {
        let (name, text) = (String::from(*name), String::from(*text));
        scene.files.push(tests::scene::FileTable { name, text });
    }
    Stage::set(scene)
}

#[test]
fn a_broken_configuration_is_told_with_line_and_column() {
    for (config, place, code_of_it, word) in [
        ("\n[[provider\n", ":8:", "LW2002", "config.toml"),
        ("\n[limits]\ntool_round = 3\n", ":9:1:", "LW2002", "tool_round"),
        ("\n[[require]]\nwhen = \"x\"\ntools = [\"nope\"]\n", ":10:", "LW2004", "`nope`"),
    ] {
        let stage = scene(config, &[]);
        let ran = play(&stage);
        assert_eq!((code(&ran), &terminal(&ran)["reason"]), (2, &Value::from("config_refused")));
        let plain = loopwright(&stage, &["run", "--config", "config.toml", "--no-record", "hi"]);
        assert_eq!(code(&plain), 2);
        for told in [format!("{}{}", ran.stdout, ran.stderr), plain.stderr] {
            for expected in [place, code_of_it, word] {
                assert!(told.contains(expected), "{expected} in {told}");
            }
        }
        assert_eq!(stage.double("a").exchanges().len(), 0, "nothing was sent");
    }
}

#[test]
fn a_missing_key_a_missing_file_and_bytes_that_are_no_text_are_told() {
    let stage = nothing();
    let config = "[[provider]]\nname = \"a\"\ndialect = \"anthropic\"\nmodel = \"m\"\n\
                  base_url = \"http://127.0.0.1:9\"\napi_key_env = \"NOT_SET\"\n";
    std::fs::write(stage.path("config.toml"), config).expect("a file");
    std::fs::write(stage.path("bytes.toml"), b"\xff\xfe\x00").expect("a file");
    let cases =
        [("config.toml", "NOT_SET"), ("absent.toml", "absent.toml"), ("bytes.toml", "UTF-8")];
    for (file, word) in cases {
        let ran = loopwright(&stage, &["run", "--config", file, "--no-record", "--json", "hi"]);
        let end = terminal(&ran);
        assert_eq!(code(&ran), 2, "{file}");
        assert!(end["code"].as_str().is_some_and(|code| code.starts_with("LW2")), "{end}");
        assert!(end["message"].as_str().is_some_and(|text| text.contains(word)), "{end}");
    }
}

#[test]
fn an_unreachable_host_is_a_failure_of_the_provider() {
    let mut scene = Scene::of_fixture("answered--a-plain-text");
    // Port 9 of this machine: nobody discards there any more.
    scene.config = scene.config.replace("{a}", "http://127.0.0.1:9");
    scene.config += "\n[limits]\nhttp_retries = 1\nbackoff_base_ms = 1\n";
    let stage = Stage::set(scene);
    let ran = play(&stage);
    let end = terminal(&ran);
    assert_eq!((code(&ran), &end["reason"]), (8, &Value::from("provider_failed")));
    assert_eq!(end["failure"]["class"], "transport");
    assert_eq!(
        code(&loopwright(&stage, &["replay", "run.jsonl"])),
        0,
        "it is recorded all the same"
    );
}

const STEP: &str = "\n[[tool]]\nname = \"step\"\ncommand = [\"./step.sh\"]\ncwd = \".\"\n";

/// A scene whose model calls a tool once.
fn with_tool(settings: &str, script: &str) -> Stage {
    let mut scene = Scene::of_fixture("answered--a-plain-text");
    scene.config += STEP;
    scene.config += settings;
    let files = ["cases/B031-1.sse", "cases/B001-1.sse"];
    scene.doubles[0].always = None;
    scene.doubles[0].answers = files.map(tests::scene::AnswerTable::of).to_vec();
    let (name, text) = ("step.sh".into(), format!("#!/bin/sh\n{script}\n"));
    scene.files.push(tests::scene::FileTable { name, text });
    Stage::set(scene)
}

#[test]
fn a_tool_that_floods_its_output_is_cut_and_the_run_goes_on() {
    let stage = with_tool("", "echo begin\nhead -c 50000000 /dev/zero | tr '\\0' x\necho end");
    let ran = play(&stage);
    assert_eq!(terminal(&ran)["reason"], "answered");
    let result = stage.double("a").bodies()[1].to_string();
    assert!(result.len() < 100_000, "{} bytes went to the model", result.len());
    assert!(result.contains("begin") && result.contains("end"), "head and tail are kept");
    let recorded = std::fs::metadata(stage.path("run.jsonl")).expect("a recording").len();
    // What is kept of an output is capped; the recording holds it whole, the conversation does not.
    assert!(recorded < 1_200_000, "{recorded} bytes were recorded");
    assert_eq!(code(&loopwright(&stage, &["replay", "run.jsonl"])), 0);
}

#[test]
fn what_becomes_of_calls_that_need_approval_can_be_said() {
    for (word, reason, told) in [
        ("defer", "tool_deferred", None),
        ("allow", "answered", Some("nobody allowed this")),
        ("deny", "answered", Some("there is nobody who could give it")),
        ("queue", "answered", Some("submitted for approval as")),
    ] {
        let mut scene = Scene::of_fixture("tool-deferred--nobody-can-be-asked");
        scene.doubles[0].answers.push(tests::scene::AnswerTable::of("cases/B034-2.sse"));
        let stage = Stage::set(scene);
        let arguments = ["run", "--config", "config.toml", "--no-record", "--json"];
        let ran = loopwright(&stage, &[&arguments[..], &["--on-approval", word, "go"]].concat());
        assert_eq!(terminal(&ran)["reason"], reason, "{word}");
        let bodies = stage.double("a").bodies();
        assert_eq!(bodies.len(), 1 + usize::from(told.is_some()), "{word}");
        if let Some(told) = told {
            assert!(bodies[1].to_string().contains(told), "{word}: {}", bodies[1]);
        }
        let listed = stage.lines(".loopwright/approvals.jsonl").len();
        assert_eq!(listed, usize::from(word == "queue"));
    }
    let ran = loopwright(&nothing(), &["run", "--on-approval", "perhaps", "go"]);
    assert!(code(&ran) == 2 && ran.stderr.contains("`perhaps`"), "{ran:#?}");
}

#[test]
fn a_tool_that_never_ends_is_stopped_at_its_limit() {
    let stage = with_tool("timeout_ms = 200\n", "echo $$ >pid\nsleep 600 &\nwait");
    let ran = play(&stage);
    assert_eq!(terminal(&ran)["reason"], "answered");
    let result = stage.double("a").bodies()[1].to_string();
    assert!(result.contains("timed out"), "{result}");
    let group = stage.lines("pid").concat().parse().expect("the id of a process");
    let left = alive_in_group(group);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_tool_does_not_see_the_key() {
    let stage = with_tool("", &format!("echo \"key: ${KEY_NAME}\"; env"));
    assert_eq!(terminal(&play(&stage))["reason"], "answered");
    let result = stage.double("a").bodies()[1].to_string();
    assert!(result.contains("key: ") && !result.contains(KEY), "{result}");
}

#[test]
fn a_recording_that_cannot_be_begun_is_told_before_anything_is_sent() {
    let stage = scene("", &[("file", "not a folder")]);
    let arguments =
        ["run", "--config", "config.toml", "--record", "file/run.jsonl", "--json", "hi"];
    let ran = loopwright(&stage, &arguments);
    let end = terminal(&ran);
    assert_eq!((code(&ran), &end["code"]), (2, &Value::from("LW3001")), "{end}");
    assert_eq!(stage.double("a").exchanges().len(), 0);
}

#[test]
fn lines_that_come_while_it_runs_are_said_to_the_model() {
    let stage = Stage::set(Scene::of_fixture("answered--a-message-while-tools-run"));
    let ran = play(&stage);
    assert_eq!(terminal(&ran)["reason"], "answered");
    let second = stage.double("a").bodies()[1]["messages"].to_string();
    for words in ["m1: mind the old flag", "m2: and the new one"] {
        assert_eq!(second.matches(words).count(), 1, "{second}");
    }
    // The prompt itself cannot come the same way.
    for prompt in [&[][..], &["-"]] {
        let ran = loopwright(&nothing(), &[&["run", "--listen"], prompt].concat());
        assert!(code(&ran) == 2 && ran.stderr.contains("LW5007"), "{ran:#?}");
    }
}

#[test]
fn words_that_a_killed_run_never_read_are_said_by_the_next_one() {
    let stage = Stage::set(Scene::of_fixture("answered--a-message-while-tools-run"));
    assert_eq!(terminal(&play(&stage))["reason"], "answered");
    let whole = stage.lines("run.jsonl");
    let last = whole.iter().rposition(|line| line.contains("\"input\":{\"user_said\""));
    let left = whole[..=last.expect("words")].join("\n") + "\n";
    std::fs::write(stage.path("left.jsonl"), left).expect("a file");
    let go_on =
        ["run", "--config", "config.toml", "--no-record", "--resume", "left.jsonl", "go on"];
    let ran = loopwright(&stage, &go_on);
    assert_eq!(code(&ran), 8, "the script has no further answer: {ran:#?}");
    let body = stage.double("a").bodies().last().expect("a request")["messages"].to_string();
    for words in ["m1: mind the old flag", "m2: and the new one", "go on"] {
        assert_eq!(body.matches(words).count(), 1, "{words}: {body}");
    }
    assert!(body.find("m1: ") < body.find("m2: ") && body.find("m2: ") < body.find("go on"));
}

/// What a window and a price are, and who says so, stands at the beginning; what was spent at the
/// end. A price that nobody knows is never nothing.
#[test]
fn windows_and_prices_are_told_with_their_source() {
    let catalogue = wire::catalogue::Catalogue::vendored();
    for (model, extra, window, price, cost) in [
        ("claude-3-5-haiku-20241022", "", (200_000, "catalogue"), "catalogue", true),
        ("claude-test-1", "", (200_000, "name_pattern"), "unknown", false),
        ("house", "", (64_000, "assumed"), "unknown", false),
        (
            "house",
            "context_window = 9000\nprice = { input = 3.0, output = 15.0 }\n",
            (9_000, "explicit"),
            "explicit",
            true,
        ),
    ] {
        let mut scene = Scene::of_fixture("answered--a-plain-text");
        let line = format!("model = \"{model}\"\n{extra}");
        scene.config = scene.config.replace("model = \"claude-test-1\"\n", &line);
        let stage = Stage::set(scene);
        let ran = play(&stage);
        assert_eq!(terminal(&ran)["reason"], "answered");
        let events = ran.events();
        let find = |word: &str| events.iter().find(|event| event["type"] == word);
        let begun = find("run_started").expect("it begins");
        assert_eq!(begun["catalogue"], catalogue.date());
        let known = &begun["models"][0];
        assert_eq!(
            (&known["context_window"], &known["window_from"]),
            (&window.0.into(), &window.1.into())
        );
        assert_eq!(known["price_from"], price, "{known}");
        assert_eq!(known["price"].is_null(), !cost, "{known}");
        let spent = find("spent").expect("it tells what it spent");
        assert!(spent["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{spent}");
        assert_eq!(spent["dollars"].as_f64().is_some_and(|dollars| dollars > 0.0), cost, "{spent}");
        let plain = loopwright(&stage, &["run", "--config", "config.toml", "--no-record", "hi"]);
        let told = if cost { "spent" } else { "what they cost is not known" };
        for expected in [format!("context window {} tokens", window.0), told.to_owned()] {
            assert!(plain.stderr.contains(&expected), "{expected} in {}", plain.stderr);
        }
    }
}
