//! Calls that a model wrote into its text instead of calling (B011).
//!
//! It stands behind a decoder and passes events on. Text that may be the beginning of a call is
//! held back; what it was is known only when the message is complete. It becomes a call if
//! *everything* speaks for it: every name is a declared tool, the markup is closed, stands outside
//! of code fences and at the end of the text, no call came the proper way, and the output was not
//! cut. Otherwise it is shown as the text it is.
//!
//! Where such calls are not to be recovered, the same text becomes one call that cannot be used, and
//! the model is asked to mend its output, as after any other malformed call. Either way its markup
//! never stays in the text.

mod fence;
mod forms;
mod python;

use machine_spec::config::ToolSpec;
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Proof, Safety, StopReason,
};

use self::fence::Fence;
use self::forms::{Spelled, Tools};
use crate::args::canonical_args;

/// Looks for written calls in the events of one response.
#[derive(Clone, Debug)]
pub struct TextCalls {
    recovers: bool,
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
    /// Whether blanks are held until it is known that no call follows: a call that is recovered
    /// leaves no trace in the text.
    with_blanks: bool,
    fence: Fence,
    /// The end of the block, if it came while text was held.
    done: Option<ModelEvent>,
}

impl TextCalls {
    /// A look-out for calls of these tools, which recovers them.
    #[must_use]
    pub fn new(tools: &[ToolSpec]) -> TextCalls {
        TextCalls::of(tools, true)
    }

    /// A look-out for calls of these tools that recovers none: one call stands for all of them, and
    /// it cannot be used, because what was written is no JSON.
    #[must_use]
    pub fn refusing(tools: &[ToolSpec]) -> TextCalls {
        TextCalls::of(tools, false)
    }

    fn of(tools: &[ToolSpec], recovers: bool) -> TextCalls {
        let tools = Tools::new(tools);
        let markers = forms::markers(&tools);
        TextCalls { recovers, tools, markers, blocks: 0, called: false, text: None }
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
                    BlockKind::Text => self.text = Some(Held::new(block, self.recovers)),
                    BlockKind::Call { .. } => self.called = true,
                    BlockKind::Thinking | BlockKind::Opaque => {}
                }
                out.push(event);
            }
            ModelEvent::Delta { block, text } => {
                match self.text.as_mut().filter(|held| held.block == block) {
                    Some(held) => out.extend(held.take(text, &self.markers)),
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
            ModelEvent::Finished { reason, word, details } => {
                let reason = self.conclude(reason, out);
                out.push(ModelEvent::Finished { reason, word, details });
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
        let Some(Held { mut text, marker: Some(at), done, .. }) = self.text.take() else {
            return reason;
        };
        out.extend(done);
        if self.recovers {
            for call in calls {
                let facts = CallFacts::new(canonical_args(&call.args), Safety::Exclusive);
                self.call(call, facts, out);
            }
        } else if let Some(Spelled { name, .. }) = calls.into_iter().next() {
            let problem = "expected a call of the tool, found one that is written as text".into();
            let args = ArgsVerdict::Malformed { at: 0, problem };
            let written = Spelled { name, args: text.split_off(at) };
            self.call(written, CallFacts::new(args, Safety::Exclusive), out);
        }
        StopReason::ToolUse
    }

    fn call(&mut self, call: Spelled, facts: CallFacts, out: &mut Vec<ModelEvent>) {
        let block = self.blocks;
        self.blocks += 1;
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
    fn new(block: u32, with_blanks: bool) -> Held {
        let (text, fence) = (String::new(), Fence::default());
        Held { block, text, marker: None, with_blanks, fence, done: None }
    }

    /// Takes more text; what can no longer be part of a call is passed on.
    fn take(&mut self, more: String, markers: &[String]) -> Option<ModelEvent> {
        let may_begin = more.contains(forms::FIRST)
            || (self.with_blanks && more.ends_with(char::is_whitespace));
        if self.text.is_empty() && !may_begin {
            self.fence.read(&more);
            return (!more.is_empty())
                .then_some(ModelEvent::Delta { block: self.block, text: more });
        }
        self.text.push_str(&more);
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

    /// The calls that the held text spells, if it does.
    fn calls(&self, tools: &Tools) -> Option<Vec<Spelled>> {
        forms::read(&self.text[self.marker?..], tools)
    }

    /// How much of the text is free, and where a marker begins. The blanks before a marker, whole
    /// or begun, may belong to it.
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
            let free = self.free(at);
            let whole = rest.starts_with(marker.as_str());
            return (free, whole.then_some(at));
        }
        (self.free(self.text.len()), None)
    }

    /// How much of so much text is not held.
    fn free(&self, end: usize) -> usize {
        if self.with_blanks { self.text[..end].trim_end().len() } else { end }
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
