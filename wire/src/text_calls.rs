//! Calls that a model wrote into its text instead of calling (B011).
//!
//! It stands behind a decoder and passes events on. Text that may be the beginning of a call is
//! held back; what it was is known only when the message is complete. It becomes a call if
//! *everything* speaks for it: every name is a declared tool, the markup is closed, stands outside
//! of code fences and at the end of the text, no call came the proper way, and the output was not
//! cut. Otherwise it is shown as the text it is.

mod fence;
mod forms;
mod python;
mod witness;

use machine_spec::config::ToolSpec;
use machine_spec::model::{BlockEnd, BlockKind, CallFacts, ModelEvent, Proof, Safety, StopReason};

use self::fence::Fence;
use self::forms::{Spelled, Tools};
use crate::args::canonical_args;

pub(crate) use self::witness::Witness;

/// Looks for written calls in the events of one response.
#[derive(Clone, Debug)]
pub struct TextCalls {
    tools: Tools,
    markers: Vec<String>,
    blocks: u32,
    called: bool,
    text: Option<Held>,
}

/// The last text block, as far as it was not passed on.
#[derive(Clone, Debug)]
struct Held {
    block: u32,
    /// Text that was not passed on: blanks at the end, or from a possible marker on.
    text: String,
    /// Where in `text` a marker begins, once one was found.
    marker: Option<usize>,
    fence: Fence,
    /// The end of the block, if it came while text was held.
    done: Option<ModelEvent>,
}

impl TextCalls {
    /// A look-out for calls of these tools.
    #[must_use]
    pub fn new(tools: &[ToolSpec]) -> TextCalls {
        let tools = Tools::new(tools);
        let markers = forms::markers(&tools);
        TextCalls { tools, markers, blocks: 0, called: false, text: None }
    }

    /// Replaces the events of a decoder by those that may be passed on now.
    pub fn sift(&mut self, events: &mut Vec<ModelEvent>) {
        let mut out = Vec::with_capacity(events.len());
        for event in events.drain(..) {
            self.hear(event, &mut out);
        }
        *events = out;
    }

    /// The response is over: passes on what was held.
    pub fn finish(&mut self, events: &mut Vec<ModelEvent>) {
        self.release(events);
    }

    /// Whether the end of a text block is held back with its text.
    #[must_use]
    pub fn holds_an_end(&self) -> bool {
        self.text.as_ref().is_some_and(|held| held.done.is_some())
    }

    fn hear(&mut self, event: ModelEvent, out: &mut Vec<ModelEvent>) {
        match event {
            ModelEvent::BlockBegan { block, ref kind } => {
                self.release(out);
                self.blocks = block + 1;
                match kind {
                    BlockKind::Text => self.text = Some(Held::new(block)),
                    BlockKind::Call { .. } => self.called = true,
                    BlockKind::Thinking | BlockKind::Opaque => {}
                }
                out.push(event);
            }
            ModelEvent::Delta { block, text } => {
                match self.text.as_mut().filter(|held| held.block == block) {
                    Some(held) => out.extend(held.take(&text, &self.markers)),
                    None => out.push(ModelEvent::Delta { block, text }),
                }
            }
            ModelEvent::BlockDone { block, .. } => {
                let holds = |held: &&mut Held| held.block == block && !held.text.is_empty();
                match self.text.as_mut().filter(holds) {
                    Some(held) => held.done = Some(event),
                    None => out.push(event),
                }
            }
            ModelEvent::Finished { reason, word } => {
                let reason = self.conclude(reason, out);
                out.push(ModelEvent::Finished { reason, word });
            }
            ModelEvent::Failed(_) => {
                self.release(out);
                out.push(event);
            }
            ModelEvent::Began { .. } | ModelEvent::Usage(_) => out.push(event),
        }
    }

    /// The message is complete: held text becomes calls, or text.
    fn conclude(&mut self, reason: StopReason, out: &mut Vec<ModelEvent>) -> StopReason {
        let spelled = match &self.text {
            Some(held) if is_whole(reason) && !self.called => held.calls(&self.tools),
            Some(_) | None => None,
        };
        let Some(calls) = spelled else {
            self.release(out);
            return reason;
        };
        out.extend(self.text.take().and_then(|held| held.done));
        for call in calls {
            self.call(call, out);
        }
        StopReason::ToolUse
    }

