//! Request body of Gemini `generateContent` -> view. Both spellings of its names are read.

use machine_spec::effect::ToolChoice;
use machine_spec::message::{Image, ImagePlace, Origin, Outcome};
use serde_json::{Map, Value};

use crate::encode::{OutputShape, value};
use crate::read::{Parts, Raw, ReadError, ReadRequest, Teller, outcome, take_temperature};

/// Members that are read here; every other one is a parameter.
const KNOWN: &[&str] = &[
    "model",
    "contents",
    "systemInstruction",
    "system_instruction",
    "tools",
    "toolConfig",
    "tool_config",
    "generationConfig",
    "generation_config",
];

/// Parameters that ask for the shape of the answer.
const SHAPE: &[&str] =
    &["responseJsonSchema", "response_json_schema", "responseMimeType", "response_mime_type"];

pub(crate) fn read(body: &Raw<'_>, mut teller: Teller) -> Result<ReadRequest, ReadError> {
    let mut parts = Parts::default();
    for content in body.demand_list("contents")? {
        let items = content.get("parts").map(|parts| parts.items()).unwrap_or_default();
        match content.word("role").as_str() {
            "user" | "function" | "" => {
                for part in items {
                    of_user(&part, &mut teller);
                }
            }
            "model" => {
                for part in items {
                    of_model(&part, &mut teller);
                }
                teller.end_reply();
            }
            _ => return Err(content.unexpected("a content of the user or the model")),
        }
    }
    if let Some(system) = body.get_either("systemInstruction", "system_instruction") {
        for part in system.get("parts").map(|parts| parts.items()).unwrap_or_default() {
            parts.add_system(&part.word("text"));
        }
    }
    for tool in body.get("tools").map(|tools| tools.items()).unwrap_or_default() {
        read_tool(&tool, &mut parts);
    }
    if let Some(config) = body.get_either("toolConfig", "tool_config") {
        read_choice(&config, &mut parts, &mut teller);
    }
    parts.take_extra(body, KNOWN);
    read_generation(body, &mut parts);
    Ok(parts.finish(teller))
}

fn read_generation(body: &Raw<'_>, parts: &mut Parts) {
    let Some(config) = body.get_either("generationConfig", "generation_config") else { return };
    let schema = config.get_either("responseJsonSchema", "response_json_schema");
    parts.options.output = schema.and_then(|schema| OutputShape::of_schema(&schema));
    let Value::Object(mut config) = config.value() else { return };
    if parts.options.output.is_some() {
        config.retain(|key, _| !SHAPE.contains(&key.as_str()));
    }
    for key in ["maxOutputTokens", "max_output_tokens"] {
        if let Some(limit) = config.get(key).and_then(Value::as_u64) {
            config.remove(key);
            parts.options.max_tokens = Some(limit);
        }
    }
    parts.options.temperature = take_temperature(&mut config);
    config.retain(|_, member| !member.is_null());
    if !config.is_empty() {
        parts.options.extra.insert("generationConfig".to_owned(), Value::Object(config));
    }
}

fn of_user(part: &Raw<'_>, teller: &mut Teller) {
    if let Some(response) = part.get_either("functionResponse", "function_response") {
        let told = response.get("response").map(|told| told_by(&told));
        let told = told.unwrap_or_else(|| outcome("", false));
        teller.result(&response.word("id"), &response.word("name"), told);
    } else if part.get("text").is_some() {
        teller.said(Origin::User, &part.word("text"));
    } else if let Some(data) = part.get_either("inlineData", "inline_data") {
        let media = data.get_either("mimeType", "mime_type").and_then(|media| media.string());
        let media = media.unwrap_or_default();
        teller.shown_inline(part, &media, &data.word("data"), "inlineData");
    } else if let Some((media, url)) = linked_image(part) {
        let place = ImagePlace::Linked(url);
        teller.shown(Image { media, place });
    } else {
        let what = part.members().into_iter().next().map(|(key, _)| key);
        teller.leave_out(part, &what.unwrap_or_default());
    }
}

