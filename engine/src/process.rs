//! A process in a group of its own: fed, read, timed, stopped and cleaned up after.
//!
//! Tools and hooks are run by this one function. It knows nothing of either. Whatever the process
//! does, the function comes back: a process that floods is read to its end in bounded memory, one
//! that never ends is stopped, one that ignores the request to stop is killed, and what it left
//! behind in its group is killed with it. A process that means to outlive its caller must leave
//! the group (`setsid`), or print to a file and be let go.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Command;
use tokio::select;
use tokio::sync::watch;

use crate::clock::{Deadline, within_ms};

mod capture;

pub(crate) use capture::Capture;

/// `SIGTERM` on every Unix.
const TERMINATE: i32 = 15;

/// How long the pipes of a process that has ended may stay open in the hands of its children.
const DRAIN_MS: u64 = 250;

/// How long a killed process may take to disappear before it is given up.
const DEATH_MS: u64 = 2_000;

/// Bytes read at once.
const PIECE: usize = 64 * 1024;

/// What to run, and within which bounds.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    /// The program and its arguments. Never empty.
    pub(crate) command: &'a [String],
    /// Variables to set.
    pub(crate) env: BTreeMap<String, String>,
    /// Variables to hide: the keys of the providers are nobody else's affair.
    pub(crate) hide: &'a [String],
    /// Where to run it.
    pub(crate) cwd: Option<&'a Path>,
    /// What it is told.
    pub(crate) stdin: Vec<u8>,
    /// How long it may take.
    pub(crate) timeout_ms: u64,
    /// How long it may take to end after it was asked to.
    pub(crate) grace_ms: u64,
    /// What is kept of its output.
    pub(crate) stdout: Capture,
    /// What is kept of its errors.
    pub(crate) stderr: Capture,
    /// The file it prints to, output and errors in one, when it may outlive us: a pipe that nobody
    /// reads any more would end it.
    pub(crate) prints_to: Option<&'a Path>,
}

/// Whether a process may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It may.
    GoOn,
    /// It must end, and gets its grace to do so.
    Stop,
    /// It must end now.
    Kill,
    /// It may go on for ever, and nobody watches it any more.
    Alone,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It was stopped at its time limit.
    TimedOut,
    /// It was stopped because it lost its leave.
    Stopped,
    /// It was let go and runs on.
    LetGo,
    /// It could not be started.
    NotStarted(String),
}

/// What a process left.
#[derive(Debug)]
pub(crate) struct Remains {
    /// How it ended.
    pub(crate) end: End,
    /// What it printed.
    pub(crate) stdout: Capture,
    /// What it complained about.
    pub(crate) stderr: Capture,
}

/// Runs a process to its end, whatever that takes within the bounds of the order.
pub(crate) async fn run(order: Order<'_>, mut leave: watch::Receiver<Leave>) -> Remains {
    let (mut stdout, mut stderr) = (order.stdout, order.stderr);
    let mut command = wrapped(order.command, order.env, order.hide, order.cwd);
    let started = paper(order.prints_to).and_then(|paper| {
        print_to(&mut command, paper);
        command.spawn()
    });
    let mut child = match started {
        Ok(child) => Leash { child, held: true },
        Err(error) => {
            let problem = why_not_started(&order.command[0], order.cwd, &error);
            return Remains { end: End::NotStarted(problem), stdout, stderr };
        }
    };
    let started = &mut *child.child;
    let (input, out, err) =
        (started.stdin().take(), started.stdout().take(), started.stderr().take());
    let end = {
        let feed = feed(input, order.stdin);
        let all = async {
            tokio::join!(drain(out, &mut stdout), drain(err, &mut stderr), feed);
        };
        let mut pipes = Pipes { open: true, all: pin!(all) };
        let end = watch_over(&mut *started, &mut pipes, order.timeout_ms, &mut leave).await;
        if matches!(end, End::TimedOut | End::Stopped) {
            ask_to_end(&mut *started, &mut pipes, order.grace_ms, &mut leave).await;
        }
        if end != End::LetGo {
            clean_up(&mut *started, &mut pipes).await;
        }
        end
    };
    child.held = false;
    if let (Some(path), true) = (order.prints_to, end != End::LetGo) {
        collect(path, &mut stdout).await;
    }
    Remains { end, stdout, stderr }
}

/// A process whose group ends when nobody watches it any more, unless it was let go.
struct Leash {
    child: Box<dyn ChildWrapper>,
    held: bool,
}

impl Drop for Leash {
    fn drop(&mut self) {
        if self.held {
            // A group that is gone already cannot be killed, which is no error.
            let _ = self.child.start_kill();
        }
    }
}

/// The file that a process prints to, made empty.
fn paper(path: Option<&Path>) -> io::Result<Option<(File, File)>> {
    let Some(path) = path else { return Ok(None) };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = File::create(path)?;
    let same = file.try_clone()?;
    Ok(Some((file, same)))
}

fn print_to(command: &mut CommandWrap, paper: Option<(File, File)>) {
    if let Some((out, err)) = paper {
        command.command_mut().stdout(Stdio::from(out)).stderr(Stdio::from(err));
    }
}

/// Reads what a process has printed to its file, in bounded memory, and throws the file away.
async fn collect(path: &Path, into: &mut Capture) {
    drain(tokio::fs::File::open(path).await.ok(), into).await;
    // What cannot be removed lies beside the recording and harms nobody.
    let _ = tokio::fs::remove_file(path).await;
}

