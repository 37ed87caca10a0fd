//! Bodies of Gemini: roles alternate, results are parts of the user's content directly after their
//! calls. Ids are rare here; without them calls and results are paired by their order.

use serde_json::Value;

use super::{FlawKind, Report};

pub(super) fn check(body: &Value, report: &mut Report) {
    let Some(contents) = body["contents"].as_array() else {
        return report.tell(FlawKind::Shape, "/contents");
    };
    if contents.first().is_none_or(|first| first["role"] != "user") {
        report.tell(FlawKind::BeginsWithoutUser, "/contents/0");
    }
    let mut given = Vec::new();
    let mut open = Vec::new();
    let mut last_role = "";
    for (n, content) in contents.iter().enumerate() {
        let at = format!("/contents/{n}");
        let role = content["role"].as_str().unwrap_or_default();
        if role == last_role {
            report.tell(FlawKind::SameRoleTwice, &at);
        }
        last_role = role;
        let found = read(content, &at, report);
        report.pair(&std::mem::take(&mut open), &found.results);
        let misplaced = match role {
            "model" => &found.results,
            "user" => &found.calls,
            _ => {
                report.tell(FlawKind::Shape, &at);
                continue;
            }
        };
        for (_, at) in misplaced {
            report.tell(FlawKind::Shape, at);
        }
        given.extend(found.calls.iter().filter(|(id, _)| !id.starts_with('#')).cloned());
        open = found.calls;
    }
    report.pair(&open, &[]);
    report.judge_ids(&given);
}

/// Calls and results of one content: id and place.
#[derive(Default)]
struct Found {
    calls: Vec<(String, String)>,
    results: Vec<(String, String)>,
}

fn read(content: &Value, at: &str, report: &mut Report) -> Found {
    let mut found = Found::default();
    let Some(parts) = content["parts"].as_array() else {
        report.tell(FlawKind::Shape, at);
        return found;
    };
    if parts.is_empty() {
        report.tell(FlawKind::EmptyMessage, at);
    }
    for (n, part) in parts.iter().enumerate() {
        let at = format!("{at}/parts/{n}");
        if let Some(call) = part.get("functionCall") {
            if !call["args"].is_object() {
                report.tell(FlawKind::ArgumentsNotJson, &at);
            }
            found.calls.push((id_of(call, found.calls.len()), at));
        } else if let Some(response) = part.get("functionResponse") {
            if found.results.len() < n {
                report.tell(FlawKind::ResultNotFirst, &at);
            }
            if !response["response"].is_object() {
                report.tell(FlawKind::Shape, &at);
            }
            found.results.push((id_of(response, found.results.len()), at));
        } else if let Some(text) = part.get("text") {
            report.judge_text(text, &at);
        }
    }
    found
}

/// The id, or the place among its like.
fn id_of(part: &Value, nth: usize) -> String {
    part["id"].as_str().map_or_else(|| format!("#{nth}"), str::to_owned)
}
