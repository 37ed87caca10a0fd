//! Room 3, Govern: does it fit? Rounds, requests and tokens are weighed before anything is sent.
//! Doors: Freeze, Compacting, Decide.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::s3_compacting::{Compacting, place_boundary};
use super::{Decide, Freeze, Next, Out, Room};
use crate::because::{Because, Owner};
use crate::compact::{Cut, cut, effective_window, threshold};
use crate::effect::{Effect, EffectKind, Notice};
use crate::frame::Frame;
use crate::message::BoundaryKind;
use crate::model::Failure;
use crate::policy::Compactor;
use crate::terminal::{BudgetKind, Terminal};
use crate::view::View;

/// What stands in for a head that was cut away without a summary.
const CUT_AWAY: &str = "Earlier parts of this conversation were cut away because they did not fit.";

/// Does it fit?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Govern {
    /// Who orders the request that follows.
    pub owner: Owner,
    /// What would be sent.
    pub view: View,
    /// Whether somebody already said that it does not fit.
    pub pressure: Pressure,
}

/// Whether somebody already said that the view does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pressure {
    /// Nobody did: the estimate decides.
    None,
    /// A compaction was tried for this very request and failed.
    GaveUp,
    /// The provider did; its error is withheld while compaction is tried.
    Overflow {
        /// What it said.
        failure: Box<Failure>,
    },
}

impl Govern {
    pub(crate) fn pass(self, frame: &mut Frame, out: &mut Out) -> Next {
        if let Some(end) = rounds_used_up(frame).or_else(|| calls_used_up(frame)) {
            return Next::go(Decide::over(end), Because::LimitReached);
        }
        let tokens = request_tokens(&self.view, frame);
        let candidate = frame.candidate();
        let sized = candidate.filter(|candidate| candidate.context_window != 0);
        let due = sized.is_some_and(|candidate| tokens > threshold(candidate));
        let fits = sized.is_none_or(|candidate| tokens <= effective_window(candidate));
        let plan = match &self.pressure {
            Pressure::None if due => plan(frame, false),
            Pressure::Overflow { .. } => plan(frame, true),
            Pressure::None | Pressure::GaveUp => None,
        };
        match (plan, self.pressure.clone()) {
            (Some(cut), pressure) => self.compact(cut, pressure, frame, out),
            (None, Pressure::Overflow { failure }) => {
                let end = exhausted(&failure, String::from("nothing can be compacted"), frame);
                Next::go(Decide::over(end), Because::OverBudget)
            }
            (None, Pressure::None | Pressure::GaveUp) if fits => self.freeze(Because::WithinBudget),
            (None, Pressure::None | Pressure::GaveUp) => self.truncate(tokens, frame, out),
        }
    }

    fn freeze(self, because: Because) -> Next {
        Next::go(Room::Freeze(Freeze { owner: self.owner, view: self.view }), because)
    }

    fn compact(self, cut: Cut, pressure: Pressure, frame: &mut Frame, out: &mut Out) -> Next {
        let Cut { kept, dropped } = cut;
        let id = frame.open(EffectKind::Compact);
        let head = View::of(frame.transcript.at(frame.transcript.len() - kept));
        let by = frame.config.policy.compact;
        out.emit(Effect::Compact { id, head, by });
        let room = Compacting { id, owner: self.owner, pressure, kept, dropped };
        Next::go(Room::Compacting(room), Because::OverBudget)
    }

    /// The surfaced last resort: the oldest part is cut away without a summary.
    fn truncate(mut self, tokens: u64, frame: &mut Frame, out: &mut Out) -> Next {
        let sized = frame.candidate().cloned();
        let Some(candidate) = sized else { return self.freeze(Because::WithinBudget) };
        let limit = effective_window(&candidate);
        let cut = cut(frame, threshold(&candidate), false).filter(|_| frame.config.policy.truncate);
        let Some(cut) = cut else {
            let compaction = String::new();
            let end = Terminal::ContextExhausted { limit, actual: tokens, compaction };
            return Next::go(Decide::over(end), Because::OverBudget);
        };
        place_boundary(CUT_AWAY, BoundaryKind::Truncated, cut, frame);
        out.emit(Effect::Notify(Notice::ContextTruncated { dropped: cut.dropped }));
        self.view = View::of(&frame.transcript);
        let actual = request_tokens(&self.view, frame);
        if actual <= limit {
            return self.freeze(Because::ContextTruncated);
        }
        let compaction = String::from("cutting the oldest part away did not help");
        let end = Terminal::ContextExhausted { limit, actual, compaction };
        Next::go(Decide::over(end), Because::OverBudget)
    }
}

/// Where to cut, if compaction is on and its breaker has not tripped.
fn plan(frame: &Frame, overflowed: bool) -> Option<Cut> {
    let limits = &frame.config.limits;
    let (on, done) = (frame.config.policy.compact != Compactor::Off, &frame.compactions);
    if !on || done.failures >= limits.compact_failures || done.done >= limits.compactions {
        return None;
    }
    let candidate = frame.candidate()?;
    cut(frame, threshold(candidate), overflowed)
}

/// The round limit is weighed before the model is called, so the last results stand in history
/// and no call is left unexecuted (Part 7, decision 2).
fn rounds_used_up(frame: &Frame) -> Option<Terminal> {
    let (limit, used) = (frame.config.limits.tool_rounds, frame.counters.tool_rounds);
    (used > 0 && used >= limit).then_some(Terminal::MaxTurns { limit, used })
}

/// The ceiling of requests: the proof that the run ends.
pub(super) fn calls_used_up(frame: &Frame) -> Option<Terminal> {
    let limit = frame.model_call_limit();
    let kind = BudgetKind::ModelCalls;
    (frame.counters.model_calls >= limit)
        .then_some(Terminal::BudgetExhausted { kind, limit: u64::from(limit) })
}

/// The ending when the provider said that the view is too large and nothing helped.
pub(super) fn exhausted(failure: &Failure, compaction: String, frame: &Frame) -> Terminal {
    let window = frame.candidate().map_or(0, |candidate| candidate.context_window);
    Terminal::ContextExhausted {
        limit: failure.limit.unwrap_or(window),
        actual: failure.actual.unwrap_or_else(|| frame.transcript.tokens()),
        compaction,
    }
}

/// Estimated tokens of a whole request: messages, system prompt and tool schemas.
pub(super) fn request_tokens(view: &View, frame: &Frame) -> u64 {
    view.tokens.saturating_add(frame.config.fixed_tokens())
}
