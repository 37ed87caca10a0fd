//! Ollama's own API, bytes to events: one JSON object a line, `done` in the last one. Both
//! endpoints are read: `chat` and `generate`.

use std::borrow::Cow;

use machine_spec::model::{Proof, StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assembly::{Assembly, Fault};
use crate::dialect::Dialect;
use crate::error_body::classify;
use crate::json::{Node, object};
use crate::lenient::{Count, Piece};

/// What is known of the response between two lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    current: Current,
    called: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Current {
    #[default]
    Nothing,
    Text(u32),
    Thinking(u32),
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    model: Piece<'a>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    response: Piece<'a>,
    #[serde(borrow, default)]
    thinking: Piece<'a>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(borrow, default)]
    done_reason: Piece<'a>,
    #[serde(default)]
    prompt_eval_count: Count,
    #[serde(default)]
    eval_count: Count,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Piece<'a>,
    #[serde(borrow, default)]
    thinking: Piece<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Piece<'a>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Piece<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl Line<'_> {
    /// The member that holds text, if the line holds nothing but one text.
    fn only(&self) -> Option<&'static str> {
        let message = self.message.as_ref();
        let of = |piece: fn(&Message<'_>) -> bool| message.is_some_and(piece);
        let members = [
            ("thinking", self.thinking.text().is_some()),
            ("response", self.response.text().is_some()),
            ("thinking", of(|message| message.thinking.text().is_some())),
            ("content", of(|message| message.content.text().is_some())),
            ("", of(|message| message.tool_calls.is_some())),
            ("", self.done == Some(true)),
        ];
        let mut present = members.iter().filter(|(_, is)| *is).map(|(member, _)| *member);
        present.next().filter(|member| !member.is_empty() && present.next().is_none())
    }
}

impl Reader {
    pub(crate) fn event(&mut self, data: &str, assembly: &mut Assembly) -> Result<(), Fault> {
        let line: Line<'_> = serde_json::from_str(data)
            .map_err(|error| Fault(format!("expected a JSON object, got: {error}")))?;
        if line.error.is_some() {
            assembly.fail(classify(Dialect::Ollama, 200, &[], data.as_bytes(), None));
            return Ok(());
        }
        assembly.began(line.model.or_empty(), "");
        let only = line.only();
        self.think(line.thinking, assembly)?;
        self.say(line.response, assembly)?;
        if let Some(message) = line.message {
            self.think(message.thinking, assembly)?;
            self.say(message.content, assembly)?;
            for call in message.tool_calls.unwrap_or_default() {
                self.call(&call, assembly)?;
            }
        }
        if let (Some(member), Current::Text(block) | Current::Thinking(block)) =
            (only, self.current)
        {
            assembly.teach(member, block);
        }
        if line.done == Some(true) {
            let (input, output) = (line.prompt_eval_count.0, line.eval_count.0);
            let usage = Usage { input, output, ..Usage::default() };
            assembly.usage(usage, usage);
            self.leave(Proof::FinishReason, assembly)?;
            let word = line.done_reason.or_empty();
            assembly.stop(self.reason(word), word);
            assembly.end();
        }
        Ok(())
    }

    fn think(&mut self, piece: Piece<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(text) = piece.0.filter(|text| !text.is_empty()) else { return Ok(()) };
        let block = match self.current {
            Current::Thinking(block) => block,
            Current::Nothing | Current::Text(_) => {
                self.leave(Proof::NextBlock, assembly)?;
                let block = assembly.open_thinking()?;
                self.current = Current::Thinking(block);
                block
            }
        };
        assembly.delta(block, text)
    }

    fn say(&mut self, piece: Piece<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(text) = piece.0.filter(|text| !text.is_empty()) else { return Ok(()) };
        let block = match self.current {
            Current::Text(block) => block,
            Current::Nothing | Current::Thinking(_) => {
                self.leave(Proof::NextBlock, assembly)?;
                let block = assembly.open_text()?;
                self.current = Current::Text(block);
                block
            }
        };
        assembly.delta(block, text)
    }

    fn call(&mut self, call: &Call<'_>, assembly: &mut Assembly) -> Result<(), Fault> {
        self.leave(Proof::NextBlock, assembly)?;
        self.called = true;
        let block = assembly.open_call(call.id.or_empty(), call.function.name.or_empty())?;
        let arguments = call.function.arguments.map(RawValue::get).unwrap_or_default();
        assembly.delta(block, Cow::Borrowed(arguments))?;
        assembly.close_call(block, Proof::WholePart);
        Ok(())
    }

    fn leave(&mut self, proof: Proof, assembly: &mut Assembly) -> Result<(), Fault> {
        match std::mem::take(&mut self.current) {
            Current::Nothing => {}
            Current::Text(block) => assembly.close_text(block, proof),
            Current::Thinking(block) => {
                let text = Node::Text(assembly.text(block).to_owned());
                assembly.close_thinking(block, proof, object([("thinking", text)]).json())?;
            }
        }
        Ok(())
    }

    /// `stop` is all this wire says, with calls or without; older servers do not even say that.
    fn reason(&self, word: &str) -> StopReason {
        match word {
            "stop" | "" if self.called => StopReason::ToolUse,
            "stop" | "" => StopReason::EndOfTurn,
            "length" => StopReason::OutputLimit,
            _ => StopReason::Other,
        }
    }
}
