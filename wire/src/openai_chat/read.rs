//! Request body of OpenAI Chat Completions -> view.

use machine_spec::effect::ToolChoice;
use machine_spec::message::Origin;

use crate::Degradation;
use crate::encode::OutputShape;
use crate::read::{
    Parts, Raw, ReadError, ReadRequest, Teller, object, outcome_of_text, take_temperature,
};

/// Members that are read here; every other one is a parameter.
const KNOWN: &[&str] =
    &["model", "messages", "stream", "tools", "tool_choice", "max_tokens", "max_completion_tokens"];

/// Members of an assistant message that hold its thinking.
const THINKING: &[&str] = &["reasoning_content", "reasoning", "reasoning_details"];

pub(crate) fn read(body: &Raw<'_>, mut teller: Teller) -> Result<ReadRequest, ReadError> {
    let mut parts = Parts::default();
    let mut begun = false;
    for message in body.demand_list("messages")? {
        match message.word("role").as_str() {
            "system" | "developer" if !begun => parts.add_system(&text(&message, &mut teller)),
            "system" | "developer" => {
                teller.leave_out(&message, "system in mid-conversation, read as a notification");
                let text = text(&message, &mut teller);
                teller.said(Origin::Notification, &text);
            }
            "user" => {
                begun = true;
                user(&message, &mut teller);
            }
            "assistant" => {
                begun = true;
                assistant(&message, &mut teller);
            }
            "tool" => {
                let text = text(&message, &mut teller);
                let id = message.word("tool_call_id");
                teller.result(&id, &message.word("name"), outcome_of_text(&text));
            }
            _ => return Err(message.unexpected("a message with a known role")),
        }
    }
    for tool in body.get("tools").map(|tools| tools.items()).unwrap_or_default() {
        read_tool(&tool, &mut parts, &mut teller);
    }
    if let Some(choice) = body.get("tool_choice") {
        read_choice(&choice, &mut parts, &mut teller);
    }
    read_limit(body, &mut parts);
    parts.take_extra(body, KNOWN);
    let format = body.get("response_format").and_then(|format| format.get("json_schema"));
    parts.options.output = format.and_then(|format| OutputShape::read(&format));
    if parts.options.output.is_some() {
        parts.options.extra.remove("response_format");
    }
    parts.options.temperature = take_temperature(&mut parts.options.extra);
    Ok(parts.finish(teller))
}

fn read_limit(body: &Raw<'_>, parts: &mut Parts) {
    let limit = |key| body.get(key).and_then(|limit| limit.value().as_u64());
    let renamed = limit("max_completion_tokens");
    if renamed.is_some() {
        parts.options.degraded.insert(Degradation::MaxTokensName);
    }
    parts.options.max_tokens = renamed.or_else(|| limit("max_tokens"));
}

/// The text of a content that is a text or a list of parts.
pub(crate) fn text(message: &Raw<'_>, teller: &mut Teller) -> String {
    let Some(content) = message.get("content") else { return String::new() };
    if let Some(text) = content.string() {
        return text;
    }
    let mut texts = Vec::new();
    for part in content.items() {
        match part.word("type").as_str() {
            "text" => texts.push(part.word("text")),
            what => teller.leave_out(&part, what),
        }
    }
    texts.join("\n\n")
}

fn user(message: &Raw<'_>, teller: &mut Teller) {
    let content = message.get("content");
    if let Some(text) = content.as_ref().and_then(Raw::string) {
        teller.said(Origin::User, &text);
    }
    for part in content.map(|content| content.items()).unwrap_or_default() {
        match part.word("type").as_str() {
            "text" => teller.said(Origin::User, &part.word("text")),
            "image_url" => {
                let image = part.get("image_url");
                let url = image.as_ref().map(|image| image.word("url")).unwrap_or_default();
                teller.shown_at(&part, &url, "image_url");
                detail(image.as_ref(), teller);
            }
            what => teller.leave_out(&part, what),
        }
    }
    for (key, member) in message.members() {
        let known = matches!(key.as_str(), "role" | "content" | "cache_control");
        if !known && !member.is_null() {
            teller.leave_out(&member, &key);
        }
    }
}

