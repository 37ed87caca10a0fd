//! A request body as a reader wants it: who says what, a line each, the same for every dialect.
//!
//! It leaves out what does not reach the model as conversation (cache marks, parameters), so two
//! requests with the same lines say the same.

use serde_json::Value;
use wire::Dialect;

/// The conversation of a request body. Panics for a dialect it cannot read.
///
/// ```text
/// user: Check the three things.
/// assistant: Checking.
/// assistant calls t1 read_file {"path":"a.txt"}
/// result t1: the text of a.txt
/// error t2: not started
/// ```
#[must_use]
pub fn conversation(dialect: Dialect, body: &Value) -> Vec<String> {
    let list = |member: &str| body[member].as_array().cloned().unwrap_or_default();
    match dialect {
        Dialect::Anthropic => list("messages").iter().flat_map(anthropic).collect(),
        Dialect::OpenAiChat => list("messages").iter().flat_map(chat).collect(),
        Dialect::OpenAiResponses => list("input").iter().flat_map(item).collect(),
        Dialect::Gemini => list("contents").iter().flat_map(content).collect(),
        Dialect::Ollama => panic!("nobody renders bodies of {dialect} yet"),
    }
}

fn anthropic(message: &Value) -> Vec<String> {
    let role = text(&message["role"]);
    let Some(blocks) = message["content"].as_array() else {
        return vec![format!("{role}: {}", text(&message["content"]))];
    };
    let lines = blocks.iter().map(|block| match block["type"].as_str() {
        Some("text") => format!("{role}: {}", text(&block["text"])),
        Some("thinking") => {
            format!("{role} thinks: {} [{}]", text(&block["thinking"]), text(&block["signature"]))
        }
        Some("tool_use") => {
            format!(
                "{role} calls {} {} {}",
                text(&block["id"]),
                text(&block["name"]),
                block["input"]
            )
        }
        Some("tool_result") => {
            let word = if block["is_error"] == true { "error" } else { "result" };
            format!("{word} {}: {}", text(&block["tool_use_id"]), joined(&block["content"]))
        }
        Some(_) | None => format!("{role} has {block}"),
    });
    lines.collect()
}

fn chat(message: &Value) -> Vec<String> {
    let role = text(&message["role"]);
    if role == "tool" {
        let id = text(&message["tool_call_id"]);
        return vec![format!("result {id}: {}", joined(&message["content"]))];
    }
    let mut lines = Vec::new();
    let said = joined(&message["content"]);
    if !said.is_empty() {
        lines.push(format!("{role}: {said}"));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let (id, name) = (text(&call["id"]), text(&function["name"]));
        lines.push(format!("{role} calls {id} {name} {}", text(&function["arguments"])));
    }
    lines
}

/// An item of OpenAI Responses.
fn item(item: &Value) -> Vec<String> {
    let id = text(&item["call_id"]);
    match item["type"].as_str() {
        Some("message") => vec![format!("{}: {}", text(&item["role"]), joined(&item["content"]))],
        Some("function_call") => {
            let (name, arguments) = (text(&item["name"]), text(&item["arguments"]));
            vec![format!("assistant calls {id} {name} {arguments}")]
        }
        Some("function_call_output") => vec![format!("result {id}: {}", text(&item["output"]))],
        Some(_) | None => vec![format!("assistant has {item}")],
    }
}

/// A content of Gemini. Its role is told as the other dialects call it.
fn content(content: &Value) -> Vec<String> {
    let role = if content["role"] == "model" { "assistant" } else { "user" };
    let lines = content["parts"].as_array().into_iter().flatten().map(|part| {
        let (call, response) = (&part["functionCall"], &part["functionResponse"]);
        if call.is_object() {
            format!("{role} calls {} {} {}", text(&call["id"]), text(&call["name"]), call["args"])
        } else if response.is_object() {
            let (id, said) = (text(&response["id"]), &response["response"]);
            let failed = said.get("error").is_some();
            let word = if failed { "error" } else { "result" };
            format!("{word} {id}: {}", text(&said[if failed { "error" } else { "output" }]))
        } else {
            format!("{role}: {}", text(&part["text"]))
        }
    });
    lines.collect()
}

/// A text, or the texts of all parts.
fn joined(content: &Value) -> String {
    match content.as_array() {
        Some(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        None => text(content),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wire::Dialect::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};

    use super::conversation;

    #[test]
    fn all_dialects_read_alike() {
        let mut lines = vec![
            "user: hi",
            "assistant: yes",
            r#"assistant calls t1 f {"a":1}"#,
            "result t1: one\\ntwo",
            "user: and",
        ];
        let chat = json!({"messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "yes", "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "t1", "content": "one\ntwo"},
            {"role": "user", "content": [{"type": "text", "text": "and"}]}]});
        assert_eq!(conversation(OpenAiChat, &chat), lines);
        let responses = json!({"input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "yes"}]},
            {"type": "function_call", "call_id": "t1", "name": "f", "arguments": "{\"a\":1}"},
            {"type": "function_call_output", "call_id": "t1", "output": "one\ntwo"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and"}]}]});
        assert_eq!(conversation(OpenAiResponses, &responses), lines);
        let gemini = json!({"contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"text": "yes"},
                {"functionCall": {"id": "t1", "name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "t1", "name": "f", "response": {"output": "one\ntwo"}}},
                {"text": "and"}]}]});
        assert_eq!(conversation(Gemini, &gemini), lines);
        let anthropic = json!({"messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "text", "text": "yes"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "one\ntwo", "is_error": true},
                {"type": "text", "text": "and"}]}]});
        lines[3] = "error t1: one\\ntwo";
        assert_eq!(conversation(Anthropic, &anthropic), lines);
    }
}
