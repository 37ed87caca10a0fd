//! The alphabet of a state: every input of a profile that is worth trying there.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::profiles::Profile;
use crate::draft::{BlockState, Draft, Ending};
use crate::effect::EffectKind;
use crate::ids::EffectId;
use crate::input::{
    Decision, Input, InterruptedBy, OutputVerdict, Recall, Refresh, Stored, ToolReport, ToolStatus,
};
use crate::model::{
    BlockEnd, BlockKind, Closure, ErrorClass, Failure, ModelEvent, Proof, StopReason, Usage,
};
use crate::rooms::{Room, RoomKind};
use crate::state::State;

/// Every input of the profile that is worth trying in this state.
#[must_use]
pub fn alphabet(state: &State, profile: &Profile) -> Vec<Input> {
    let mut inputs = Vec::new();
    for rules in &profile.says {
        inputs.push(Input::UserSaid {
            text: String::from("u"),
            images: alloc::vec::Vec::new(),
            rules: rules.clone(),
        });
    }
    if profile.interrupts {
        inputs.push(Input::Interrupted { by: InterruptedBy::User });
    }
    for (id, kind) in state.frame().ledger().iter() {
        answers(id, kind, state, profile, &mut inputs);
    }
    if profile.strays {
        strays(state, &mut inputs);
    }
    inputs
}

fn answers(
    id: EffectId,
    kind: EffectKind,
    state: &State,
    profile: &Profile,
    inputs: &mut Vec<Input>,
) {
    match kind {
        EffectKind::CallModel => model_answers(id, state, profile, inputs),
        EffectKind::RunTool => {
            for status in &profile.tool_statuses {
                let report = ToolReport { spent: profile.spent, ..ToolReport::new(*status, "o") };
                inputs.push(Input::ToolReturned { id, report });
            }
        }
        EffectKind::Compact => {
            for result in &profile.compactions {
                inputs.push(Input::Compacted { id, result: result.clone() });
            }
        }
        EffectKind::StartTask => {
            for status in &profile.tool_statuses {
                let report = ToolReport { spent: profile.spent, ..ToolReport::new(*status, "o") };
                inputs.push(Input::TaskEnded { id, report });
            }
        }
        EffectKind::AskApproval => {
            let all = profile.decisions.iter().cloned();
            inputs.extend(all.map(|decision| Input::ApprovalGiven { id, decision }));
        }
        EffectKind::StoreResult => {
            let all = profile.stores.iter().cloned();
            inputs.extend(all.map(|result| Input::ResultStored { id, result }));
        }
        EffectKind::RecallMemory => {
            let all = profile.recalls.iter().cloned();
            inputs.extend(all.map(|result| Input::MemoryRecalled { id, result }));
        }
        EffectKind::FlushMemory => {
            let all = profile.stores.iter().cloned();
            inputs.extend(all.map(|result| Input::MemoryFlushed { id, result }));
        }
        EffectKind::RefreshCredential => {
            let all = profile.refreshes.iter().cloned();
            inputs.extend(all.map(|result| Input::CredentialRefreshed { id, result }));
        }
        EffectKind::CheckOutput => {
            let all = profile.verdicts.iter().cloned();
            inputs.extend(all.map(|verdict| Input::OutputChecked { id, verdict }));
        }
        EffectKind::AskHook => {
            for answer in &profile.hook_answers {
                inputs.push(Input::HookAnswered { id, answer: answer.clone() });
            }
        }
        EffectKind::SetTimer => inputs.push(Input::TimerFired { id }),
        EffectKind::Cancel
        | EffectKind::Detach
        | EffectKind::Notify
        | EffectKind::Reject
        | EffectKind::Finish => {}
    }
}

fn model_answers(id: EffectId, state: &State, profile: &Profile, inputs: &mut Vec<Input>) {
    let Room::Parse(parse) = state.room_data() else { return };
    for event in events(&parse.draft, profile) {
        inputs.push(Input::ModelSaid { id, event });
    }
    inputs.push(Input::ModelClosed { id, closure: Closure::Ended });
    for failure in &profile.failures {
        let closure = Closure::Failed(failure.clone());
        inputs.push(Input::ModelClosed { id, closure });
        if profile.stream_errors {
            inputs.push(Input::ModelSaid { id, event: ModelEvent::Failed(failure.clone()) });
        }
    }
}

