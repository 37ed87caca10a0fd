//! The life of every order that awaited an answer: opened where, closed where, by what.

use std::collections::BTreeMap;
use std::fmt::Write;

use machine_spec::ids::EffectId;
use machine_spec::ledger::awaited_id;
use machine_spec::model::ModelEvent;
use machine_spec::{Effect, Input};

use super::Mode;
use super::words::word;
use crate::format::v1::Frame;
use crate::reader::Recording;

struct Life {
    what: String,
    opened: u64,
    closed: Option<(u64, String)>,
    /// Pieces of an answer that came before its end.
    pieces: u64,
}

pub(super) fn of(recording: &Recording, mode: Mode) -> String {
    let mut lives: BTreeMap<EffectId, Life> = BTreeMap::new();
    for frame in &recording.frames {
        note_input(frame, &mut lives);
        for effect in &frame.effects {
            note_effect(frame.seq, effect, &mut lives);
        }
    }
    let mut text = String::new();
    for (id, life) in &lives {
        let Life { what, opened, closed, pieces } = life;
        let _ = match (mode, closed) {
            (Mode::Kinds, Some((_, by))) => writeln!(text, "{what}: {by}"),
            (Mode::Kinds, None) => writeln!(text, "{what}: open"),
            (Mode::Short | Mode::Full, closed) => {
                let heard = if *pieces > 0 { format!(", {pieces} pieces") } else { String::new() };
                let end = match closed {
                    Some((seq, by)) => format!("frame {seq} by {by}"),
                    None => "still open".into(),
                };
                writeln!(text, "{:>5}  {what:<28} frame {opened}{heard} → {end}", id.to_string())
            }
        };
    }
    text
}

fn note_input(frame: &Frame, lives: &mut BTreeMap<EffectId, Life>) {
    let Some(input) = &frame.input else { return };
    let refused = frame.effects.iter().any(|effect| matches!(effect, Effect::Reject(_)));
    let Some(life) = input.answers().and_then(|id| lives.get_mut(&id)).filter(|_| !refused) else {
        return;
    };
    match input {
        Input::ModelSaid { event, .. } => {
            life.pieces += 1;
            if let ModelEvent::Failed(failure) = event {
                life.closed = Some((frame.seq, format!("its own error, {}", failure.class)));
            }
        }
        Input::ToolReturned { report, .. } => {
            life.closed = Some((frame.seq, format!("tool_returned, {}", report.status)));
        }
        Input::TaskEnded { report, .. } => {
            life.closed = Some((frame.seq, format!("task_ended, {}", report.status)));
        }
        Input::ApprovalGiven { decision, .. } => {
            life.closed = Some((frame.seq, format!("approval_given, {}", word(decision))));
        }
        Input::UserSaid { .. }
        | Input::Interrupted { .. }
        | Input::ModelClosed { .. }
        | Input::Compacted { .. }
        | Input::MemoryRecalled { .. }
        | Input::MemoryFlushed { .. }
        | Input::CredentialRefreshed { .. }
        | Input::ResultStored { .. }
        | Input::OutputChecked { .. }
        | Input::HookAnswered { .. }
        | Input::TimerFired { .. } => {
            life.closed = Some((frame.seq, input.kind().to_string()));
        }
    }
}

fn note_effect(seq: u64, effect: &Effect, lives: &mut BTreeMap<EffectId, Life>) {
    if let Effect::Cancel { id } = effect {
        if let Some(life) = lives.get_mut(id) {
            // A tool still reports how it ended, and that is its end.
            life.closed = Some((seq, "cancel".into()));
        }
        return;
    }
    if let Effect::Detach { id } = effect {
        if let Some(life) = lives.get_mut(id) {
            life.closed = Some((seq, "detach".into()));
        }
        return;
    }
    let Some(id) = awaited_id(effect) else { return };
    let kind = effect.kind();
    let what = match effect {
        Effect::CallModel { request, .. } => format!("{kind} {}", request.attempt),
        Effect::RunTool { call, name, .. } => format!("{kind} {call} {name}"),
        Effect::StartTask { task, call, name, .. } => format!("{kind} {task} {call} {name}"),
        Effect::AskApproval { call, name, .. } => format!("{kind} {call} {name}"),
        Effect::StoreResult { call, bytes, .. } => format!("{kind} {call} {bytes} bytes"),
        Effect::RefreshCredential { candidate, .. } => format!("{kind} {candidate}"),
        Effect::AskHook { hook, .. } => format!("{kind} {hook}"),
        Effect::SetTimer { after_ms, because, .. } => {
            format!("{kind} {} {after_ms} ms", word(because))
        }
        Effect::RecallMemory { .. }
        | Effect::FlushMemory { .. }
        | Effect::CheckOutput { .. }
        | Effect::Compact { .. }
        | Effect::Cancel { .. }
        | Effect::Detach { .. }
        | Effect::Notify(_)
        | Effect::Reject(_)
        | Effect::Finish(_) => kind.to_string(),
    };
    lives.insert(id, Life { what, opened: seq, closed: None, pieces: 0 });
}
