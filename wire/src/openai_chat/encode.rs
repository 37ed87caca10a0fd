//! View -> request body of OpenAI Chat Completions, as every compatible vendor reads it.

use std::borrow::Cow;

use machine_spec::effect::ToolChoice;
use machine_spec::message::{Block, Call, CallResult, Reply, Said};
use machine_spec::view::Seen;

use super::Assistant;
use crate::encode::{
    Degradation, For, IdShape, Members, Out, args, fit_id, fit_name, list_tools, may_choose,
    offers_tools, push_schema, result_in_words, value,
};
use crate::images::{Shown, data_url, placeholder};

/// Members that are written here and cannot be given as extra parameters.
pub(crate) const RESERVED: &[&str] =
    &["model", "messages", "stream", "tools", "tool_choice", "max_tokens", "max_completion_tokens"];

/// Longest id that is sent to an endpoint that did not make it.
const FOREIGN_ID: IdShape = IdShape::Any(40);

/// Where the writing stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scribe {
    open: Open,
    /// Whether the calls that are being answered came from another endpoint.
    foreign_calls: bool,
}

/// What may still grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    /// Nothing was written yet.
    #[default]
    Nothing,
    /// The text of a user message; its quote is not closed.
    Words,
    /// The content parts of a user message with images.
    Parts,
    /// The last message is complete.
    Closed,
}

