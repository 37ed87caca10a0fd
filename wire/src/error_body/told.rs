//! What an error body says, whatever shape it has.

use serde_json::{Map, Value};

/// Longest stretch of a body that is searched for words, in bytes.
const TEXT_BYTES: usize = 64 * 1024;

/// How deep objects, arrays and JSON inside of strings are followed.
const NESTING: u32 = 6;

/// The form of a body, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON.
    Json,
    /// An HTML page: a proxy, a login, a wrong address.
    Html,
    /// Some other text.
    Text,
    /// Nothing.
    Empty,
}

impl Form {
    pub(super) const fn named(self) -> &'static str {
        match self {
            Form::Json => "a JSON body that is no error object",
            Form::Html => "an HTML page",
            Form::Text => "a body that is not JSON",
            Form::Empty => "an empty body",
        }
    }
}

/// What an error body says.
#[derive(Debug)]
pub(super) struct Told {
    /// The form of the body.
    pub(super) form: Form,
    /// Whether it is an error in one of the shapes that APIs use.
    pub(super) is_error_object: bool,
    /// The words a program reads: code, type and status, as they came.
    pub(super) words: Vec<String>,
    /// A status code that stands in the body.
    pub(super) numeric_status: Option<u16>,
    /// The parameter that is complained about, or empty.
    pub(super) param: String,
    /// The message for people, or an excerpt of a body that is none of ours.
    pub(super) message: String,
    /// All texts of the body in lower case, for the search for phrases.
    pub(super) text: String,
    /// Everything the body holds, where it is JSON.
    pub(super) value: Value,
}

impl Told {
    pub(super) fn read(headers: &[(String, String)], body: &[u8]) -> Told {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim();
        match parse(text) {
            Some(value) => Told::of_json(value),
            None => Told::of_text(headers, text),
        }
    }

    fn of_json(value: Value) -> Told {
        let mut told = Told {
            form: Form::Json,
            is_error_object: false,
            words: Vec::new(),
            numeric_status: None,
            param: String::new(),
            message: String::new(),
            text: String::new(),
            value: Value::Null,
        };
        told.hear(&value, 0);
        told.collect_text();
        told.value = value;
        told
    }

    fn of_text(headers: &[(String, String)], text: &str) -> Told {
        let declared_html = headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-type") && value.starts_with("text/html")
        });
        let form = if text.is_empty() {
            Form::Empty
        } else if declared_html || looks_like_html(text) {
            Form::Html
        } else {
            Form::Text
        };
        // Of a page only the title is worth showing, and only the title is trusted to speak of
        // this failure: menus and help texts mention everything.
        let message = if form == Form::Html { title(text) } else { cut(text, 500) };
        let searched = if form == Form::Html { message.clone() } else { cut(text, TEXT_BYTES) };
        Told {
            form,
            is_error_object: false,
            words: Vec::new(),
            numeric_status: None,
            param: String::new(),
            message,
            text: searched.to_lowercase(),
            value: Value::Null,
        }
    }

    /// The provider's own code: the most specific word it gives.
    pub(super) fn code(&self) -> String {
        let vague = |word: &&String| {
            matches!(word.as_str(), "invalid_request_error" | "error" | "api_error" | "None")
        };
        let specific = self.words.iter().find(|word| !vague(word));
        specific.or_else(|| self.words.first()).cloned().unwrap_or_default()
    }

    /// Takes in one object, and what is nested in it in the ways that providers nest.
    fn hear(&mut self, value: &Value, depth: u32) {
        match value {
            Value::Array(items) if depth < NESTING => {
                // Gemini sends its errors as an array of one where the stream is an array.
                if let Some(first) = items.first() {
                    self.hear(first, depth + 1);
                }
            }
            Value::Object(object) if depth < NESTING => self.hear_object(object, depth),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {}
        }
    }

    fn hear_object(&mut self, object: &Map<String, Value>, depth: u32) {
        let inner = ["error", "response", "errors"]
            .into_iter()
            .find_map(|key| object.get(key).filter(|inner| inner.is_object() || inner.is_array()));
        match inner {
            Some(inner) => self.hear(inner, depth + 1),
            None => self.hear_leaf(object, depth),
        }
        // Some gateways put a code beside the error, not into it.
        self.hear_words(object, inner.is_none());
    }

    /// An object that holds the error itself.
    fn hear_leaf(&mut self, object: &Map<String, Value>, depth: u32) {
        for key in ["message", "Message", "error", "detail", "msg", "error_message", "errorMessage"]
        {
            let Some(found) = object.get(key) else { continue };
            let said = match found {
                Value::String(said) => said.clone(),
                Value::Array(faults) => validation_faults(faults),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => continue,
            };
            if self.message.is_empty() && !said.is_empty() {
                self.is_error_object = true;
                self.message = said;
            }
        }
        if let Some(Value::String(param)) = object.get("param") {
            self.param.clone_from(param);
        }
        let names_a_code = ["code", "type", "status"].iter().any(|key| object.contains_key(*key));
        let is_error = object.get("type").and_then(Value::as_str) == Some("error");
        self.is_error_object |= is_error || (names_a_code && object.contains_key("message"));
        for key in ["details", "metadata", "innererror"] {
            if let Some(more) = object.get(key) {
                gather(more, &mut self.text, 0);
            }
        }
        self.hear_passed_on(object, depth);
    }

    /// An error of another provider, passed on as JSON text by a gateway: the inner one is the
    /// one that tells.
    fn hear_passed_on(&mut self, object: &Map<String, Value>, depth: u32) {
        if let Some(value) = parse(&self.message) {
            let outer = std::mem::take(&mut self.message);
            self.hear(&value, depth + 1);
            if self.message.is_empty() {
                self.message = outer;
            }
        }
        let raw = object.get("metadata").and_then(|metadata| metadata.get("raw"));
        if let Some(value) = raw.and_then(Value::as_str).and_then(parse) {
            self.hear(&value, depth + 1);
        }
    }

    fn hear_words(&mut self, object: &Map<String, Value>, leaf: bool) {
        for key in ["code", "type", "status", "__type", "error_code", "raw_status_code"] {
            match object.get(key) {
                Some(Value::String(word)) => self.hear_word(word, leaf || key == "code"),
                Some(Value::Number(number)) => {
                    let status = number.as_u64().and_then(|n| u16::try_from(n).ok());
                    let status = status.filter(|status| (400..600).contains(status));
                    self.numeric_status = self.numeric_status.or(status);
                }
                Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {}
            }
        }
    }

    fn hear_word(&mut self, word: &str, telling: bool) {
        let numeric = word.bytes().all(|b| b.is_ascii_digit());
        if numeric && self.numeric_status.is_none() {
            let status = word.parse().ok().filter(|status| (400..600).contains(status));
            self.numeric_status = status;
        }
        let envelope = matches!(word, "error" | "response.failed" | "failed");
        if telling && !numeric && !envelope && !word.is_empty() {
            self.words.push(word.to_owned());
        }
    }

    fn collect_text(&mut self) {
        let mut text = String::new();
        for part in self.words.iter().chain([&self.message, &self.text]) {
            text.push_str(&cut(part, TEXT_BYTES));
            text.push('\n');
        }
        self.text = text.to_lowercase();
    }
}

