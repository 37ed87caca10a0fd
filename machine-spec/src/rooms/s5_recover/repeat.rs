//! Who repeats a request on the same candidate. Each owner has a budget of its own and none
//! consumes another's (T7).

use alloc::sync::Arc;

use super::Recover;
use crate::because::Owner;
use crate::frame::Frame;
use crate::model::{ErrorClass, Failure, StreamPhase};
use crate::planted::{Defect, active};
use crate::policy::{RetryOwner, retry_owner};

/// A repetition on the same candidate.
pub(super) enum Repeat {
    /// Without a parameter that the endpoint does not know.
    Parameter(Arc<str>),
    /// With another credential.
    Credential,
    /// After a wait.
    Later {
        /// Who repeats it.
        owner: Owner,
        /// Which repetition of this owner it is, from 1.
        n: u32,
        /// The wait in milliseconds.
        after_ms: u64,
    },
    /// For a response in one piece.
    Whole,
}

/// Each parameter is left out once; if the same complaint comes again, it was not what was wrong
/// (B040).
pub(super) fn parameter(failure: &Failure, frame: &Frame) -> Option<Repeat> {
    let left_out = frame.sweep.left_out.get(usize::from(frame.sweep.at.0))?;
    let known = !failure.remedy.is_empty();
    let new = !left_out.iter().any(|word| **word == *failure.remedy);
    let budget = left_out.len() < frame.config.limits.param_degrades as usize;
    (known && new && budget).then(|| Repeat::Parameter(Arc::from(failure.remedy.as_str())))
}

/// A credential that is not accepted is looked up again, where that is possible at all.
pub(super) fn credential(failure: &Failure, frame: &mut Frame) -> Option<Repeat> {
    let refreshable = frame.candidate().is_some_and(|candidate| candidate.refreshable);
    let budget = frame.sweep.refreshes < frame.config.limits.credential_refreshes;
    if failure.class != ErrorClass::Auth || !refreshable || !budget {
        return None;
    }
    frame.sweep.refreshes += 1;
    Some(Repeat::Credential)
}

/// The owner's next repetition, if its budget and the server's wish allow one.
pub(super) fn retry(failure: &Failure, phase: StreamPhase, frame: &mut Frame) -> Option<Repeat> {
    let limits = &frame.config.limits;
    let stalled = failure.class == ErrorClass::IdleTimeout;
    let (owner, used, limit) = match (retry_owner(failure.class, phase), stalled) {
        (RetryOwner::Http, _) => {
            (Owner::HttpRetry, &mut frame.sweep.http_retries, limits.http_retries)
        }
        (RetryOwner::Stream, true) => {
            (Owner::StreamReissue, &mut frame.sweep.stalls, limits.stall_reissues)
        }
        (RetryOwner::Stream, false) => {
            (Owner::StreamReissue, &mut frame.sweep.reissues, limits.stream_reissues)
        }
    };
    if *used >= limit {
        return None;
    }
    let backoff = limits.backoff_base_ms.saturating_mul(1 << (*used).min(20));
    let backoff = backoff.min(limits.backoff_cap_ms);
    let after_ms = match failure.retry_after_ms {
        Some(wish) if wish > limits.retry_after_cap_ms => return None,
        Some(wish) => wish,
        None => backoff,
    };
    *used += u32::from(!active(Defect::ForgetsToCount));
    Some(Repeat::Later { owner, n: *used, after_ms })
}

/// Where streams break again and again, the response is asked for in one piece; not after a block
/// was complete, since that would be a repetition by another name.
pub(super) fn whole(recover: &Recover, frame: &mut Frame) -> Option<Repeat> {
    let broke = match recover.failure.class {
        ErrorClass::IdleTimeout
        | ErrorClass::Transport
        | ErrorClass::Incomplete
        | ErrorClass::Garbled => true,
        ErrorClass::Throttled
        | ErrorClass::QuotaExhausted
        | ErrorClass::Overloaded
        | ErrorClass::ServerError
        | ErrorClass::ConnectTimeout
        | ErrorClass::RequestTimeout
        | ErrorClass::Tls
        | ErrorClass::Auth
        | ErrorClass::Billing
        | ErrorClass::PayloadTooLarge
        | ErrorClass::ContextOverflow
        | ErrorClass::ParamRejected
        | ErrorClass::ModelNotFound
        | ErrorClass::BadRequest
        | ErrorClass::ContentRefused
        | ErrorClass::NonApiBody
        | ErrorClass::Unknown => false,
    };
    let streaming = retry_owner(recover.failure.class, recover.phase) == RetryOwner::Stream;
    let budget = frame.sweep.whole < frame.config.limits.stream_fallbacks;
    if !broke || !streaming || !budget || recover.draft.has_complete_block() {
        return None;
    }
    frame.sweep.whole += 1;
    Some(Repeat::Whole)
}
