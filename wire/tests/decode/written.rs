//! Calls that a model wrote into its text (B011).

use machine_spec::RunConfig;
use machine_spec::config::ToolSpec;
use machine_spec::effect::ToolChoice;
use proptest::prelude::*;
use wire::{DecodeLimits, Decoder, Dialect, EncodeOptions, ResponseReader, TextCalls};

use crate::cases::case;
use crate::told::lines;

fn tool(name: &str, schema: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: schema.to_owned(),
        read_only: false,
        ..ToolSpec::default()
    }
}

fn tools() -> Vec<ToolSpec> {
    let schema = r#"{"type":"object","properties":{
        "path":{"type":"string"},"count":{"type":"integer"},"deep":{"type":["null","object"]}}}"#;
    vec![tool("read_file", schema), tool("now", "{\"type\":\"object\"}")]
}

fn sift(body: &[u8], size: usize) -> Vec<String> {
    let mut decoder = Decoder::new(Dialect::OpenAiChat, DecodeLimits::default());
    let mut calls = TextCalls::new(&tools());
    let mut said = Vec::new();
    for piece in body.chunks(size) {
        let mut events = Vec::new();
        decoder.push(piece, &mut events);
        calls.sift(&mut events);
        said.append(&mut events);
    }
    let mut events = Vec::new();
    decoder.finish(&mut events);
    calls.sift(&mut events);
    calls.finish(&mut events);
    said.append(&mut events);
    lines(&said)
}

/// A response that says a text in pieces of so many letters, and what comes of it.
fn say(text: &str, size: usize, finish: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut body = String::new();
    for piece in letters.chunks(size) {
        let piece: String = piece.iter().collect();
        let chunk = serde_json::json!({"choices":[{"delta":{"content": piece}}]});
        body += &format!("data: {chunk}\n\n");
    }
    body += &format!("data: {{\"choices\":[{{\"finish_reason\":\"{finish}\"}}]}}\n\n");
    sift(body.as_bytes(), usize::MAX)
}

/// The arguments that a text is read as, whatever pieces it comes in.
#[track_caller]
fn args(text: &str) -> Vec<String> {
    let whole = say(text, usize::MAX, "stop");
    for size in [1, 2, 3, 5, 7] {
        assert_eq!(say(text, size, "stop"), whole, "in pieces of {size}");
    }
    whole
        .iter()
        .filter(|line| !line.starts_with('0'))
        .filter_map(|line| line.split_once(" + "))
        .map(|(_, args)| args.to_owned())
        .collect()
}

#[test]
fn b011_a_written_call_becomes_a_call() {
    for size in [1, 50, usize::MAX] {
        assert_eq!(
            sift(&case("B011a-1"), size),
            [
                "began gpt-test-1 chatcmpl-t1",
                "0 text",
                "0 + Let me look.",
                "0 done by FinishReason",
                "1 call  read_file",
                "1 + {\"path\":\"Cargo.toml\"}",
                "1 done by FinishReason, valid",
                "finished tool_use `stop`",
            ]
        );
    }
}

#[test]
fn b011_an_example_in_a_fence_is_text() {
    let said = sift(&case("B011b-1"), usize::MAX);
    assert!(said.contains(&"finished end_of_turn `stop`".to_owned()));
    let text: String = said.iter().filter_map(|line| line.strip_prefix("0 + ")).collect();
    assert!(text.starts_with("The model would emit:\n```\n<tool_call>"), "{text}");
    assert!(text.ends_with("```\nThat is the whole format."), "{text}");
}

#[test]
fn b011_two_calls_as_json() {
    let said = sift(&case("B011c-1"), usize::MAX);
    assert!(said.contains(&"1 + {\"path\":\"x\"}".to_owned()), "{said:?}");
    assert!(said.contains(&"2 + {\"path\":\"y\"}".to_owned()), "{said:?}");
}

