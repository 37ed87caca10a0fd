//! Hooks: outside code is asked, with a deadline, whether the turn may end, whether a call may run,
//! whether the model should see a batch of results, whether the conversation may be compacted.
//!
//! The question goes to the hook as a JSON object on its input (`hooks/told.rs`); exit code and
//! output are its answer (`hooks/verdict.rs`). A hook that is broken or slow has answered nothing:
//! the machine counts, and what that means for a call is a matter of configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use machine_spec::Transcript;
use machine_spec::effect::HookQuestion;
use machine_spec::input::{CallEdit, HookAnswer};
use regex::Regex;
use serde_json::Value;
use tokio::sync::watch;

use crate::assess::Assessor;
use crate::process::{self, Capture, Leave, Order};

mod told;
mod verdict;

use told::results_of;
use verdict::Point;

/// Bytes kept of each of a hook's outputs; more than the text that is used.
const ROOM: usize = 256 * 1024;

/// How long a hook may take to end after it was asked to.
const GRACE_MS: u64 = 500;

/// A hook as a command.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Name for people.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// The tools whose calls it is asked about; all of them when absent.
    pub matcher: Option<Regex>,
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

/// What a hook is asked, and what of it stands only in the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) asked: HookQuestion,
    /// The calls of a batch with their results, as the protocol words them.
    pub(crate) results: Vec<Value>,
}

impl Question {
    /// A question of the machine over this conversation.
    pub(crate) fn over(asked: HookQuestion, transcript: &Transcript) -> Question {
        let results = match &asked {
            HookQuestion::Batch { calls } => results_of(calls, transcript),
            HookQuestion::Stop { .. }
            | HookQuestion::Tool { .. }
            | HookQuestion::Compact { .. } => Vec::new(),
        };
        Question { asked, results }
    }
}

/// What came of asking.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) answer: HookAnswer,
    pub(crate) message: Option<String>,
}

impl Hook {
    /// Whether it wants to be asked this.
    pub(crate) fn wants(&self, question: &HookQuestion) -> bool {
        match question {
            HookQuestion::Tool { tool, .. } => {
                self.matcher.as_ref().is_none_or(|matcher| matcher.is_match(tool))
            }
            HookQuestion::Stop { .. }
            | HookQuestion::Batch { .. }
            | HookQuestion::Compact { .. } => true,
        }
    }
}

