//! Walks over request bodies, written from the providers' documentation and not from the encoders:
//! what does a provider hear?

use machine_spec::Transcript;
use machine_spec::view::{Seen, View};
use machine_spec::wording;
use serde_json::Value;
use wire::Dialect;

/// What a provider hears, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    User(String),
    Model(String),
    Call {
        id: String,
        name: String,
        args: Value,
    },
    Result {
        id: String,
        name: String,
        text: String,
    },
    /// The message ends here.
    End,
}

/// What a provider hears in a body.
pub(crate) fn spoken(dialect: Dialect, body: &Value) -> Vec<Spoken> {
    match dialect {
        Dialect::Anthropic => anthropic(body),
        Dialect::OpenAiChat | Dialect::Ollama => chat(body),
        Dialect::OpenAiResponses => responses(body),
        Dialect::Gemini => gemini(body),
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn anthropic(body: &Value) -> Vec<Spoken> {
    let mut heard = Vec::new();
    for message in list(body, "messages") {
        let whole = [serde_json::json!({"type": "text", "text": message["content"]})];
        let plain = message["content"].is_string();
        for block in if plain { &whole } else { list(message, "content") } {
            match block["type"].as_str() {
                Some("text") if message["role"] == "user" => {
                    heard.push(Spoken::User(string(&block["text"])));
                }
                Some("text") => heard.push(Spoken::Model(string(&block["text"]))),
                Some("tool_use") => heard.push(Spoken::Call {
                    id: string(&block["id"]),
                    name: string(&block["name"]),
                    args: block["input"].clone(),
                }),
                Some("tool_result") => heard.push(Spoken::Result {
                    id: string(&block["tool_use_id"]),
                    name: String::new(),
                    text: parts_text(&block["content"]),
                }),
                Some(_) | None => {}
            }
        }
        heard.push(Spoken::End);
    }
    heard
}

/// The text of a content that is a string or a list of parts.
fn parts_text(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.iter().map(|part| string(&part["text"])).collect(),
        other => string(other),
    }
}

fn chat(body: &Value) -> Vec<Spoken> {
    let mut heard = Vec::new();
    for message in list(body, "messages") {
        let text = parts_text(&message["content"]);
        match message["role"].as_str() {
            // The system prompt is no part of the talk, unless it comes in the middle of it.
            Some("system" | "developer") if heard.is_empty() => continue,
            Some("user" | "system" | "developer") => heard.push(Spoken::User(text)),
            Some("assistant") => {
                if !text.is_empty() {
                    heard.push(Spoken::Model(text));
                }
                for call in list(message, "tool_calls") {
                    let args = &call["function"]["arguments"];
                    let text = args.as_str().map(arguments);
                    heard.push(Spoken::Call {
                        id: string(&call["id"]),
                        name: string(&call["function"]["name"]),
                        args: text.unwrap_or_else(|| args.clone()),
                    });
                }
            }
            Some("tool") => {
                heard.push(Spoken::Result {
                    id: string(&message["tool_call_id"]),
                    name: string(&message["tool_name"]),
                    text,
                });
                // Results are messages of their own; together they are one answer.
                continue;
            }
            Some(_) | None => panic!("no such role: {message}"),
        }
        heard.push(Spoken::End);
    }
    heard
}

/// Arguments that came as text; what is no object counts as none.
fn arguments(text: &str) -> Value {
    let args: Option<Value> = serde_json::from_str(text).ok();
    args.filter(Value::is_object).unwrap_or_else(|| serde_json::json!({}))
}

fn responses(body: &Value) -> Vec<Spoken> {
    let mut heard = Vec::new();
    if body["input"].is_string() {
        heard.push(Spoken::User(string(&body["input"])));
    }
    for item in list(body, "input") {
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("function_call"), _) => heard.push(Spoken::Call {
                id: string(&item["call_id"]),
                name: string(&item["name"]),
                args: arguments(&string(&item["arguments"])),
            }),
            (Some("function_call_output"), _) => heard.push(Spoken::Result {
                id: string(&item["call_id"]),
                name: String::new(),
                text: parts_text(&item["output"]),
            }),
            (_, Some("system" | "developer")) if heard.is_empty() => {}
            (_, Some(role)) => {
                let text = parts_text(&item["content"]);
                let model = role == "assistant";
                heard.push(if model { Spoken::Model(text) } else { Spoken::User(text) });
            }
            (Some(_) | None, None) => {}
        }
    }
    heard
}