#[test]
fn every_spelling_is_read() {
    for (text, expected) in [
        ("<tool_call>{\"name\":\"now\"}</tool_call>", "{}"),
        (
            "<tool_call>{\"name\":\"now\",\"parameters\":{\"a\":\"</tool_call>\"}}</tool_call>",
            "{\"a\":\"</tool_call>\"}",
        ),
        ("<tool_call>{\"name\":\"now\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call>", "{\"a\":1}"),
        ("Text first.\n\n<function=now>{\"a\": 1}</function>\n", "{\"a\": 1}"),
        (
            "<function=read_file><parameter=path>\n 5\n</parameter>\n<parameter=count>5</parameter>\
             <parameter=deep>{\"a\":1}</parameter></function>",
            "{\"count\":5,\"deep\":{\"a\":1},\"path\":\" 5\"}",
        ),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{\"a\":1}\n```\
             <｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "{\"a\":1}",
        ),
        ("<｜tool▁call▁begin｜>now<｜tool▁sep｜>{\"a\":1}<｜tool▁call▁end｜>", "{\"a\":1}"),
        ("[TOOL_CALLS] [{\"name\":\"now\",\"arguments\":{\"a\":1}}]", "{\"a\":1}"),
        ("[TOOL_CALLS]now[ARGS]{\"a\":1}", "{\"a\":1}"),
        (
            "[read_file(path='it\\'s \"a\"', count=-5, deep={'x': [1, 2.5, None, True,]})]",
            "{\"count\":-5,\"deep\":{\"x\":[1,2.5,null,true]},\"path\":\"it's \\\"a\\\"\"}",
        ),
        ("Sure:\n[now()]", "{}"),
    ] {
        assert_eq!(args(text), [expected], "{text}");
        assert!(spells_a_call(text), "{text}");
    }
}

#[test]
fn what_is_not_wholly_a_call_stays_text() {
    for text in [
        "<tool_call>{\"name\":\"unknown\"}</tool_call>",
        "<tool_call>{\"name\":\"now\"}</tool_call> and then some",
        "<tool_call>{\"name\":\"now\"}",
        "<tool_call>{\"name\":\"now\",\"arguments\":[1]}</tool_call>",
        "```\n<tool_call>{\"name\":\"now\"}</tool_call>",
        "Write `<tool_call>` and nothing else",
        "<function=now>",
        "see [now()] there",
        "[now(x)]",
        "[now(a=print())]",
        "[TOOL_CALLS]",
        "a < b <tool",
        "trailing blanks \n\n",
    ] {
        for size in [1, 3, usize::MAX] {
            let said = say(text, size, "stop");
            assert_eq!(said[1..said.len() - 2].concat(), format!("0 + {text}"), "{said:?}");
            assert_eq!(said[said.len() - 1], "finished end_of_turn `stop`");
        }
        assert!(!spells_a_call(text), "{text}");
    }
}

#[test]
fn a_cut_or_native_call_rules_recovery_out() {
    let text = "<tool_call>{\"name\":\"now\"}</tool_call>";
    assert!(say(text, 9, "length").contains(&format!("0 + {text}")));
    let native = r#"data: {"choices":[{"delta":{"content":"<tool_call>{\"name\":\"now\"}</tool_call>","tool_calls":[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]},"finish_reason":"stop"}]}

"#;
    let said = sift(native.as_bytes(), usize::MAX);
    assert!(said.contains(&format!("0 + {text}")), "{said:?}");
    assert_eq!(said.iter().filter(|line| line.contains(" call ")).count(), 1);
}

#[test]
fn a_stream_that_dies_loses_no_text() {
    let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"So <tool_call>{\"}}]}\n\n";
    assert_eq!(sift(body, usize::MAX), ["0 text", "0 + So <tool_call>{"]);
}

proptest! {
    /// Text is never lost, whatever it looks like and however it is cut.
    #[test]
    fn text_is_passed_on_whole(
        text in "(<tool_call>|</tool_call>|<function=|\\[now\\(|\\[TOOL|```|\n|\\{|[a-z<\\[ é]{1,4}){0,20}",
        size in 1usize..6,
    ) {
        let said = say(&text, size, "length");
        let shown: String = said.iter().filter_map(|line| line.strip_prefix("0 + ")).collect();
        prop_assert_eq!(shown, text);
    }

    #[test]
    fn noise_behind_a_marker_is_survived(
        text in "(<tool_call>|\\[now\\(|<function=now>|\\[TOOL_CALLS\\]|<｜tool▁call▁begin｜>)(<parameter=a>|</parameter>|<｜tool▁sep｜>|'|\"|\\\\|=|,|\\(|\\)|\\[|\\]|\\{|\\}|u12|[a-z0-9é]{1,3}){0,20}",
    ) {
        let said = say(&text, 3, "stop");
        prop_assert!(said.last().is_some_and(|line| line.starts_with("finished")));
    }
}

/// Whether a text becomes a call that cannot be used where calls are not recovered.
fn spells_a_call(text: &str) -> bool {
    let delta =
        serde_json::json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]});
    told(format!("data: {delta}\n\n").as_bytes(), usize::MAX).concat().contains("1 call ")
}

/// What a response says where written calls are told to the model, in pieces of so many bytes.
fn told(body: &[u8], size: usize) -> Vec<String> {
    let options = EncodeOptions { tell_text_calls: true, ..EncodeOptions::default() };
    let config = RunConfig { tools: tools(), ..RunConfig::default() };
    let choice = ToolChoice::Auto;
    let mut reader = ResponseReader::new(Dialect::OpenAiChat, &options, &config, &choice);
    let mut said = Vec::new();
    body.chunks(size).for_each(|piece| reader.push(piece, &mut said));
    reader.finish(&mut said);
    lines(&said)
}

/// B011 (a) without recovery: a call that cannot be used stands in place of the markup.
#[test]
fn b011_a_call_that_is_not_recovered_is_told_however_it_is_cut() {
    for (file, is_told) in [("B011a-1", true), ("B011b-1", false), ("B011c-1", true)] {
        let body = case(file);
        let whole = told(&body, usize::MAX);
        let call = "1 call  read_file";
        assert_eq!(whole.concat().contains(call), is_told, "{file}: {whole:#?}");
        let text: Vec<&String> = whole.iter().filter(|line| line.starts_with("0 +")).collect();
        // The third one says nothing else.
        assert_eq!(text.is_empty(), file == "B011c-1", "{file}: {whole:#?}");
        let markup = text.iter().any(|line| line.contains("<tool_call>"));
        assert_ne!(markup, is_told, "{file}: {whole:#?}");
        for size in 1..80 {
            assert_eq!(told(&body, size), whole, "{file} in pieces of {size}");
        }
    }
}
