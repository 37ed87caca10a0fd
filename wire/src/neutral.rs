//! What a provider stream says, in one object: for `decode`, for tests, for people.
//!
//! It is built from events alone and judges nothing: calls stand in it whether or not they were
//! completed, and a stream that failed shows what came before.

use machine_spec::model::{
    BlockEnd, BlockKind, Failure, ModelEvent, StopDetails, StopReason, Usage,
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::decoder::Decoder;
use crate::dialect::Dialect;
use crate::limits::DecodeLimits;

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Message {
    /// The model as the response names it.
    pub model: Option<String>,
    /// The provider's id of the response.
    pub response: Option<String>,
    /// All visible text, in order, without separators.
    pub text: String,
    /// All thinking, likewise.
    pub thinking: String,
    /// The calls of our tools, in order of appearance.
    pub tool_calls: Vec<ToolCall>,
    /// The provider's own word for why it stopped; a number where the provider has numbers.
    #[serde(serialize_with = "word_or_number")]
    pub stop_reason: Option<String>,
    /// The same in neutral words.
    pub stop: Option<StopReason>,
    /// What the provider says about it beyond that word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_details: Option<StopDetails>,
    /// Token counts.
    pub usage: Counts,
    /// The error that ended the stream.
    pub error: Option<Failure>,
    /// What the model said instead of an answer.
    pub refusal: Option<String>,
    /// Blocks that only their own provider understands.
    pub opaque: Vec<Value>,
}

/// A call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolCall {
    /// The provider's id; `None` when it gave none.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// The arguments; `{}` where the provider sent none, `None` where they are not JSON.
    pub args: Option<Value>,
    /// The argument text, where it is empty or not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_raw: Option<String>,
    /// Whether the wire proved the call complete.
    pub complete: bool,
}

/// Token counts; `null` is not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Input tokens.
    pub input: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Input tokens from the prompt cache.
    pub cache_read: Option<u64>,
    /// Input tokens written to the prompt cache.
    pub cache_write: Option<u64>,
    /// Reasoning tokens.
    pub reasoning: Option<u64>,
}

impl From<Usage> for Counts {
    fn from(usage: Usage) -> Counts {
        let Usage { input, output, cache_read, cache_write, reasoning } = usage;
        Counts { input, output, cache_read, cache_write, reasoning }
    }
}

impl Message {
    /// Reads a whole body. Its usage is in the provider's own numbers.
    #[must_use]
    pub fn read(dialect: Dialect, limits: DecodeLimits, body: &[u8]) -> Message {
        let mut decoder = Decoder::new(dialect, limits);
        let mut events = Vec::new();
        decoder.push(body, &mut events);
        decoder.finish(&mut events);
        let mut message = Message::of(&events);
        message.usage = decoder.reported_usage().into();
        message
    }

    /// What the events of one response amount to. Its usage is in the machine's numbers: the
    /// cache apart from the input, reasoning within the output.
    #[must_use]
    pub fn of(events: &[ModelEvent]) -> Message {
        let mut draft = Draft::default();
        for event in events {
            draft.hear(event);
        }
        draft.message()
    }
}

/// Some bodies of Vertex number their words, and a number is shown as one.
fn word_or_number<S: Serializer>(word: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match word.as_deref().map(|word| (word, word.parse::<u64>())) {
        Some((_, Ok(number))) => serializer.serialize_u64(number),
        Some((word, Err(_))) => serializer.serialize_str(word),
        None => serializer.serialize_none(),
    }
}

#[derive(Default)]
struct Draft {
    message: Message,
    usage: Usage,
    blocks: Vec<Block>,
}

struct Block {
    kind: BlockKind,
    text: String,
    complete: bool,
}

impl Draft {
    fn hear(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Began { model, response } => {
                let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
                self.message.model = given(model);
                self.message.response = given(response);
            }
            ModelEvent::BlockBegan { kind, .. } => {
                let kind = kind.clone();
                self.blocks.push(Block { kind, text: String::new(), complete: false });
            }
            ModelEvent::Delta { block, text } => {
                if let Some(block) = self.blocks.get_mut(*block as usize) {
                    block.text.push_str(text);
                }
            }
            ModelEvent::BlockDone { block, done, .. } => {
                if let Some(block) = self.blocks.get_mut(*block as usize) {
                    block.complete = true;
                    if let BlockEnd::Opaque { payload } = done {
                        block.text.clone_from(payload);
                    }
                }
            }
            ModelEvent::Usage(usage) => self.usage.update(usage),
            ModelEvent::Finished { reason, word, details } => {
                self.message.stop_details = details.as_deref().cloned();
                self.message.stop = Some(*reason);
                self.message.stop_reason = Some(word.clone()).filter(|word| !word.is_empty());
            }
            ModelEvent::Failed(failure) => self.message.error = Some(failure.clone()),
        }
    }

    fn message(self) -> Message {
        let mut message = self.message;
        message.usage = self.usage.into();
        for block in self.blocks {
            match block.kind {
                BlockKind::Text => message.text.push_str(&block.text),
                BlockKind::Thinking => message.thinking.push_str(&block.text),
                BlockKind::Call { wire_id, name } => {
                    message.tool_calls.push(ToolCall::of(
                        wire_id,
                        name,
                        block.text,
                        block.complete,
                    ));
                }
                BlockKind::Opaque => {
                    let value = serde_json::from_str::<Value>(&block.text).unwrap_or_default();
                    message.tool_calls.extend(ToolCall::custom(&value));
                    message.opaque.push(value);
                }
            }
        }
        // A wire that marks refusals as a part of the message gives them a stop reason of its
        // ordinary kind; then the text is the refusal.
        let ordinary = message.stop_reason.as_deref().is_some_and(|word| word != "refusal");
        if message.stop == Some(StopReason::Refused) && ordinary {
            message.refusal = Some(std::mem::take(&mut message.text));
        }
        message
    }
}

impl ToolCall {
    /// A call with free text instead of arguments. We declare no such tool, so none of ours is
    /// meant; a reader of the stream wants to see it all the same.
    fn custom(item: &Value) -> Option<ToolCall> {
        if item["type"] != "custom_tool_call" {
            return None;
        }
        let args = Some(serde_json::json!({"input": item["input"]}));
        let text = |member: &str| item[member].as_str().map(str::to_owned);
        let name = text("name").unwrap_or_default();
        Some(ToolCall { id: text("call_id"), name, args, args_raw: None, complete: true })
    }

    fn of(wire_id: String, name: String, text: String, complete: bool) -> ToolCall {
        let id = Some(wire_id).filter(|id| !id.is_empty());
        if text.trim().is_empty() {
            let args = Some(Value::Object(serde_json::Map::new()));
            return ToolCall { id, name, args, args_raw: Some(text), complete };
        }
        let args = serde_json::from_str(&text).ok();
        let args_raw = if args.is_none() { Some(text) } else { None };
        ToolCall { id, name, args, args_raw, complete }
    }
}
