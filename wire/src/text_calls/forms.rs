//! The spellings in which models write calls: JSON in `<tool_call>`, function tags, DeepSeek's
//! tokens, Mistral's token, and Python.

use std::collections::BTreeMap;

use machine_spec::config::ToolSpec;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::python;
use crate::json::Node;

/// A call as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spelled {
    pub(super) name: String,
    /// A JSON object.
    pub(super) args: String,
}

/// The tools that may be called.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools {
    /// The schema of each by its name.
    schemas: BTreeMap<String, Value>,
}

/// Calls that one text may hold.
const CALLS: usize = 64;

const TOOL_CALL: &str = "<tool_call>";
const TOOL_CALL_END: &str = "</tool_call>";
const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";
const CALLS_BEGIN: &str = "<｜tool▁calls▁begin｜>";
const CALLS_END: &str = "<｜tool▁calls▁end｜>";
const CALL_BEGIN: &str = "<｜tool▁call▁begin｜>";
const CALL_SEP: &str = "<｜tool▁sep｜>";
const CALL_END: &str = "<｜tool▁call▁end｜>";
const MISTRAL: &str = "[TOOL_CALLS]";
const MISTRAL_ARGS: &str = "[ARGS]";

impl Tools {
    pub(super) fn new(tools: &[ToolSpec]) -> Tools {
        let schema = |tool: &ToolSpec| serde_json::from_str(&tool.input_schema).unwrap_or_default();
        Tools { schemas: tools.iter().map(|tool| (tool.name.clone(), schema(tool))).collect() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.schemas.contains_key(name)
    }

    /// A parameter that was written as bare text. Only the schema knows whether `5` is a number.
    fn typed(&self, tool: &str, parameter: &str, text: &str) -> Node {
        let schema = self.schemas.get(tool).map(|schema| &schema["properties"][parameter]["type"]);
        let is_text = match schema {
            Some(Value::String(kind)) => kind == "string",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
            Some(_) | None => !text.starts_with(['{', '[']),
        };
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) if !is_text => Node::Json(raw.get().to_owned()),
            Ok(_) | Err(_) => Node::Text(text.to_owned()),
        }
    }
}

/// The letters with which every marker begins.
pub(super) const FIRST: [char; 2] = ['<', '['];

/// Everything with which a written call can begin.
pub(super) fn markers(tools: &Tools) -> Vec<String> {
    let fixed = [TOOL_CALL, FUNCTION, CALLS_BEGIN, CALL_BEGIN, MISTRAL].map(str::to_owned);
    let python = tools.schemas.keys().map(|name| format!("[{name}("));
    fixed.into_iter().chain(python).collect()
}

/// The calls of a text that begins with a marker, if it holds nothing else and all their tools
/// are declared.
pub(super) fn read(text: &str, tools: &Tools) -> Option<Vec<Spelled>> {
    let mut calls = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (found, after) = one(rest, tools)?;
        calls.extend(found);
        if calls.len() > CALLS {
            return None;
        }
        rest = after.trim_start();
    }
    let declared = calls.iter().all(|call| tools.has(&call.name));
    (declared && !calls.is_empty()).then_some(calls)
}

/// The calls of the first form in a text, and what follows it.
fn one<'a>(text: &'a str, tools: &Tools) -> Option<(Vec<Spelled>, &'a str)> {
    if let Some(inner) = text.strip_prefix(TOOL_CALL) {
        let inner = inner.trim_start();
        let (call, rest) =
            if inner.starts_with(FUNCTION) { function(inner, tools)? } else { json_call(inner)? };
        return Some((vec![call], rest.trim_start().strip_prefix(TOOL_CALL_END)?));
    }
    if text.starts_with(FUNCTION) {
        let (call, rest) = function(text, tools)?;
        return Some((vec![call], rest));
    }
    if let Some(inner) = text.strip_prefix(CALLS_BEGIN) {
        let mut calls = Vec::new();
        let mut rest = inner.trim_start();
        while rest.starts_with(CALL_BEGIN) {
            let (call, after) = deepseek(rest)?;
            calls.push(call);
            rest = after.trim_start();
        }
        return Some((calls, rest.strip_prefix(CALLS_END)?));
    }
    if text.starts_with(CALL_BEGIN) {
        let (call, rest) = deepseek(text)?;
        return Some((vec![call], rest));
    }
    match text.strip_prefix(MISTRAL) {
        Some(inner) => mistral(inner.trim_start()),
        None => python::calls(text),
    }
}

