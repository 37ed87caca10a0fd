//! The draft of a reply: what a response has said so far, block by block.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::board::{Board, Slot};
use crate::estimate::text_tokens;
use crate::frame::Frame;
use crate::ids::AttemptId;
use crate::message::{Block, Call, NotStarted, Outcome, Reply, Thinking, Wholeness};
use crate::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, ErrorClass, Failure, ModelEvent, StopDetails,
    StopReason, StreamPhase, Usage,
};
use crate::rejection::Cause;
use crate::rooms::Out;

/// What a response has said so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Draft {
    /// The attempt it comes from.
    pub attempt: AttemptId,
    /// Its blocks, in order.
    pub blocks: Vec<DraftBlock>,
    /// Its complete calls.
    pub board: Board,
    /// Its usage so far.
    pub usage: Usage,
    /// Whether the model has said why it stopped.
    pub ending: Ending,
}

/// A block and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DraftBlock {
    /// What it holds.
    pub kind: BlockKind,
    /// Its text so far.
    pub text: String,
    /// How far it has come.
    pub state: BlockState,
}

/// How far a block has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockState {
    /// More may follow.
    Open,
    /// It is complete.
    Done(BlockEnd),
    /// It repeated an earlier call to the letter, id included, and is left out (B009).
    Repeated,
}

/// Bytes that a block has room for when its first piece comes: most need no more, and longer ones
/// double it.
const FIRST_ROOM: usize = 256;

/// Whether the model has said why it stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Not yet.
    Pending,
    /// It has.
    Said {
        /// In neutral words.
        reason: StopReason,
        /// In its own word.
        word: String,
        /// What it says beyond that word.
        details: Option<Box<StopDetails>>,
    },
}

/// What hearing an event came to.
pub(crate) enum Heard {
    /// It was taken down.
    Fine,
    /// It was taken down and completed a call.
    CallComplete,
    /// It contradicts what was said before; nothing changed.
    Unfit(Cause),
    /// The response has failed.
    Broke(Failure),
}

impl Draft {
    pub(crate) fn new(attempt: AttemptId) -> Draft {
        Draft {
            attempt,
            blocks: Vec::new(),
            board: Board::default(),
            usage: Usage::default(),
            ending: Ending::Pending,
        }
    }

    /// Takes an event down.
    pub(crate) fn hear(&mut self, event: ModelEvent, frame: &mut Frame) -> Heard {
        match (event, &self.ending) {
            (ModelEvent::Usage(usage), _) => {
                self.usage.update(&usage);
                Heard::Fine
            }
            (ModelEvent::Failed(failure), _) => Heard::Broke(failure),
            (_, Ending::Said { .. }) => Heard::Unfit(Cause::OutOfOrder),
            // What can be taken down was taken down in place.
            (ModelEvent::Delta { .. }, Ending::Pending) => Heard::Unfit(Cause::OutOfOrder),
            (ModelEvent::Began { .. }, Ending::Pending) => Heard::Fine,
            (ModelEvent::BlockBegan { block, kind }, Ending::Pending) => {
                self.begin(block, kind, frame.config.limits.calls_per_response)
            }
            (ModelEvent::BlockDone { block, done, .. }, Ending::Pending) => {
                self.finish(block, done, frame)
            }
            (ModelEvent::Finished { reason, word, details }, Ending::Pending) => {
                self.ending = Ending::Said { reason, word, details };
                Heard::Fine
            }
        }
    }

    fn begin(&mut self, block: u32, kind: BlockKind, call_limit: u32) -> Heard {
        if block as usize != self.blocks.len() {
            return Heard::Unfit(Cause::OutOfOrder);
        }
        let is_call = matches!(kind, BlockKind::Call { .. });
        let calls = self.blocks.iter().filter(|b| matches!(b.kind, BlockKind::Call { .. })).count();
        if is_call && calls >= call_limit as usize {
            let message = format!("a response may hold {call_limit} calls, this one holds more");
            return Heard::Broke(Failure::new(ErrorClass::Garbled, message));
        }
        self.blocks.push(DraftBlock { kind, text: String::new(), state: BlockState::Open });
        Heard::Fine
    }

