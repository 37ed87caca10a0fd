//! Tools as commands: arguments as JSON on stdin, the result on stdout, the exit code says whether
//! it went well.
//!
//! Whatever a tool does ends in a [`ToolReport`], never in an error of the engine: to the model a
//! tool that is missing, fails, floods or hangs is a result like any other.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use machine_spec::ids::CallId;
use machine_spec::input::{ToolReport, ToolStatus};
use serde::Deserialize;
use tokio::sync::watch;
use wire::Images;

pub mod content;

use crate::process::{self, Capture, End, Leave, Order, Remains};

/// The most bytes of its errors that a failing tool tells: the end, where the cause stands.
const STDERR_ROOM: usize = 10_000;

/// A tool as a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Name, as the model knows it.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: u64,
    /// The most bytes of its output that are taken; of more, the middle is lost. How much of them
    /// stands in the conversation is for the machine to decide.
    pub max_output_bytes: usize,
    /// What its output is.
    pub output: ToolOutput,
    /// Variables to set for it.
    pub env: BTreeMap<String, String>,
    /// Where it runs; the folder of the engine when absent.
    pub cwd: Option<PathBuf>,
}

/// What a tool prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutput {
    /// Text for the model.
    #[default]
    Text,
    /// A list of parts, text and images, as JSON; see [`content`].
    Content,
}

/// What came of a call, with the bytes of its images.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) report: ToolReport,
    pub(crate) held: Images,
}

impl Returned {
    fn text(report: ToolReport) -> Returned {
        Returned { report, held: Images::default() }
    }
}

/// What every tool of a run is told about it.
#[derive(Clone, Debug)]
pub(crate) struct ToolScene {
    pub(crate) session: String,
    pub(crate) hide: Vec<String>,
    /// How long a tool may take to end after it was asked to.
    pub(crate) grace_ms: u64,
}

/// Runs one call; nothing comes back of one that was let go. One that may be let go prints to a
/// file.
pub(crate) async fn run(
    tool: Option<Arc<Tool>>,
    call: CallId,
    args: Arc<str>,
    scene: Arc<ToolScene>,
    leave: watch::Receiver<Leave>,
    prints_to: Option<PathBuf>,
) -> Option<Returned> {
    let Some(tool) = tool else {
        // The gate lets no call pass whose tool the machine does not know; only a setup that was
        // put together by hand can come here.
        let output = "the tool is declared, but there is no command for it".to_owned();
        return Some(Returned::text(ToolReport::new(ToolStatus::Failed, output)));
    };
    let mut env = BTreeMap::from([
        ("LOOPWRIGHT_TOOL".to_owned(), tool.name.clone()),
        // The same for every start of this call, so a careful tool can refuse to act twice.
        ("LOOPWRIGHT_CALL".to_owned(), format!("{}:{call}", scene.session)),
    ]);
    env.extend(tool.env.clone());
    let order = Order {
        command: &tool.command,
        env,
        hide: &scene.hide,
        cwd: tool.cwd.as_deref(),
        stdin: args.as_bytes().to_vec(),
        timeout_ms: tool.timeout_ms,
        grace_ms: scene.grace_ms,
        stdout: Capture::halves(tool.max_output_bytes),
        stderr: Capture::tail(STDERR_ROOM.min(tool.max_output_bytes)),
        prints_to: prints_to.as_deref(),
    };
    let remains = process::run(order, leave).await;
    if remains.end == End::LetGo {
        return None;
    }
    let report = report(remains, tool.timeout_ms);
    Some(match (tool.output, report.status) {
        (ToolOutput::Content, ToolStatus::Succeeded) => content::read(report),
        (ToolOutput::Content | ToolOutput::Text, _) => Returned::text(report),
    })
}