/// The members under which a call stands in JSON.
#[derive(Deserialize)]
struct JsonCall<'a> {
    name: String,
    #[serde(borrow, alias = "parameters", default)]
    arguments: Option<&'a RawValue>,
}

impl JsonCall<'_> {
    /// Arguments may be an object, or the text of one.
    fn spelled(self) -> Option<Spelled> {
        let args = match self.arguments.map(RawValue::get) {
            None => "{}".to_owned(),
            Some(text) if text.starts_with('"') => {
                serde_json::from_str(text).ok().filter(|inner: &String| is_object(inner))?
            }
            Some(json) => Some(json.to_owned()).filter(|json| is_object(json))?,
        };
        Some(Spelled { name: self.name, args })
    }
}

fn is_object(json: &str) -> bool {
    let raw = serde_json::from_str::<&RawValue>(json.trim());
    raw.is_ok_and(|raw| raw.get().starts_with('{'))
}

/// A JSON value at the beginning of a text, and what follows it.
fn json_value(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?.get();
    Some((value, &text[values.byte_offset()..]))
}

/// `{"name": …, "arguments": {…}}`.
fn json_call(text: &str) -> Option<(Spelled, &str)> {
    let (json, rest) = json_value(text)?;
    let call: JsonCall<'_> = serde_json::from_str(json).ok()?;
    Some((call.spelled()?, rest))
}

/// `<function=name>` with an object or with parameters in tags of their own.
fn function<'a>(text: &'a str, tools: &Tools) -> Option<(Spelled, &'a str)> {
    let (name, body) = text.strip_prefix(FUNCTION)?.split_once('>')?;
    let name = name.trim().to_owned();
    let body = body.trim_start();
    if body.starts_with('{') {
        let (json, rest) = json_value(body)?;
        let rest = rest.trim_start().strip_prefix(FUNCTION_END)?;
        return Some((Spelled { name, args: json.to_owned() }, rest));
    }
    let mut members = BTreeMap::new();
    let mut rest = body;
    while let Some(inner) = rest.strip_prefix(PARAMETER) {
        let (parameter, inner) = inner.split_once('>')?;
        let (value, after) = inner.split_once(PARAMETER_END)?;
        // One newline on either side belongs to the form.
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        let parameter = parameter.trim();
        members.insert(parameter.to_owned(), tools.typed(&name, parameter, value));
        rest = after.trim_start();
    }
    let args = Node::Object(members).json();
    Some((Spelled { name, args }, rest.strip_prefix(FUNCTION_END)?))
}

/// DeepSeek's tokens, in the older form (kind, name, fenced JSON) and the newer (name, JSON).
fn deepseek(text: &str) -> Option<(Spelled, &str)> {
    let (head, body) = text.strip_prefix(CALL_BEGIN)?.split_once(CALL_SEP)?;
    let fenced = if head.trim() == "function" { body.split_once("```json") } else { None };
    let (name, body) = fenced.unwrap_or((head, body));
    let (json, rest) = json_value(body.trim_start())?;
    let rest = rest.trim_start();
    let rest = if fenced.is_some() { rest.strip_prefix("```")?.trim_start() } else { rest };
    let args = Some(json.to_owned()).filter(|json| is_object(json))?;
    Some((Spelled { name: name.trim().to_owned(), args }, rest.strip_prefix(CALL_END)?))
}

/// Mistral's token before a list of calls, or before a name and its arguments.
fn mistral(text: &str) -> Option<(Vec<Spelled>, &str)> {
    if text.starts_with('[') {
        let (json, rest) = json_value(text)?;
        let calls: Vec<JsonCall<'_>> = serde_json::from_str(json).ok()?;
        let calls: Option<Vec<Spelled>> = calls.into_iter().map(JsonCall::spelled).collect();
        return Some((calls?, rest));
    }
    let at = text.find(['{', '['])?;
    let name = text[..at].trim().to_owned();
    let body = text[at..].strip_prefix(MISTRAL_ARGS).unwrap_or(&text[at..]);
    let (json, rest) = json_value(body.trim_start())?;
    let args = Some(json.to_owned()).filter(|json| is_object(json))?;
    Some((vec![Spelled { name, args }], rest))
}