/// How closely an image is to be looked at has no words here, unless nobody cares.
pub(crate) fn detail(image: Option<&Raw<'_>>, teller: &mut Teller) {
    let detail = image.and_then(|image| image.get("detail"));
    if let Some(detail) = detail.filter(|detail| detail.text() != "\"auto\"") {
        teller.leave_out(&detail, "detail");
    }
}

fn assistant(message: &Raw<'_>, teller: &mut Teller) {
    let (mut thinking, mut others) = (Vec::new(), Vec::new());
    for (key, member) in message.members() {
        if matches!(key.as_str(), "role" | "content" | "tool_calls") || member.is_null() {
            continue;
        }
        let of_thinking = THINKING.contains(&key.as_str());
        if of_thinking { thinking.push((key, member)) } else { others.push((key, member)) }
    }
    if !thinking.is_empty() {
        let text = thinking.iter().find_map(|(_, member)| member.string());
        teller.thinking(text.unwrap_or_default(), &object(&thinking));
    }
    if !others.is_empty() {
        teller.opaque(&object(&others));
    }
    content_of_reply(message, teller);
    for call in message.get("tool_calls").map(|calls| calls.items()).unwrap_or_default() {
        read_call(&call, teller);
    }
    teller.end_reply();
}

fn content_of_reply(message: &Raw<'_>, teller: &mut Teller) {
    let Some(content) = message.get("content") else { return };
    if let Some(text) = content.string() {
        teller.text(&text);
    }
    for part in content.items() {
        match part.word("type").as_str() {
            "text" => teller.text(&part.word("text")),
            "thinking" => teller.thinking(String::new(), part.text()),
            _ => teller.opaque(part.text()),
        }
    }
}

/// A call; Ollama's has the same members.
pub(crate) fn read_call(call: &Raw<'_>, teller: &mut Teller) {
    let private: Vec<_> = call
        .members()
        .into_iter()
        .filter(|(key, _)| !matches!(key.as_str(), "id" | "type" | "function" | "index"))
        .collect();
    teller.adorns_next(&private);
    let (name, args) = call.get("function").map_or_else(Default::default, |function| {
        let args = function.get("arguments");
        let text = args.as_ref().and_then(Raw::string);
        let args = text.or_else(|| args.map(|args| args.text().to_owned()));
        (function.word("name"), args.unwrap_or_default())
    });
    teller.call(&call.word("id"), &name, &args);
}

/// A tool; Ollama's has the same members.
pub(crate) fn read_tool(tool: &Raw<'_>, parts: &mut Parts, teller: &mut Teller) {
    let function = tool.get("function").filter(|_| tool.word("type") == "function");
    let Some((function, name)) = function.and_then(|f| Some((f.clone(), f.get("name")?))) else {
        parts.options.server_tools.push(tool.value());
        return;
    };
    let schema = function.get("parameters");
    let schema = schema.map_or("", |schema| schema.text());
    parts.add_tool(&name, function.get("description"), schema);
    if let Some(strict) = function.get("strict").filter(|strict| strict.text() == "true") {
        teller.leave_out(&strict, "strict");
    }
}

fn read_choice(choice: &Raw<'_>, parts: &mut Parts, teller: &mut Teller) {
    let named = choice.get("function").map(|function| function.word("name"));
    match (choice.string().as_deref(), named) {
        (Some("auto"), _) => {}
        // "any" is how Mistral says it.
        (Some("required" | "any"), _) => parts.choice = ToolChoice::Any,
        (Some("none"), _) => parts.choice = ToolChoice::None,
        (_, Some(tool)) => parts.choice = ToolChoice::Force { tool },
        (word, None) => teller.leave_out(choice, word.unwrap_or("tool_choice")),
    }
}
