//! View -> request body of OpenAI Responses.
//!
//! Nothing is stored on the provider's side (`store` is false unless the endpoint's parameters say
//! otherwise): the whole conversation goes along, and reasoning goes back encrypted.

use machine_spec::effect::ToolChoice;
use machine_spec::message::{Block, Call, CallResult, Image, Reply, Said};
use machine_spec::view::Seen;
use serde_json::Value;

use crate::encode::{
    Degradation, For, IdShape, Members, Out, Private, args, fit_id, fit_name, has_member, joined,
    list_tools, may_choose, offers_tools, private, push_schema, result_text, value,
};
use crate::images::{Shown, data_url, placeholder};

/// Members that are written here and cannot be given as extra parameters.
pub(crate) const RESERVED: &[&str] = &[
    "model",
    "input",
    "stream",
    "instructions",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "previous_response_id",
];

/// The shape of a call id on this wire.
const ID: IdShape = IdShape::Any(64);

/// Where the writing stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scribe {
    open: Open,
}

/// What may still grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    /// Nothing was written yet.
    #[default]
    Nothing,
    /// The content list of a user message.
    Words,
    /// The last item is complete.
    Closed,
}

impl Scribe {
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, seen: Seen<'_>, to: &For<'_>) {
        match seen {
            Seen::Said(said) => self.said(out, said, to),
            Seen::Reply(reply) => self.reply(out, reply, to),
            Seen::Results(results) => {
                for result in results {
                    self.next_item(out);
                    out.put(r#"{"type":"function_call_output","call_id":"#);
                    out.string(&fit_id(ID, &result.wire_id));
                    out.put(r#","output":"#);
                    output(out, result, to);
                    out.put("}");
                }
            }
        }
    }

    fn said(&mut self, out: &mut Vec<u8>, said: &Said, to: &For<'_>) {
        if !said.text.trim().is_empty() {
            self.next_part(out);
            text_part(out, &said.text);
        }
        for image in &said.images {
            self.next_part(out);
            image_part(out, image, to);
        }
    }

    /// Begins a part of a user message.
    fn next_part(&mut self, out: &mut Vec<u8>) {
        if self.open == Open::Words {
            out.put(",");
        } else {
            self.next_item(out);
            out.put(r#"{"type":"message","role":"user","content":["#);
            self.open = Open::Words;
        }
    }

    fn next_item(&mut self, out: &mut Vec<u8>) {
        out.put(match self.open {
            Open::Nothing => "",
            Open::Words => "]},",
            Open::Closed => ",",
        });
        self.open = Open::Closed;
    }

    fn reply(&mut self, out: &mut Vec<u8>, reply: &Reply, to: &For<'_>) {
        let own = &*reply.by == to.maker;
        let counts = |block: &Block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            Block::Call(_) => true,
            Block::Opaque(payload) => own && matches!(private(payload), Private::Whole(_)),
            Block::Thinking(_) => false,
        };
        // Reasoning is refused without the item it led to.
        let Some(last) = reply.blocks.iter().rposition(counts) else { return };
        let mut adornment = "";
        for block in &reply.blocks[..=last] {
            match block {
                Block::Text(text) if text.trim().is_empty() => {}
                Block::Text(text) => {
                    self.next_item(out);
                    out.put(r#"{"type":"message","role":"assistant""#);
                    adorn(out, std::mem::take(&mut adornment));
                    out.put(r#","content":[{"type":"output_text","text":"#);
                    out.string(text);
                    out.put("}]}");
                }
                Block::Call(call) => {
                    self.next_item(out);
                    self.call(out, call, std::mem::take(&mut adornment));
                }
                Block::Thinking(thinking) if own => self.reasoning(out, &thinking.seal, to),
                Block::Opaque(payload) if own => match private(payload) {
                    Private::Whole(item) => {
                        self.next_item(out);
                        out.put(item);
                    }
                    Private::Adorns(members) => adornment = members,
                    Private::Nothing => {}
                },
                Block::Thinking(_) | Block::Opaque(_) => {}
            }
        }
    }

    /// What is not stored can go back only with its encrypted content.
    fn reasoning(&mut self, out: &mut Vec<u8>, seal: &str, to: &For<'_>) {
        let stored = to.options.extra.get("store") == Some(&Value::Bool(true));
        if let Private::Whole(item) = private(seal)
            && (stored || has_member(item, "encrypted_content"))
        {
            self.next_item(out);
            out.put(item);
        }
    }

    fn call(&self, out: &mut Vec<u8>, call: &Call, adornment: &str) {
        out.put(r#"{"type":"function_call","call_id":"#);
        out.string(&fit_id(ID, &call.wire_id));
        out.put(r#","name":"#);
        out.string(&fit_name(&call.name));
        out.put(r#","arguments":"#);
        out.string(args(call));
        adorn(out, adornment);
        out.put("}");
    }

    /// Tools stay declared where none may be called, so that the cached prefix stays the same.
    pub(crate) fn offers_tools(&self, to: &For<'_>, choice: &ToolChoice) -> bool {
        offers_tools(to, choice)
    }

    pub(crate) fn head(&self, out: &mut Vec<u8>, to: &For<'_>, offered: bool) {
        let extra = &to.options.extra;
        out.put("{");
        let mut members = Members::inside(out);
        members.own("model", |out| out.string(&to.candidate.model));
        members.own("stream", |out| out.put(if to.streams() { "true" } else { "false" }));
        members.unless(extra, "store", |out| out.put("false"));
        if !to.lacks(Degradation::EncryptedReasoning) {
            members.unless(extra, "include", |out| out.put(r#"["reasoning.encrypted_content"]"#));
        }
        if let Some(limit) = to.stated_max_tokens() {
            members.own("max_output_tokens", |out| out.put(&limit.to_string()));
        }
        if let Some(temperature) = to.temperature() {
            members.unless(extra, "temperature", |out| value(out, &temperature));
        }
        members.extra(extra, RESERVED, &["text"]);
        match (to.shape(), extra.get("text")) {
            (Some(shape), given) => members.own("text", |out| {
                joined(out, given, "format", |out| {
                    out.put("{");
                    let mut members = Members::inside(out);
                    members.own("type", |out| out.string("json_schema"));
                    shape.members(&mut members);
                    out.put("}");
                });
            }),
            (None, Some(given)) => members.own("text", |out| value(out, given)),
            (None, None) => {}
        }
        if !to.config.system.trim().is_empty() {
            members.own("instructions", |out| out.string(&to.config.system));
        }
        if offered {
            members.own("tools", |out| tools(out, to));
        }
        members.own("input", |out| out.put("["));
    }

    pub(crate) fn close(
        &self,
        body: &mut Vec<u8>,
        messages: &[u8],
        to: &For<'_>,
        choice: &ToolChoice,
    ) {
        body.extend_from_slice(messages);
        body.put(if self.open == Open::Words { "]}]" } else { "]" });
        if may_choose(to) {
            match choice {
                ToolChoice::Force { tool } => {
                    body.put(r#","tool_choice":{"type":"function","name":"#);
                    body.string(tool);
                    body.put("}");
                }
                ToolChoice::Any => body.put(r#","tool_choice":"required""#),
                ToolChoice::None => body.put(r#","tool_choice":"none""#),
                ToolChoice::Auto => {}
            }
        }
        body.put("}");
    }
}

/// The output of a tool: text, or parts where there are images.
fn output(out: &mut Vec<u8>, result: &CallResult, to: &For<'_>) {
    if result.images.is_empty() {
        return out.string(&result_text(result));
    }
    out.put("[");
    text_part(out, &result_text(result));
    for image in &result.images {
        out.put(",");
        image_part(out, image, to);
    }
    out.put("]");
}

fn image_part(out: &mut Vec<u8>, image: &Image, to: &For<'_>) {
    match to.images.show(image) {
        Shown::Inline(bytes) => {
            out.put(r#"{"type":"input_image","image_url":"#);
            data_url(out, &image.media, bytes);
            out.put("}");
        }
        Shown::Linked(url) => {
            out.put(r#"{"type":"input_image","image_url":"#);
            out.string(url);
            out.put("}");
        }
        Shown::Missing => text_part(out, &placeholder(image)),
    }
}

fn text_part(out: &mut Vec<u8>, text: &str) {
    out.put(r#"{"type":"input_text","text":"#);
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
    list_tools(out, to, |out, tool| {
        out.put(r#"{"type":"function","#);
        let mut members = Members::inside(out);
        members.own("name", |out| out.string(&tool.name));
        if !tool.description.trim().is_empty() {
            members.own("description", |out| out.string(&tool.description));
        }
        members.own("parameters", |out| push_schema(out, &tool.input_schema));
        // Without a word this wire rewrites the schema to its strict subset.
        members.own("strict", |out| out.put("false"));
        out.put("}");
    });
}
