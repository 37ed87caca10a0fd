//! `loopwright run --image`, and tools that show images: from the file to the request, into the
//! recording, and into the next run of the session.

use serde_json::{Value, json};
use tests::scene::{AnswerTable, FileTable, Scene, Stage};

use crate::{code, loopwright};

/// How a PNG begins; no provider of these tests looks further.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PNG_AS_BASE64: &str = "iVBORw0KGgo=";

/// A tool that shows an image beside a word.
const SHOOT: &str = "#!/bin/sh\necho '{\"content\":[{\"type\":\"text\",\"text\":\"shot\"},\
                     {\"type\":\"image\",\"data\":\"iVBORw0KGgo=\",\"mimeType\":\"image/png\"}]}'\n";

/// A model of this dialect calls the tool once and answers, and answers again.
fn stage(dialect: &str, model: &str, tool: &str, call: &str, answer: &str) -> Stage {
    let mut scene = Scene::of_fixture("answered--a-plain-text");
    scene.config = format!(
        "[[provider]]\nname = \"a\"\ndialect = \"{dialect}\"\nmodel = \"{model}\"\n\
         base_url = \"{{a}}\"\napi_key_env = \"LOOPWRIGHT_TEST_KEY\"\n\n[[tool]]\n\
         name = \"{tool}\"\ncommand = [\"./shoot.sh\"]\ncwd = \".\"\noutput = \"content\"\n"
    );
    scene.doubles[0].answers = vec![AnswerTable::of(call)];
    scene.doubles[0].always = Some(AnswerTable::of(answer));
    scene.files.push(FileTable { name: "shoot.sh".into(), text: SHOOT.into() });
    let stage = Stage::set(scene);
    std::fs::write(stage.path("a.png"), PNG).expect("an image");
    stage
}

fn anthropic() -> Stage {
    stage("anthropic", "claude-test-1", "step", "cases/B031-1.sse", "cases/B001-1.sse")
}

/// A run that shows an image, whose tool shows one, and the next run of the session: what was sent.
fn sent(stage: &Stage) -> Vec<Value> {
    let run = ["run", "--config", "config.toml", "--json", "--image", "a.png"];
    let first = loopwright(stage, &[&run[..], &["--record", "run.jsonl", "Look"]].concat());
    assert_eq!(code(&first), 0, "{first:#?}");
    let next = ["run", "--config", "config.toml", "--json", "--resume", "run.jsonl"];
    let next = loopwright(stage, &[&next[..], &["--record", "next.jsonl", "And?"]].concat());
    assert_eq!(code(&next), 0, "{next:#?}");
    for recording in ["run.jsonl", "next.jsonl"] {
        let again = loopwright(stage, &["replay", recording]);
        assert_eq!(code(&again), 0, "{recording}: {again:#?}");
    }
    stage.double("a").bodies()
}

#[test]
fn images_reach_an_anthropic_model_and_come_again_with_every_request() {
    let stage = anthropic();
    let bodies = sent(&stage);
    let image = json!({"type": "base64", "media_type": "image/png", "data": PNG_AS_BASE64});
    for (n, body) in bodies.iter().enumerate() {
        let words = &body["messages"][0]["content"];
        assert_eq!((&words[0]["text"], &words[1]["source"]), (&json!("Look"), &image), "{n}");
    }
    for body in &bodies[1..] {
        let result = &body["messages"][2]["content"][0];
        assert_eq!(result["type"], "tool_result");
        assert_eq!(result["content"][0]["text"], "shot");
        assert_eq!(result["content"][1]["source"], image);
    }
}

#[test]
fn images_reach_a_chat_model_and_those_of_tools_are_told() {
    let stage = stage("openai-chat", "gpt-test-1", "list", "cases/B017-1.sse", "cases/B017-2.sse");
    let bodies = sent(&stage);
    let url = format!("data:image/png;base64,{PNG_AS_BASE64}");
    for (n, body) in bodies.iter().enumerate() {
        let words = &body["messages"][0]["content"];
        assert_eq!(words[0]["text"], "Look", "{n}: {body}");
        assert_eq!(words[1]["image_url"]["url"], json!(url), "{n}: {body}");
    }
    for body in &bodies[1..] {
        let messages = body["messages"].as_array().expect("messages");
        let result = messages.iter().find(|one| one["role"] == "tool").expect("a result");
        assert_eq!(result["content"], "shot\n(image/png that cannot be shown to you here)");
    }
}

/// A recording without its bytes still replays; what cannot be compared is not a difference.
#[test]
fn a_recording_that_lost_its_images_replays() {
    let stage = anthropic();
    sent(&stage);
    std::fs::remove_dir_all(stage.path("run.bodies")).expect("the bodies of the recording");
    let again = loopwright(&stage, &["replay", "run.jsonl"]);
    assert_eq!(code(&again), 0, "{again:#?}");
    let next = ["run", "--config", "config.toml", "--no-record", "--resume", "run.jsonl", "And?"];
    loopwright(&stage, &next);
    let last = stage.double("a").bodies().pop().expect("a request");
    let words = &last["messages"][0]["content"][1];
    assert_eq!(words["text"], "(image/png that is not available any more)", "{last}");
}

#[test]
fn what_is_no_image_is_refused_before_anything_is_sent() {
    let stage = anthropic();
    for (file, told) in [("config.toml", "PNG, JPEG, GIF or WebP"), ("absent.png", "cannot read")] {
        let ran = loopwright(
            &stage,
            &["run", "--config", "config.toml", "--no-record", "--json", "--image", file, "Look"],
        );
        assert_eq!(code(&ran), 2, "{ran:#?}");
        let end = ran.events().pop().expect("a terminal");
        assert_eq!(end["type"], "terminal", "{end}");
        let message = end["message"].as_str().unwrap_or_default();
        assert!(message.contains("LW5010") && message.contains(told), "{end}");
    }
    assert_eq!(stage.double("a").exchanges().len(), 0);
}
