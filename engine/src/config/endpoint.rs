//! Where an endpoint is and which key opens it: file, flags and environment taken together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::SecretString;
use wire::Dialect;

use super::{Environment, Problem};
use crate::credentials::{self, KeySource};
use crate::error::Code;
use crate::setup::Auth;

/// What is found out about an endpoint.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) base_url: Url,
    pub(super) auth: Auth,
    /// Where the key came from.
    pub(super) key: KeySource,
}

/// Where the configuration says that a key is.
#[derive(Debug, Default)]
pub(super) struct Keys<'a> {
    /// In this variable.
    pub(super) variable: Option<&'a str>,
    /// In this file.
    pub(super) file: Option<PathBuf>,
    /// In what this command prints.
    pub(super) command: Option<Vec<String>>,
}

/// Finds the endpoint of the provider at this place of the configuration.
pub(super) fn find(
    at: &str,
    dialect: Dialect,
    base_url: Option<&str>,
    keys: Keys<'_>,
    environment: Environment<'_>,
) -> Result<Endpoint, Vec<Problem>> {
    let usual = base_url_variable(dialect).and_then(|name| set(environment, name));
    let spelled = base_url.map(str::to_owned).or(usual);
    let spelled = spelled.unwrap_or_else(|| default_base_url(dialect).to_owned());
    let url = parse_url(&spelled)
        .map_err(|message| Problem::new(Code::ConfigValue, format!("{at}.base_url"), message));
    match (url, find_key(at, dialect, keys, environment)) {
        (Ok(base_url), Ok((auth, key))) => Ok(Endpoint { base_url, auth, key }),
        (url, key) => Err(url.err().into_iter().chain(key.err()).collect()),
    }
}

fn parse_url(spelled: &str) -> Result<Url, String> {
    let shown = || shown_url(spelled);
    let url = Url::parse(spelled)
        .map_err(|error| format!("`{}` is not a URL: {error}; expected http(s)://host", shown()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => {}
        _ => return Err(format!("`{}` is not a URL of http or https", shown())),
    }
    Ok(url)
}

/// A URL as it may be shown: nobody's password and no query in it.
fn shown_url(spelled: &str) -> String {
    let plain = spelled.split(['?', '#']).next().unwrap_or_default();
    match (plain.split_once("://"), plain.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, Some((_, rest))) => rest.to_owned(),
        (_, None) => plain.to_owned(),
    }
}

const fn default_base_url(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => "https://api.anthropic.com",
        Dialect::OpenAiChat | Dialect::OpenAiResponses => "https://api.openai.com/v1",
        Dialect::Gemini => "https://generativelanguage.googleapis.com",
        Dialect::Ollama => "http://127.0.0.1:11434",
    }
}

const fn base_url_variable(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Anthropic => Some("ANTHROPIC_BASE_URL"),
        Dialect::OpenAiChat | Dialect::OpenAiResponses => Some("OPENAI_BASE_URL"),
        Dialect::Gemini | Dialect::Ollama => None,
    }
}

const fn key_variables(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Anthropic => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        Dialect::OpenAiChat | Dialect::OpenAiResponses => &["OPENAI_API_KEY"],
        Dialect::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        Dialect::Ollama => &["OLLAMA_API_KEY"],
    }
}

/// Every variable that usually holds a key of any provider, or is named here to hold one.
pub(super) fn all_key_variables() -> impl Iterator<Item = &'static str> {
    Dialect::ALL.iter().flat_map(|dialect| key_variables(*dialect)).copied()
}

type Key = (Auth, KeySource);

