//! A response in one piece, read as the stream that would have said it.
//!
//! Every dialect has a form of its answer without a stream. Each of them holds what the events of
//! the stream hold, so it is put into one event and read by the same reader: a message that came
//! whole and one that came in pieces cannot mean different things.

use std::collections::BTreeMap;

use machine_spec::model::ModelEvent;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{DecodeLimits, Decoder, Dialect, classify};

/// Decodes a response in one piece; `ended` tells whether its body came to its end.
///
/// A server that streams although nobody asked it to is read all the same. A whole body that is
/// neither is said as a failure; of a broken one the transport tells. Whether the message is
/// complete is for the machine to judge, as with a stream.
#[must_use]
pub fn decode_whole(
    dialect: Dialect,
    limits: DecodeLimits,
    body: &[u8],
    ended: bool,
) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let members = serde_json::from_slice::<BTreeMap<String, &RawValue>>(body).ok();
    let neither = members.is_none() && !streams(body);
    if neither && !ended {
        return events;
    }
    if neither || members.as_ref().is_some_and(is_error) {
        events.push(ModelEvent::Failed(classify(dialect, 200, &[], body, None)));
        return events;
    }
    let mut decoder = Decoder::new(dialect, limits);
    match members {
        Some(members) => decoder.push(&as_stream(dialect, body, members), &mut events),
        None => decoder.push(body, &mut events),
    }
    decoder.finish(&mut events);
    events
}

/// Whether an answer is an error, although its status does not say so.
fn is_error(members: &BTreeMap<String, &RawValue>) -> bool {
    let says = |name: &str, value: &str| members.get(name).is_some_and(|raw| raw.get() == value);
    let error = members.get("error").is_some_and(|raw| {
        !matches!(serde_json::from_str(raw.get()), Ok(Value::Null | Value::Bool(false)))
    });
    error || says("type", "\"error\"") || says("object", "\"error\"")
}

/// Whether a body that is no object might be a stream: of events, of an array, or of lines.
fn streams(body: &[u8]) -> bool {
    let text = body.trim_ascii_start();
    let starts = ["data:", "event:", "id:", ":", "[{", "{"];
    starts.iter().any(|start| text.starts_with(start.as_bytes()))
}

/// The events that say what the body says.
fn as_stream(dialect: Dialect, body: &[u8], members: BTreeMap<String, &RawValue>) -> Vec<u8> {
    match dialect {
        Dialect::Anthropic => [
            event(&[b"{\"type\":\"message_start\",\"message\":", body, b"}"]),
            event(&[b"{\"type\":\"message_stop\"}"]),
        ]
        .concat(),
        Dialect::OpenAiResponses => {
            event(&[b"{\"type\":\"response.completed\",\"response\":", body, b"}"])
        }
        Dialect::OpenAiChat => [event(&[&chunk(members)]), event(&[b"[DONE]"])].concat(),
        Dialect::Gemini => event(&[body]),
        Dialect::Ollama => {
            let mut line = in_one_line(body);
            line.push(b'\n');
            line
        }
    }
}

fn event(data: &[&[u8]]) -> Vec<u8> {
    let mut event = b"data: ".to_vec();
    for part in data {
        event.extend_from_slice(&in_one_line(part));
    }
    event.extend_from_slice(b"\n\n");
    event
}

/// JSON has line ends between its tokens alone, where blanks mean the same.
fn in_one_line(json: &[u8]) -> Vec<u8> {
    let blank = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
    json.iter().map(blank).collect()
}

/// A completion as a chunk: the message of each choice is its one delta.
fn chunk(mut members: BTreeMap<String, &RawValue>) -> Vec<u8> {
    let choices = members.remove("choices");
    let choices =
        choices.map(|raw| serde_json::from_str::<Vec<BTreeMap<&str, &RawValue>>>(raw.get()));
    let mut chunk = b"{".to_vec();
    for (key, value) in &members {
        push_member(&mut chunk, key, value);
        chunk.push(b',');
    }
    chunk.extend_from_slice(b"\"choices\":[");
    for (index, choice) in choices.and_then(Result::ok).into_iter().flatten().enumerate() {
        if index > 0 {
            chunk.push(b',');
        }
        chunk.push(b'{');
        for (at, (key, value)) in choice.iter().enumerate() {
            if at > 0 {
                chunk.push(b',');
            }
            push_member(&mut chunk, if *key == "message" { "delta" } else { key }, value);
        }
        chunk.push(b'}');
    }
    chunk.extend_from_slice(b"]}");
    chunk
}

fn push_member(out: &mut Vec<u8>, key: &str, value: &RawValue) {
    // A string is always JSON.
    out.extend_from_slice(&serde_json::to_vec(key).unwrap_or_default());
    out.push(b':');
    out.extend_from_slice(value.get().as_bytes());
}

#[cfg(test)]
mod tests {
    use machine_spec::model::{BlockEnd, BlockKind, ErrorClass, ModelEvent, StopReason};

    use super::decode_whole;
    use crate::{DecodeLimits, Dialect};

