//! Images and the caller's own cache marks, towards every provider and back.

use machine_spec::effect::ToolChoice;
use machine_spec::message::{Entry, Image, ImagePlace, Origin, Said};
use machine_spec::view::{Seen, View};
use serde_json::{Value, json};
use wire::read::read;
use wire::{Dialect, EncodeOptions, Encoder, Images};

use crate::talk::{self, OWN, reply, results, succeeded, user};
use crate::walk;

const URL: &str = "https://example.com/a.png";

fn linked() -> Image {
    Image { media: "image/png".to_owned(), place: ImagePlace::Linked(URL.to_owned()) }
}

fn shown(text: &str, images: Vec<Image>) -> Entry {
    Entry::Said(Said { images, ..Said::words(Origin::User, text) })
}

/// What stands in the list of messages.
fn messages(dialect: Dialect, images: &Images, entries: &[Entry]) -> Vec<Value> {
    let body: Value = serde_json::from_slice(&encoded(dialect, images, entries)).expect("JSON");
    let key = match dialect {
        Dialect::OpenAiResponses => "input",
        Dialect::Gemini => "contents",
        Dialect::Anthropic | Dialect::OpenAiChat | Dialect::Ollama => "messages",
    };
    let messages = body[key].as_array().expect("a list").clone();
    messages.into_iter().filter(|message| message["role"] != "system").collect()
}

fn encoded(dialect: Dialect, images: &Images, entries: &[Entry]) -> Vec<u8> {
    let transcript = entries.iter().cloned().collect();
    let mut encoder = Encoder::new(dialect, EncodeOptions::default());
    encoder.hold(images);
    encoder.encode(&talk::config(), &talk::request(&transcript, ToolChoice::Auto)).body
}

#[test]
fn images_stand_where_each_wire_wants_them() {
    let mut images = Images::default();
    let held = images.hold("image/png", b"foo");
    let entries = [shown("Look:", vec![held, linked()]), user("Well?")];
    let mark = json!({"type": "ephemeral"});
    for (dialect, wanted) in [
        (
            Dialect::Anthropic,
            json!([{"role": "user", "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image", "source":
                    {"type": "base64", "media_type": "image/png", "data": "Zm9v"}},
                {"type": "image", "source": {"type": "url", "url": URL}},
                {"type": "text", "text": "Well?", "cache_control": mark},
            ]}]),
        ),
        (
            Dialect::OpenAiChat,
            json!([{"role": "user", "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,Zm9v"}},
                {"type": "image_url", "image_url": {"url": URL}},
                {"type": "text", "text": "Well?"},
            ]}]),
        ),
        (
            Dialect::OpenAiResponses,
            json!([{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Look:"},
                {"type": "input_image", "image_url": "data:image/png;base64,Zm9v"},
                {"type": "input_image", "image_url": URL},
                {"type": "input_text", "text": "Well?"},
            ]}]),
        ),
        (
            Dialect::Gemini,
            json!([{"role": "user", "parts": [
                {"text": "Look:"},
                {"inlineData": {"mimeType": "image/png", "data": "Zm9v"}},
                {"fileData": {"mimeType": "image/png", "fileUri": URL}},
                {"text": "Well?"},
            ]}]),
        ),
        (
            Dialect::Ollama,
            json!([
                {"role": "user", "content": "Look:", "images": ["Zm9v"]},
                {"role": "user",
                 "content": "(image/png at https://example.com/a.png)\n\nWell?"},
            ]),
        ),
    ] {
        assert_eq!(Value::from(messages(dialect, &images, &entries)), wanted, "{dialect}");
    }
}

#[test]
fn images_alone_make_a_message_and_words_before_them_stay_as_they_were_sent() {
    let mut images = Images::default();
    let held = images.hold("image/jpeg", b"foo");
    for dialect in Dialect::ALL {
        let entries = [user("Go."), shown("", vec![held.clone()])];
        let messages = messages(*dialect, &images, &entries);
        let told = Value::from(messages).to_string();
        assert!(told.contains("Go.") && told.contains("Zm9v"), "{dialect}: {told}");
        assert_eq!(walk::blank(&serde_json::from_str(&told).expect("JSON")), None, "{dialect}");
    }
}