/// What the model may know of how a call went.
fn report(remains: Remains, timeout_ms: u64) -> ToolReport {
    let (status, verdict) = match &remains.end {
        End::Exited(0) => (ToolStatus::Succeeded, None),
        End::Exited(code) => (ToolStatus::Failed, Some(format!("exit code {code}"))),
        End::Signalled(signal) => (ToolStatus::Failed, Some(format!("ended by signal {signal}"))),
        End::TimedOut => {
            (ToolStatus::TimedOut, Some(format!("stopped at its limit of {timeout_ms} ms")))
        }
        End::Stopped | End::LetGo => (ToolStatus::Cancelled, None),
        End::NotStarted(problem) => {
            return ToolReport::new(ToolStatus::Failed, problem.clone());
        }
    };
    let mut output = remains.stdout.text();
    let wants_errors = status != ToolStatus::Succeeded || remains.stdout.is_empty();
    for part in [
        verdict.map(|verdict| format!("[{verdict}]")),
        (wants_errors && !remains.stderr.is_empty()).then(|| remains.stderr.text()),
    ] {
        let Some(part) = part else { continue };
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&part);
    }
    ToolReport::new(status, output)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use machine_spec::ids::CallId;
    use machine_spec::input::{ToolReport, ToolStatus};
    use rstest::rstest;
    use tokio::sync::watch;

    use super::{Tool, ToolOutput, ToolScene, run};
    use crate::process::Leave;

    fn tool(script: &str) -> Tool {
        Tool {
            name: "t".into(),
            command: ["sh", "-c", script].map(String::from).to_vec(),
            timeout_ms: 20_000,
            max_output_bytes: 100,
            output: ToolOutput::Text,
            env: BTreeMap::new(),
            cwd: None,
        }
    }

    async fn report(tool: Tool) -> ToolReport {
        let scene = ToolScene { session: "s1".into(), hide: vec![], grace_ms: 100 };
        let (_leave, leave) = watch::channel(Leave::GoOn);
        let args = "{\"a\":1}".into();
        let came = run(Some(Arc::new(tool)), CallId(7), args, Arc::new(scene), leave, None).await;
        came.expect("nobody let it go").report
    }

    #[rstest]
    #[case::success("cat; echo noise >&2", ToolStatus::Succeeded, "{\"a\":1}")]
    #[case::only_noise("echo noise >&2", ToolStatus::Succeeded, "noise\n")]
    #[case::silence("true", ToolStatus::Succeeded, "")]
    #[case::failure(
        "printf half; echo why >&2; exit 3",
        ToolStatus::Failed,
        "half\n[exit code 3]\nwhy\n"
    )]
    #[case::failure_in_silence("exit 1", ToolStatus::Failed, "[exit code 1]")]
    #[case::signal("kill -9 $$", ToolStatus::Failed, "[ended by signal 9]")]
    #[case::identity(
        "echo $LOOPWRIGHT_TOOL $LOOPWRIGHT_CALL",
        ToolStatus::Succeeded,
        "t s1:call-7\n"
    )]
    #[case::not_text("printf 'a\\377b'", ToolStatus::Succeeded, "a\u{fffd}b")]
    #[tokio::test]
    async fn every_end_is_a_report(
        #[case] script: &str,
        #[case] status: ToolStatus,
        #[case] output: &str,
    ) {
        assert_eq!(report(tool(script)).await, ToolReport::new(status, output));
    }

    #[tokio::test]
    async fn a_hanging_tool_keeps_what_it_said() {
        let mut slow = tool("echo begun; echo why >&2; sleep 300");
        slow.timeout_ms = 100;
        let output = "begun\n[stopped at its limit of 100 ms]\nwhy\n";
        assert_eq!(report(slow).await, ToolReport::new(ToolStatus::TimedOut, output));
    }

    #[tokio::test]
    async fn a_missing_program_is_told_to_the_model() {
        let mut missing = tool("");
        missing.command = vec!["./loopwright-no-such-tool".into()];
        let report = report(missing).await;
        assert_eq!(report.status, ToolStatus::Failed);
        assert!(report.output.starts_with("cannot start `./loopwright-no-such-tool`"));
    }

    #[tokio::test]
    async fn long_output_is_cut_in_the_middle() {
        let report = report(tool("yes line | head -n 1000")).await;
        assert!(report.output.contains("of 5000 bytes left out]"), "{}", report.output);
        assert!(report.output.len() < 200, "{}", report.output.len());
    }
}