    const ANTHROPIC: &str = r#"{
        "id": "m1", "type": "message", "role": "assistant", "model": "x",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "Both."},
            {"type": "tool_use", "id": "t1", "name": "find", "input": {"k": "oak"}},
            {"type": "tool_use", "id": "t2", "name": "find", "input": {}}
        ],
        "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 7}
    }"#;
    const CHAT: &str = r#"{
        "id": "m1", "object": "chat.completion", "model": "x",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Both.",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "find", "arguments": "{\"k\":\"oak\"}"}},
                {"id": "t2", "type": "function", "function": {"name": "find", "arguments": "{}"}}
            ]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7}
    }"#;
    const RESPONSES: &str = r#"{
        "id": "m1", "object": "response", "status": "completed", "model": "x", "error": null,
        "output": [
            {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "id": "m2", "content": [{"type": "output_text", "text": "Both."}]},
            {"type": "function_call", "id": "f1", "call_id": "t1", "name": "find", "arguments": "{\"k\":\"oak\"}"},
            {"type": "function_call", "id": "f2", "call_id": "t2", "name": "find", "arguments": "{}"}
        ],
        "usage": {"input_tokens": 5, "output_tokens": 7}
    }"#;
    const GEMINI: &str = r#"{
        "responseId": "m1", "modelVersion": "x",
        "candidates": [{"content": {"role": "model", "parts": [
            {"text": "hm", "thought": true}, {"text": "Both."},
            {"functionCall": {"id": "t1", "name": "find", "args": {"k": "oak"}}},
            {"functionCall": {"id": "t2", "name": "find", "args": {}}}
        ]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7}
    }"#;
    const OLLAMA: &str = r#"{
        "model": "x", "done": true, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 7,
        "message": {"role": "assistant", "thinking": "hm", "content": "Both.", "tool_calls": [
            {"function": {"name": "find", "arguments": {"k": "oak"}}},
            {"function": {"name": "find", "arguments": {}}}
        ]}
    }"#;

    fn decoded(dialect: Dialect, body: &str) -> Vec<ModelEvent> {
        decode_whole(dialect, DecodeLimits::default(), body.as_bytes(), true)
    }

    #[test]
    fn a_message_in_one_piece_says_what_a_stream_says() {
        for (dialect, body) in [
            (Dialect::Anthropic, ANTHROPIC),
            (Dialect::OpenAiChat, CHAT),
            (Dialect::OpenAiResponses, RESPONSES),
            (Dialect::Gemini, GEMINI),
            (Dialect::Ollama, OLLAMA),
        ] {
            says_it_all(dialect, body);
        }
    }

    fn says_it_all(dialect: Dialect, body: &str) {
        let events = decoded(dialect, body);
        let (mut kinds, mut texts, mut ends) = (Vec::new(), Vec::new(), 0);
        let mut usage = machine_spec::model::Usage::default();
        let mut stop = None;
        for event in &events {
            match event {
                ModelEvent::Began { model, .. } => assert_eq!(model, "x"),
                ModelEvent::BlockBegan { kind, .. } => {
                    kinds.push(match kind {
                        BlockKind::Thinking => "thinking",
                        BlockKind::Text => "text",
                        BlockKind::Call { name, .. } => {
                            assert_eq!(name, "find");
                            "call"
                        }
                        BlockKind::Opaque => "opaque",
                    });
                    texts.push(String::new());
                }
                ModelEvent::Delta { block, text } => texts[*block as usize].push_str(text),
                ModelEvent::BlockDone { done: BlockEnd::Call(_), .. } => ends += 1,
                ModelEvent::BlockDone { .. } => {}
                ModelEvent::Usage(report) => usage.update(report),
                ModelEvent::Finished { reason, .. } => stop = Some(*reason),
                ModelEvent::Failed(failure) => panic!("{failure:?}"),
            }
        }
        assert_eq!(kinds, ["thinking", "text", "call", "call"], "{events:#?}");
        texts.iter_mut().for_each(|text| text.retain(|c| c != ' '));
        assert_eq!(texts[..3], ["hm", "Both.", r#"{"k":"oak"}"#]);
        assert_eq!((ends, stop), (2, Some(StopReason::ToolUse)));
        assert_eq!((usage.input, usage.output), (Some(5), Some(7)));
    }

    #[test]
    fn what_is_no_answer_is_a_failure() {
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
        for (body, class) in [
            (error, ErrorClass::Overloaded),
            ("<html><title>Sign in</title></html>", ErrorClass::NonApiBody),
            ("", ErrorClass::NonApiBody),
        ] {
            for dialect in Dialect::ALL {
                let events = decoded(*dialect, body);
                let [ModelEvent::Failed(failure)] = &events[..] else {
                    panic!("{dialect}: {events:?}")
                };
                assert_eq!(failure.class, class, "{dialect}");
            }
        }
    }

    #[test]
    fn of_a_body_that_broke_the_transport_tells() {
        for body in ["", "<html>"] {
            let events =
                decode_whole(Dialect::Gemini, DecodeLimits::default(), body.as_bytes(), false);
            assert_eq!(events, [], "{body}");
        }
    }

    #[test]
    fn a_server_that_streams_all_the_same_is_read() {
        let body = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":\
                    {\"id\":\"m\",\"model\":\"x\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\
                    \"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
        let events = decoded(Dialect::Anthropic, body);
        assert!(matches!(events.last(), Some(ModelEvent::Finished { .. })), "{events:?}");
    }

    #[test]
    fn half_a_message_is_not_complete() {
        for (dialect, body) in [(Dialect::Anthropic, ANTHROPIC), (Dialect::OpenAiChat, CHAT)] {
            let events = decoded(dialect, &body[..body.len() / 2]);
            let finished = |event: &ModelEvent| matches!(event, ModelEvent::Finished { .. });
            assert!(!events.iter().any(finished), "{dialect}: {events:?}");
        }
    }
}
