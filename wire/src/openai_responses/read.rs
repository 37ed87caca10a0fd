//! Request body of OpenAI Responses -> view.

use machine_spec::effect::ToolChoice;
use machine_spec::message::Origin;

use crate::encode::OutputShape;
use crate::openai_chat::read::detail;
use crate::read::{
    Parts, Raw, ReadError, ReadRequest, Teller, outcome_of_text, take_member, take_temperature,
};

/// Members that are read here; every other one is a parameter.
const KNOWN: &[&str] = &[
    "model",
    "input",
    "stream",
    "instructions",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "previous_response_id",
];

pub(crate) fn read(body: &Raw<'_>, mut teller: Teller) -> Result<ReadRequest, ReadError> {
    let mut parts = Parts::default();
    parts.add_system(&body.word("instructions"));
    match body.get("input") {
        Some(input) if input.is_list() => {
            let mut begun = false;
            for item in input.items() {
                begun |= read_item(&item, begun, &mut parts, &mut teller);
            }
        }
        Some(input) => {
            let text = input.string().ok_or_else(|| input.unexpected("a text or a list"))?;
            teller.said(Origin::User, &text);
        }
        None => return Err(body.unexpected("a request with `input`")),
    }
    for tool in body.get("tools").map(|tools| tools.items()).unwrap_or_default() {
        read_tool(&tool, &mut parts, &mut teller);
    }
    if let Some(choice) = body.get("tool_choice") {
        read_choice(&choice, &mut parts, &mut teller);
    }
    if let Some(stored) = body.get("previous_response_id") {
        teller.leave_out(&stored, "previous_response_id");
    }
    let limit = body.get("max_output_tokens");
    parts.options.max_tokens = limit.and_then(|limit| limit.value().as_u64());
    parts.take_extra(body, KNOWN);
    let format = body.get("text").and_then(|text| text.get("format"));
    let schema = format.filter(|format| format.word("type") == "json_schema");
    parts.options.output = schema.and_then(|format| OutputShape::read(&format));
    if parts.options.output.is_some() {
        take_member(&mut parts.options.extra, "text", "format");
    }
    parts.options.temperature = take_temperature(&mut parts.options.extra);
    Ok(parts.finish(teller))
}

/// Reads an item; says whether the conversation has begun with it.
fn read_item(item: &Raw<'_>, begun: bool, parts: &mut Parts, teller: &mut Teller) -> bool {
    let kind = item.word("type");
    match (kind.as_str(), item.word("role").as_str()) {
        ("message" | "", "system" | "developer") if !begun => {
            parts.add_system(&text(item, teller));
            return false;
        }
        ("message" | "", "system" | "developer") => {
            teller.leave_out(item, "system in mid-conversation, read as a notification");
            let text = text(item, teller);
            teller.said(Origin::Notification, &text);
        }
        ("message" | "", "user") => user(item, teller),
        ("message" | "", "assistant") => {
            let private = private_members(item, &["type", "role", "content"]);
            teller.adorns_next(&private);
            let text = text(item, teller);
            teller.text(&text);
        }
        ("function_call", _) => {
            let known = ["type", "call_id", "name", "arguments"];
            teller.adorns_next(&private_members(item, &known));
            teller.call(&item.word("call_id"), &item.word("name"), &item.word("arguments"));
        }
        ("function_call_output", _) => {
            let text = output(item, teller);
            teller.result(&item.word("call_id"), "", outcome_of_text(&text));
        }
        ("reasoning", _) => {
            let summary = item.get("summary").map(|summary| summary.items()).unwrap_or_default();
            let summary: Vec<String> = summary.iter().map(|part| part.word("text")).collect();
            teller.thinking(summary.join("\n\n"), item.text());
        }
        // Answers of the client to tools of the provider.
        (kind, _) if kind.ends_with("_output") || kind == "mcp_approval_response" => {
            teller.leave_out(item, kind);
        }
        (_, _) => teller.opaque(item.text()),
    }
    true
}

fn user(item: &Raw<'_>, teller: &mut Teller) {
    let Some(content) = item.get("content") else { return };
    if let Some(text) = content.string() {
        teller.said(Origin::User, &text);
    }
    for part in content.items() {
        match (part.word("type").as_str(), part.word("image_url")) {
            ("input_text" | "output_text" | "text", _) => {
                teller.said(Origin::User, &part.word("text"));
            }
            ("input_image", url) if !url.is_empty() => {
                teller.shown_at(&part, &url, "input_image");
                detail(Some(&part), teller);
            }
            (what, _) => teller.leave_out(&part, what),
        }
    }
}

fn private_members<'a>(item: &Raw<'a>, known: &[&str]) -> Vec<(String, Raw<'a>)> {
    let members = item.members().into_iter();
    members.filter(|(key, value)| !known.contains(&key.as_str()) && !value.is_null()).collect()
}

fn text(item: &Raw<'_>, teller: &mut Teller) -> String {
    texts(item, teller).join("\n\n")
}

fn texts(item: &Raw<'_>, teller: &mut Teller) -> Vec<String> {
    let content = item.get("content");
    content.map(|content| part_texts(&content, teller)).unwrap_or_default()
}

/// What a tool said; its images wait for the result.
fn output(item: &Raw<'_>, teller: &mut Teller) -> String {
    let Some(output) = item.get("output") else { return String::new() };
    let (shown, told): (Vec<_>, Vec<_>) =
        output.items().into_iter().partition(|part| part.word("type") == "input_image");
    for part in shown {
        teller.beside_at(&part, &part.word("image_url"), "input_image");
    }
    match output.string() {
        Some(text) => text,
        None => texts_of(&told, teller).join("\n"),
    }
}

fn part_texts(content: &Raw<'_>, teller: &mut Teller) -> Vec<String> {
    if let Some(text) = content.string() {
        return vec![text];
    }
    texts_of(&content.items(), teller)
}

fn texts_of(parts: &[Raw<'_>], teller: &mut Teller) -> Vec<String> {
    let mut texts = Vec::new();
    for part in parts {
        match part.word("type").as_str() {
            "input_text" | "output_text" | "text" => texts.push(part.word("text")),
            what => teller.leave_out(part, what),
        }
    }
    texts
}

fn read_tool(tool: &Raw<'_>, parts: &mut Parts, teller: &mut Teller) {
    let name = tool.get("name").filter(|_| tool.word("type") == "function");
    let Some(name) = name else {
        parts.options.server_tools.push(tool.value());
        return;
    };
    let schema = tool.get("parameters");
    let schema = schema.map_or("", |schema| schema.text());
    parts.add_tool(&name, tool.get("description"), schema);
    for key in ["strict", "defer_loading"] {
        if let Some(flag) = tool.get(key).filter(|flag| flag.text() == "true") {
            teller.leave_out(&flag, key);
        }
    }
}

fn read_choice(choice: &Raw<'_>, parts: &mut Parts, teller: &mut Teller) {
    match (choice.string().as_deref(), choice.word("type").as_str()) {
        (Some("auto"), _) => {}
        (Some("required"), _) => parts.choice = ToolChoice::Any,
        (Some("none"), _) => parts.choice = ToolChoice::None,
        (_, "function") => parts.choice = ToolChoice::Force { tool: choice.word("name") },
        (word, _) => teller.leave_out(choice, word.unwrap_or("tool_choice")),
    }
}
