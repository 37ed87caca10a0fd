//! View -> request body of Anthropic Messages.

use machine_spec::effect::ToolChoice;
use machine_spec::message::{Block, CallResult, Image, Reply, Said};
use machine_spec::view::Seen;
use machine_spec::wording;
use serde_json::Value;

use crate::cache_marks::{MARK, Marks, Trail, copy_marked};
use crate::encode::{
    Degradation, For, IdShape, Members, NO_OUTPUT, Out, Private, args, fit_id, fit_name, joined,
    list_tools, may_choose, offers_tools, private, push_schema, value,
};
use crate::images::{Shown, no_place, placeholder, push_base64};

/// Output tokens where neither the endpoint nor the window says a number; the wire demands one.
const DEFAULT_MAX_TOKENS: u64 = 8_192;

/// Members that are written here and cannot be given as extra parameters.
pub(crate) const RESERVED: &[&str] =
    &["model", "max_tokens", "stream", "system", "tools", "tool_choice", "messages"];

/// Where the writing stands: what is open, and where a mark may go.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scribe {
    open: Open,
    trail: Trail,
    /// The last reply called tools without thinking first, as the reply of another model does.
    bare_calls: bool,
}

/// The message whose content may still grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    User,
    Assistant,
}

impl Scribe {
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, seen: Seen<'_>, to: &For<'_>) {
        match seen {
            Seen::Said(said) => self.said(out, said, to),
            Seen::Reply(reply) => self.reply(out, reply, to),
            Seen::Results(results) => {
                for result in results {
                    self.open(out, Open::User);
                    self.result(out, result, to);
                }
            }
        }
    }

    /// Begins a block of this role: in the open message if it has the same role, else in a new one.
    fn open(&mut self, out: &mut Vec<u8>, role: Open) {
        if self.open == role {
            out.put(",");
            return;
        }
        out.put(match self.open {
            Open::Nothing => "",
            Open::User | Open::Assistant => "]},",
        });
        if role == Open::Assistant {
            self.trail.reply();
        }
        out.put(match role {
            Open::Assistant => r#"{"role":"assistant","content":["#,
            Open::User | Open::Nothing => r#"{"role":"user","content":["#,
        });
        self.open = role;
    }

    fn said(&mut self, out: &mut Vec<u8>, said: &Said, to: &For<'_>) {
        if !said.text.trim().is_empty() {
            self.open(out, Open::User);
            self.text(out, &said.text);
        }
        for image in &said.images {
            self.open(out, Open::User);
            self.image(out, image, to);
        }
        if said.marked {
            self.trail.pin();
        }
    }

    fn image(&mut self, out: &mut Vec<u8>, image: &Image, to: &For<'_>) {
        image_block(out, image, to);
        self.end_markable(out);
    }

    fn text(&mut self, out: &mut Vec<u8>, text: &str) {
        text_block(out, text);
        self.end_markable(out);
    }

    fn end_markable(&mut self, out: &mut Vec<u8>) {
        self.trail.block(Some(out.len()));
        out.put("}");
    }

    fn reply(&mut self, out: &mut Vec<u8>, reply: &Reply, to: &For<'_>) {
        let own = &*reply.by == to.maker;
        let writable = |block: &Block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            Block::Call(_) => true,
            Block::Thinking(thinking) => own && whole(&thinking.seal).is_some(),
            Block::Opaque(payload) => own && whole(payload).is_some(),
        };
        let thinks = |block: &Block| matches!(block, Block::Thinking(_));
        // A message must not end with thinking, so thinking behind which nothing was kept goes.
        let Some(last) = reply.blocks.iter().rposition(|b| writable(b) && !thinks(b)) else {
            return;
        };
        let blocks = reply.blocks[..=last].iter().filter(|block| writable(block));
        let mut begins_with_thinking = None;
        for block in blocks {
            begins_with_thinking.get_or_insert(thinks(block));
            self.open(out, Open::Assistant);
            match block {
                Block::Text(text) => self.text(out, text),
                Block::Thinking(thinking) => self.as_it_came(out, &thinking.seal),
                Block::Opaque(payload) => self.as_it_came(out, payload),
                Block::Call(call) => {
                    out.put(r#"{"type":"tool_use","id":"#);
                    out.string(&fit_id(IdShape::Word(64), &call.wire_id));
                    out.put(r#","name":"#);
                    out.string(&fit_name(&call.name));
                    out.put(r#","input":"#);
                    out.put(args(call));
                    self.end_markable(out);
                }
            }
        }
        self.bare_calls = begins_with_thinking == Some(false) && reply.calls().next().is_some();
    }

    fn as_it_came(&mut self, out: &mut Vec<u8>, json: &str) {
        out.put(whole(json).unwrap_or("{}"));
        self.trail.block(None);
    }

    fn result(&mut self, out: &mut Vec<u8>, result: &CallResult, to: &For<'_>) {
        let (text, is_error) = wording::result(result);
        out.put(r#"{"type":"tool_result","tool_use_id":"#);
        out.string(&fit_id(IdShape::Word(64), &result.wire_id));
        out.put(r#","content":"#);
        match (&result.images[..], is_error) {
            ([], _) => out.string(if text.trim().is_empty() { NO_OUTPUT } else { &text }),
            (images, false) => {
                out.put("[");
                if !text.trim().is_empty() {
                    text_block(out, &text);
                    out.put("},");
                }
                for (n, image) in images.iter().enumerate() {
                    out.put(if n > 0 { "," } else { "" });
                    image_block(out, image, to);
                    out.put("}");
                }
                out.put("]");
            }
            // An error holds text alone on this wire.
            (images, true) => {
                let told: Vec<String> = images.iter().map(no_place).collect();
                out.string(&format!("{text}\n{}", told.join("\n")));
            }
        }
        if is_error {
            out.put(r#","is_error":true"#);
        }
        self.end_markable(out);
    }

    /// Tools stay in the request even where none may be called: the wire demands their declaration
    /// as long as the history holds calls, and leaving them out would void the whole prompt cache.
    pub(crate) fn offers_tools(&self, to: &For<'_>, choice: &ToolChoice) -> bool {
        offers_tools(to, choice)
    }

    /// Whether a mark of ours stands before the messages.
    pub(crate) fn marks_head(&self, to: &For<'_>) -> bool {
        !to.lacks(Degradation::CacheMarks) && self.marks(to).head
    }

    /// Marks that the caller wrote into parameters count too.
    fn marks(&self, to: &For<'_>) -> Marks {
        let tools = to.options.server_tools.iter();
        let given = tools.chain(to.options.extra.values()).map(marks_in).sum::<usize>();
        self.trail.marks(given + usize::from(to.options.extra.contains_key("cache_control")))
    }

    pub(crate) fn head(&self, out: &mut Vec<u8>, to: &For<'_>, offered: bool) {
        let extra = &to.options.extra;
        let marked = self.marks_head(to);
        let prompted = !to.config.system.trim().is_empty();
        out.put("{");
        let mut members = Members::inside(out);
        members.own("model", |out| out.string(&to.candidate.model));
        members.own("max_tokens", |out| {
            out.put(&to.max_tokens().unwrap_or(DEFAULT_MAX_TOKENS).to_string());
        });
        members.own("stream", |out| out.put(if to.streams() { "true" } else { "false" }));
        if let Some(temperature) = to.temperature() {
            members.unless(extra, "temperature", |out| value(out, &temperature));
        }
        // `thinking` stands behind the messages, because it may have to be left out of one round.
        members.extra(extra, RESERVED, &["thinking", "output_config"]);
        let given = extra.get("output_config");
        match to.shape() {
            Some(shape) => members.own("output_config", |out| {
                joined(out, given, "format", |out| {
                    out.put(r#"{"type":"json_schema","schema":"#);
                    shape.push_schema(out);
                    out.put("}");
                });
            }),
            None => {
                if let Some(given) = given {
                    members.own("output_config", |out| value(out, given));
                }
            }
        }
        if prompted {
            members.own("system", |out| {
                out.put(r#"[{"type":"text","text":"#);
                out.string(&to.config.system);
                out.put(if marked { MARK } else { "" });
                out.put("}]");
            });
        }
        if offered {
            members.own("tools", |out| tools(out, to, marked && !prompted));
        }
        members.own("messages", |out| out.put("["));
    }

    pub(crate) fn close(
        &self,
        body: &mut Vec<u8>,
        messages: &[u8],
        to: &For<'_>,
        choice: &ToolChoice,
    ) {
        if to.lacks(Degradation::CacheMarks) {
            body.extend_from_slice(messages);
        } else {
            copy_marked(body, messages, self.marks(to).places());
        }
        body.put(if self.open == Open::Nothing { "]" } else { "]}]" });
        let may_choose = may_choose(to);
        match choice {
            ToolChoice::Force { tool } if may_choose => {
                body.put(r#","tool_choice":{"type":"tool","name":"#);
                body.string(tool);
                body.put("}");
            }
            ToolChoice::Any if may_choose => body.put(r#","tool_choice":{"type":"any"}"#),
            ToolChoice::None if may_choose => body.put(r#","tool_choice":{"type":"none"}"#),
            ToolChoice::Auto | ToolChoice::Any | ToolChoice::Force { .. } | ToolChoice::None => {}
        }
        if let Some(thinking) = to.options.extra.get("thinking") {
            // With a thinking budget every reply with calls must begin with thinking. That of
            // another model has none that could go back, so this round goes without.
            let demands = thinking.get("type").and_then(Value::as_str) == Some("enabled");
            if !(demands && self.bare_calls) {
                body.put(r#","thinking":"#);
                value(body, thinking);
            }
        }
        body.put("}");
    }
}

/// A block of text without the brace that ends it.
fn text_block(out: &mut Vec<u8>, text: &str) {
    out.put(r#"{"type":"text","text":"#);
    out.string(text);
}

/// An image, or the words for it, without the brace that ends the block.
fn image_block(out: &mut Vec<u8>, image: &Image, to: &For<'_>) {
    match to.images.show(image) {
        Shown::Inline(bytes) => {
            out.put(r#"{"type":"image","source":{"type":"base64","media_type":"#);
            out.string(&image.media);
            out.put(r#","data":""#);
            push_base64(out, bytes);
            out.put(r#""}"#);
        }
        Shown::Linked(url) => {
            out.put(r#"{"type":"image","source":{"type":"url","url":"#);
            out.string(url);
            out.put("}");
        }
        Shown::Missing => text_block(out, &placeholder(image)),
    }
}

/// How many cache marks stand in a value.
fn marks_in(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            let own = members.contains_key("cache_control");
            usize::from(own) + members.values().map(marks_in).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(marks_in).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn tools(out: &mut Vec<u8>, to: &For<'_>, marked: bool) {
    let last = to.config.tools.last().map(|tool| tool.name.as_str());
    list_tools(out, to, |out, tool| {
        out.put("{");
        let mut members = Members::inside(out);
        members.own("name", |out| out.string(&tool.name));
        if !tool.description.trim().is_empty() {
            members.own("description", |out| out.string(&tool.description));
        }
        members.own("input_schema", |out| push_schema(out, &tool.input_schema));
        out.put(if marked && last == Some(tool.name.as_str()) { MARK } else { "" });
        out.put("}");
    });
}

fn whole(json: &str) -> Option<&str> {
    match private(json) {
        Private::Whole(whole) => Some(whole),
        Private::Adorns(_) | Private::Nothing => None,
    }
}
