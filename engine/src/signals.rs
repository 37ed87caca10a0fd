//! Ctrl-C and the request to terminate, as interrupts of a run.
//!
//! The first one interrupts, the second interrupts without waiting, the third ends the process at
//! once: somebody means it.

use machine_spec::input::InterruptedBy;
use tokio::select;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::AbortHandle;

use crate::inbox::Handle;

/// The exit code of a process that was interrupted.
const INTERRUPTED: i32 = 130;

/// Listens for signals until it is dropped.
#[derive(Debug)]
pub struct Signals {
    task: AbortHandle,
}

impl Signals {
    /// Interrupts this run whenever the process gets a signal. Needs a runtime of tokio.
    ///
    /// # Errors
    ///
    /// The system refuses to deliver signals.
    pub fn interrupt(handle: Handle) -> std::io::Result<Signals> {
        let mut ctrl_c = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let task = tokio::spawn(async move {
            for _ in 0..2 {
                let by = select! {
                    _ = ctrl_c.recv() => InterruptedBy::User,
                    _ = terminate.recv() => InterruptedBy::Shutdown,
                };
                handle.interrupt(by);
            }
            select! {
                _ = ctrl_c.recv() => {}
                _ = terminate.recv() => {}
            }
            std::process::exit(INTERRUPTED);
        });
        Ok(Signals { task: task.abort_handle() })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.task.abort();
    }
}