/// Asks a hook.
pub(crate) async fn ask(
    hook: Hook,
    question: Question,
    scene: HookScene,
    assessor: &Assessor,
    leave: watch::Receiver<Leave>,
) -> Asked {
    let mut env = BTreeMap::from([
        ("LOOPWRIGHT_PROJECT_DIR".to_owned(), scene.cwd.clone()),
        ("CLAUDE_PROJECT_DIR".to_owned(), scene.cwd.clone()),
    ]);
    env.extend(hook.env);
    let order = Order {
        prints_to: None,
        command: &hook.command,
        env,
        hide: &scene.hide,
        cwd: hook.cwd.as_deref(),
        stdin: told::question(&question, &scene),
        timeout_ms: hook.timeout_ms,
        grace_ms: GRACE_MS,
        stdout: Capture::halves(ROOM),
        stderr: Capture::halves(ROOM),
    };
    let remains = process::run(order, leave).await;
    let (stdout, stderr) = (remains.stdout.text(), remains.stderr.text());
    let point = Point::of(&question.asked);
    let verdict = verdict::read(point, &remains.end, hook.timeout_ms, &stdout, &stderr);
    let answer = match (verdict.answer, &question.asked) {
        // What a hook wants to run instead is judged like what a model wants to run.
        (HookAnswer::Edited { args, .. }, HookQuestion::Tool { tool, .. }) => {
            let facts = assessor.facts(tool, &args);
            HookAnswer::Edited { args, facts }
        }
        (HookAnswer::Asked { reason, edit: Some(edit) }, HookQuestion::Tool { tool, .. }) => {
            let args = edit.args;
            let facts = assessor.facts(tool, &args);
            HookAnswer::Asked { reason, edit: Some(Box::new(CallEdit { args, facts })) }
        }
        (answer, _) => answer,
    };
    Asked { answer, message: verdict.message }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machine_spec::Transcript;
    use machine_spec::effect::HookQuestion;
    use machine_spec::ids::{AttemptId, CallId, TaskId};
    use machine_spec::input::HookAnswer;
    use machine_spec::message::{Block, Call, CallResult, Entry, Outcome, Reply, Wholeness};
    use machine_spec::model::{ArgsVerdict, CallFacts, Safety, Usage};
    use regex::Regex;
    use tokio::sync::watch;

    use super::{Hook, HookScene, Question, ask};
    use crate::assess::Assessor;
    use crate::process::Leave;

    fn hook(script: &str) -> Hook {
        let command = ["sh", "-c", script].map(String::from).to_vec();
        let (name, env) = ("check".to_owned(), BTreeMap::new());
        Hook { name, command, timeout_ms: 20_000, matcher: None, env, cwd: None }
    }

    fn stop() -> HookQuestion {
        HookQuestion::Stop {
            active: true,
            reentries: 2,
            last_text: "done \"so\"".into(),
            tasks: vec![TaskId(3)],
        }
    }

    fn call() -> HookQuestion {
        let args = r#"{"cmd":"rm x"}"#.into();
        HookQuestion::Tool { call: CallId(4), tool: "run".into(), args }
    }

    async fn answer_to(hook: Hook, asked: HookQuestion) -> HookAnswer {
        let question = Question::over(asked, &conversation());
        let scene = HookScene { session: "s1".into(), cwd: "/here".into(), ..HookScene::default() };
        let (_leave, leave) = watch::channel(Leave::GoOn);
        ask(hook, question, scene, &Assessor::default(), leave).await.answer
    }

    async fn answer(hook: Hook) -> HookAnswer {
        answer_to(hook, stop()).await
    }

    /// What a hook reads.
    async fn read(asked: HookQuestion) -> String {
        let told = match answer_to(hook("cat >&2; exit 2"), asked).await {
            HookAnswer::Blocked { reason } | HookAnswer::Denied { reason } => reason,
            answer => panic!("{answer:?}"),
        };
        let told: serde_json::Value = serde_json::from_str(&told).expect("an object");
        serde_json::to_string_pretty(&told).expect("JSON")
    }

    fn conversation() -> Transcript {
        let facts = CallFacts::new(ArgsVerdict::Valid { canonical: 1 }, Safety::Exclusive);
        let (id, wire_id, name) = (CallId(4), "toolu_1".into(), "run".into());
        let call = Call { id, wire_id, name, args: r#"{"cmd":"ls"}"#.into(), facts };
        let result = CallResult {
            call: call.id,
            wire_id: call.wire_id.clone(),
            name: call.name.clone(),
            outcome: Outcome::Failed { output: "no such file".into() },
            edited: Some(r#"{"cmd":"ls ."}"#.into()),
            images: Vec::new(),
        };
        let reply = Reply {
            by: "a/m".into(),
            attempt: AttemptId(0),
            blocks: vec![Block::Call(call)],
            wholeness: Wholeness::Whole,
            stop: None,
            usage: Usage::default(),
        };
        Transcript::from_iter([Entry::Reply(reply), Entry::Results(vec![result])])
    }

    #[tokio::test]
    async fn a_hook_reads_the_question_as_one_object() {
        insta::assert_snapshot!(read(stop()).await, @r#"
        {
          "background_tasks": [
            {
              "id": "task-3"
            }
          ],
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
    async fn a_hook_reads_about_a_call() {
        insta::assert_snapshot!(read(call()).await, @r#"
        {
          "cwd": "/here",
          "hook_event_name": "PreToolUse",
          "permission_mode": "default",
          "session_id": "s1",
          "tool_input": {
            "cmd": "rm x"
          },
          "tool_name": "run",
          "tool_use_id": "call-4",
          "transcript_path": ""
        }
        "#);
    }

    #[tokio::test]
    async fn a_hook_reads_what_the_model_will_read_of_a_batch() {
        let batch = HookQuestion::Batch { calls: vec![CallId(4)] };
        insta::assert_snapshot!(read(batch).await, @r#"
        {
          "cwd": "/here",
          "hook_event_name": "PostToolBatch",
          "permission_mode": "default",
          "session_id": "s1",
          "tool_calls": [
            {
              "is_error": true,
              "tool_input": {
                "cmd": "ls ."
              },
              "tool_name": "run",
              "tool_response": "[the arguments were changed before it ran, to: {\"cmd\":\"ls .\"}]\nno such file",
              "tool_use_id": "call-4"
            }
          ],
          "transcript_path": ""
        }
        "#);
    }

    #[tokio::test]
    async fn a_hook_reads_about_a_compaction() {
        let compact = HookQuestion::Compact { dropped: 7, overflowed: true };
        insta::assert_snapshot!(read(compact).await, @r#"
        {
          "custom_instructions": "",
          "cwd": "/here",
          "dropped_entries": 7,
          "hook_event_name": "PreCompact",
          "overflowed": true,
          "permission_mode": "default",
          "session_id": "s1",
          "transcript_path": "",
          "trigger": "auto"
        }
        "#);
    }

    #[tokio::test]
    async fn what_a_hook_changes_is_judged_at_the_edge() {
        let said =
            r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"a": 1}}}"#;
        let answer = answer_to(hook(&format!("echo '{said}'")), call()).await;
        let args = r#"{"a":1}"#.to_owned();
        let facts = Assessor::default().facts("run", &args);
        assert!(matches!(facts.args, ArgsVerdict::Valid { .. }), "{facts:?}");
        assert_eq!(answer, HookAnswer::Edited { args, facts });
    }

    #[test]
    fn a_matcher_means_tools() {
        let mut hook = hook("true");
        assert!(hook.wants(&call()) && hook.wants(&stop()));
        hook.matcher = Some(Regex::new("^(?:write|edit)$").expect("a pattern"));
        assert!(!hook.wants(&call()) && hook.wants(&stop()));
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
