//! What can go wrong outside a run, with a stable code and an exit code.
//!
//! Exit codes: 0 all well · 1 divergence or failed assertion · 2 usage or configuration · 3 unreadable
//! file · 4 nothing selected · 9 a law is broken · 10 the machine panicked (`chaos`, `shrink`, `explore`
//! and `fork`; where a replay differs they exit with 1). The endings of runs have their own: see
//! `machine_spec::TerminalKind::exit_code`.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// A fault that ends the command.
#[derive(Debug)]
pub(crate) struct Fault {
    exit: u8,
    text: String,
}

impl Fault {
    /// A fault of the arguments.
    pub(crate) fn usage(text: impl Display) -> Fault {
        Fault { exit: 2, text: text.to_string() }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(text: impl Display) -> Fault {
        Fault { exit: 3, text: text.to_string() }
    }

    /// Nothing was selected.
    pub(crate) fn nothing(text: impl Display) -> Fault {
        Fault { exit: 4, text: text.to_string() }
    }

    /// The fault as the last event of a run that could not begin.
    pub(crate) fn as_terminal(&self) -> serde_json::Value {
        serde_json::json!({
            "type": "terminal",
            "reason": "not_started",
            "class": "failed",
            "exit_code": self.exit,
            "message": self.text,
        })
    }

    /// Tells the fault and gives its exit code.
    pub(crate) fn report(self) -> ExitCode {
        if !self.text.is_empty() {
            eprintln!("error: {}", self.text);
        }
        ExitCode::from(self.exit)
    }
}

/// Writing to a pipe that was closed is how `| head` ends a command: no fault of anybody.
impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Fault { exit: 0, text: String::new() };
        }
        Fault { exit: 3, text: format!("LW5001: cannot write the output: {error}") }
    }
}
