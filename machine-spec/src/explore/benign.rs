//! The benign world: every effect is answered, successfully, and nothing else happens (I12).

use alloc::format;
use alloc::string::String;

use crate::draft::{BlockState, Draft, Ending};
use crate::effect::EffectKind;
use crate::ids::EffectId;
use crate::input::{
    Compaction, Decision, HookAnswer, Input, OutputVerdict, Recall, Refresh, Stored, ToolReport,
    ToolStatus,
};
use crate::invariants::{Invariant, Violation};
use crate::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, Closure, ModelEvent, Proof, Safety, StopReason,
};
use crate::rooms::{Room, RoomKind};
use crate::state::State;

/// Plays a run to its end in a benign world and fails if it does not come within the bound.
/// Nothing interrupts: an interrupt would rescue a run that is stuck.
pub(super) fn plays_out(mut state: State, bound: u32) -> Result<(), Violation> {
    for _ in 0..bound {
        let Some(input) = benign_answer(&state) else { return stuck(&state) };
        state = crate::step(state, input).state;
        if state.is_done() {
            return Ok(());
        }
    }
    stuck(&state)
}

fn stuck(state: &State) -> Result<(), Violation> {
    if state.is_done() {
        return Ok(());
    }
    let detail = format!("a benign world does not get out of {}", state.room());
    Err(Violation { id: Invariant::BenignLiveness, detail })
}

/// What a benign world says next; `None` when there is nothing to say.
#[must_use]
pub fn benign_answer(state: &State) -> Option<Input> {
    if state.room() == RoomKind::Idle {
        return Some(Input::UserSaid {
            text: String::from("u"),
            images: alloc::vec::Vec::new(),
            rules: alloc::vec![],
        });
    }
    let ledger = state.frame().ledger();
    // Tools and hooks come back before the stream goes on; timers come last, and the time budget of
    // the run never.
    let wanted = |rank: u8| {
        let mut open = ledger.iter().filter(|(id, _)| state.frame().deadline != Some(*id));
        open.find(|(_, kind)| urgency(*kind) == rank)
    };
    let (id, kind) = (0..=2).find_map(wanted)?;
    Some(match kind {
        EffectKind::CallModel => model(id, state)?,
        EffectKind::RunTool => {
            Input::ToolReturned { id, report: ToolReport::new(ToolStatus::Succeeded, "o") }
        }
        EffectKind::StartTask => {
            Input::TaskEnded { id, report: ToolReport::new(ToolStatus::Succeeded, "o") }
        }
        EffectKind::Compact => {
            let (text, archive) = (String::from("a benign summary of it all"), String::new());
            Input::Compacted { id, result: Compaction::Summarised { text, archive } }
        }
        EffectKind::AskApproval => Input::ApprovalGiven { id, decision: Decision::Allowed },
        EffectKind::StoreResult => Input::ResultStored { id, result: kept() },
        EffectKind::FlushMemory => Input::MemoryFlushed { id, result: kept() },
        EffectKind::RecallMemory => Input::MemoryRecalled { id, result: Recall::Nothing },
        EffectKind::RefreshCredential => {
            Input::CredentialRefreshed { id, result: Refresh::Refreshed }
        }
        EffectKind::CheckOutput => Input::OutputChecked { id, verdict: OutputVerdict::Fits },
        EffectKind::AskHook => Input::HookAnswered { id, answer: HookAnswer::Allowed },
        EffectKind::SetTimer => Input::TimerFired { id },
        EffectKind::Cancel
        | EffectKind::Detach
        | EffectKind::Notify
        | EffectKind::Reject
        | EffectKind::Finish => return None,
    })
}

fn kept() -> Stored {
    Stored::Kept { reference: String::from("r") }
}

/// What a benign world answers first.
const fn urgency(kind: EffectKind) -> u8 {
    match kind {
        EffectKind::RunTool
        | EffectKind::StartTask
        | EffectKind::AskApproval
        | EffectKind::StoreResult
        | EffectKind::AskHook => 0,
        EffectKind::CallModel
        | EffectKind::Compact
        | EffectKind::FlushMemory
        | EffectKind::RecallMemory
        | EffectKind::RefreshCredential
        | EffectKind::CheckOutput => 1,
        EffectKind::SetTimer => 2,
        EffectKind::Cancel
        | EffectKind::Detach
        | EffectKind::Notify
        | EffectKind::Reject
        | EffectKind::Finish => u8::MAX,
    }
}

fn model(id: EffectId, state: &State) -> Option<Input> {
    let Room::Parse(parse) = state.room_data() else { return None };
    Some(match next_event(&parse.draft, state) {
        Some(event) => Input::ModelSaid { id, event },
        None => Input::ModelClosed { id, closure: Closure::Ended },
    })
}

/// A benign model calls a missing required tool if there is one, and else answers in text.
fn next_event(draft: &Draft, state: &State) -> Option<ModelEvent> {
    if draft.ending != Ending::Pending {
        return None;
    }
    let block = draft.blocks.len() as u32;
    let Some(last) = draft.blocks.last() else {
        let kind = match missing_tool(state) {
            Some(name) => BlockKind::Call { wire_id: String::new(), name },
            None => BlockKind::Text,
        };
        return Some(ModelEvent::BlockBegan { block, kind });
    };
    let block = block - 1;
    if last.state != BlockState::Open {
        let has_text = draft.blocks.iter().any(|block| block.kind == BlockKind::Text);
        let has_calls = !draft.board.slots.is_empty();
        if has_text || has_calls {
            let reason = if has_calls { StopReason::ToolUse } else { StopReason::EndOfTurn };
            return Some(ModelEvent::finished(reason, "end"));
        }
        return Some(ModelEvent::BlockBegan { block: block + 1, kind: BlockKind::Text });
    }
    let done = match last.kind {
        BlockKind::Text if last.text.is_empty() => {
            return Some(ModelEvent::Delta { block, text: String::from("t") });
        }
        BlockKind::Text => BlockEnd::Text,
        BlockKind::Thinking => BlockEnd::Thinking { seal: String::new() },
        BlockKind::Opaque => BlockEnd::Opaque { payload: String::from("{}") },
        BlockKind::Call { .. } => {
            let args = ArgsVerdict::Valid { canonical: 9 };
            BlockEnd::Call(CallFacts::new(args, Safety::Exclusive))
        }
    };
    Some(ModelEvent::BlockDone { block, proof: Proof::BlockStop, done })
}

fn missing_tool(state: &State) -> Option<String> {
    let frame = state.frame();
    let mut active = frame.guard().active.iter();
    active.find_map(|active| frame.missing(active.rule).into_iter().next())
}