impl Scribe {
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, seen: Seen<'_>, to: &For<'_>) {
        match seen {
            Seen::Said(said) if said.is_blank() => {}
            Seen::Said(said) if !said.images.is_empty() || self.open == Open::Parts => {
                self.parts(out, said, to);
            }
            Seen::Said(said) if self.open == Open::Words => {
                out.put("\\n\\n");
                out.escaped(&said.text);
            }
            Seen::Said(said) => {
                self.next_message(out);
                out.put(r#"{"role":"user","content":""#);
                out.escaped(&said.text);
                self.open = Open::Words;
            }
            Seen::Reply(reply) => self.reply(out, reply, to),
            Seen::Results(results) => {
                for result in results {
                    self.next_message(out);
                    self.result(out, result, to);
                    self.open = Open::Closed;
                }
            }
        }
    }

    fn next_message(&self, out: &mut Vec<u8>) {
        out.put(match self.open {
            Open::Nothing => "",
            Open::Words => r#""},"#,
            Open::Parts => "]},",
            Open::Closed => ",",
        });
    }

    /// Words with images. Text that was sent as a plain string stays one, so images behind it
    /// stand in a message of their own.
    fn parts(&mut self, out: &mut Vec<u8>, said: &Said, to: &For<'_>) {
        if self.open == Open::Parts {
            out.put(",");
        } else {
            self.next_message(out);
            out.put(r#"{"role":"user","content":["#);
            self.open = Open::Parts;
        }
        let text = (!said.text.trim().is_empty()).then_some(said.text.as_str());
        let images = said.images.iter().map(|image| (image, to.images.show(image)));
        let mut comma = "";
        if let Some(text) = text {
            text_part(out, text);
            comma = ",";
        }
        for (image, shown) in images {
            out.put(std::mem::replace(&mut comma, ","));
            match shown {
                Shown::Inline(bytes) => {
                    out.put(r#"{"type":"image_url","image_url":{"url":"#);
                    data_url(out, &image.media, bytes);
                    out.put("}}");
                }
                Shown::Linked(url) => {
                    out.put(r#"{"type":"image_url","image_url":{"url":"#);
                    out.string(url);
                    out.put("}}");
                }
                Shown::Missing => text_part(out, &placeholder(image)),
            }
        }
    }

    fn reply(&mut self, out: &mut Vec<u8>, reply: &Reply, to: &For<'_>) {
        let own = &*reply.by == to.maker;
        self.foreign_calls = !own;
        let private = own && !to.lacks(Degradation::Reasoning);
        let mut assistant = Assistant::default();
        for block in &reply.blocks {
            match block {
                Block::Text(text) => assistant.text(text),
                Block::Thinking(thinking) if private => assistant.private(&thinking.seal),
                Block::Opaque(payload) if private => assistant.private(payload),
                Block::Thinking(_) | Block::Opaque(_) => {}
                Block::Call(call) => assistant.call(|out| self.call(out, call, to)),
            }
        }
        if assistant.says_something() {
            self.next_message(out);
            assistant.write(out, "null");
            self.open = Open::Closed;
        }
    }

    /// The members of a call, without braces.
    fn call(&self, out: &mut Vec<u8>, call: &Call, to: &For<'_>) {
        out.put(r#""id":"#);
        out.string(&self.id(&call.wire_id, to));
        out.put(r#","type":"function","function":{"name":"#);
        out.string(&fit_name(&call.name));
        out.put(r#","arguments":"#);
        out.string(args(call));
        out.put("}");
    }

    fn result(&self, out: &mut Vec<u8>, result: &CallResult, to: &For<'_>) {
        out.put(r#"{"role":"tool","tool_call_id":"#);
        out.string(&self.id(&result.wire_id, to));
        out.put(r#","content":"#);
        out.string(&result_in_words(result));
        out.put("}");
    }

    /// An endpoint accepts the ids it made, whatever they look like.
    fn id<'t>(&self, id: &'t str, to: &For<'_>) -> Cow<'t, str> {
        if to.lacks(Degradation::ShortCallIds) {
            fit_id(IdShape::Nine, id)
        } else if self.foreign_calls {
            fit_id(FOREIGN_ID, id)
        } else {
            Cow::Borrowed(id)
        }
    }

    /// Tools stay declared where none may be called: several vendors demand it as long as the
    /// history holds calls, and the cached prefix stays the same.
    pub(crate) fn offers_tools(&self, to: &For<'_>, choice: &ToolChoice) -> bool {
        offers_tools(to, choice)
    }

    pub(crate) fn head(&self, out: &mut Vec<u8>, to: &For<'_>, offered: bool) {
        let extra = &to.options.extra;
        out.put("{");
        let mut members = Members::inside(out);
        members.own("model", |out| out.string(&to.candidate.model));
        members.own("stream", |out| out.put(if to.streams() { "true" } else { "false" }));
        // They belong to a stream and are refused without one.
        let of_streams: &[&str] = if to.streams() { &[] } else { &["stream_options"] };
        if to.streams() && !to.lacks(Degradation::StreamOptions) {
            members.unless(extra, "stream_options", |out| out.put(r#"{"include_usage":true}"#));
        }
        if let Some(limit) = to.stated_max_tokens() {
            let renamed = to.lacks(Degradation::MaxTokensName);
            let name = if renamed { "max_completion_tokens" } else { "max_tokens" };
            members.own(name, |out| out.put(&limit.to_string()));
        }
        if let Some(temperature) = to.temperature() {
            members.unless(extra, "temperature", |out| value(out, &temperature));
        }
        members.extra(extra, RESERVED, of_streams);
        if let Some(shape) = to.shape() {
            members.unless(extra, "response_format", |out| {
                out.put(r#"{"type":"json_schema","json_schema":{"#);
                shape.members(&mut Members::inside(out));
                out.put("}}");
            });
        }
        if offered {
            members.own("tools", |out| tools(out, to));
        }
        members.own("messages", |out| {
            out.put("[");
            if !to.config.system.trim().is_empty() {
                out.put(r#"{"role":"system","content":"#);
                out.string(&to.config.system);
                out.put("}");
            }
        });
    }

    pub(crate) fn close(
        &self,
        body: &mut Vec<u8>,
        messages: &[u8],
        to: &For<'_>,
        choice: &ToolChoice,
    ) {
        if self.open != Open::Nothing && !to.config.system.trim().is_empty() {
            body.put(",");
        }
        body.extend_from_slice(messages);
        body.put(match self.open {
            Open::Words => r#""}]"#,
            Open::Parts => "]}]",
            Open::Nothing | Open::Closed => "]",
        });
        if may_choose(to) {
            match choice {
                ToolChoice::Force { tool } => {
                    body.put(r#","tool_choice":{"type":"function","function":{"name":"#);
                    body.string(tool);
                    body.put("}}");
                }
                ToolChoice::Any => body.put(r#","tool_choice":"required""#),
                ToolChoice::None => body.put(r#","tool_choice":"none""#),
                ToolChoice::Auto => {}
            }
        }
        body.put("}");
    }
}

fn text_part(out: &mut Vec<u8>, text: &str) {
    out.put(r#"{"type":"text","text":"#);
    out.string(text);
    out.put("}");
}

fn tools(out: &mut Vec<u8>, to: &For<'_>) {
    list_tools(out, to, |out, tool| {
        out.put(r#"{"type":"function","function":{"#);
        let mut members = Members::inside(out);
        members.own("name", |out| out.string(&tool.name));
        if !tool.description.trim().is_empty() {
            members.own("description", |out| out.string(&tool.description));
        }
        members.own("parameters", |out| push_schema(out, &tool.input_schema));
        out.put("}}");
    });
}