#[test]
fn an_image_without_bytes_is_told_in_words() {
    let lost = Images::default().hold("image/png", b"foo");
    for dialect in Dialect::ALL {
        let entries = [shown("Look:", vec![lost.clone()])];
        let told = Value::from(messages(*dialect, &Images::default(), &entries)).to_string();
        assert!(told.contains("(image/png that is not available any more)"), "{dialect}: {told}");
    }
}

/// Bytes that come later are shown from then on.
#[test]
fn held_images_replace_the_words_for_them() {
    let mut images = Images::default();
    let entries = [shown("Look:", vec![images.hold("image/png", b"foo")])].into_iter().collect();
    let request = talk::request(&entries, ToolChoice::Auto);
    let mut encoder = Encoder::new(Dialect::OpenAiChat, EncodeOptions::default());
    let before = encoder.encode(&talk::config(), &request).body;
    encoder.hold(&images);
    let after = encoder.encode(&talk::config(), &request).body;
    assert!(!String::from_utf8_lossy(&before).contains("Zm9v"));
    assert!(String::from_utf8_lossy(&after).contains("Zm9v"));
}

/// What is written is read again: the same words, the same images, in the same order.
#[test]
fn images_and_marks_survive_writing_and_reading() {
    let mut images = Images::default();
    let held = images.hold("image/png", b"foo");
    let marked = Said { marked: true, ..Said::words(Origin::User, "Remember.") };
    let entries = [shown("Look:", vec![held.clone(), held]), Entry::Said(marked)];
    for dialect in Dialect::ALL {
        let body = encoded(*dialect, &images, &entries);
        let request = read(*dialect, &body, "a", Some("m")).expect("a request");
        assert_eq!(request.images, images, "{dialect}");
        assert_eq!(request.left_out, [], "{dialect}");
        let view = View::of(&request.history);
        let mut said: Vec<Said> = Vec::new();
        for seen in view.messages() {
            let Seen::Said(part) = seen else { panic!("{seen:?}") };
            said.push(part.clone());
        }
        let shown: Vec<usize> = said.iter().map(|said| said.images.len()).collect();
        let words: Vec<&str> = said.iter().map(|said| said.text.as_str()).collect();
        assert_eq!((shown, words), (vec![2, 0], vec!["Look:", "Remember."]), "{dialect}");
        let marks: Vec<bool> = said.iter().map(|said| said.marked).collect();
        assert_eq!(marks, [false, *dialect == Dialect::Anthropic], "{dialect}");
    }
}

/// B040 (d): the caller marked a block of the first message; three rounds with tools follow.
#[test]
fn b040_the_mark_of_the_caller_is_kept_and_there_are_never_more_than_four() {
    let marked = Said { marked: true, ..Said::words(Origin::User, "A long document.") };
    let mut entries = vec![Entry::Said(marked), user("And a question.")];
    for round in 0..3 {
        let calls =
            (0..25).map(|n| talk::call(round * 25 + n, &format!("t{round}_{n}"), "grep", "{}"));
        let asked = reply(OWN, calls.collect());
        entries.push(asked.clone());
        entries.push(results(&asked, vec![succeeded("x"); 25]));
        let given = EncodeOptions {
            server_tools: vec![
                json!({"type": "web_search", "cache_control": {"type": "ephemeral"}}),
            ],
            ..EncodeOptions::default()
        };
        for (options, of_caller) in [(EncodeOptions::default(), 1), (given, 2)] {
            let body = talk::body_with(Dialect::Anthropic, options, &entries, ToolChoice::Auto);
            let marks = walk::marked_blocks(&body);
            assert_eq!(marks.len(), 4, "{of_caller}: {marks:?}");
            let document = &body["messages"][0]["content"][0];
            assert!(document.get("cache_control").is_some(), "{document}");
        }
    }
}

#[test]
fn some_tool_is_demanded_in_the_words_of_each_wire() {
    for (dialect, at, wanted) in [
        (Dialect::Anthropic, "/tool_choice", json!({"type": "any"})),
        (Dialect::OpenAiChat, "/tool_choice", json!("required")),
        (Dialect::OpenAiResponses, "/tool_choice", json!("required")),
        (Dialect::Gemini, "/toolConfig/functionCallingConfig", json!({"mode": "ANY"})),
    ] {
        let options = EncodeOptions::default();
        let body = talk::body_with(dialect, options, &[user("Go.")], ToolChoice::Any);
        assert_eq!(body.pointer(at), Some(&wanted), "{dialect}");
        let again = read(dialect, body.to_string().as_bytes(), "a", None).expect("a request");
        assert_eq!(again.choice, ToolChoice::Any, "{dialect}");
    }
    let options = EncodeOptions::default();
    let body = talk::body_with(Dialect::Ollama, options, &[user("Go.")], ToolChoice::Any);
    assert!(body.get("tools").is_some() && body.get("tool_choice").is_none(), "{body}");
}