fn gemini(body: &Value) -> Vec<Spoken> {
    let mut heard = Vec::new();
    for content in list(body, "contents") {
        for part in list(content, "parts") {
            let either = |one, other| part.get(one).or_else(|| part.get(other));
            if let Some(call) = either("functionCall", "function_call") {
                heard.push(Spoken::Call {
                    id: string(&call["id"]),
                    name: string(&call["name"]),
                    args: call["args"].clone(),
                });
            } else if let Some(result) = either("functionResponse", "function_response") {
                let response = &result["response"];
                let text = ["output", "result", "error"].iter().find_map(|key| response.get(key));
                let text = text.filter(|_| response.as_object().is_some_and(|o| o.len() == 1));
                let text = text.and_then(Value::as_str).map(ToOwned::to_owned);
                heard.push(Spoken::Result {
                    id: string(&result["id"]),
                    name: string(&result["name"]),
                    text: text.unwrap_or_else(|| response.to_string()),
                });
            } else if part["thought"] != true && part.get("text").is_some() {
                let text = string(&part["text"]);
                let model = content["role"] == "model";
                heard.push(if model { Spoken::Model(text) } else { Spoken::User(text) });
            }
        }
        heard.push(Spoken::End);
    }
    heard
}

/// The first call or result that breaks the pairing rule: every call is answered once, directly
/// after the message that holds it, before anything else, in call order.
pub(crate) fn unpaired(spoken: &[Spoken]) -> Option<Spoken> {
    let mut owed: Vec<(&str, &str)> = Vec::new();
    let mut seen = Vec::new();
    for said in spoken {
        match said {
            Spoken::Call { id, name, .. } => {
                if !id.is_empty() && seen.contains(&id) {
                    return Some(said.clone());
                }
                seen.push(id);
                owed.push((id, name));
            }
            Spoken::Result { id, name, .. } => {
                if owed.is_empty() {
                    return Some(said.clone());
                }
                let (call, called) = owed.remove(0);
                if call != id || (!name.is_empty() && called != name) {
                    return Some(said.clone());
                }
            }
            Spoken::User(_) if !owed.is_empty() => return Some(said.clone()),
            Spoken::User(_) | Spoken::Model(_) | Spoken::End => {}
        }
    }
    owed.first().map(|(id, _)| Spoken::Model(format!("no result for {id}")))
}

/// The first blank text or empty message, as JSON.
pub(crate) fn blank(body: &Value) -> Option<String> {
    let messages = ["messages", "input", "contents"].iter().flat_map(|key| list(body, key));
    // What has no role is a provider's own item, and as it came.
    for message in messages.filter(|message| message.get("role").is_some()) {
        for key in ["content", "parts"] {
            let Some(content) = message.get(key) else { continue };
            let calls = !list(message, "tool_calls").is_empty();
            let shows = !list(message, "images").is_empty();
            let empty = match content {
                Value::String(text) => text.trim().is_empty() && !calls && !shows,
                Value::Array(parts) => parts.is_empty() || parts.iter().any(blank_part),
                Value::Null => !calls,
                Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
            };
            if empty {
                return Some(message.to_string());
            }
        }
    }
    None
}

fn blank_part(part: &Value) -> bool {
    let texts = ["text", "content"].iter().filter_map(|key| part.get(*key)?.as_str());
    // Gemini's last part is often nothing but a signature, and is wanted back.
    let signed = part.get("thoughtSignature").is_some();
    let thought = signed || part["thought"] == true || part["type"] == "thinking";
    !thought && texts.into_iter().any(|text| text.trim().is_empty())
}

