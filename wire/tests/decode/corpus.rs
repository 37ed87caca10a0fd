//! Recorded streams of real providers, against what the vendors' own libraries make of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use wire::neutral::Message;
use wire::{DecodeLimits, Dialect};

/// Where we hold that the official reading is not the right one. At most fifteen; each names what
/// differs, so that a line cannot outlive its reason.
const REVIEWED: &[(&str, &[&str], &str)] = &[
    (
        "gpustack/ruby_llm-chat-with-extended-thinking-gpustack-qwen3-streams-think",
        &["error"],
        "the stream dies with a line `error: {…}`; the library drops the unknown field, so its \
         user waits for a message that was given up",
    ),
    (
        "ollama/rig-same-tool-twice",
        &["tool_calls"],
        "the calls carry ids; the library has no type for them",
    ),
    (
        "snowflake/pai-test-snowflake-thinking-streaming",
        &["thinking"],
        "the thinking is in `reasoning_details` alone, a member the library has no type for",
    ),
];

#[test]
fn recorded_streams_say_what_the_official_libraries_read() {
    let Some(recorded) = crate::recorded::streams(Dialect::ALL) else {
        return;
    };
    assert!(REVIEWED.len() <= 15, "the table of exceptions is full");
    let reviewed: BTreeMap<&str, &[&str]> =
        REVIEWED.iter().map(|(id, fields, _)| (*id, *fields)).collect();
    let (mut compared, mut unexplained) = (0, Vec::new());
    for stream in &recorded {
        let ours = Message::read(stream.dialect, DecodeLimits::default(), &stream.body);
        let differences = differences(&ours, &stream.expected);
        if !stream.is_genuine() {
            for (field, told) in &differences {
                println!("{} ({}): {field}: {told}", stream.id, stream.fidelity);
            }
            continue;
        }
        compared += 1;
        let fields: Vec<&str> = differences.iter().map(|(field, _)| *field).collect();
        let allowed = reviewed.get(stream.id.as_str()).copied().unwrap_or_default();
        if fields != allowed {
            unexplained.push(format!("{}: {differences:?}, reviewed: {allowed:?}", stream.id));
        }
    }
    println!("{compared} genuine streams compared, {} exceptions", REVIEWED.len());
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let known: BTreeSet<Dialect> = recorded.iter().map(|stream| stream.dialect).collect();
    assert_eq!((recorded.len(), compared, known.len()), (451, 373, Dialect::ALL.len()));
}

/// What differs between our reading and the official one.
fn differences(ours: &Message, expected: &Value) -> Vec<(&'static str, String)> {
    let calls: Vec<Value> = ours.tool_calls.iter().map(call).collect();
    let usage = serde_json::to_value(ours.usage).expect("JSON");
    let read = [
        ("text", json!(ours.text), expected["text"].clone()),
        ("thinking", json!(ours.thinking), expected["thinking"].clone()),
        ("tool_calls", json!(calls), expected_calls(expected)),
        ("stop_reason", json!(ours)["stop_reason"].clone(), expected["stop_reason"].clone()),
        ("usage", usage, expected["usage"].clone()),
        ("refusal", json!(ours.refusal), expected["refusal"].clone()),
        ("error", error(ours, expected), expected_error(ours, expected)),
    ];
    let differing = read.into_iter().filter(|(_, ours, theirs)| ours != theirs);
    differing.map(|(field, ours, theirs)| (field, format!("{ours} instead of {theirs}"))).collect()
}

fn call(call: &wire::neutral::ToolCall) -> Value {
    let raw = if call.args.is_none() { json!(call.args_raw) } else { Value::Null };
    json!({"id": call.id, "name": call.name, "args": call.args, "raw": raw})
}

fn expected_calls(expected: &Value) -> Value {
    let call = |call: &Value| {
        let raw = if call["args"].is_null() { call["args_raw"].clone() } else { Value::Null };
        json!({"id": call["id"], "name": call["name"], "args": call["args"], "raw": raw})
    };
    expected["tool_calls"].as_array().expect("a list").iter().map(call).collect()
}

/// The code of an error stands in one of three places, in ours in one of two.
fn error(ours: &Message, expected: &Value) -> Value {
    let Some(failure) = &ours.error else { return Value::Null };
    let theirs = codes(&expected["error"]);
    let status = failure.status.map(|status| status.to_string());
    let shared = [Some(failure.code.clone()), status].into_iter().flatten();
    let code = shared.clone().find(|code| theirs.contains(code)).or(shared.into_iter().next());
    json!({"code": code, "message": failure.message})
}

fn expected_error(ours: &Message, expected: &Value) -> Value {
    let (ours, theirs) = (error(ours, expected), &expected["error"]);
    if theirs.is_null() {
        return Value::Null;
    }
    let codes = codes(theirs);
    let shared = codes.iter().find(|code| ours["code"] == **code).or(codes.first());
    json!({"code": shared, "message": theirs["message"]})
}

fn codes(error: &Value) -> Vec<String> {
    let word = |value: &Value| match value {
        Value::String(word) => Some(word.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    ["code", "type", "status"].iter().filter_map(|place| word(&error[*place])).collect()
}

/// A quirk stands with the stream that proves it; a name that nobody can look up proves nothing.
#[test]
fn every_stream_that_a_comment_names_is_there() {
    let Some(recorded) = crate::recorded::streams(Dialect::ALL) else {
        return;
    };
    let ids: BTreeSet<&str> = recorded.iter().map(|stream| stream.id.as_str()).collect();
    let vendors: BTreeSet<&str> = ids.iter().filter_map(|id| Some(id.split_once('/')?.0)).collect();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut named = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("source");
            let is_part = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
            let comments = text.lines().filter(|line| line.trim_start().starts_with("//"));
            for word in comments.flat_map(|line| line.split(|c| !is_part(c))) {
                let is_id = |(vendor, slug): (&str, &str)| {
                    vendors.contains(vendor) && slug.contains('-') && !slug.contains('/')
                };
                if word.split_once('/').is_some_and(is_id) {
                    assert!(ids.contains(word), "{}: {word} is no stream", path.display());
                    named.insert(word.to_owned());
                }
            }
        }
    }
    assert!(named.len() >= 20, "only {named:?}");
}
