//! Blocks of a response as they grow: what all decoders share.
//!
//! It numbers blocks in order of appearance, keeps of each only what its end needs, closes each at
//! most once and holds the stop reason back until nothing can follow it.

use std::borrow::Cow;

use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, Failure, ModelEvent, Proof, Safety, StopDetails,
    StopReason, Usage,
};

use crate::args::canonical_args;
use crate::json::{Node, object};
use crate::lenient::Sound;
use crate::limits::DecodeLimits;
use crate::predict::Lesson;

/// What a dialect does not allow; the decoder adds where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) String);

/// The response so far.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    /// Events not handed out yet.
    pub(crate) events: Vec<ModelEvent>,
    /// What the event at hand taught, set by a reader that did nothing but add text.
    pub(crate) lesson: Option<Lesson>,
    blocks: Vec<Slot>,
    named: bool,
    /// Why the model stopped, until it is sure that nothing but usage follows.
    stop: Option<(StopReason, String, Option<Box<StopDetails>>)>,
    finished: bool,
    over: bool,
    usage: Usage,
    reported: Usage,
    limits: DecodeLimits,
}

#[derive(Clone, Debug)]
struct Slot {
    kind: Holds,
    open: bool,
    /// The text so far, of blocks whose end needs it.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Text,
    Thinking,
    Call,
    Opaque,
}

impl Assembly {
    pub(crate) fn new(limits: DecodeLimits) -> Assembly {
        Assembly {
            events: Vec::new(),
            lesson: None,
            blocks: Vec::new(),
            named: false,
            stop: None,
            finished: false,
            over: false,
            usage: Usage::default(),
            reported: Usage::default(),
            limits,
        }
    }

    pub(crate) fn limits(&self) -> &DecodeLimits {
        &self.limits
    }

    /// Nothing more can come.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// The provider's own counts.
    pub(crate) fn reported(&self) -> &Usage {
        &self.reported
    }

    /// The response has a name, once.
    pub(crate) fn began(&mut self, model: &str, response: &str) {
        let empty = model.is_empty() && response.is_empty();
        if !empty && !self.named {
            self.named = true;
            let (model, response) = (model.to_owned(), response.to_owned());
            self.events.push(ModelEvent::Began { model, response });
        }
    }

    pub(crate) fn open_text(&mut self) -> Result<u32, Fault> {
        self.open(Holds::Text, BlockKind::Text)
    }

    pub(crate) fn open_thinking(&mut self) -> Result<u32, Fault> {
        self.open(Holds::Thinking, BlockKind::Thinking)
    }

    pub(crate) fn open_call(&mut self, wire_id: &str, name: &str) -> Result<u32, Fault> {
        let (wire_id, name) = (wire_id.to_owned(), name.to_owned());
        self.open(Holds::Call, BlockKind::Call { wire_id, name })
    }

    pub(crate) fn open_opaque(&mut self) -> Result<u32, Fault> {
        self.open(Holds::Opaque, BlockKind::Opaque)
    }

    /// A whole opaque block.
    pub(crate) fn opaque(&mut self, proof: Proof, payload: &str) -> Result<(), Fault> {
        let block = self.open_opaque()?;
        self.close_opaque(block, proof, payload.to_owned())
    }

    /// A member that belongs to the wire form of the next block and must go back with it.
    pub(crate) fn adorn(&mut self, name: &str, value: Node) -> Result<(), Fault> {
        let payload = object([("adorns_next", object([(name, value)]))]);
        self.opaque(Proof::WholePart, &payload.json())
    }

    fn open(&mut self, holds: Holds, kind: BlockKind) -> Result<u32, Fault> {
        let block = self.blocks.len() as u32;
        if block >= self.limits.blocks {
            let limit = self.limits.blocks;
            return Err(Fault(format!("a response may hold {limit} blocks, this one holds more")));
        }
        self.blocks.push(Slot { kind: holds, open: true, text: String::new() });
        self.events.push(ModelEvent::BlockBegan { block, kind });
        Ok(block)
    }

    /// More of an open block.
    pub(crate) fn delta(&mut self, block: u32, text: Cow<'_, str>) -> Result<(), Fault> {
        let Some(slot) = self.blocks.get_mut(block as usize).filter(|slot| slot.open) else {
            return Ok(());
        };
        if text.is_empty() {
            return Ok(());
        }
        match slot.kind {
            Holds::Text => {}
            Holds::Thinking | Holds::Call => {
                if slot.text.len() + text.len() > self.limits.block_bytes {
                    let limit = self.limits.block_bytes;
                    return Err(Fault(format!(
                        "a block may hold {limit} bytes, this one is longer"
                    )));
                }
                slot.text.push_str(&text);
            }
            // What an opaque block holds is known at its end only.
            Holds::Opaque => return Ok(()),
        }
        self.events.push(ModelEvent::Delta { block, text: text.into_owned() });
        Ok(())
    }

    /// The event at hand does nothing but add the text of this member to this block.
    pub(crate) fn teach(&mut self, member: &'static str, block: u32) {
        self.lesson = Some(Lesson { member, block });
    }

    /// The text so far of a thinking block or a call.
    pub(crate) fn text(&self, block: u32) -> &str {
        self.blocks.get(block as usize).map_or("", |slot| slot.text.as_str())
    }

    pub(crate) fn is_open(&self, block: u32) -> bool {
        self.blocks.get(block as usize).is_some_and(|slot| slot.open)
    }

    pub(crate) fn close_text(&mut self, block: u32, proof: Proof) {
        self.close(block, proof, BlockEnd::Text);
    }

