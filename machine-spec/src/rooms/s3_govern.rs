//! Room 3, Govern: does it fit? Rounds, budgets and tokens are weighed before anything is sent.
//! Doors: Freeze, Clearing, Compacting, Decide.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use self::size::{input_window, shrink_to};
pub(super) use self::size::{shrink, shrunk};
use super::s3_compacting::{Order, place_boundary};
use super::{Clearing, Decide, Freeze, Next, Out, Room};
use crate::because::{Because, Owner};
use crate::compact::{Cut, cut, threshold};
use crate::effect::{Effect, Notice};
use crate::estimate::text_tokens;
use crate::frame::Frame;
use crate::message::{BoundaryKind, Origin};
use crate::model::Failure;
use crate::policy::Compactor;
use crate::terminal::{BudgetKind, Terminal};
use crate::view::View;
use crate::wording;

mod size;

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
        if let Some(end) = spent(frame) {
            return Next::go(Decide::over(end), Because::LimitReached);
        }
        if let Some(end) = rounds_used_up(frame) {
            return wrap_up(frame, out)
                .unwrap_or_else(|| Next::go(Decide::over(end), Because::LimitReached));
        }
        let tokens = frame.request_tokens(self.view.transcript());
        let limit = input_window(frame);
        let fits = limit.is_none_or(|limit| tokens <= limit);
        if let Pressure::Overflow { failure } = &self.pressure {
            let failure = failure.clone();
            return self.overflowed(&failure, frame, out);
        }
        if let Some(to) = shrink_to(tokens, frame).filter(|_| !fits) {
            shrink(to, frame, out);
            return self.freeze(Because::OutputShrunk);
        }
        match (&self.pressure, fits) {
            (Pressure::None | Pressure::Overflow { .. }, _) => self.due(tokens, fits, frame, out),
            (Pressure::GaveUp, true) => self.freeze(Because::WithinBudget),
            (Pressure::GaveUp, false) => self.truncate(tokens, frame, out),
        }
    }

    /// The provider refused the view: our estimate is no guide any more.
    fn overflowed(self, failure: &Failure, frame: &mut Frame, out: &mut Out) -> Next {
        match plan(frame, true) {
            Some(cut) => self.compact(cut, frame, out),
            None => {
                let end = exhausted(failure, String::from("nothing can be compacted"), frame);
                Next::go(Decide::over(end), Because::OverBudget)
            }
        }
    }

    /// Nobody complained yet: a compaction that is due comes before it is needed.
    fn due(self, tokens: u64, fits: bool, frame: &mut Frame, out: &mut Out) -> Next {
        let sized = frame.candidate().filter(|candidate| candidate.context_window != 0);
        let due = sized.is_some_and(|candidate| tokens > threshold(candidate));
        match due.then(|| plan(frame, false)).flatten() {
            Some(cut) => self.compact(cut, frame, out),
            None if fits => self.freeze(Because::WithinBudget),
            None => self.truncate(tokens, frame, out),
        }
    }

    fn freeze(self, because: Because) -> Next {
        Next::go(Room::Freeze(Freeze { owner: self.owner, view: self.view }), because)
    }

    fn compact(self, cut: Cut, frame: &mut Frame, out: &mut Out) -> Next {
        let Cut { kept, dropped } = cut;
        let order = Order { owner: self.owner, pressure: self.pressure, kept, dropped };
        Clearing::enter(order, frame, out)
    }

    /// The surfaced last resort: the oldest part is cut away without a summary.
    fn truncate(mut self, tokens: u64, frame: &mut Frame, out: &mut Out) -> Next {
        let sized = frame.candidate().map(threshold).zip(input_window(frame));
        let Some((threshold, limit)) = sized else { return self.freeze(Because::WithinBudget) };
        let cut = cut(frame, threshold, false).filter(|_| frame.config.policy.truncate);
        let Some(cut) = cut else {
            let compaction = String::new();
            let end = Terminal::ContextExhausted { limit, actual: tokens, compaction };
            return Next::go(Decide::over(end), Because::OverBudget);
        };
        place_boundary(CUT_AWAY, BoundaryKind::Truncated, cut, frame);
        out.emit(Effect::Notify(Notice::ContextTruncated { dropped: cut.dropped }));
        self.view = View::of(&frame.transcript);
        let actual = frame.request_tokens(&frame.transcript);
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

/// The model may speak about its last results, once and without tools, if it is asked to and the
/// request fits; the run ends at its limit all the same (Part 7, decision 2).
fn wrap_up(frame: &mut Frame, out: &mut Out) -> Option<Next> {
    let prompt = text_tokens(wording::WRAP_UP).saturating_mul(2);
    let tokens = frame.request_tokens(&frame.transcript).saturating_add(prompt);
    let fits = input_window(frame).is_none_or(|limit| tokens <= limit);
    if !frame.config.policy.wrap_up || !fits {
        return None;
    }
    frame.counters.wrap_ups += 1;
    out.emit(Effect::Notify(Notice::WrapUpAsked));
    frame.say(Origin::Continuation, wording::WRAP_UP);
    let view = View::of(&frame.transcript);
    let freeze = Freeze { owner: Owner::WrapUp, view };
    Some(Next::go(Room::Freeze(freeze), Because::WrapUpAsked))
}

/// The round limit is weighed before the model is called, so the last results stand in history
/// and no call is left unexecuted (Part 7, decision 2).
fn rounds_used_up(frame: &Frame) -> Option<Terminal> {
    let (limit, used) = (frame.config.limits.tool_rounds, frame.counters.tool_rounds);
    let over = used > 0 && used >= limit && !frame.is_wrapping_up();
    over.then(|| Terminal::MaxTurns { limit, used, text: String::new() })
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

/// The budget that is spent, if one is.
pub(super) fn spent(frame: &Frame) -> Option<Terminal> {
    let (limits, spent) = (&frame.config.limits, frame.counters.spent);
    let over = |kind, used: u64, limit: u64| {
        (limit > 0 && used >= limit).then_some(Terminal::BudgetExhausted { kind, limit })
    };
    let calls = u64::from(frame.counters.model_calls);
    over(BudgetKind::ModelCalls, calls, u64::from(frame.model_call_limit()))
        .or_else(|| over(BudgetKind::Tokens, spent.tokens, limits.tokens))
        .or_else(|| over(BudgetKind::Money, spent.nanos, limits.nanos))
}
