//! What a watch keeps of an input that is about to be stepped: little, because most inputs are
//! pieces of a stream.

use machine_spec::Input;
use machine_spec::ids::EffectId;
use machine_spec::input::{Decision, HookAnswer, ToolStatus};
use machine_spec::model::{ArgsVerdict, BlockEnd, BlockKind, ModelEvent, Safety};

/// What a watch keeps of an input.
#[derive(Clone, Debug)]
pub(crate) enum Brief {
    /// A piece of a block.
    Piece { block: u32, bytes: u64, hash: u64 },
    /// A block that begins.
    Begins { holds: Holds },
    /// A call that is complete: whether it may be used, and beside others.
    CallDone { block: u32, valid: bool, safety: Safety },
    /// Anything else of a stream.
    Event,
    /// An answer that closes its effect.
    Answer(EffectId),
    /// Arguments that somebody put in the place of the model's own: their hash.
    Edited { id: EffectId, args: u64, safety: Safety },
    /// A tool that came back.
    Tool { id: EffectId, status: ToolStatus, output: u64, bytes: u64 },
    /// Words of the user.
    Said(String),
    /// Anything else.
    Other,
}

/// What a block holds, as far as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Text,
    Other,
    /// A call; the hash of its name.
    Call(u64),
}

/// The beginning of a hash (FNV-1a).
pub(crate) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Goes on with a hash.
pub(crate) fn hash_on(mut hash: u64, text: &str) -> u64 {
    for byte in text.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// The hash of a text.
pub(crate) fn hash_of(text: &str) -> u64 {
    hash_on(EMPTY, text)
}

impl Brief {
    /// What is kept of an input. `so_far` gives the hash of the arguments of an open call.
    pub(crate) fn of(input: &Input, so_far: impl Fn(u32) -> Option<u64>) -> Brief {
        match input {
            Input::ModelSaid { event, .. } => Brief::of_event(event, so_far),
            Input::UserSaid { text, .. } => Brief::Said(text.clone()),
            Input::ToolReturned { id, report } => {
                let (output, bytes) = (hash_of(&report.output), report.output.len() as u64);
                Brief::Tool { id: *id, status: report.status, output, bytes }
            }
            Input::ApprovalGiven { id, decision: Decision::Edited { args, facts } }
            | Input::HookAnswered { id, answer: HookAnswer::Edited { args, facts } }
                if matches!(facts.args, ArgsVerdict::Valid { .. }) =>
            {
                Brief::Edited { id: *id, args: hash_of(args), safety: facts.safety }
            }
            _ => match input.answers() {
                Some(id) => Brief::Answer(id),
                None => Brief::Other,
            },
        }
    }

    fn of_event(event: &ModelEvent, so_far: impl Fn(u32) -> Option<u64>) -> Brief {
        match event {
            ModelEvent::Delta { block, text } => {
                let hash = so_far(*block).map_or(0, |hash| hash_on(hash, text));
                Brief::Piece { block: *block, bytes: text.len() as u64, hash }
            }
            ModelEvent::BlockBegan { kind, .. } => {
                let holds = match kind {
                    BlockKind::Text => Holds::Text,
                    BlockKind::Call { name, .. } => Holds::Call(hash_of(name)),
                    BlockKind::Thinking | BlockKind::Opaque => Holds::Other,
                };
                Brief::Begins { holds }
            }
            ModelEvent::BlockDone { block, done: BlockEnd::Call(facts), .. } => {
                let valid = matches!(facts.args, ArgsVerdict::Valid { .. });
                Brief::CallDone { block: *block, valid, safety: facts.safety }
            }
            ModelEvent::BlockDone { .. }
            | ModelEvent::Began { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Finished { .. }
            | ModelEvent::Failed(_) => Brief::Event,
        }
    }
}