/// Where a result cannot hold an image, the model is told that there is one.
#[test]
fn images_of_a_tool_stand_where_each_wire_wants_them() {
    let mut images = Images::default();
    let shots = vec![images.hold("image/png", b"foo"), linked()];
    let asked = reply(OWN, vec![talk::call(0, "t_1", "grep", "{}")]);
    let Entry::Results(mut answers) = results(&asked, vec![succeeded("two shots")]) else {
        panic!("results");
    };
    answers[0].images = shots;
    let entries = [user("Look."), asked, Entry::Results(answers)];
    for (dialect, at, wanted) in [
        (
            Dialect::Anthropic,
            "/2/content/0/content",
            json!([
                {"type": "text", "text": "two shots"},
                {"type": "image", "source":
                    {"type": "base64", "media_type": "image/png", "data": "Zm9v"}},
                {"type": "image", "source": {"type": "url", "url": URL}},
            ]),
        ),
        (
            Dialect::OpenAiChat,
            "/2/content",
            json!(format!(
                "two shots\n(image/png that cannot be shown to you here)\n(image/png at {URL})"
            )),
        ),
        (
            Dialect::OpenAiResponses,
            "/2/output",
            json!([
                {"type": "input_text", "text": "two shots"},
                {"type": "input_image", "image_url": "data:image/png;base64,Zm9v"},
                {"type": "input_image", "image_url": URL},
            ]),
        ),
        (
            Dialect::Gemini,
            "/2/parts/1",
            json!({"inlineData": {"mimeType": "image/png", "data": "Zm9v"}}),
        ),
        (
            Dialect::Ollama,
            "/2/content",
            json!(format!(
                "two shots\n(image/png that cannot be shown to you here)\n(image/png at {URL})"
            )),
        ),
    ] {
        let messages = Value::from(messages(dialect, &images, &entries));
        assert_eq!(messages.pointer(at), Some(&wanted), "{dialect}: {messages:#}");
    }
}

/// Wires whose results hold images give them back.
#[test]
fn images_of_a_tool_are_read_back() {
    let mut images = Images::default();
    let shots = vec![images.hold("image/png", b"foo")];
    let asked = reply(OWN, vec![talk::call(0, "t_1", "grep", "{}")]);
    let Entry::Results(mut answers) = results(&asked, vec![succeeded("a shot")]) else {
        panic!("results");
    };
    answers[0].images = shots;
    let entries = [user("Look."), asked, Entry::Results(answers)];
    for dialect in [Dialect::Anthropic, Dialect::OpenAiResponses] {
        let request = read(dialect, &encoded(dialect, &images, &entries), "a", None);
        let request = request.expect("a request");
        assert_eq!((&request.images, &request.left_out[..]), (&images, &[][..]), "{dialect}");
        let Some(Entry::Results(read)) = request.history.last() else { panic!("{dialect}") };
        let Entry::Results(written) = &entries[2] else { panic!("results") };
        assert_eq!(read[0].images, written[0].images, "{dialect}");
        assert_eq!(read[0].outcome, written[0].outcome, "{dialect}");
    }
}

/// Errors are text alone on this wire, with or without images beside them.
#[test]
fn an_error_with_an_image_tells_of_it() {
    let mut images = Images::default();
    let asked = reply(OWN, vec![talk::call(0, "t_1", "grep", "{}")]);
    let Entry::Results(mut answers) = results(&asked, vec![talk::failed("broken")]) else {
        panic!("results");
    };
    answers[0].images = vec![images.hold("image/png", b"foo")];
    let body =
        messages(Dialect::Anthropic, &images, &[user("Look."), asked, Entry::Results(answers)]);
    let result = &body[2]["content"][0];
    assert_eq!(result["is_error"], true);
    assert_eq!(result["content"], "broken\n(image/png that cannot be shown to you here)");
}
