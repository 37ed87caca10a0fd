//! The configuration: TOML with the names that people write, checked before anything starts.
//!
//! Every mistake is told with its place in the file, and as many as possible at once. Nothing here
//! decides how a run behaves; it only carries words to where they are obeyed.
//!
//! All keys, with their defaults or an example:
//!
//! ```toml
#![doc = include_str!("config/reference.toml")]
//! ```

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;
use wire::Dialect;

use crate::error::Code;
use crate::setup::Setup;

mod build;
mod endpoint;
mod file;
mod locate;

/// A configuration with every key, explained.
pub const REFERENCE: &str = include_str!("config/reference.toml");

/// Where values come from that stand in no file. Keys never stand in a file.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process.
#[must_use]
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// What a command line says besides the file. It concerns the first provider; without a file it
/// is the only one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// What it speaks.
    pub dialect: Option<Dialect>,
    /// Model as the endpoint knows it.
    pub model: Option<String>,
    /// Where it is.
    pub base_url: Option<String>,
    /// The variable that holds its key.
    pub api_key_env: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
}

impl Setup {
    /// Reads a configuration file and checks it.
    ///
    /// # Errors
    ///
    /// All mistakes that were found, with their places.
    pub fn load(
        path: &Path,
        overrides: &Overrides,
        environment: Environment<'_>,
    ) -> Result<Setup, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message = match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
                _ => error.to_string(),
            };
            let problem =
                Problem::new(Code::ConfigUnreadable, "", format!("cannot read it: {message}"));
            ConfigError { file: Some(path.to_owned()), problems: vec![problem] }
        })?;
        let mut setup = Setup::parse(&text, path, overrides, environment)?;
        setup.origin = Some(path.to_owned());
        Ok(setup)
    }

    /// Reads a configuration that [`Setup::load`] refused only because the machine could not work
    /// with it. A run with it ends as `config_refused`, and its recording says why.
    ///
    /// # Errors
    ///
    /// All other mistakes that were found, with their places.
    pub fn load_refused(
        path: &Path,
        overrides: &Overrides,
        environment: Environment<'_>,
    ) -> Result<Setup, ConfigError> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let judged = build::Judged::ByTheMachine;
        let mut setup = Setup::parse_judged(&text, path, overrides, environment, judged)?;
        setup.origin = Some(path.to_owned());
        Ok(setup)
    }

    /// Checks the text of a configuration that is said to stand in this file; its relative paths
    /// start from the folder of the file.
    ///
    /// # Errors
    ///
    /// All mistakes that were found, with their places.
    pub fn parse(
        text: &str,
        path: &Path,
        overrides: &Overrides,
        environment: Environment<'_>,
    ) -> Result<Setup, ConfigError> {
        Setup::parse_judged(text, path, overrides, environment, build::Judged::ByUs)
    }

    fn parse_judged(
        text: &str,
        path: &Path,
        overrides: &Overrides,
        environment: Environment<'_>,
        judged: build::Judged,
    ) -> Result<Setup, ConfigError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let read = file::read(text)
            .and_then(|file| build::setup(file, overrides, folder, environment, judged));
        read.map_err(|mut problems| {
            locate::place(text, &mut problems);
            ConfigError { file: Some(path.to_owned()), problems }
        })
    }

    /// A setup without a file: one provider from the command line, no tools.
    ///
    /// # Errors
    ///
    /// All mistakes that were found.
    pub fn without_file(
        overrides: &Overrides,
        environment: Environment<'_>,
    ) -> Result<Setup, ConfigError> {
        let file = file::ConfigFile::default();
        build::setup(file, overrides, Path::new("."), environment, build::Judged::ByUs)
            .map_err(|problems| ConfigError { file: None, problems })
    }
}

/// A configuration that cannot be used: all its problems.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    /// The file.
    pub file: Option<PathBuf>,
    /// The problems, in the order of their places. Never empty.
    pub problems: Vec<Problem>,
}

/// One problem of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The stable code.
    pub code: Code,
    /// The value that is meant, as a path such as `tool[0].command`; empty for the whole.
    pub at: String,
    /// Line and column of it, from 1, if it stands in a file.
    pub place: Option<Place>,
    /// What is wrong and what would be right.
    pub message: String,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Problem {
    pub(crate) fn new(code: Code, at: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { code, at: at.into(), place: None, message: message.into() }
    }
}

impl ConfigError {
    /// The code of the first problem.
    #[must_use]
    pub fn code(&self) -> Code {
        self.problems.first().map_or(Code::ConfigFault, |problem| problem.code)
    }
}

/// One line a problem: `LW2003 run.toml:3:9: provider[0].base_url: …`.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{} ", problem.code)?;
            if let Some(file) = &self.file {
                write!(f, "{}:", file.display())?;
                if let Some(Place { line, column }) = problem.place {
                    write!(f, "{line}:{column}:")?;
                }
                f.write_str(" ")?;
            }
            if !problem.at.is_empty() {
                write!(f, "{}: ", problem.at)?;
            }
            f.write_str(&problem.message)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
