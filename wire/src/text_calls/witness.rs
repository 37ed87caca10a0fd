//! Written calls that are not to be recovered: the text stays, and the model is told (B011).

use machine_spec::config::ToolSpec;
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Proof, Safety, StopReason,
};

use super::forms::{self, Tools};
use super::{Held, is_whole};

/// Watches the events of one response. They pass on as they are; where [`super::TextCalls`] would
/// recover calls, one more call stands at the end, which cannot be used: its arguments are what was
/// written, and that is no JSON. So the model is asked to mend its output, as after any other
/// malformed call.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    tools: Tools,
    markers: Vec<String>,
    /// The last block, if it is text, as far as a call may begin in it.
    text: Option<Held>,
    blocks: u32,
    called: bool,
}

impl Witness {
    pub(crate) fn new(tools: &[ToolSpec]) -> Witness {
        let tools = Tools::new(tools);
        let markers = forms::markers(&tools);
        Witness { tools, markers, text: None, blocks: 0, called: false }
    }

    /// Hears the events of a decoder, and adds to them.
    pub(crate) fn hear(&mut self, events: &mut Vec<ModelEvent>) {
        let mut over = None;
        for (at, event) in events.iter().enumerate() {
            match event {
                ModelEvent::BlockBegan { block, kind } => {
                    self.blocks = block + 1;
                    self.text = (*kind == BlockKind::Text).then(|| Held::new(*block));
                    self.called |= matches!(kind, BlockKind::Call { .. });
                }
                ModelEvent::Delta { block, text } if block + 1 == self.blocks => {
                    if let Some(held) = &mut self.text {
                        held.watch(text, &self.markers);
                    }
                }
                ModelEvent::Finished { reason, .. } if is_whole(*reason) => over = Some(at),
                ModelEvent::Delta { .. }
                | ModelEvent::Finished { .. }
                | ModelEvent::Began { .. }
                | ModelEvent::BlockDone { .. }
                | ModelEvent::Usage(_)
                | ModelEvent::Failed(_) => {}
            }
        }
        if let Some(at) = over
            && let Some(call) = self.unusable()
        {
            if let Some(ModelEvent::Finished { reason, .. }) = events.get_mut(at) {
                *reason = StopReason::ToolUse;
            }
            events.splice(at..at, call);
        }
    }

    /// The call that stands for what was written, if anything was.
    fn unusable(&mut self) -> Option<[ModelEvent; 3]> {
        let mut held = self.text.take().filter(|_| !self.called)?;
        let name = held.calls(&self.tools)?.into_iter().next()?.name;
        let (block, written) = (self.blocks, held.text.split_off(held.marker?));
        let problem = "expected a call of the tool, found one that is written as text".to_owned();
        let args = ArgsVerdict::Malformed { at: 0, problem };
        let done = BlockEnd::Call(CallFacts::new(args, Safety::Exclusive));
        Some([
            ModelEvent::BlockBegan {
                block,
                kind: BlockKind::Call { wire_id: String::new(), name },
            },
            ModelEvent::Delta { block, text: written },
            ModelEvent::BlockDone { block, proof: Proof::FinishReason, done },
        ])
    }
}
