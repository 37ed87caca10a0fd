//! Request body of Ollama's own chat API -> view.

use machine_spec::message::Origin;
use serde_json::Value;

use crate::encode::OutputShape;
use crate::images;
use crate::openai_chat::read::{read_call, read_tool};
use crate::read::{
    Parts, Raw, ReadError, ReadRequest, Teller, object, outcome_of_text, take_temperature,
};

/// Members that are read here; every other one is a parameter.
const KNOWN: &[&str] = &["model", "messages", "stream", "tools", "options"];

pub(crate) fn read(body: &Raw<'_>, mut teller: Teller) -> Result<ReadRequest, ReadError> {
    let mut parts = Parts::default();
    let mut begun = false;
    for message in body.demand_list("messages")? {
        let text = message.word("content");
        match message.word("role").as_str() {
            "system" if !begun => {
                parts.add_system(&text);
                continue;
            }
            "system" => {
                teller.leave_out(&message, "system in mid-conversation, read as a notification");
                teller.said(Origin::Notification, &text);
            }
            "user" => {
                teller.said(Origin::User, &text);
                for image in message.get("images").map(|list| list.items()).unwrap_or_default() {
                    let data = image.string().unwrap_or_default();
                    let media = images::media_of(&data);
                    teller.shown_inline(&image, media, &data, "images");
                }
            }
            "assistant" => assistant(&message, &text, &mut teller),
            "tool" => {
                let (id, name) = (message.word("tool_call_id"), message.word("tool_name"));
                teller.result(&id, &name, outcome_of_text(&text));
            }
            _ => return Err(message.unexpected("a message with a known role")),
        }
        begun = true;
    }
    for tool in body.get("tools").map(|tools| tools.items()).unwrap_or_default() {
        read_tool(&tool, &mut parts, &mut teller);
    }
    parts.take_extra(body, KNOWN);
    parts.options.output = body.get("format").and_then(|format| OutputShape::of_schema(&format));
    if parts.options.output.is_some() {
        parts.options.extra.remove("format");
    }
    read_options(body, &mut parts);
    Ok(parts.finish(teller))
}

fn assistant(message: &Raw<'_>, text: &str, teller: &mut Teller) {
    if let Some(thinking) = message.get("thinking") {
        let seal = object(&[("thinking".to_owned(), thinking.clone())]);
        teller.thinking(thinking.string().unwrap_or_default(), &seal);
    }
    teller.text(text);
    for call in message.get("tool_calls").map(|calls| calls.items()).unwrap_or_default() {
        read_call(&call, teller);
    }
    teller.end_reply();
}

fn read_options(body: &Raw<'_>, parts: &mut Parts) {
    let Some(Value::Object(mut options)) = body.get("options").map(|options| options.value())
    else {
        return;
    };
    if let Some(limit) = options.get("num_predict").and_then(Value::as_u64) {
        options.remove("num_predict");
        parts.options.max_tokens = Some(limit);
    }
    parts.options.temperature = take_temperature(&mut options);
    options.retain(|_, member| !member.is_null());
    if !options.is_empty() {
        parts.options.extra.insert("options".to_owned(), Value::Object(options));
    }
}
