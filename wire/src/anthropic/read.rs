//! Request body of Anthropic Messages -> view.

use machine_spec::effect::ToolChoice;
use machine_spec::message::Origin;

use crate::encode::OutputShape;
use crate::read::{
    Parts, Raw, ReadError, ReadRequest, Teller, outcome, take_member, take_temperature,
};

/// Members that are read here; every other one is a parameter.
const KNOWN: &[&str] =
    &["model", "max_tokens", "stream", "system", "tools", "tool_choice", "messages"];

pub(crate) fn read(body: &Raw<'_>, mut teller: Teller) -> Result<ReadRequest, ReadError> {
    let mut parts = Parts::default();
    for message in body.demand_list("messages")? {
        match message.word("role").as_str() {
            "user" => user(&message, &mut teller)?,
            "assistant" => assistant(&message, &mut teller)?,
            _ => return Err(message.unexpected("a message of the user or the assistant")),
        }
    }
    if let Some(system) = body.get("system") {
        for block in blocks(&system)? {
            parts.add_system(&block.text());
        }
    }
    for tool in body.get("tools").map(|tools| tools.items()).unwrap_or_default() {
        read_tool(&tool, &mut parts, &mut teller);
    }
    if let Some(choice) = body.get("tool_choice") {
        read_choice(&choice, &mut parts, &mut teller);
    }
    parts.options.max_tokens = body.get("max_tokens").and_then(|limit| limit.value().as_u64());
    parts.take_extra(body, KNOWN);
    let format = body.get("output_config").and_then(|config| config.get("format"));
    let schema = format.filter(|format| format.word("type") == "json_schema");
    parts.options.output = schema.and_then(|format| OutputShape::of_schema(&format.get("schema")?));
    if parts.options.output.is_some() {
        take_member(&mut parts.options.extra, "output_config", "format");
    }
    parts.options.temperature = take_temperature(&mut parts.options.extra);
    Ok(parts.finish(teller))
}

/// A content that is a text or a list of blocks.
enum Content<'a> {
    Text(String),
    Block(Raw<'a>),
}

impl Content<'_> {
    fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Block(block) => block.word("text"),
        }
    }
}

fn blocks<'a>(content: &Raw<'a>) -> Result<Vec<Content<'a>>, ReadError> {
    if let Some(text) = content.string() {
        return Ok(vec![Content::Text(text)]);
    }
    if !content.is_list() {
        return Err(content.unexpected("a text or a list of blocks"));
    }
    Ok(content.items().into_iter().map(Content::Block).collect())
}

fn content<'a>(message: &Raw<'a>) -> Result<Vec<Content<'a>>, ReadError> {
    let content = message.get("content");
    content.map_or(Err(message.unexpected("a message with content")), |content| blocks(&content))
}

fn user(message: &Raw<'_>, teller: &mut Teller) -> Result<(), ReadError> {
    for part in content(message)? {
        let block = match part {
            Content::Text(text) => {
                teller.said(Origin::User, &text);
                continue;
            }
            Content::Block(block) => block,
        };
        match block.word("type").as_str() {
            "text" => teller.said(Origin::User, &block.word("text")),
            "tool_result" => {
                let text = result_text(&block, teller)?;
                let is_error = block.get("is_error").is_some_and(|flag| flag.text() == "true");
                teller.result(&block.word("tool_use_id"), "", outcome(&text, is_error));
            }
            "image" => image(&block, teller, false),
            what => teller.leave_out(&block, what),
        }
        if block.get("cache_control").is_some() {
            teller.marked();
        }
    }
    Ok(())
}

/// An image of the user, or one that stands in the next result.
fn image(block: &Raw<'_>, teller: &mut Teller, in_result: bool) {
    let Some(source) = block.get("source") else { return teller.leave_out(block, "image") };
    let (media, data) = (source.word("media_type"), source.word("data"));
    match (source.word("type").as_str(), in_result) {
        ("base64", false) => teller.shown_inline(block, &media, &data, "image"),
        ("base64", true) => teller.beside_inline(block, &media, &data, "image"),
        ("url", false) => teller.shown_at(block, &source.word("url"), "image"),
        ("url", true) => teller.beside_at(block, &source.word("url"), "image"),
        (_, _) => teller.leave_out(block, "image"),
    }
}

fn result_text(block: &Raw<'_>, teller: &mut Teller) -> Result<String, ReadError> {
    let Some(content) = block.get("content") else { return Ok(String::new()) };
    let mut texts = Vec::new();
    for part in blocks(&content)? {
        match &part {
            Content::Block(block) if block.word("type") == "image" => image(block, teller, true),
            Content::Block(block) if block.word("type") != "text" => {
                teller.leave_out(block, &block.word("type"));
            }
            Content::Text(_) | Content::Block(_) => texts.push(part.text()),
        }
    }
    Ok(texts.join("\n"))
}

fn assistant(message: &Raw<'_>, teller: &mut Teller) -> Result<(), ReadError> {
    for part in content(message)? {
        let block = match part {
            Content::Text(text) => {
                teller.text(&text);
                continue;
            }
            Content::Block(block) => block,
        };
        match block.word("type").as_str() {
            "text" => teller.text(&block.word("text")),
            "thinking" | "redacted_thinking" => {
                teller.thinking(block.word("thinking"), block.text());
            }
            "tool_use" => {
                let input = block.get("input");
                let input = input.map_or("{}", |input| input.text());
                teller.call(&block.word("id"), &block.word("name"), input);
            }
            _ => teller.opaque(block.text()),
        }
    }
    teller.end_reply();
    Ok(())
}

fn read_tool(tool: &Raw<'_>, parts: &mut Parts, teller: &mut Teller) {
    let own = matches!(tool.word("type").as_str(), "" | "custom");
    let (Some(name), Some(schema), true) = (tool.get("name"), tool.get("input_schema"), own) else {
        parts.options.server_tools.push(tool.value());
        return;
    };
    parts.add_tool(&name, tool.get("description"), schema.text());
    let known = ["type", "name", "description", "input_schema", "cache_control"];
    for (key, member) in tool.members() {
        if !known.contains(&key.as_str()) && !member.is_null() {
            teller.leave_out(&member, &key);
        }
    }
}

fn read_choice(choice: &Raw<'_>, parts: &mut Parts, teller: &mut Teller) {
    match choice.word("type").as_str() {
        "auto" => {}
        "any" => parts.choice = ToolChoice::Any,
        "none" => parts.choice = ToolChoice::None,
        "tool" => parts.choice = ToolChoice::Force { tool: choice.word("name") },
        what => teller.leave_out(choice, what),
    }
    if choice.get("disable_parallel_tool_use").is_some_and(|flag| flag.text() == "true") {
        teller.leave_out(choice, "disable_parallel_tool_use");
    }
}
