//! View -> request body of Gemini `streamGenerateContent` and `generateContent`.

use machine_spec::effect::{ToolChoice, Transport};
use machine_spec::message::{Block, Call, CallResult, Image, Reply, Said};
use machine_spec::view::Seen;
use machine_spec::wording;

use crate::encode::{
    For, IdShape, Members, NO_OUTPUT, Out, Private, args, fit_id, fit_name, list_tools, may_choose,
    offers_tools, private, push_schema, sub_object,
};
use crate::images::{Shown, placeholder, push_base64};

/// Members that are written here and cannot be given as extra parameters.
pub(crate) const RESERVED: &[&str] = &["contents", "systemInstruction", "tools", "toolConfig"];

/// What Google documents for calls of another model's history, which have no signature.
const NO_SIGNATURE: &str = r#","thoughtSignature":"skip_thought_signature_validator""#;

/// Where the writing stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scribe {
    open: Open,
    /// Whether the calls that are being answered came from another endpoint.
    foreign_calls: bool,
}

/// The content whose parts may still grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    User,
    Model,
}

impl Scribe {
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, seen: Seen<'_>, to: &For<'_>) {
        match seen {
            Seen::Said(said) => self.said(out, said, to),
            Seen::Reply(reply) => self.reply(out, reply, to),
            Seen::Results(results) => {
                for result in results {
                    self.open(out, Open::User);
                    self.result(out, result);
                }
                // A result holds no images here, so they stand behind all results.
                for image in results.iter().flat_map(|result| &result.images) {
                    self.image(out, image, to);
                }
            }
        }
    }

    fn said(&mut self, out: &mut Vec<u8>, said: &Said, to: &For<'_>) {
        if !said.text.trim().is_empty() {
            self.open(out, Open::User);
            text_part(out, &said.text);
        }
        for image in &said.images {
            self.image(out, image, to);
        }
    }

    fn image(&mut self, out: &mut Vec<u8>, image: &Image, to: &For<'_>) {
        self.open(out, Open::User);
        match to.images.show(image) {
            Shown::Inline(bytes) => {
                out.put(r#"{"inlineData":{"mimeType":"#);
                out.string(&image.media);
                out.put(r#","data":""#);
                push_base64(out, bytes);
                out.put(r#""}}"#);
            }
            Shown::Linked(url) => {
                out.put(r#"{"fileData":{"#);
                let mut members = Members::inside(out);
                if !image.media.is_empty() {
                    members.own("mimeType", |out| out.string(&image.media));
                }
                members.own("fileUri", |out| out.string(url));
                out.put("}}");
            }
            Shown::Missing => text_part(out, &placeholder(image)),
        }
    }

    /// Begins a part of this role.
    fn open(&mut self, out: &mut Vec<u8>, role: Open) {
        if self.open == role {
            out.put(",");
            return;
        }
        out.put(match self.open {
            Open::Nothing => "",
            Open::User | Open::Model => "]},",
        });
        out.put(match role {
            Open::Model => r#"{"role":"model","parts":["#,
            Open::User | Open::Nothing => r#"{"role":"user","parts":["#,
        });
        self.open = role;
    }

    fn reply(&mut self, out: &mut Vec<u8>, reply: &Reply, to: &For<'_>) {
        let own = &*reply.by == to.maker;
        self.foreign_calls = !own;
        let says_something = reply.blocks.iter().any(|block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            Block::Call(_) => true,
            Block::Opaque(payload) => own && matches!(private(payload), Private::Whole(_)),
            Block::Thinking(_) => false,
        });
        if !says_something {
            return;
        }
        let mut adornment = "";
        // Newer models refuse a call of the current turn without a signature; the first one of a
        // reply is enough.
        let mut unsigned = !own && demands_signatures(&to.candidate.model);
        for block in &reply.blocks {
            match block {
                Block::Text(text) if text.trim().is_empty() => {}
                Block::Text(text) => {
                    self.open(out, Open::Model);
                    out.put(r#"{"text":"#);
                    out.string(text);
                    adorn(out, std::mem::take(&mut adornment));
                    out.put("}");
                }
                Block::Call(call) => {
                    self.open(out, Open::Model);
                    self.call(out, call);
                    adorn(out, std::mem::take(&mut adornment));
                    out.put(if std::mem::take(&mut unsigned) { NO_SIGNATURE } else { "" });
                    out.put("}");
                }
                Block::Thinking(thinking) if own => self.as_it_came(out, &thinking.seal),
                Block::Opaque(payload) if own => match private(payload) {
                    Private::Adorns(members) => adornment = members,
                    Private::Whole(_) | Private::Nothing => self.as_it_came(out, payload),
                },
                Block::Thinking(_) | Block::Opaque(_) => {}
            }
        }
    }

    fn as_it_came(&mut self, out: &mut Vec<u8>, json: &str) {
        if let Private::Whole(part) = private(json) {
            self.open(out, Open::Model);
            out.put(part);
        }
    }

    /// A call, its last brace open.
    fn call(&self, out: &mut Vec<u8>, call: &Call) {
        out.put(r#"{"functionCall":{"#);
        self.id(out, &call.wire_id);
        out.put(r#""name":"#);
        out.string(&fit_name(&call.name));
        out.put(r#","args":"#);
        out.put(args(call));
        out.put("}");
    }

    fn result(&self, out: &mut Vec<u8>, result: &CallResult) {
        let (text, is_error) = wording::result(result);
        out.put(r#"{"functionResponse":{"#);
        self.id(out, &result.wire_id);
        out.put(r#""name":"#);
        out.string(&fit_name(&result.name));
        // The response must be an object; these two keys are the documented ones.
        out.put(if is_error { r#","response":{"error":"# } else { r#","response":{"output":"# });
        out.string(if text.trim().is_empty() { NO_OUTPUT } else { &text });
        out.put("}}}");
    }

    /// An id goes back to the endpoint that gave it. Where none was given, calls and results are
    /// paired by their order, and an id of ours would only be an unknown field.
    fn id(&self, out: &mut Vec<u8>, wire_id: &str) {
        if !self.foreign_calls && !wire_id.starts_with("lw_") {
            out.put(r#""id":"#);
            out.string(&fit_id(IdShape::Any(256), wire_id));
            out.put(",");
        }
    }

    /// Tools stay declared where none may be called, so that the cached prefix stays the same.
    pub(crate) fn offers_tools(&self, to: &For<'_>, choice: &ToolChoice) -> bool {
        offers_tools(to, choice)
    }

    pub(crate) fn head(&self, out: &mut Vec<u8>, to: &For<'_>, offered: bool) {
        let extra = &to.options.extra;
        let mut generation = Vec::new();
        if let Some(limit) = to.stated_max_tokens() {
            generation.push(("maxOutputTokens", limit.to_string().into_bytes()));
        }
        if let Some(temperature) = to.temperature() {
            generation.push(("temperature", temperature.to_string().into_bytes()));
        }
        if let Some(shape) = to.shape() {
            let mut schema = Vec::new();
            shape.push_schema(&mut schema);
            generation.push(("responseJsonSchema", schema));
            generation.push(("responseMimeType", br#""application/json""#.to_vec()));
        }
        let given = extra.get("generationConfig");
        out.put("{");
        let mut members = Members::inside(out);
        if !generation.is_empty() || given.is_some() {
            members.own("generationConfig", |out| sub_object(out, generation, given));
        }
        members.extra(extra, RESERVED, &["generationConfig"]);
        if !to.config.system.trim().is_empty() {
            members.own("systemInstruction", |out| {
                out.put(r#"{"parts":[{"text":"#);
                out.string(&to.config.system);
                out.put("}]}");
            });
        }
        if offered {
            members.own("tools", |out| tools(out, to));
        }
        members.own("contents", |out| out.put("["));
    }

    pub(crate) fn close(
        &self,
        body: &mut Vec<u8>,
        messages: &[u8],
        to: &For<'_>,
        choice: &ToolChoice,
    ) {
        body.extend_from_slice(messages);
        body.put(if self.open == Open::Nothing { "]" } else { "]}]" });
        if may_choose(to) {
            match choice {
                ToolChoice::Force { tool } => {
                    body.put(r#","toolConfig":{"functionCallingConfig":{"mode":"ANY","#);
                    body.put(r#""allowedFunctionNames":["#);
                    body.string(tool);
                    body.put("]}}");
                }
                ToolChoice::Any => {
                    body.put(r#","toolConfig":{"functionCallingConfig":{"mode":"ANY"}}"#);
                }
                ToolChoice::None => {
                    body.put(r#","toolConfig":{"functionCallingConfig":{"mode":"NONE"}}"#);
                }
                ToolChoice::Auto => {}
            }
        }
        body.put("}");
    }
}

/// The path of a request for this model, which may be given as a resource name.
pub(crate) fn path(model: &str, transport: Transport) -> String {
    let mut path = String::from("/v1beta/");
    if !model.contains('/') {
        path.push_str("models/");
    }
    for byte in model.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte);
        if plain { path.push(char::from(byte)) } else { path.push_str(&format!("%{byte:02X}")) }
    }
    path.push_str(match transport {
        Transport::Stream => ":streamGenerateContent?alt=sse",
        Transport::Whole => ":generateContent",
    });
    path
}

/// Whether a model is of a generation that refuses calls without a signature.
fn demands_signatures(model: &str) -> bool {
    let generation = model.rsplit('/').next().and_then(|name| name.strip_prefix("gemini-"));
    let major = generation.and_then(|rest| rest.split(['.', '-']).next());
    major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 3)
}

fn text_part(out: &mut Vec<u8>, text: &str) {
    out.put(r#"{"text":"#);
    out.string(text);
    out.put("}");
}

fn adorn(out: &mut Vec<u8>, members: &str) {
    if !members.is_empty() {
        out.put(",");
        out.put(members);
    }
}

fn tools(out: &mut Vec<u8>, to: &For<'_>) {
    let mut declarations = Vec::new();
    list_tools(&mut declarations, &For { options: &Default::default(), ..*to }, |out, tool| {
        out.put("{");
        let mut members = Members::inside(out);
        members.own("name", |out| out.string(&tool.name));
        if !tool.description.trim().is_empty() {
            members.own("description", |out| out.string(&tool.description));
        }
        // Not `parameters`: that one knows a part of JSON Schema only.
        members.own("parametersJsonSchema", |out| push_schema(out, &tool.input_schema));
        out.put("}");
    });
    let without_ours = machine_spec::RunConfig::default();
    list_tools(out, &For { config: &without_ours, ..*to }, |_, _| {});
    if !to.config.tools.is_empty() {
        out.pop();
        out.put(if to.options.server_tools.is_empty() { "" } else { "," });
        out.put(r#"{"functionDeclarations":"#);
        out.extend_from_slice(&declarations);
        out.put("}]");
    }
}