    /// Appends a piece to its block; `false` where there is no such block, it takes no pieces, or it
    /// is complete.
    pub(crate) fn take_down(&mut self, block: u32, text: &str) -> bool {
        let takes = |block: &&mut DraftBlock| {
            matches!(block.state, BlockState::Open) && !matches!(block.kind, BlockKind::Opaque)
        };
        let open = match &self.ending {
            Ending::Pending => self.blocks.get_mut(block as usize).filter(takes),
            Ending::Said { .. } => None,
        };
        let Some(DraftBlock { text: so_far, .. }) = open else { return false };
        if so_far.capacity() == 0 {
            so_far.reserve(text.len().max(FIRST_ROOM));
        }
        so_far.push_str(text);
        true
    }

    fn finish(&mut self, block: u32, done: BlockEnd, frame: &mut Frame) -> Heard {
        let index = block as usize;
        let Some(draft) = self.blocks.get_mut(index).filter(|b| b.state == BlockState::Open) else {
            return Heard::Unfit(Cause::OutOfOrder);
        };
        match (&draft.kind, &done) {
            (BlockKind::Text, BlockEnd::Text)
            | (BlockKind::Thinking, BlockEnd::Thinking { .. })
            | (BlockKind::Opaque, BlockEnd::Opaque { .. }) => {
                draft.state = BlockState::Done(done);
                Heard::Fine
            }
            (BlockKind::Call { .. }, BlockEnd::Call(facts)) => {
                let facts = facts.clone();
                self.finish_call(index, facts, frame)
            }
            (
                BlockKind::Text | BlockKind::Thinking | BlockKind::Opaque | BlockKind::Call { .. },
                BlockEnd::Text
                | BlockEnd::Thinking { .. }
                | BlockEnd::Opaque { .. }
                | BlockEnd::Call(_),
            ) => Heard::Unfit(Cause::OutOfOrder),
        }
    }

    fn finish_call(&mut self, index: usize, facts: CallFacts, frame: &mut Frame) -> Heard {
        if self.repeats_earlier(index, &facts) {
            self.blocks[index].state = BlockState::Repeated;
            return Heard::Fine;
        }
        let draft = &mut self.blocks[index];
        let BlockKind::Call { name, .. } = &draft.kind else { return Heard::Fine };
        let blank = draft.text.trim().is_empty();
        let args = if blank { "{}" } else { draft.text.as_str() };
        let call = frame.mint_call();
        let slot = Slot::judged(call, index as u32, name, args, &facts, frame);
        draft.text = String::new();
        draft.state = BlockState::Done(BlockEnd::Call(facts));
        // A call that is complete before one in front of it still stands behind it (I05).
        let at = self.board.slots.partition_point(|earlier| earlier.block < slot.block);
        self.board.slots.insert(at, slot);
        Heard::CallComplete
    }

    /// A true repeat has the same id, name and arguments as an earlier call of the response.
    fn repeats_earlier(&self, index: usize, facts: &CallFacts) -> bool {
        let ArgsVerdict::Valid { canonical } = facts.args else { return false };
        self.blocks[..index].iter().any(|earlier| {
            let same_args = match &earlier.state {
                BlockState::Done(BlockEnd::Call(other)) => {
                    other.args == ArgsVerdict::Valid { canonical }
                }
                BlockState::Open | BlockState::Done(_) | BlockState::Repeated => false,
            };
            let named =
                matches!(&earlier.kind, BlockKind::Call { wire_id, .. } if !wire_id.is_empty());
            named && same_args && earlier.kind == self.blocks[index].kind
        })
    }

    /// How far the response has come.
    #[must_use]
    pub fn phase(&self) -> StreamPhase {
        if self.ending != Ending::Pending {
            return StreamPhase::MessageDone;
        }
        let mut phase = StreamPhase::BeforeFirst;
        for block in &self.blocks {
            let thinking = block.kind == BlockKind::Thinking;
            let open = block.state == BlockState::Open;
            phase = match (thinking, open, phase) {
                (false, false, _) | (_, _, StreamPhase::BlockCommitted) => {
                    StreamPhase::BlockCommitted
                }
                (true, false, _) => StreamPhase::ThinkingDone,
                (false, true, StreamPhase::ThinkingDone) => StreamPhase::BlockCommitted,
                (true, true, StreamPhase::ThinkingDone) => StreamPhase::ThinkingDone,
                (_, true, _) => StreamPhase::Partial,
            };
        }
        phase
    }