    pub(crate) fn close_thinking(
        &mut self,
        block: u32,
        proof: Proof,
        seal: String,
    ) -> Result<(), Fault> {
        if !seal.is_empty() {
            self.check_kept(&seal)?;
        }
        self.close(block, proof, BlockEnd::Thinking { seal });
        Ok(())
    }

    pub(crate) fn close_opaque(
        &mut self,
        block: u32,
        proof: Proof,
        payload: String,
    ) -> Result<(), Fault> {
        self.check_kept(&payload)?;
        self.close(block, proof, BlockEnd::Opaque { payload });
        Ok(())
    }

    /// JSON that is kept goes back to its maker and into recordings, so every reader must be able
    /// to read it: its depth, and what skipping does not look at, such as halves of letters.
    fn check_kept(&self, json: &str) -> Result<(), Fault> {
        let depth = self.limits.depth;
        if nesting(json) > depth {
            return Err(Fault(format!(
                "JSON that is kept may nest {depth} levels deep, not deeper"
            )));
        }
        let sound = serde_json::from_str::<Sound>(json);
        sound
            .map(drop)
            .map_err(|error| Fault(format!("expected JSON that can be kept, got: {error}")))
    }

    /// A call is complete. Safety is judged by those who know the tool; until then it runs alone.
    pub(crate) fn close_call(&mut self, block: u32, proof: Proof) {
        let args = canonical_args(self.text(block));
        self.close(block, proof, BlockEnd::Call(CallFacts::new(args, Safety::Exclusive)));
    }

    /// A call is complete as far as the wire goes, but the output limit struck at it: even if its
    /// arguments parse, more may have been meant (Part 7, decision 5 of the behaviour).
    pub(crate) fn close_cut_call(&mut self, block: u32, proof: Proof) {
        let text = self.text(block);
        let at = text.len() as u64;
        let args = match canonical_args(text) {
            ArgsVerdict::Valid { .. } => ArgsVerdict::Malformed {
                at,
                problem: "the output limit cut the response here; more may have been meant".into(),
            },
            verdict @ (ArgsVerdict::Malformed { .. } | ArgsVerdict::Invalid { .. }) => verdict,
        };
        self.close(block, proof, BlockEnd::Call(CallFacts::new(args, Safety::Exclusive)));
    }

    fn close(&mut self, block: u32, proof: Proof, done: BlockEnd) {
        let slot = self.blocks.get_mut(block as usize).filter(|slot| slot.open);
        if let Some(slot) = slot {
            slot.open = false;
            slot.text = String::new();
            self.events.push(ModelEvent::BlockDone { block, proof, done });
        }
    }

    /// A report of usage: in comparable numbers for the machine, and in the provider's own. What
    /// a report leaves out stays as it was (B023); a report that says nothing new is no event.
    pub(crate) fn usage(&mut self, comparable: Usage, own: Usage) {
        let before = self.usage;
        self.usage.update(&comparable);
        self.reported.update(&own);
        if self.usage != before {
            self.events.push(ModelEvent::Usage(self.usage));
        }
    }

    /// The provider said why it stopped. It may say so again, and more may follow all the same
    /// (together/openllmetry-js-should-set-function-call-attributes-in-span-for-stream-c), so the
    /// event waits for the end of the wire.
    pub(crate) fn stop(&mut self, reason: StopReason, word: &str) {
        self.stop_with(reason, word, "", "");
    }

    /// The same, with what the provider says about it: a category, and words for people.
    pub(crate) fn stop_with(
        &mut self,
        reason: StopReason,
        word: &str,
        category: &str,
        explanation: &str,
    ) {
        let said = !category.is_empty() || !explanation.is_empty();
        let details = said.then(|| {
            let (category, explanation) = (category.to_owned(), explanation.to_owned());
            Box::new(StopDetails { category, explanation })
        });
        self.stop = Some((reason, word.to_owned(), details));
    }

    /// Whether the provider said why it stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stop.is_some() || self.finished
    }

    /// Nothing but usage can follow.
    pub(crate) fn conclude(&mut self) {
        if let Some((reason, word, details)) = self.stop.take()
            && !self.finished
        {
            self.finished = true;
            self.events.push(ModelEvent::Finished { reason, word, details });
        }
    }

    /// The wire's own end.
    pub(crate) fn end(&mut self) {
        self.conclude();
        self.over = true;
    }

    /// The provider reported an error, or the wire broke its own rules. What was complete before
    /// stays complete.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.conclude();
        self.over = true;
        self.events.push(ModelEvent::Failed(failure));
    }
}

/// How deep a JSON text nests.
fn nesting(json: &str) -> u32 {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0u32, 0u32, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_counts_brackets_outside_strings() {
        assert_eq!(nesting("1"), 0);
        assert_eq!(nesting(r#"{"a":["[[[","\"[[",{}]}"#), 3);
    }

    #[test]
    fn a_block_closes_once_and_hears_nothing_after() {
        let mut assembly = Assembly::new(DecodeLimits::default());
        let block = assembly.open_call("id", "tool").expect("room");
        assembly.delta(block, "{}".into()).expect("room");
        assembly.close_call(block, Proof::BlockStop);
        let count = assembly.events.len();
        assembly.close_call(block, Proof::FinishReason);
        assembly.delta(block, "more".into()).expect("ignored");
        assert_eq!(assembly.events.len(), count);
    }

    #[test]
    fn usage_is_an_event_only_when_it_says_something_new() {
        let mut assembly = Assembly::new(DecodeLimits::default());
        let some = Usage { input: Some(1), ..Usage::default() };
        for _ in 0..3 {
            assembly.usage(some, some);
            assembly.usage(Usage::default(), Usage::default());
        }
        assert_eq!(assembly.events, [ModelEvent::Usage(some)]);
    }
}