fn events(draft: &Draft, profile: &Profile) -> Vec<ModelEvent> {
    if draft.ending != Ending::Pending {
        return vec![];
    }
    let mut events = Vec::new();
    let next = draft.blocks.len() as u32;
    let open = draft.blocks.iter().position(|block| block.state == BlockState::Open);
    match open {
        Some(at) => events.extend(go_on(at, draft, profile)),
        None if draft.blocks.len() < profile.max_blocks => {
            for kind in begins(profile) {
                events.push(ModelEvent::BlockBegan { block: next, kind });
            }
        }
        None => {}
    }
    if profile.strays {
        // Contradicts what was said before, whatever that was.
        events.push(ModelEvent::Delta { block: next + 7, text: String::from("x") });
    }
    let told = draft.usage != Usage::default();
    events.extend(profile.usages.iter().filter(|_| !told).map(|usage| ModelEvent::Usage(*usage)));
    for reason in &profile.stops {
        events.push(ModelEvent::finished(*reason, word(*reason)));
    }
    events
}

fn begins(profile: &Profile) -> Vec<BlockKind> {
    let mut kinds = profile.blocks.clone();
    for (n, call) in profile.calls.iter().enumerate() {
        let wire_id = if call.named { alloc::format!("w{n}") } else { String::new() };
        let kind = BlockKind::Call { wire_id, name: String::from(call.tool) };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// What may come after an open block: its one piece of text if it has none yet, or its end.
fn go_on(at: usize, draft: &Draft, profile: &Profile) -> Vec<ModelEvent> {
    let (block, open) = (at as u32, &draft.blocks[at]);
    let proof = Proof::BlockStop;
    let mut events = Vec::new();
    let mut end = |done| events.push(ModelEvent::BlockDone { block, proof, done });
    match &open.kind {
        BlockKind::Text => end(BlockEnd::Text),
        BlockKind::Thinking => end(BlockEnd::Thinking { seal: String::new() }),
        BlockKind::Opaque => end(BlockEnd::Opaque { payload: String::from("{}") }),
        BlockKind::Call { name, .. } => {
            for template in profile.calls.iter().filter(|call| call.tool == name) {
                end(BlockEnd::Call(template.facts()));
            }
        }
    }
    let wants_text = match open.kind {
        BlockKind::Text | BlockKind::Thinking => open.text.is_empty(),
        BlockKind::Opaque | BlockKind::Call { .. } => false,
    };
    if wants_text {
        events.push(ModelEvent::Delta { block, text: String::from("t") });
    }
    events
}

fn word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndOfTurn => "end",
        StopReason::ToolUse => "tools",
        StopReason::StopSequence => "sequence",
        StopReason::OutputLimit => "length",
        StopReason::WindowExceeded => "window",
        StopReason::Paused => "pause",
        StopReason::Refused => "refusal",
        StopReason::Filtered => "filter",
        StopReason::Other => "new-word",
    }
}

/// One answer of every kind to an effect that was never opened, and to one that is closed.
fn strays(state: &State, inputs: &mut Vec<Input>) {
    let ledger = state.frame().ledger();
    let unknown = EffectId(ledger.opened() + 5);
    let open: Vec<EffectId> = ledger.iter().map(|(id, _)| id).collect();
    let closed = (0..ledger.opened()).map(EffectId).find(|id| !open.contains(id));
    for id in [Some(unknown), closed].into_iter().flatten() {
        let event = ModelEvent::Usage(Default::default());
        let report = ToolReport::new(ToolStatus::Succeeded, "");
        inputs.push(Input::ModelSaid { id, event });
        let failure = Failure::new(ErrorClass::Transport, "stray");
        inputs.push(Input::ModelClosed { id, closure: Closure::Failed(failure) });
        inputs.push(Input::ToolReturned { id, report: report.clone() });
        inputs.push(Input::TaskEnded { id, report });
        inputs.push(Input::MemoryRecalled { id, result: Recall::Nothing });
        let kept = || Stored::Kept { reference: String::new() };
        inputs.push(Input::MemoryFlushed { id, result: kept() });
        inputs.push(Input::ResultStored { id, result: kept() });
        inputs.push(Input::CredentialRefreshed { id, result: Refresh::Refreshed });
        inputs.push(Input::ApprovalGiven { id, decision: Decision::Allowed });
        inputs.push(Input::OutputChecked { id, verdict: OutputVerdict::Fits });
        let result = crate::input::Compaction::Failed { problem: String::new() };
        inputs.push(Input::Compacted { id, result });
        inputs.push(Input::HookAnswered { id, answer: crate::input::HookAnswer::Allowed });
        inputs.push(Input::TimerFired { id });
    }
    debug_assert!(state.room() != RoomKind::Absorb, "a passing room is never waited in");
}