/// Collects the texts of the parts in which providers put their details.
fn gather(value: &Value, text: &mut String, depth: u32) {
    if depth >= NESTING || text.len() >= TEXT_BYTES {
        return;
    }
    match value {
        Value::String(said) => {
            text.push_str(&cut(said, 4_096));
            text.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, text, depth + 1)),
        Value::Object(object) => object.values().for_each(|item| gather(item, text, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn parse(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        return serde_json::from_str(text).ok();
    }
    // An error that was sent as the first event of a stream.
    let event = text.starts_with("data:") || text.starts_with("event:");
    let data = text.lines().find_map(|line| line.strip_prefix("data:")).filter(|_| event)?;
    data.trim_start().starts_with('{').then(|| serde_json::from_str(data.trim()).ok()).flatten()
}

/// The faults that a validating server lists, as one line.
fn validation_faults(faults: &[Value]) -> String {
    let mut line = String::new();
    for fault in faults.iter().take(8) {
        let said = fault.get("msg").or_else(|| fault.get("message")).and_then(Value::as_str);
        let Some(said) = said.or_else(|| fault.as_str()) else { continue };
        let place = fault.get("loc").and_then(Value::as_array);
        let place: Vec<String> = place.into_iter().flatten().map(plain).collect();
        if !line.is_empty() {
            line.push_str("; ");
        }
        if !place.is_empty() {
            line.push_str(&place.join("."));
            line.push_str(": ");
        }
        line.push_str(said);
    }
    line
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn looks_like_html(text: &str) -> bool {
    let head = cut(text, 256).to_lowercase();
    head.starts_with("<!doctype html") || head.starts_with("<html") || head.contains("<head>")
}

fn title(page: &str) -> String {
    let head = cut(page, TEXT_BYTES);
    // ASCII lower case keeps every byte where it was.
    let lower = head.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let open = at + lower[at..].find('>')? + 1;
        let close = open + lower[open..].find("</title")?;
        Some(head[open..close].split_whitespace().collect::<Vec<_>>().join(" "))
    });
    cut(&title.unwrap_or_default(), 200)
}

fn cut(text: &str, limit: usize) -> String {
    text[..text.floor_char_boundary(limit)].to_owned()
}
