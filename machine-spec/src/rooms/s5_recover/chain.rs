//! The walk along the fallback chain (Part 7, decisions 7 and 12).

use crate::frame::Frame;
use crate::ids::CandidateId;
use crate::model::{ErrorClass, Failure};
use crate::rooms::s3_govern::spent;
use crate::terminal::Tried;

pub(super) fn window_in_use(frame: &Frame) -> u64 {
    frame.candidate().map_or(0, |candidate| candidate.context_window)
}

/// The next candidate of the chain that the view fits into and whose window is at least so large.
pub(super) fn next_candidate(least: u64, frame: &Frame) -> Option<CandidateId> {
    if frame.sweep.hops >= frame.config.limits.fallback_hops || spent(frame).is_some() {
        return None;
    }
    let tokens = frame.estimate(&frame.transcript);
    let after = usize::from(frame.sweep.at.0) + 1;
    let rest = frame.config.candidates.iter().enumerate().skip(after);
    let mut fitting = rest.filter(|(_, candidate)| {
        let room = candidate.usable_window().saturating_sub(candidate.max_output);
        let large = candidate.context_window == 0 || candidate.context_window >= least;
        large && (candidate.context_window == 0 || tokens <= room)
    });
    fitting.next().map(|(at, _)| CandidateId(at as u16))
}

/// Notes the candidates that were passed over because the view does not fit into them.
pub(super) fn skip_small(from: CandidateId, to: CandidateId, frame: &mut Frame) {
    for at in from.0 + 1..to.0 {
        let mut failure =
            Failure::new(ErrorClass::ContextOverflow, "skipped: the view does not fit its window");
        failure.limit = frame.config.candidates.get(usize::from(at)).map(|c| c.context_window);
        frame.sweep.tried.push(Tried { candidate: CandidateId(at), attempts: 0, failure });
    }
}
