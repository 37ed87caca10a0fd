//! Everything a run needs, checked and ready: what the machine is told, and what the world must
//! know to carry out its orders.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use machine_spec::config::RunConfig;
use replay::redact::Redactor;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use wire::catalogue::{PriceSource, WindowSource};
use wire::encode::EncodeOptions;
use wire::{Dialect, Images};

use crate::approve::ApprovalRules;
use crate::assess::Assessor;
use crate::children::Agent;
use crate::credentials::KeySource;
use crate::hooks::Hook;
use crate::memory::Memory;
use crate::rules::Rules;
use crate::shape::Shape;
use crate::tools::Tool;

/// Everything a run needs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the machine is told; it is part of the recording.
    pub machine: RunConfig,
    /// The providers, in the order of the candidates.
    pub providers: Vec<Provider>,
    /// The tools by name.
    pub tools: BTreeMap<String, Arc<Tool>>,
    /// The hooks, in the order in which the machine counts them: those about the end of the turn,
    /// about calls, about batches, about compactions.
    pub hooks: Vec<Hook>,
    /// The patterns of the required-tool rules, in their order.
    pub rules: Rules,
    /// What is known of calls: schemas, concurrency, permission rules.
    pub assessor: Arc<Assessor>,
    /// What happens to calls that need somebody's word.
    pub approvals: ApprovalRules,
    /// Environment variables that hold keys: no tool and no hook sees them.
    pub hidden: Vec<String>,
    /// The agents by name: tools whose calls are runs of their own.
    pub agents: BTreeMap<String, Arc<Agent>>,
    /// What remembers, if anything does.
    pub memory: Option<Arc<dyn Memory>>,
    /// The wanted shape of the answer.
    pub shape: Option<Shape>,
    /// Where large results and archives are kept; beside the recording when absent.
    pub store_dir: Option<PathBuf>,
    /// Where the configuration came from, for people.
    pub origin: Option<PathBuf>,
    /// The bytes of the images that its history shows.
    pub images: Images,
    /// The day of the catalogue that windows and prices were looked up in, `YYYY-MM-DD`.
    pub catalogue: String,
}

impl Setup {
    /// A redactor for all secrets of this setup.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        let keys = self.providers.iter().filter_map(|provider| provider.auth.secret());
        let headers = self.providers.iter().flat_map(|provider| provider.headers.values());
        let secrets = keys.chain(headers).map(ExposeSecret::expose_secret);
        let urls = self.providers.iter().flat_map(|provider| secrets_of(&provider.base_url));
        Redactor::new(secrets.map(str::to_owned).chain(urls))
    }
}

/// What must not be shown of a URL: its password, and what its query calls a key.
fn secrets_of(url: &Url) -> impl Iterator<Item = String> {
    let told =
        |name: &str| ["key", "token", "secret", "sig"].iter().any(|word| name.contains(word));
    let query = url.query_pairs().filter(move |(name, _)| told(&name.to_lowercase()));
    url.password().map(str::to_owned).into_iter().chain(query.map(|(_, value)| value.into_owned()))
}

/// One endpoint and one model behind it.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Name in the configuration.
    pub name: String,
    /// What it speaks.
    pub dialect: Dialect,
    /// Model as the endpoint knows it.
    pub model: String,
    /// Where it is, with or without a version at the end.
    pub base_url: Url,
    /// How requests prove who sends them.
    pub auth: Auth,
    /// Where its key comes from.
    pub key: KeySource,
    /// Further headers of every request. They may be secret and are treated so.
    pub headers: BTreeMap<String, SecretString>,
    /// How long it may take.
    pub patience: Patience,
    /// What the encoder is told.
    pub options: EncodeOptions,
    /// Where the context window of its candidate is known from.
    pub window_from: WindowSource,
    /// Where its price is known from.
    pub price_from: PriceSource,
}

/// How requests prove who sends them.
#[derive(Clone, Debug)]
pub enum Auth {
    /// They do not.
    None,
    /// In the header `x-api-key`.
    ApiKey(SecretString),
    /// In the header `authorization`, as a bearer.
    Bearer(SecretString),
    /// In the header `x-goog-api-key`.
    GoogleKey(SecretString),
}

impl Auth {
    /// The secret, if there is one.
    #[must_use]
    pub fn secret(&self) -> Option<&SecretString> {
        match self {
            Auth::None => None,
            Auth::ApiKey(key) | Auth::Bearer(key) | Auth::GoogleKey(key) => Some(key),
        }
    }

    /// The same proof with another key.
    #[must_use]
    pub fn with(&self, key: SecretString) -> Auth {
        match self {
            Auth::None => Auth::None,
            Auth::ApiKey(_) => Auth::ApiKey(key),
            Auth::Bearer(_) => Auth::Bearer(key),
            Auth::GoogleKey(_) => Auth::GoogleKey(key),
        }
    }

    /// Whether this is the key already.
    pub(crate) fn is(&self, key: &SecretString) -> bool {
        self.secret().is_some_and(|own| own.expose_secret() == key.expose_secret())
    }
}

/// How long an endpoint may take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// To accept a connection.
    pub connect_ms: u64,
    /// From the request to the head of the response.
    pub request_ms: u64,
    /// Without any byte of a response that has begun. Any byte starts it again.
    pub idle_ms: u64,
    /// Without anything that says more: keep-alives do not count.
    pub progress_ms: u64,
    /// After the message is complete, for usage that may still come.
    pub linger_ms: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            connect_ms: 10_000,
            request_ms: 600_000,
            idle_ms: 180_000,
            progress_ms: 300_000,
            linger_ms: 2_000,
        }
    }
}
