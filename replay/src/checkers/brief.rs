//! What a watch keeps of an input that is about to be stepped: little, because most inputs are
//! pieces of a stream.

use machine_spec::Input;
use machine_spec::digest::Digest;
use machine_spec::ids::EffectId;
use machine_spec::input::{Decision, HookAnswer, ToolStatus};
use machine_spec::model::{ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Safety};

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

/// The beginning of a hash.
pub(crate) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// What one byte further weighs.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The powers of [`BASE`], from the zeroth to the eighth.
const POWERS: [u64; 9] = {
    let (mut powers, mut n) = ([1_u64; 9], 1);
    while n < 9 {
        powers[n] = powers[n - 1].wrapping_mul(BASE);
        n += 1;
    }
    powers
};

/// Goes on with a hash. A polynomial over the bytes, so that it does not matter how a text is cut,
/// and eight bytes are taken at once.
pub(crate) fn hash_on(hash: u64, text: &str) -> u64 {
    let (eights, rest) = text.as_bytes().as_chunks::<8>();
    let hash = eights.iter().fold(hash, |hash, eight| {
        let weighed = eight.iter().zip(POWERS[..8].iter().rev());
        let sum = weighed.map(|(byte, power)| u64::from(*byte).wrapping_mul(*power));
        sum.fold(hash.wrapping_mul(POWERS[8]), u64::wrapping_add)
    });
    rest.iter().fold(hash, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte)))
}

/// The hash of an output, which comes in one piece.
pub(crate) fn output_hash(output: &str) -> u64 {
    Digest::of(output).0
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
                let (output, bytes) = (output_hash(&report.output), report.output.len() as u64);
                Brief::Tool { id: *id, status: report.status, output, bytes }
            }
            Input::ApprovalGiven { id, decision: Decision::Edited { args, facts } }
            | Input::HookAnswered { id, answer: HookAnswer::Edited { args, facts } } => {
                Brief::of_edit(*id, args, facts)
            }
            Input::HookAnswered { id, answer: HookAnswer::Asked { edit: Some(edit), .. } } => {
                Brief::of_edit(*id, &edit.args, &edit.facts)
            }
            _ => match input.answers() {
                Some(id) => Brief::Answer(id),
                None => Brief::Other,
            },
        }
    }

    /// Arguments that are no good change nothing.
    fn of_edit(id: EffectId, args: &str, facts: &CallFacts) -> Brief {
        match facts.args {
            ArgsVerdict::Valid { .. } => {
                Brief::Edited { id, args: hash_of(args), safety: facts.safety }
            }
            ArgsVerdict::Malformed { .. } | ArgsVerdict::Invalid { .. } => Brief::Answer(id),
        }
    }

    #[inline]
    pub(super) fn of_event(event: &ModelEvent, so_far: impl Fn(u32) -> Option<u64>) -> Brief {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{hash_of, hash_on};

    proptest! {
        #[test]
        fn a_hash_does_not_depend_on_the_cuts(text in "[ -~]{0,40}", at in 0_usize..41) {
            let (head, tail) = text.split_at(at.min(text.len()));
            prop_assert_eq!(hash_on(hash_of(head), tail), hash_of(&text));
        }

        #[test]
        fn another_text_has_another_hash(one in "[ -~]{0,40}", other in "[ -~]{0,40}") {
            prop_assert_eq!(one == other, hash_of(&one) == hash_of(&other));
        }
    }
}
