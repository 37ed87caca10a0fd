//! Bodies of OpenAI Responses: a list of items, in which results stand directly behind the items of
//! the reply that made the calls.

use serde_json::Value;

use super::{FlawKind, Report, text_of};

pub(super) fn check(body: &Value, report: &mut Report) {
    let Some(items) = body["input"].as_array() else {
        return report.tell(FlawKind::Shape, "/input");
    };
    if items.first().is_none_or(|first| first["role"] != "user") {
        report.tell(FlawKind::BeginsWithoutUser, "/input/0");
    }
    let mut all_calls = Vec::new();
    let mut open = Vec::new();
    let mut results = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let at = format!("/input/{n}");
        let kind = item["type"].as_str().unwrap_or_default();
        if kind == "function_call_output" {
            if !item["output"].is_string() {
                report.tell(FlawKind::Shape, &at);
            }
            results.push((text_of(item, "call_id"), at));
            continue;
        }
        // A reply may say and think between its calls; whoever else speaks ends it.
        if !results.is_empty() || item["role"] == "user" {
            report.pair(&std::mem::take(&mut open), &std::mem::take(&mut results));
        }
        match kind {
            "message" => judge_message(item, &at, report),
            "function_call" => {
                let arguments = text_of(item, "arguments");
                if !serde_json::from_str::<Value>(&arguments).is_ok_and(|value| value.is_object()) {
                    report.tell(FlawKind::ArgumentsNotJson, &at);
                }
                open.push((text_of(item, "call_id"), at.clone()));
                all_calls.push((text_of(item, "call_id"), at));
            }
            "reasoning" => {}
            _ => report.tell(FlawKind::Shape, &at),
        }
    }
    report.pair(&open, &results);
    report.judge_ids(&all_calls);
}

fn judge_message(item: &Value, at: &str, report: &mut Report) {
    if !matches!(item["role"].as_str(), Some("user" | "assistant")) {
        report.tell(FlawKind::Shape, at);
    }
    let Some(parts) = item["content"].as_array() else {
        return report.tell(FlawKind::Shape, at);
    };
    if parts.is_empty() {
        report.tell(FlawKind::EmptyMessage, at);
    }
    for (n, part) in parts.iter().enumerate() {
        if matches!(part["type"].as_str(), Some("input_text" | "output_text")) {
            report.judge_text(&part["text"], &format!("{at}/content/{n}"));
        }
    }
}
