//! Where the keys of providers come from, so that they can be looked up again.
//!
//! A key is never written down: not in a recording, not in an event, not in an error.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;

use crate::config::{ConfigError, Problem};
use crate::error::Code;
use crate::process::{self, Capture, End, Leave, Order};
use crate::setup::Setup;

/// How long a command may take that gives a key.
const PATIENCE_MS: u64 = 60_000;

/// How long it may take to end after it was asked to.
const GRACE_MS: u64 = 500;

/// The longest key, in bytes.
const LONGEST_KEY: usize = 16 * 1024;

/// Where the key of a provider comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeySource {
    /// There is none, or it stands fast.
    #[default]
    Fixed,
    /// A variable of the environment.
    Variable(String),
    /// A file that holds nothing else.
    File(PathBuf),
    /// A command that prints it.
    Command(Vec<String>),
}

impl KeySource {
    /// Whether it can be looked up again.
    #[must_use]
    pub const fn can_be_asked(&self) -> bool {
        match self {
            KeySource::Fixed => false,
            KeySource::Variable(_) | KeySource::File(_) | KeySource::Command(_) => true,
        }
    }
}

/// Looks a key up, where it comes from now.
///
/// # Errors
///
/// What went wrong, for people and without the key.
pub(crate) async fn look_up(source: &KeySource) -> Result<SecretString, String> {
    let text = match source {
        KeySource::Fixed => return Err("it stands fast: there is nowhere to look".to_owned()),
        KeySource::Variable(name) => crate::config::process_environment(name)
            .ok_or_else(|| format!("the variable `{name}` is not set any more"))?,
        KeySource::File(path) => tokio::fs::read_to_string(path)
            .await
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?,
        KeySource::Command(command) => printed(command).await?,
    };
    sound(&text)
}

/// The key that a text holds. Keys are pasted with blanks around them.
pub(crate) fn sound(text: &str) -> Result<SecretString, String> {
    let key = text.trim();
    if key.is_empty() {
        return Err("it is empty".to_owned());
    }
    if HeaderValue::from_str(key).is_err() {
        return Err("it holds characters that no key has".to_owned());
    }
    Ok(SecretString::from(key))
}

async fn printed(command: &[String]) -> Result<String, String> {
    let Some(program) = command.first() else { return Err("there is no command".to_owned()) };
    let order = Order {
        command,
        env: BTreeMap::new(),
        hide: &[],
        cwd: None,
        stdin: Vec::new(),
        timeout_ms: PATIENCE_MS,
        grace_ms: GRACE_MS,
        stdout: Capture::halves(LONGEST_KEY),
        stderr: Capture::tail(0),
        prints_to: None,
    };
    let (_leave, leave) = watch::channel(Leave::GoOn);
    let remains = process::run(order, leave).await;
    // What it complains about may hold what it was asked for; only how it ended is told.
    match remains.end {
        End::Exited(0) => Ok(remains.stdout.text()),
        End::Exited(code) => Err(format!("`{program}` ended with exit code {code}")),
        End::Signalled(signal) => Err(format!("`{program}` was ended by signal {signal}")),
        End::TimedOut => Err(format!("`{program}` gave no key within {PATIENCE_MS} ms")),
        End::Stopped | End::LetGo => Err(format!("`{program}` was stopped")),
        End::NotStarted(problem) => Err(problem),
    }
}

/// Runs the commands that give keys, before anything else of a run is begun.
///
/// # Errors
///
/// Every key that could not be had.
pub(crate) async fn open(mut setup: Setup) -> Result<Setup, ConfigError> {
    let mut problems = Vec::new();
    for (index, provider) in setup.providers.iter_mut().enumerate() {
        let KeySource::Command(_) = &provider.key else { continue };
        let missing = provider.auth.secret().is_none_or(|key| key.expose_secret().is_empty());
        if !missing {
            continue;
        }
        match look_up(&provider.key).await {
            Ok(key) => provider.auth = provider.auth.with(key),
            Err(problem) => {
                let at = format!("provider[{index}].api_key_command");
                problems.push(Problem::new(Code::KeyMissing, at, format!("no key: {problem}")));
            }
        }
    }
    match problems.is_empty() {
        true => Ok(setup),
        false => Err(ConfigError { file: setup.origin, problems }),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::{KeySource, look_up};

    fn shell(script: &str) -> KeySource {
        KeySource::Command(["sh", "-c", script].map(String::from).to_vec())
    }

    async fn key(source: KeySource) -> Result<String, String> {
        look_up(&source).await.map(|key| key.expose_secret().to_owned())
    }

    #[tokio::test]
    async fn a_key_is_what_a_command_prints_or_a_file_holds() {
        assert_eq!(key(shell("echo ' key-1 '")).await, Ok("key-1".into()));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        std::fs::write(&file, "key-2\n").expect("a file");
        assert_eq!(key(KeySource::File(file.clone())).await, Ok("key-2".into()));
        std::fs::remove_file(&file).expect("it was there");
        let problem = key(KeySource::File(file)).await.expect_err("there is no file");
        assert!(problem.starts_with("cannot read "), "{problem}");
    }

    #[tokio::test]
    async fn what_goes_wrong_is_told_without_the_key() {
        let failed = key(shell("echo key-1; echo key-1 >&2; exit 3")).await;
        assert_eq!(failed, Err("`sh` ended with exit code 3".into()));
        assert_eq!(key(shell("true")).await, Err("it is empty".into()));
        let odd = key(shell("printf 'key\\n1'")).await;
        assert_eq!(odd, Err("it holds characters that no key has".into()));
        assert!(key(KeySource::Fixed).await.is_err());
        assert!(key(KeySource::Command(vec!["./no-such-program".into()])).await.is_err());
    }
}