/// Two neighbouring messages of one role, where the wire wants them to alternate.
pub(crate) fn same_role_twice(dialect: Dialect, body: &Value) -> Option<String> {
    let key = if dialect == Dialect::Gemini { "contents" } else { "messages" };
    let pairs = list(body, key).windows(2).find(|pair| pair[0]["role"] == pair[1]["role"]);
    pairs.map(|pair| format!("{} {}", pair[0], pair[1]))
}

/// The kinds of all blocks with a cache mark; of a tool, its name.
pub(crate) fn marked_blocks(body: &Value) -> Vec<String> {
    let messages = list(body, "messages").iter().flat_map(|message| list(message, "content"));
    let blocks = list(body, "system").iter().chain(list(body, "tools")).chain(messages);
    blocks
        .filter(|block| block.get("cache_control").is_some())
        .map(|block| string(block.get("type").unwrap_or(&block["name"])))
        .collect()
}

/// What is heard, without the borders of messages and without what wires name differently:
/// neighbouring texts of one speaker are one text.
pub(crate) fn words(spoken: &[Spoken]) -> Vec<(char, String)> {
    let mut words: Vec<(char, String)> = Vec::new();
    for said in spoken {
        let (who, text) = match said {
            Spoken::User(text) => ('u', text.clone()),
            Spoken::Model(text) => ('m', text.clone()),
            Spoken::Call { args, .. } => ('c', args.to_string()),
            Spoken::Result { text, .. } => {
                // No wire needs a word for silence, but several refuse it.
                let text = text.strip_prefix("error: ").unwrap_or(text);
                // A result that is JSON is the same in any order of its keys.
                let json: Option<Value> = serde_json::from_str(text).ok();
                let text = &json.map_or_else(|| text.to_owned(), |json| json.to_string());
                ('r', if text == "(no output)" { String::new() } else { text.to_owned() })
            }
            Spoken::End => continue,
        };
        let text: String = text.split_whitespace().collect();
        match words.last_mut() {
            Some((last, so_far)) if *last == who && matches!(who, 'u' | 'm') => {
                so_far.push_str(&text)
            }
            Some(_) | None if text.is_empty() && who != 'r' => {}
            Some(_) | None => words.push((who, text)),
        }
    }
    // A chat message has its text in front of its calls, whatever order the model wrote.
    let mut ordered: Vec<(char, String)> = Vec::new();
    for (who, text) in words {
        let calls = ordered.iter().rev().take_while(|(who, _)| *who == 'c').count();
        let at = if who == 'm' { ordered.len() - calls } else { ordered.len() };
        match at.checked_sub(1).and_then(|before| ordered.get_mut(before)) {
            Some((last, so_far)) if who == 'm' && *last == 'm' => so_far.push_str(&text),
            Some(_) | None => ordered.insert(at, (who, text)),
        }
    }
    ordered
}

/// The same from the transcript itself.
pub(crate) fn expected_words(transcript: &Transcript) -> Vec<(char, String)> {
    let mut spoken = Vec::new();
    for seen in View::of(transcript).messages() {
        match seen {
            Seen::Said(said) => spoken.push(Spoken::User(said.text.clone())),
            Seen::Reply(reply) => {
                spoken.push(Spoken::Model(reply.text()));
                for call in reply.calls() {
                    let args = serde_json::from_str(&call.args).ok().filter(Value::is_object);
                    spoken.push(Spoken::Call {
                        id: String::new(),
                        name: String::new(),
                        args: args.unwrap_or_else(|| serde_json::json!({})),
                    });
                }
            }
            Seen::Results(results) => {
                for result in results {
                    let (text, _) = wording::result(result);
                    let text = if text.trim().is_empty() { "" } else { &text };
                    spoken.push(Spoken::Result {
                        id: String::new(),
                        name: String::new(),
                        text: text.to_owned(),
                    });
                }
            }
        }
    }
    words(&spoken)
}
