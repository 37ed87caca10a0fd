//! Bodies of OpenAI-compatible chat: results are messages of their own, directly after the message
//! that made the calls.

use serde_json::Value;

use super::{FlawKind, Report, text_of};

pub(super) fn check(body: &Value, report: &mut Report) {
    let Some(messages) = body["messages"].as_array() else {
        return report.tell(FlawKind::Shape, "/messages");
    };
    let first = messages.iter().find(|message| !is_instruction(message));
    if first.is_none_or(|first| first["role"] != "user") {
        report.tell(FlawKind::BeginsWithoutUser, "/messages/0");
    }
    let mut all_calls = Vec::new();
    let mut open = Vec::new();
    let mut results = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        let at = format!("/messages/{n}");
        if message["role"] == "tool" {
            if !message["content"].is_string() {
                report.tell(FlawKind::Shape, &at);
            }
            results.push((text_of(message, "tool_call_id"), at));
            continue;
        }
        report.pair(&std::mem::take(&mut open), &std::mem::take(&mut results));
        match message["role"].as_str() {
            Some("assistant") => open = judge_assistant(message, &at, report),
            Some("user" | "system" | "developer") => {
                judge_content(&message["content"], &at, report)
            }
            Some(_) | None => report.tell(FlawKind::Shape, &at),
        }
        all_calls.extend(open.iter().cloned());
    }
    report.pair(&open, &results);
    report.judge_ids(&all_calls);
}

fn is_instruction(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

/// The calls of an assistant message: id and place. It may lack a text, but not both.
fn judge_assistant(message: &Value, at: &str, report: &mut Report) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for (n, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let at = format!("{at}/tool_calls/{n}");
        let arguments = text_of(&call["function"], "arguments");
        if !serde_json::from_str::<Value>(&arguments).is_ok_and(|value| value.is_object()) {
            report.tell(FlawKind::ArgumentsNotJson, &at);
        }
        calls.push((text_of(call, "id"), at));
    }
    match &message["content"] {
        Value::Null if calls.is_empty() => report.tell(FlawKind::EmptyMessage, at),
        Value::Null => {}
        content => judge_content(content, at, report),
    }
    calls
}

fn judge_content(content: &Value, at: &str, report: &mut Report) {
    match content {
        Value::String(_) => report.judge_text(content, at),
        Value::Array(parts) if parts.is_empty() => report.tell(FlawKind::EmptyMessage, at),
        Value::Array(parts) => {
            for (n, part) in parts.iter().enumerate() {
                if part["type"] == "text" {
                    report.judge_text(&part["text"], &format!("{at}/content/{n}"));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            report.tell(FlawKind::Shape, at);
        }
    }
}
