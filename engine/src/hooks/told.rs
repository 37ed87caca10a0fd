//! What a hook is told: one JSON object, in the words of the published protocol.

use machine_spec::Transcript;
use machine_spec::effect::HookQuestion;
use machine_spec::ids::CallId;
use machine_spec::message::{Call, CallResult, Entry};
use machine_spec::wording;
use serde_json::{Value, json};

use super::{HookScene, Question};

/// The question as one line.
pub(super) fn question(question: &Question, scene: &HookScene) -> Vec<u8> {
    let mut told = json!({
        "session_id": scene.session,
        "transcript_path": scene.transcript_path,
        "cwd": scene.cwd,
        "permission_mode": "default",
    });
    if let (Some(told), Value::Object(asked)) = (told.as_object_mut(), asked(question)) {
        told.extend(asked);
    }
    let mut line = told.to_string().into_bytes();
    line.push(b'\n');
    line
}

fn asked(question: &Question) -> Value {
    match &question.asked {
        HookQuestion::Stop { active, reentries, last_text, tasks } => json!({
            "hook_event_name": "Stop",
            "stop_hook_active": active,
            "stop_hook_reentries": reentries,
            "last_assistant_message": last_text,
            "background_tasks": tasks.iter().map(|task| json!({ "id": task.to_string() })).collect::<Vec<_>>(),
            "session_crons": [],
        }),
        HookQuestion::Tool { call, tool, args } => json!({
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": parsed(args),
            "tool_use_id": call.to_string(),
        }),
        HookQuestion::Batch { .. } => json!({
            "hook_event_name": "PostToolBatch",
            "tool_calls": question.results,
        }),
        HookQuestion::Compact { dropped, overflowed } => json!({
            "hook_event_name": "PreCompact",
            "trigger": "auto",
            "custom_instructions": "",
            "dropped_entries": dropped,
            "overflowed": overflowed,
        }),
    }
}

/// These calls with their results, as the model will read them.
pub(super) fn results_of(calls: &[CallId], transcript: &Transcript) -> Vec<Value> {
    let entries = transcript.entries();
    let made = |wanted: CallId| {
        entries.iter().rev().find_map(|entry| match entry {
            Entry::Reply(reply) => reply.calls().find(|call| call.id == wanted),
            Entry::Said(_) | Entry::Results(_) | Entry::Aside(_) | Entry::Boundary(_) => None,
        })
    };
    let came = |wanted: CallId| {
        entries.iter().rev().find_map(|entry| match entry {
            Entry::Results(results) => results.iter().find(|result| result.call == wanted),
            Entry::Said(_) | Entry::Reply(_) | Entry::Aside(_) | Entry::Boundary(_) => None,
        })
    };
    calls.iter().map(|call| one(*call, made(*call), came(*call))).collect()
}

fn one(id: CallId, call: Option<&Call>, result: Option<&CallResult>) -> Value {
    let edited = result.and_then(|result| result.edited.as_deref());
    let args = edited.or(call.map(|call| &*call.args)).unwrap_or("{}");
    let (text, is_error) = result.map(wording::result).unwrap_or_default();
    json!({
        "tool_name": result.map(|result| &*result.name),
        "tool_input": parsed(args),
        "tool_use_id": id.to_string(),
        "tool_response": text,
        "is_error": is_error,
    })
}

/// Arguments as a value; text that is no JSON, which never runs, as text.
fn parsed(args: &str) -> Value {
    serde_json::from_str(args).unwrap_or_else(|_| Value::from(args))
}
