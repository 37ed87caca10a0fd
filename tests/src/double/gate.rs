//! A gate in a delivery: the double waits before it until somebody opens it. A plan with gates
//! instead of times is the same on a fast machine and on a slow one.

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use tokio::sync::watch;

/// A gate that is closed until it is opened once.
#[derive(Clone, Debug)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate { open: Arc::new(watch::Sender::new(false)) }
    }
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Gate {
        Gate::default()
    }

    /// A gate that a process opens by writing to this named pipe, which is made here. The writer
    /// goes on as soon as it is heard, so a tool can say `echo > pipe` in the middle of its work.
    ///
    /// # Errors
    /// When the pipe cannot be made.
    pub fn opened_by_pipe(pipe: &Path) -> io::Result<Gate> {
        make_pipe(pipe)?;
        let gate = Gate::new();
        let (opened, pipe) = (gate.clone(), pipe.to_path_buf());
        // Opening a pipe waits for its writer, so it needs a thread of its own. One that is never
        // written to ends with the process.
        std::thread::spawn(move || {
            if std::fs::read(pipe).is_ok() {
                opened.open();
            }
        });
        Ok(gate)
    }

    /// Opens the gate, for ever.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits on this thread until it is open.
    pub fn wait(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime for a wait").block_on(self.passed());
    }

    /// Waits until it is open.
    pub async fn passed(&self) {
        // The sender lives in `self`, so the channel cannot close while somebody waits here.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}

/// Makes a named pipe.
///
/// # Errors
/// When the pipe cannot be made.
pub fn make_pipe(pipe: &Path) -> io::Result<()> {
    let made = Command::new("mkfifo").arg(pipe).status()?;
    if made.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("mkfifo {} ended with {made}", pipe.display())))
}
