//! Providers over HTTP: one connection each, opened for one request at a time.
//!
//! The dialects come from `wire`; here are the address, the headers, the credentials and the
//! watchdogs. Nothing is repeated here, redirected or followed up: only the machine retries.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use machine_spec::config::RunConfig;
use machine_spec::effect::{SealedRequest, Transport};
use machine_spec::model::{ErrorClass, Failure};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect, retry};
use secrecy::{ExposeSecret, SecretString};
use wire::encode::{EncodeOptions, Encoder};
use wire::{Dialect, Images, ResponseReader};

use crate::setup::{Auth, Patience, Provider};

mod fault;
mod stream;

pub(crate) use stream::Call;

/// The version of its API that is asked of Anthropic.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A provider, ready to be asked.
#[derive(Debug)]
pub(crate) struct Connection {
    provider: Arc<Provider>,
    encoder: Encoder,
    client: Result<Client, String>,
}

/// A request, ready to be sent.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) dialect: Dialect,
    pub(crate) reader: ResponseReader,
    pub(crate) client: Client,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) patience: Patience,
    pub(crate) transport: Transport,
    /// What the encoder was told: it decides what a repetition can leave out.
    pub(crate) options: EncodeOptions,
}

impl Connection {
    /// A connection to a provider. Nothing is sent yet.
    pub(crate) fn to(provider: Provider) -> Connection {
        let encoder = Encoder::new(provider.dialect, provider.options.clone());
        let client = client(&provider);
        Connection { provider: Arc::new(provider), encoder, client }
    }

    /// Whom it leads to.
    pub(crate) fn provider(&self) -> &Arc<Provider> {
        &self.provider
    }

    /// From here on its requests can show these images.
    pub(crate) fn show(&mut self, images: &Images) {
        self.encoder.hold(images);
    }

    /// Proves from here on with this key who sends its requests.
    pub(crate) fn set_key(&mut self, key: SecretString) {
        let provider = Arc::make_mut(&mut self.provider);
        provider.auth = provider.auth.with(key);
    }

    /// Makes a request ready. The body is what the recording notes, even if it cannot be sent.
    pub(crate) fn prepare(
        &mut self,
        config: &RunConfig,
        request: &SealedRequest,
    ) -> (Vec<u8>, Result<Outgoing, Box<Failure>>) {
        let encoded = self.encoder.encode(config, request);
        let body = encoded.body;
        let reader = self.reader(config, request);
        let outgoing = self.outgoing(&encoded.path, &body, request.transport, reader);
        (body, outgoing)
    }

    /// Makes a request ready that does not belong to the conversation: the encoder of the
    /// conversation, which only ever appends, never sees it.
    pub(crate) fn prepare_aside(
        &self,
        config: &RunConfig,
        request: &SealedRequest,
    ) -> Result<Outgoing, Box<Failure>> {
        // The shape is that of the answers to the user.
        let options = EncodeOptions { output: None, ..self.provider.options.clone() };
        let mut encoder = Encoder::new(self.provider.dialect, options);
        let encoded = encoder.encode(config, request);
        let reader = self.reader(config, request);
        self.outgoing(&encoded.path, &encoded.body, request.transport, reader)
    }

    fn reader(&self, config: &RunConfig, request: &SealedRequest) -> ResponseReader {
        let Provider { dialect, options, .. } = &*self.provider;
        ResponseReader::new(*dialect, options, config, &request.tools)
    }

    fn outgoing(
        &self,
        path: &str,
        body: &[u8],
        transport: Transport,
        reader: ResponseReader,
    ) -> Result<Outgoing, Box<Failure>> {
        let provider = &self.provider;
        let client = self
            .client
            .clone()
            .map_err(|problem| Failure::new(ErrorClass::Tls, problem))
            .map_err(Box::new)?;
        let url = wire::encode::url(provider.dialect, provider.base_url.as_str(), path);
        let url = Url::parse(&url).map_err(|error| {
            // The base was checked; only a model name can have made it unusable.
            let problem = format!("the path `{path}` makes no URL: {error}");
            Box::new(Failure::new(ErrorClass::BadRequest, problem))
        })?;
        Ok(Outgoing {
            dialect: provider.dialect,
            reader,
            client,
            url,
            headers: headers(provider, transport),
            body: body.to_vec(),
            patience: provider.patience,
            transport,
            options: provider.options.clone(),
        })
    }
}

/// A client that does what it is told and nothing more.
fn client(provider: &Provider) -> Result<Client, String> {
    install_crypto();
    let plain = || {
        let builder = Client::builder();
        // This machine is never behind a proxy to itself.
        let builder = if is_here(&provider.base_url) { builder.no_proxy() } else { builder };
        builder
            .user_agent(concat!("loopwright/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_millis(provider.patience.connect_ms))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
    };
    match plain().build() {
        Ok(client) => Ok(client),
        // A machine without certificates can still speak to itself.
        Err(_) if provider.base_url.scheme() == "http" => {
            plain().tls_certs_only([]).build().map_err(|error| fault::told(&error))
        }
        Err(error) => Err(fault::told(&error)),
    }
}

/// Whether a URL leads to this very machine.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The cryptography of TLS, once for the whole process. A program that embeds the engine may have
/// chosen its own before.
fn install_crypto() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn headers(provider: &Provider, transport: Transport) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static(accepted(provider.dialect, transport)));
    if provider.dialect == Dialect::Anthropic {
        let version = HeaderValue::from_static(ANTHROPIC_VERSION);
        headers.insert(HeaderName::from_static("anthropic-version"), version);
    }
    let (name, value) = match &provider.auth {
        Auth::None => (None, None),
        Auth::ApiKey(key) => (Some(HeaderName::from_static("x-api-key")), secret("", key)),
        Auth::Bearer(key) => (Some(AUTHORIZATION), secret("Bearer ", key)),
        Auth::GoogleKey(key) => (Some(HeaderName::from_static("x-goog-api-key")), secret("", key)),
    };
    headers.extend(name.zip(value));
    for (name, value) in &provider.headers {
        // Names and values were checked with the configuration.
        headers.extend(HeaderName::try_from(name).ok().zip(secret("", value)));
    }
    headers
}

/// The value of a header that no log shows.
fn secret(prefix: &str, key: &SecretString) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("{prefix}{}", key.expose_secret())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

const fn accepted(dialect: Dialect, transport: Transport) -> &'static str {
    match (transport, dialect) {
        (Transport::Whole, _) => "application/json",
        (
            Transport::Stream,
            Dialect::Anthropic | Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Gemini,
        ) => "text/event-stream",
        (Transport::Stream, Dialect::Ollama) => "application/x-ndjson",
    }
}

#[cfg(test)]
mod tests;
