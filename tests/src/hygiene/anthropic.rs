//! Bodies of Anthropic Messages: roles alternate, results are blocks of the user message directly
//! after their calls.

use serde_json::Value;

use super::{FlawKind, Report, text_of};

pub(super) fn check(body: &Value, report: &mut Report) {
    let Some(messages) = body["messages"].as_array() else {
        return report.tell(FlawKind::Shape, "/messages");
    };
    judge_system(&body["system"], report);
    if messages.first().is_none_or(|first| first["role"] != "user") {
        report.tell(FlawKind::BeginsWithoutUser, "/messages/0");
    }
    let mut all_calls = Vec::new();
    let mut open = Vec::new();
    let mut last_role = "";
    for (n, message) in messages.iter().enumerate() {
        let at = format!("/messages/{n}");
        let role = message["role"].as_str().unwrap_or_default();
        if role == last_role {
            report.tell(FlawKind::SameRoleTwice, &at);
        }
        last_role = role;
        let found = read(message, &at, report);
        report.pair(&std::mem::take(&mut open), &found.results);
        match role {
            "assistant" => {
                for (_, at) in &found.results {
                    report.tell(FlawKind::Shape, at);
                }
            }
            "user" => {
                for (_, at) in &found.calls {
                    report.tell(FlawKind::Shape, at);
                }
            }
            _ => report.tell(FlawKind::Shape, &at),
        }
        all_calls.extend(found.calls.iter().cloned());
        open = found.calls;
    }
    report.pair(&open, &[]);
    report.judge_ids(&all_calls);
}

fn judge_system(system: &Value, report: &mut Report) {
    match system {
        Value::Null => {}
        Value::String(_) => report.judge_text(system, "/system"),
        Value::Array(blocks) => {
            for (n, block) in blocks.iter().enumerate() {
                report.judge_text(&block["text"], &format!("/system/{n}"));
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            report.tell(FlawKind::Shape, "/system");
        }
    }
}

/// Calls and results of one message: id and place.
#[derive(Default)]
struct Found {
    calls: Vec<(String, String)>,
    results: Vec<(String, String)>,
}

fn read(message: &Value, at: &str, report: &mut Report) -> Found {
    let mut found = Found::default();
    let content = &message["content"];
    if content.is_string() {
        report.judge_text(content, at);
        return found;
    }
    let Some(blocks) = content.as_array() else {
        report.tell(FlawKind::Shape, at);
        return found;
    };
    if blocks.is_empty() {
        report.tell(FlawKind::EmptyMessage, at);
    }
    for (n, block) in blocks.iter().enumerate() {
        let at = format!("{at}/content/{n}");
        match block["type"].as_str() {
            Some("text") => report.judge_text(&block["text"], &at),
            Some("tool_use") => {
                if !block["input"].is_object() {
                    report.tell(FlawKind::ArgumentsNotJson, &at);
                }
                found.calls.push((text_of(block, "id"), at));
            }
            Some("tool_result") => {
                if found.results.len() < n {
                    report.tell(FlawKind::ResultNotFirst, &at);
                }
                judge_result(&block["content"], &at, report);
                found.results.push((text_of(block, "tool_use_id"), at));
            }
            Some("thinking" | "redacted_thinking" | "image" | "document") => {}
            // A tool of the provider's own, which answers within the same message.
            Some("server_tool_use" | "web_search_tool_result") => {}
            Some(_) | None => report.tell(FlawKind::Shape, &at),
        }
    }
    found
}

/// A result without content is lawful, a blank text block in it is not.
fn judge_result(content: &Value, at: &str, report: &mut Report) {
    for (n, block) in content.as_array().into_iter().flatten().enumerate() {
        if block["type"] == "text" {
            report.judge_text(&block["text"], &format!("{at}/content/{n}"));
        }
    }
}