    fn call(&mut self, call: Spelled, out: &mut Vec<ModelEvent>) {
        let block = self.blocks;
        self.blocks += 1;
        let facts = CallFacts::new(canonical_args(&call.args), Safety::Exclusive);
        let kind = BlockKind::Call { wire_id: String::new(), name: call.name };
        out.push(ModelEvent::BlockBegan { block, kind });
        out.push(ModelEvent::Delta { block, text: call.args });
        let (proof, done) = (Proof::FinishReason, BlockEnd::Call(facts));
        out.push(ModelEvent::BlockDone { block, proof, done });
    }

    fn release(&mut self, out: &mut Vec<ModelEvent>) {
        if let Some(held) = self.text.take() {
            if !held.text.is_empty() {
                out.push(ModelEvent::Delta { block: held.block, text: held.text });
            }
            out.extend(held.done);
        }
    }
}

impl Held {
    fn new(block: u32) -> Held {
        Held { block, text: String::new(), marker: None, fence: Fence::default(), done: None }
    }

    /// Takes more text; what can no longer be part of a call is passed on.
    fn take(&mut self, more: &str, markers: &[String]) -> Option<ModelEvent> {
        self.text.push_str(more);
        if self.marker.is_some() {
            return None;
        }
        let (free, marker) = self.search(markers);
        let kept = self.text.split_off(free);
        let text = std::mem::replace(&mut self.text, kept);
        self.marker = marker.map(|at| at - free);
        self.fence.read(&text);
        (!text.is_empty()).then_some(ModelEvent::Delta { block: self.block, text })
    }

    /// Takes more text that is passed on whatever it is: only what may be a call is kept.
    fn watch(&mut self, more: &str, markers: &[String]) {
        let may_begin = more.contains(forms::FIRST) || more.ends_with(char::is_whitespace);
        if self.text.is_empty() && !may_begin {
            self.fence.read(more);
        } else {
            self.take(more, markers);
        }
    }

    /// The calls that the held text spells, if it does.
    fn calls(&self, tools: &Tools) -> Option<Vec<Spelled>> {
        forms::read(&self.text[self.marker?..], tools)
    }

    /// How much of the text is free, and where a marker begins. The blanks before a marker, whole
    /// or begun, belong to it: a call leaves no trace in the text.
    fn search(&self, markers: &[String]) -> (usize, Option<usize>) {
        let mut fence = self.fence.clone();
        let mut read = 0;
        for (at, _) in self.text.match_indices(forms::FIRST) {
            let rest = &self.text[at..];
            let may_be =
                |marker: &&String| rest.starts_with(marker.as_str()) || marker.starts_with(rest);
            let Some(marker) = markers.iter().find(may_be) else { continue };
            fence.read(&self.text[read..at]);
            read = at;
            let in_line = marker.starts_with('[') && !fence.is_line_start();
            if fence.is_open() || in_line {
                continue;
            }
            let free = self.text[..at].trim_end().len();
            let whole = rest.starts_with(marker.as_str());
            return (free, whole.then_some(at));
        }
        (self.text.trim_end().len(), None)
    }
}

/// Whether a message that stopped so was said to its end.
const fn is_whole(reason: StopReason) -> bool {
    match reason {
        StopReason::EndOfTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Other => true,
        StopReason::OutputLimit
        | StopReason::WindowExceeded
        | StopReason::Paused
        | StopReason::Refused
        | StopReason::Filtered => false,
    }
}

/// Whether a complete text ends in what reads like a call of one of the tools, in any of the
/// known spellings. For those who do not want calls recovered, but the model told.
#[must_use]
pub fn spells_a_call(text: &str, tools: &[ToolSpec]) -> bool {
    let tools = Tools::new(tools);
    let mut held = Held::new(0);
    held.take(text, &forms::markers(&tools));
    held.calls(&tools).is_some()
}