fn wrapped(
    command: &[String],
    env: BTreeMap<String, String>,
    hide: &[String],
    cwd: Option<&Path>,
) -> CommandWrap {
    let mut wrapped = CommandWrap::with_new(&command[0], |process: &mut Command| {
        process.args(&command[1..]);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in hide {
            process.env_remove(name);
        }
        process.envs(env);
        if let Some(cwd) = cwd {
            process.current_dir(cwd);
        }
    });
    wrapped.wrap(ProcessGroup::leader());
    wrapped
}

/// The pipes of a process, as one future that is ready once all of them are closed.
struct Pipes<'a, F> {
    open: bool,
    all: Pin<&'a mut F>,
}

impl<F: Future<Output = ()>> Pipes<'_, F> {
    /// Serves the pipes until they are closed; for ever if they already are.
    async fn serve(&mut self) {
        if !self.open {
            std::future::pending::<()>().await;
        }
        self.all.as_mut().await;
        self.open = false;
    }
}

/// Waits until the process ends, its time is over, or it loses its leave.
async fn watch_over<F: Future<Output = ()>>(
    child: &mut dyn ChildWrapper,
    pipes: &mut Pipes<'_, F>,
    timeout_ms: u64,
    leave: &mut watch::Receiver<Leave>,
) -> End {
    let mut deadline = Deadline::after_ms(timeout_ms);
    loop {
        select! {
            // An end that has happened is a fact and comes before our own impatience.
            biased;
            status = child.wait() => return how_it_ended(status),
            () = pipes.serve() => {}
            end = told_otherwise(leave) => return end,
            () = &mut deadline => return End::TimedOut,
        }
    }
}

/// Asks the whole group to end and gives it its grace.
async fn ask_to_end<F: Future<Output = ()>>(
    child: &mut dyn ChildWrapper,
    pipes: &mut Pipes<'_, F>,
    grace_ms: u64,
    leave: &mut watch::Receiver<Leave>,
) {
    // The group may be gone already; then there is nobody to ask.
    let _ = child.signal(TERMINATE);
    let mut grace = Deadline::after_ms(grace_ms);
    let mut leader_lives = true;
    // As long as somebody holds a pipe, somebody of the group is still tidying up.
    while leader_lives || pipes.open {
        select! {
            biased;
            _ = child.wait(), if leader_lives => leader_lives = false,
            () = pipes.serve() => {}
            () = killed(leave) => return,
            () = &mut grace => return,
        }
    }
}

/// Kills what is left of the group and reads what is left in the pipes.
async fn clean_up<F: Future<Output = ()>>(child: &mut dyn ChildWrapper, pipes: &mut Pipes<'_, F>) {
    if pipes.open {
        within_ms(DRAIN_MS, pipes.serve()).await;
    }
    // An empty group cannot be killed, which is no error.
    let _ = child.start_kill();
    within_ms(DEATH_MS, async {
        select! {
            _ = child.wait() => {}
            () = async { loop { pipes.serve().await } } => {}
        }
    })
    .await;
    if pipes.open {
        within_ms(DRAIN_MS, pipes.serve()).await;
    }
}

/// Ready once the process may not simply go on. Whoever gives it leave and is gone has given it up.
async fn told_otherwise(leave: &mut watch::Receiver<Leave>) -> End {
    match leave.wait_for(|leave| *leave != Leave::GoOn).await.as_deref() {
        Ok(Leave::Alone) => End::LetGo,
        Ok(Leave::GoOn | Leave::Stop | Leave::Kill) | Err(_) => End::Stopped,
    }
}

/// Ready once the process must end now.
async fn killed(leave: &mut watch::Receiver<Leave>) {
    let _ = leave.wait_for(|leave| *leave == Leave::Kill).await;
}

fn how_it_ended(status: io::Result<ExitStatus>) -> End {
    use std::os::unix::process::ExitStatusExt;
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, Some(signal)) => End::Signalled(signal),
            (None, None) => End::Signalled(0),
        },
        Err(error) => End::NotStarted(format!("lost sight of the process: {error}")),
    }
}

async fn drain<R: AsyncRead + Unpin>(pipe: Option<R>, into: &mut Capture) {
    let Some(mut pipe) = pipe else { return };
    let mut piece = vec![0; PIECE];
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        into.push(&piece[..read]);
        // A process that never stops printing must not keep the rest of the engine waiting.
        tokio::task::yield_now().await;
    }
}

/// Tells a process its input. One that does not listen is within its rights.
async fn feed<W: AsyncWrite + Unpin>(pipe: Option<W>, bytes: Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    if pipe.write_all(&bytes).await.is_ok() {
        let _ = pipe.shutdown().await;
    }
}

fn why_not_started(program: &str, cwd: Option<&Path>, error: &io::Error) -> String {
    let missing_cwd = cwd.filter(|cwd| !cwd.is_dir()).map(PathBuf::from);
    match (error.kind(), missing_cwd) {
        (_, Some(cwd)) => {
            format!("cannot start `{program}`: its folder {} does not exist", cwd.display())
        }
        (io::ErrorKind::NotFound, None) => {
            format!("cannot start `{program}`: no such program (or no interpreter for it)")
        }
        (io::ErrorKind::PermissionDenied, None) => {
            format!("cannot start `{program}`: it is not executable")
        }
        (_, None) => format!("cannot start `{program}`: {error}"),
    }
}

#[cfg(test)]
mod tests;
