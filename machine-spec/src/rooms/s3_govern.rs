//! Room 3, Govern: does it fit? Rounds, requests and tokens are weighed before anything is sent.
//! Doors: Freeze, Decide.

use serde::{Deserialize, Serialize};

use super::{Decide, Freeze, Next, Out, Room};
use crate::because::{Because, Owner};
use crate::frame::Frame;
use crate::terminal::{BudgetKind, Terminal};
use crate::view::View;

/// Does it fit?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Govern {
    /// Who orders the request that follows.
    pub owner: Owner,
    /// What would be sent.
    pub view: View,
}

impl Govern {
    pub(crate) fn pass(self, frame: &mut Frame, _: &mut Out) -> Next {
        if let Some(end) = rounds_used_up(frame).or_else(|| calls_used_up(frame)) {
            return Next::go(Decide::over(end), Because::LimitReached);
        }
        if let Some(end) = too_large(&self.view, frame) {
            return Next::go(Decide::over(end), Because::OverBudget);
        }
        let freeze = Freeze { owner: self.owner, view: self.view };
        Next::go(Room::Freeze(freeze), Because::WithinBudget)
    }
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

fn too_large(view: &View, frame: &Frame) -> Option<Terminal> {
    let candidate = frame.candidate()?;
    let actual = request_tokens(view, frame);
    let limit = candidate.context_window.saturating_sub(candidate.max_output);
    (candidate.context_window != 0 && actual > limit)
        .then_some(Terminal::ContextExhausted { limit, actual })
}

/// Estimated tokens of a whole request: messages, system prompt and tool schemas.
pub(super) fn request_tokens(view: &View, frame: &Frame) -> u64 {
    view.tokens.saturating_add(frame.config.fixed_tokens())
}