/// An image behind an address; other files have other media types.
fn linked_image(part: &Raw<'_>) -> Option<(String, String)> {
    let file = part.get_either("fileData", "file_data")?;
    let url = file.get_either("fileUri", "file_uri")?.string()?;
    let media = file.get_either("mimeType", "mime_type")?.string()?;
    media.starts_with("image/").then_some((media, url))
}

/// The response of a function is an object of any shape; two of its keys have a meaning.
fn told_by(response: &Raw<'_>) -> Outcome {
    let members = response.members();
    match members.as_slice() {
        [(key, told)] if matches!(key.as_str(), "error" | "output" | "result") => {
            let text = told.string().unwrap_or_else(|| told.text().to_owned());
            outcome(&text, key == "error")
        }
        _ => outcome(response.text(), false),
    }
}

fn of_model(part: &Raw<'_>, teller: &mut Teller) {
    let call = part.get_either("functionCall", "function_call");
    let thought = part.get("thought").is_some_and(|flag| flag.text() == "true");
    let text = part.get("text").and_then(|text| text.string());
    let known = |key: &str| matches!(key, "text" | "functionCall" | "function_call" | "thought");
    let private: Vec<_> =
        part.members().into_iter().filter(|(key, v)| !known(key) && !v.is_null()).collect();
    match (call, text) {
        (Some(call), _) => {
            teller.adorns_next(&private);
            let args = call.get("args");
            let args = args.map_or("{}", |args| args.text());
            teller.call(&call.word("id"), &call.word("name"), args);
        }
        (None, Some(text)) if thought => teller.thinking(text, part.text()),
        (None, Some(text)) if !text.trim().is_empty() => {
            teller.adorns_next(&private);
            teller.text(&text);
        }
        (None, Some(_)) if private.is_empty() => {}
        (None, _) => teller.opaque(part.text()),
    }
}

fn read_tool(tool: &Raw<'_>, parts: &mut Parts) {
    for (key, member) in tool.members() {
        if !matches!(key.as_str(), "functionDeclarations" | "function_declarations") {
            let mut server_tool = Map::new();
            server_tool.insert(key, member.value());
            parts.options.server_tools.push(Value::Object(server_tool));
            continue;
        }
        for declaration in member.items() {
            let Some(name) = declaration.get("name") else { continue };
            let json_schema =
                declaration.get_either("parametersJsonSchema", "parameters_json_schema");
            let schema = match (json_schema, declaration.get("parameters")) {
                (Some(schema), _) => schema.text().to_owned(),
                (None, Some(parameters)) => as_json_schema(parameters.value()),
                (None, None) => String::new(),
            };
            parts.add_tool(&name, declaration.get("description"), &schema);
        }
    }
}

/// `parameters` has the shape of a JSON Schema, but its types are shouted.
fn as_json_schema(mut parameters: Value) -> String {
    fn calm(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                if let Some(Value::String(kind)) = members.get_mut("type") {
                    *kind = kind.to_lowercase();
                }
                members.values_mut().for_each(calm);
            }
            Value::Array(items) => items.iter_mut().for_each(calm),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    calm(&mut parameters);
    let mut json = Vec::new();
    value(&mut json, &parameters);
    String::from_utf8(json).unwrap_or_default()
}

fn read_choice(config: &Raw<'_>, parts: &mut Parts, teller: &mut Teller) {
    let calling = config.get_either("functionCallingConfig", "function_calling_config");
    for (key, member) in config.members() {
        if !matches!(key.as_str(), "functionCallingConfig" | "function_calling_config") {
            teller.leave_out(&member, &key);
        }
    }
    let Some(calling) = calling else { return };
    let names = calling.get_either("allowedFunctionNames", "allowed_function_names");
    let names = names.map(|names| names.items()).unwrap_or_default();
    match (calling.word("mode").as_str(), names.as_slice()) {
        ("AUTO" | "auto" | "", []) => {}
        ("NONE" | "none", _) => parts.choice = ToolChoice::None,
        ("ANY" | "any", []) => parts.choice = ToolChoice::Any,
        ("ANY" | "any", [one]) => {
            parts.choice = ToolChoice::Force { tool: one.string().unwrap_or_default() };
        }
        (mode, _) => teller.leave_out(&calling, mode),
    }
}