    /// Whether a text block is complete, or a call is.
    #[must_use]
    pub fn has_complete_block(&self) -> bool {
        self.blocks.iter().any(|block| match (&block.kind, &block.state) {
            (BlockKind::Text | BlockKind::Call { .. }, BlockState::Done(_)) => true,
            (BlockKind::Thinking | BlockKind::Opaque, _)
            | (_, BlockState::Open | BlockState::Repeated) => false,
        })
    }

    /// Does not start the call that stands in the last block, if the last block is one.
    pub(crate) fn give_up_last_call(&mut self, frame: &mut Frame, out: &mut Out) {
        let last = (self.blocks.len() as u32).checked_sub(1);
        let slot = self.board.slots.last_mut().filter(|slot| Some(slot.block) == last);
        if let Some(slot) = slot.filter(|slot| slot.is_pending()) {
            slot.give_up(Outcome::NotStarted { why: NotStarted::OutputLimit }, frame, out);
        }
    }

    /// Counts what a discarded response used: nothing came of it, but it was paid for. A request
    /// that was answered by nothing at all is not charged.
    pub(crate) fn charge(&self, frame: &mut Frame) {
        if !self.blocks.is_empty() || self.usage != Usage::default() {
            frame.charge(&self.usage, self.said_tokens());
        }
    }

    /// Estimated tokens of what was said so far, for a provider that counts nothing.
    pub(crate) fn said_tokens(&self) -> u64 {
        let texts = self.blocks.iter().map(|block| text_tokens(&block.text));
        let calls = self.board.slots.iter().map(|slot| text_tokens(&slot.args));
        texts.chain(calls).sum()
    }

    /// Files the draft as a reply and hands back the board of its calls, whose ids on the wire are
    /// settled now. Of a reply that is not whole only the complete blocks are kept.
    pub(crate) fn file(self, wholeness: Wholeness, frame: &mut Frame) -> (Reply, Board) {
        let by = frame.candidate().map_or_else(String::new, |c| format!("{}/{}", c.name, c.model));
        let mut board = self.board;
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for (index, block) in self.blocks.into_iter().enumerate() {
            let slot = board.slots.iter_mut().find(|slot| slot.block as usize == index);
            blocks.extend(file_block(block, slot, wholeness, frame));
        }
        let stop = match self.ending {
            Ending::Said { reason, .. } => Some(reason),
            Ending::Pending => None,
        };
        let by = Arc::from(by);
        (Reply { by, attempt: self.attempt, blocks, wholeness, stop, usage: self.usage }, board)
    }
}

fn file_block(
    block: DraftBlock,
    slot: Option<&mut Slot>,
    wholeness: Wholeness,
    frame: &mut Frame,
) -> Option<Block> {
    let whole = wholeness == Wholeness::Whole;
    match (block.kind, block.state) {
        (_, BlockState::Repeated) => None,
        (BlockKind::Text, BlockState::Open) if !whole => None,
        (BlockKind::Text, BlockState::Open | BlockState::Done(_)) => {
            (!block.text.is_empty()).then_some(Block::Text(block.text))
        }
        (BlockKind::Thinking, BlockState::Done(BlockEnd::Thinking { seal })) => {
            let empty = block.text.is_empty() && seal.is_empty();
            (!empty).then_some(Block::Thinking(Thinking { text: block.text, seal }))
        }
        (BlockKind::Opaque, BlockState::Done(BlockEnd::Opaque { payload })) => {
            Some(Block::Opaque(payload))
        }
        (BlockKind::Call { wire_id, .. }, BlockState::Done(BlockEnd::Call(facts))) => {
            let slot = slot?;
            slot.wire_id = settle_wire_id(wire_id, slot, frame);
            let (wire_id, name, args) =
                (slot.wire_id.clone(), slot.name.clone(), slot.args.clone());
            Some(Block::Call(Call { id: slot.call, wire_id, name, args, facts }))
        }
        (
            BlockKind::Thinking | BlockKind::Opaque | BlockKind::Call { .. },
            BlockState::Open | BlockState::Done(_),
        ) => None,
    }
}

/// The provider's id where it gave one that is new in this session, else one of our own (B009).
fn settle_wire_id(given: String, slot: &Slot, frame: &mut Frame) -> Arc<str> {
    let id = if given.is_empty() || frame.wire_ids.contains(&given) {
        let mut minted = format!("lw_{}", slot.call);
        while frame.wire_ids.contains(&minted) {
            minted.push('x');
        }
        minted
    } else {
        given
    };
    frame.wire_ids.add(&id);
    Arc::from(id)
}
