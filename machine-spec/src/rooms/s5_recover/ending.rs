//! The ending of a run that no owner can save: it names the most telling failure, not the last one
//! (B021, B028).

use alloc::string::String;

use crate::frame::Frame;
use crate::model::{ErrorClass, Failure, StreamPhase};
use crate::rooms::s3_govern::exhausted;
use crate::terminal::{Terminal, Tried};

/// How much a failure tells. A size tells what to do, a refusal what to mend; that a line broke
/// tells nothing that an earlier failure did not tell better.
const fn telling(class: ErrorClass) -> u8 {
    match class {
        ErrorClass::ContextOverflow | ErrorClass::PayloadTooLarge => 4,
        ErrorClass::Auth
        | ErrorClass::Billing
        | ErrorClass::Tls
        | ErrorClass::QuotaExhausted
        | ErrorClass::ContentRefused
        | ErrorClass::ModelNotFound
        | ErrorClass::ParamRejected
        | ErrorClass::BadRequest => 3,
        ErrorClass::Throttled | ErrorClass::Overloaded | ErrorClass::ServerError => 2,
        ErrorClass::ConnectTimeout
        | ErrorClass::RequestTimeout
        | ErrorClass::IdleTimeout
        | ErrorClass::NonApiBody
        | ErrorClass::Garbled => 1,
        ErrorClass::Transport | ErrorClass::Incomplete | ErrorClass::Unknown => 0,
    }
}

/// Takes a failure down if it tells more than those before it on this candidate.
pub(super) fn note(failure: &Failure, frame: &mut Frame) {
    let better = match &frame.sweep.decisive {
        Some(known) => telling(failure.class) > telling(known.class),
        None => true,
    };
    if better {
        frame.sweep.decisive = Some(failure.clone());
    }
}

/// The ending of a run that no owner can save. The decisive error of every candidate goes with it.
/// A candidate that was skipped for its size was never asked, so its size decides nothing.
pub(in crate::rooms) fn hopeless(failure: &Failure, phase: StreamPhase, frame: &Frame) -> Terminal {
    let mut tried = frame.sweep.tried.clone();
    let (candidate, attempts) = (frame.sweep.at, frame.sweep.attempts);
    let last = frame.sweep.decisive.clone().unwrap_or_else(|| failure.clone());
    tried.push(Tried { candidate, attempts, failure: last.clone() });
    let too_large =
        |tried: &&Tried| tried.attempts > 0 && tried.failure.class == ErrorClass::ContextOverflow;
    if let Some(overflow) = tried.iter().find(too_large) {
        return exhausted(&overflow.failure, String::new(), frame);
    }
    let cap = frame.config.limits.retry_after_cap_ms;
    let limited = matches!(failure.class, ErrorClass::Throttled | ErrorClass::QuotaExhausted);
    match failure.retry_after_ms.filter(|wish| limited && *wish > cap) {
        Some(wish) => Terminal::RateLimited { retry_after_ms: wish, tried },
        None => Terminal::ProviderFailed { phase, failure: last, tried },
    }
}
