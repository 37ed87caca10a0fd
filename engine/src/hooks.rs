//! Stop hooks: outside code is asked whether the turn may end, with a deadline.
//!
//! The question goes to the hook as a JSON object on its input; exit code and output are its answer
//! (the protocol stands in `hooks/verdict.rs`). A hook that is broken or slow is not a
//! block: it fails open, and the machine counts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use machine_spec::effect::HookQuestion;
use machine_spec::input::HookAnswer;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::process::{self, Capture, Leave, Order};

mod verdict;

/// Bytes kept of each of a hook's outputs; more than the text that is used.
const ROOM: usize = 256 * 1024;

/// How long a hook may take to end after it was asked to.
const GRACE_MS: u64 = 500;

/// A hook as a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Name for people.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// Variables to set for it.
    pub env: BTreeMap<String, String>,
    /// Where it runs; the folder of the engine when absent.
    pub cwd: Option<PathBuf>,
}

/// What every hook of a run is told about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookScene {
    pub(crate) session: String,
    pub(crate) cwd: String,
    pub(crate) transcript_path: String,
    pub(crate) hide: Vec<String>,
}

/// What came of asking.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) answer: HookAnswer,
    pub(crate) message: Option<String>,
}

/// Asks a hook.
pub(crate) async fn ask(
    hook: Hook,
    question: HookQuestion,
    scene: HookScene,
    leave: watch::Receiver<Leave>,
) -> Asked {
    let mut env = BTreeMap::from([
        ("LOOPWRIGHT_PROJECT_DIR".to_owned(), scene.cwd.clone()),
        ("CLAUDE_PROJECT_DIR".to_owned(), scene.cwd.clone()),
    ]);
    env.extend(hook.env);
    let order = Order {
        command: &hook.command,
        env,
        hide: &scene.hide,
        cwd: hook.cwd.as_deref(),
        stdin: told(&question, &scene),
        timeout_ms: hook.timeout_ms,
        grace_ms: GRACE_MS,
        stdout: Capture::halves(ROOM),
        stderr: Capture::halves(ROOM),
    };
    let remains = process::run(order, leave).await;
    let (stdout, stderr) = (remains.stdout.text(), remains.stderr.text());
    let verdict = verdict::read(&remains.end, hook.timeout_ms, &stdout, &stderr);
    Asked { answer: verdict.answer, message: verdict.message }
}

/// The question as the protocol words it.
fn told(question: &HookQuestion, scene: &HookScene) -> Vec<u8> {
    let mut told = json!({
        "session_id": scene.session,
        "transcript_path": scene.transcript_path,
        "cwd": scene.cwd,
        "permission_mode": "default",
    });
    let more = match question {
        HookQuestion::Stop { active, reentries, last_text, tasks } => json!({
            "hook_event_name": "Stop",
            "stop_hook_active": active,
            "stop_hook_reentries": reentries,
            "last_assistant_message": last_text,
            "background_tasks": tasks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "session_crons": [],
        }),
        HookQuestion::Tool { call, tool, args } => json!({
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": serde_json::from_str::<Value>(args).unwrap_or_default(),
            "tool_use_id": call.to_string(),
        }),
        HookQuestion::Batch { calls } => json!({
            "hook_event_name": "PostToolBatch",
            "tool_use_ids": calls.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        HookQuestion::Compact { dropped, overflowed } => json!({
            "hook_event_name": "PreCompact",
            "trigger": "auto",
            "dropped_entries": dropped,
            "overflowed": overflowed,
        }),
    };
    if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
        told.extend(more);
    }
    let mut line = told.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machine_spec::effect::HookQuestion;
    use machine_spec::input::HookAnswer;
    use tokio::sync::watch;

    use super::{Hook, HookScene, ask};
    use crate::process::Leave;

    fn hook(script: &str) -> Hook {
        let command = ["sh", "-c", script].map(String::from).to_vec();
        let (name, env) = ("check".to_owned(), BTreeMap::new());
        Hook { name, command, timeout_ms: 20_000, env, cwd: None }
    }

    async fn answer(hook: Hook) -> HookAnswer {
        let question = HookQuestion::Stop {
            active: true,
            reentries: 2,
            last_text: "done \"so\"".into(),
            tasks: vec![],
        };
        let scene = HookScene { session: "s1".into(), cwd: "/here".into(), ..HookScene::default() };
        let (_leave, leave) = watch::channel(Leave::GoOn);
        ask(hook, question, scene, leave).await.answer
    }

    #[tokio::test]
    async fn a_hook_reads_the_question_as_one_object() {
        let told = answer(hook("cat >&2; exit 2")).await;
        let HookAnswer::Blocked { reason } = told else { panic!("{told:?}") };
        let told: serde_json::Value = serde_json::from_str(&reason).expect("an object");
        insta::assert_snapshot!(serde_json::to_string_pretty(&told).expect("JSON"), @r#"
        {
          "background_tasks": [],
          "cwd": "/here",
          "hook_event_name": "Stop",
          "last_assistant_message": "done \"so\"",
          "permission_mode": "default",
          "session_crons": [],
          "session_id": "s1",
          "stop_hook_active": true,
          "stop_hook_reentries": 2,
          "transcript_path": ""
        }
        "#);
    }

    #[tokio::test]
    async fn a_slow_hook_fails_open() {
        let mut slow = hook("echo '{\"continue\":false}'; sleep 300");
        slow.timeout_ms = 50;
        let problem = "it did not answer within 50 ms".to_owned();
        assert_eq!(answer(slow).await, HookAnswer::Failed { problem });
    }

    #[tokio::test]
    async fn a_hook_that_cannot_start_fails_open() {
        let mut missing = hook("");
        missing.command = vec!["loopwright-no-such-hook".into()];
        let HookAnswer::Failed { problem } = answer(missing).await else { panic!() };
        assert!(problem.contains("`loopwright-no-such-hook`"), "{problem}");
    }
}
