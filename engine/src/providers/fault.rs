//! What went wrong on the way to a provider, in the classes that a policy can tell apart.
//!
//! An error of the transport names hosts and ports, never a full URL: there may be a key in it.

use std::error::Error;
use std::io;

use machine_spec::model::{ErrorClass, Failure};

use crate::setup::Patience;

/// Where something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before the head of the response.
    Sending,
    /// While its body was coming.
    Reading,
}

/// The failure that an error of the client stands for.
pub(super) fn of(error: &reqwest::Error, stage: Stage, patience: &Patience) -> Failure {
    let cause = told(error);
    let (class, message) = if tls_fault(error) {
        (ErrorClass::Tls, format!("the connection is not safe: {cause}"))
    } else if error.is_connect() && error.is_timeout() {
        let ms = patience.connect_ms;
        (ErrorClass::ConnectTimeout, format!("no connection within {ms} ms"))
    } else if error.is_dns() {
        (ErrorClass::Transport, format!("the host was not found: {cause}"))
    } else if error.is_connect() {
        (ErrorClass::Transport, format!("no connection: {cause}"))
    } else if error.is_builder() {
        (ErrorClass::BadRequest, format!("the request cannot be sent: {cause}"))
    } else {
        let when = match stage {
            Stage::Sending => "before the response began",
            Stage::Reading => "in the middle of the response",
        };
        (ErrorClass::Transport, format!("the connection broke {when}: {cause}"))
    };
    Failure::new(class, message)
}

/// The innermost cause of an error: the one that says what happened, and no URL.
pub(super) fn told(error: &reqwest::Error) -> String {
    match causes(error).skip(1).last() {
        Some(cause) => cause.to_string(),
        // Without a cause the error speaks for itself; its first words are before any URL.
        None => error.to_string().split(" for url").next().unwrap_or_default().to_owned(),
    }
}

/// Whether the certificate or the handshake was at fault.
fn tls_fault(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.is::<rustls::Error>())
}

/// An error and its causes, down to the innermost. An I/O error hides its own.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error;
    std::iter::successors(Some(first), |cause| {
        let cause: &(dyn Error + 'static) = *cause;
        let hidden = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        match hidden {
            Some(hidden) => Some(hidden as &(dyn Error + 'static)),
            None => cause.source(),
        }
    })
}
