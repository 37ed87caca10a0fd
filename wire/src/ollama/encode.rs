//! View -> request body of Ollama's own API.

use machine_spec::effect::ToolChoice;
use machine_spec::message::{Block, Call, CallResult, Reply, Said, Thinking};
use machine_spec::view::Seen;

use crate::encode::{
    For, Members, Out, args, fit_name, has_member, list_tools, push_schema, result_in_words,
    sub_object,
};
use crate::images::{Shown, placeholder, push_base64};
use crate::openai_chat::Assistant;

/// Members that are written here and cannot be given as extra parameters.
pub(crate) const RESERVED: &[&str] = &["model", "messages", "stream", "tools"];

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
    /// The images of a user message, behind its text.
    Images,
    /// The last message is complete.
    Closed,
}

impl Scribe {
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, seen: Seen<'_>, to: &For<'_>) {
        match seen {
            Seen::Said(said) => self.said(out, said, to),
            Seen::Reply(reply) => self.reply(out, reply, to),
            Seen::Results(results) => {
                for result in results {
                    self.next_message(out);
                    self.result(out, result);
                    self.open = Open::Closed;
                }
            }
        }
    }

    /// This wire takes the bytes of images and no addresses; what cannot be shown is told.
    fn said(&mut self, out: &mut Vec<u8>, said: &Said, to: &For<'_>) {
        self.words(out, &said.text);
        for image in &said.images {
            let Shown::Inline(bytes) = to.images.show(image) else {
                self.words(out, &placeholder(image));
                continue;
            };
            match self.open {
                Open::Images => out.put(","),
                Open::Words => out.put(r#"","images":["#),
                Open::Nothing | Open::Closed => {
                    self.next_message(out);
                    out.put(r#"{"role":"user","content":"","images":["#);
                }
            }
            out.put("\"");
            push_base64(out, bytes);
            out.put("\"");
            self.open = Open::Images;
        }
    }

    fn words(&mut self, out: &mut Vec<u8>, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.open == Open::Words {
            out.put("\\n\\n");
        } else {
            self.next_message(out);
            out.put(r#"{"role":"user","content":""#);
            self.open = Open::Words;
        }
        out.escaped(text);
    }

    fn next_message(&self, out: &mut Vec<u8>) {
        out.put(match self.open {
            Open::Nothing => "",
            Open::Words => r#""},"#,
            Open::Images => "]},",
            Open::Closed => ",",
        });
    }

    fn reply(&mut self, out: &mut Vec<u8>, reply: &Reply, to: &For<'_>) {
        let own = &*reply.by == to.maker;
        self.foreign_calls = !own;
        let mut assistant = Assistant::default();
        for block in &reply.blocks {
            match block {
                Block::Text(text) => assistant.text(text),
                // This wire has members of messages only, no content parts.
                Block::Thinking(Thinking { seal: json, .. }) | Block::Opaque(json)
                    if own && !has_member(json, "type") =>
                {
                    assistant.private(json);
                }
                Block::Thinking(_) | Block::Opaque(_) => {}
                Block::Call(call) => assistant.call(|out| self.call(out, call)),
            }
        }
        if assistant.says_something() {
            self.next_message(out);
            assistant.write(out, "\"\"");
            self.open = Open::Closed;
        }
    }

    fn call(&self, out: &mut Vec<u8>, call: &Call) {
        if self.gave_id(&call.wire_id) {
            out.put(r#""id":"#);
            out.string(&call.wire_id);
            out.put(",");
        }
        out.put(r#""function":{"name":"#);
        out.string(&fit_name(&call.name));
        out.put(r#","arguments":"#);
        out.put(args(call));
        out.put("}");
    }

    fn result(&self, out: &mut Vec<u8>, result: &CallResult) {
        out.put(r#"{"role":"tool","tool_name":"#);
        out.string(&fit_name(&result.name));
        if self.gave_id(&result.wire_id) {
            out.put(r#","tool_call_id":"#);
            out.string(&result.wire_id);
        }
        out.put(r#","content":"#);
        out.string(&result_in_words(result));
        out.put("}");
    }

    /// Whether the endpoint itself gave this id; where it gave none, the order pairs.
    fn gave_id(&self, wire_id: &str) -> bool {
        !self.foreign_calls && !wire_id.starts_with("lw_")
    }

    /// This wire cannot be told which tool to call; where none may be called none is declared. Its
    /// templates accept calls in the history without a declaration.
    pub(crate) fn offers_tools(&self, to: &For<'_>, choice: &ToolChoice) -> bool {
        match choice {
            ToolChoice::None => false,
            ToolChoice::Auto | ToolChoice::Any | ToolChoice::Force { .. } => {
                !to.config.tools.is_empty()
            }
        }
    }

    pub(crate) fn head(&self, out: &mut Vec<u8>, to: &For<'_>, offered: bool) {
        let extra = &to.options.extra;
        let mut options = Vec::new();
        // Without it the server cuts the beginning of a long conversation in silence.
        if to.candidate.context_window > 0 {
            options.push(("num_ctx", to.candidate.context_window.to_string().into_bytes()));
        }
        if let Some(limit) = to.stated_max_tokens() {
            options.push(("num_predict", limit.to_string().into_bytes()));
        }
        if let Some(temperature) = to.temperature() {
            options.push(("temperature", temperature.to_string().into_bytes()));
        }
        out.put("{");
        let mut members = Members::inside(out);
        members.own("model", |out| out.string(&to.candidate.model));
        members.own("stream", |out| out.put(if to.streams() { "true" } else { "false" }));
        let given = extra.get("options");
        if !options.is_empty() || given.is_some() {
            members.own("options", |out| sub_object(out, options, given));
        }
        members.extra(extra, RESERVED, &["options"]);
        if let Some(shape) = to.shape() {
            members.unless(extra, "format", |out| shape.push_schema(out));
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

    pub(crate) fn close(&self, body: &mut Vec<u8>, messages: &[u8], to: &For<'_>, _: &ToolChoice) {
        if self.open != Open::Nothing && !to.config.system.trim().is_empty() {
            body.put(",");
        }
        body.extend_from_slice(messages);
        body.put(match self.open {
            Open::Words => r#""}]}"#,
            Open::Images => "]}]}",
            Open::Nothing | Open::Closed => "]}",
        });
    }
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