fn find_key(
    at: &str,
    dialect: Dialect,
    keys: Keys<'_>,
    environment: Environment<'_>,
) -> Result<Key, Problem> {
    match keys {
        Keys { variable, file: None, command: None } => {
            key_of_variable(at, dialect, variable, environment)
        }
        Keys { variable: None, file: Some(path), command: None } => key_of_file(at, dialect, path),
        // It is run when the run begins: a configuration that is only read starts nothing.
        Keys { variable: None, file: None, command: Some(command) } => {
            Ok((auth(dialect, SecretString::from("")), KeySource::Command(command)))
        }
        Keys { .. } => {
            let message = "give one of `api_key_env`, `api_key_file` and `api_key_command`";
            Err(Problem::new(Code::ConfigValue, format!("{at}.api_key_env"), message))
        }
    }
}

fn key_of_file(at: &str, dialect: Dialect, path: PathBuf) -> Result<Key, Problem> {
    let problem = |message: String| {
        let message = format!("no key in {}: {message}", path.display());
        Problem::new(Code::KeyMissing, format!("{at}.api_key_file"), message)
    };
    let text = std::fs::read_to_string(&path).map_err(|error| problem(error.to_string()))?;
    let key = credentials::sound(&text).map_err(problem)?;
    Ok((auth(dialect, key), KeySource::File(path)))
}

fn auth(dialect: Dialect, key: SecretString) -> Auth {
    match dialect {
        Dialect::Anthropic => Auth::ApiKey(key),
        Dialect::Gemini => Auth::GoogleKey(key),
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Ollama => Auth::Bearer(key),
    }
}

fn key_of_variable(
    at: &str,
    dialect: Dialect,
    named: Option<&str>,
    environment: Environment<'_>,
) -> Result<Key, Problem> {
    let at = format!("{at}.api_key_env");
    let found = match named {
        // Said on purpose: this endpoint wants no key.
        Some("") => return Ok((Auth::None, KeySource::Fixed)),
        Some(name) => match set(environment, name) {
            Some(key) => Some((name, key)),
            None => {
                let message = format!(
                    "the variable `{name}` is not set in the environment; it must hold the key"
                );
                return Err(Problem::new(Code::KeyMissing, at, message));
            }
        },
        None => {
            let usual = key_variables(dialect).iter();
            usual.copied().find_map(|name| Some((name, set(environment, name)?)))
        }
    };
    let Some((name, key)) = found else {
        if dialect == Dialect::Ollama {
            return Ok((Auth::None, KeySource::Fixed));
        }
        let message = format!(
            "no key: set {} in the environment, name another variable in `api_key_env`, or say \
             `api_key_env = \"\"` for an endpoint without keys",
            key_variables(dialect).join(" or ")
        );
        return Err(Problem::new(Code::KeyMissing, at, message));
    };
    if HeaderValue::from_str(&key).is_err() {
        let message = format!("the variable `{name}` holds characters that no key has");
        return Err(Problem::new(Code::ConfigValue, at, message));
    }
    let key = SecretString::from(key);
    let auth = match dialect {
        Dialect::Anthropic if name == "ANTHROPIC_AUTH_TOKEN" => Auth::Bearer(key),
        Dialect::Anthropic
        | Dialect::Gemini
        | Dialect::OpenAiChat
        | Dialect::OpenAiResponses
        | Dialect::Ollama => auth(dialect, key),
    };
    Ok((auth, KeySource::Variable(name.to_owned())))
}

/// The value of a variable, if it is set to anything. Keys are pasted with blanks around them.
fn set(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Checks further headers.
pub(super) fn headers(
    at: &str,
    given: BTreeMap<String, String>,
) -> Result<BTreeMap<String, SecretString>, Problem> {
    let mut headers = BTreeMap::new();
    for (name, value) in given {
        let sound =
            HeaderName::try_from(name.as_str()).is_ok() && HeaderValue::from_str(&value).is_ok();
        if !sound {
            let message = format!("`{name}` and its value do not make a header of HTTP");
            return Err(Problem::new(Code::ConfigValue, format!("{at}.headers.{name}"), message));
        }
        headers.insert(name, SecretString::from(value));
    }
    Ok(headers)
}
