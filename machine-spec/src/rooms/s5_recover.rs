//! Alcove of room 5, Recover: whose failure is it? The owner is named before anything is repeated,
//! and what has started decides whether anything may be (Part 7, decisions 3, 6, 7).
//! Doors: Freeze, Refreshing, Backoff, View, Gate, Decide.

use alloc::boxed::Box;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use self::chain::{next_candidate, skip_small, window_in_use};
pub(super) use self::ending::hopeless;
use self::repeat::{Repeat, credential, parameter, retry, whole};
use super::s3_govern::{shrink, shrunk, spent};
use super::{
    Backoff, BuildView, Decide, Finding, Freeze, Gate, Next, Out, Pressure, Refreshing, Room,
    RoundEnd,
};
use crate::because::{Because, Owner};
use crate::draft::Draft;
use crate::effect::{Effect, EffectKind, Notice, TimerFor};
use crate::frame::Frame;
use crate::ids::CandidateId;
use crate::message::{Entry, Wholeness};
use crate::model::{Failure, StreamPhase};
use crate::planted::{Defect, active};
use crate::policy::Remedy;
use crate::terminal::Terminal;
use crate::view::View;

mod chain;
mod ending;
mod repeat;

/// Whose failure is it?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Recover {
    /// How far the response had come.
    pub phase: StreamPhase,
    /// What went wrong.
    pub failure: Failure,
    /// What was said of the response.
    pub draft: Draft,
}

impl Recover {
    pub(crate) fn pass(self, frame: &mut Frame, out: &mut Out) -> Next {
        let remedy = frame.config.policy.preset.remedy(self.failure.class);
        let withheld = remedy == Remedy::Compact && frame.sweep.overflows == 0;
        self.tell(withheld, out);
        ending::note(&self.failure, frame);
        // A started effect is a fact: the response it came from is never asked for again.
        let traces = self.draft.board.has_started() && !self.draft.board.started_only_reads();
        if traces && !active(Defect::RetryForgetsEffects) {
            return self.seal(frame, out);
        }
        if let Some(repeat) = self.repeat(remedy, frame) {
            return match spent(frame) {
                Some(end) => self.give_up(end, Because::LimitReached, frame, out),
                None => self.again(repeat, frame, out),
            };
        }
        if withheld {
            return self.make_room(frame, out);
        }
        let target = match remedy {
            Remedy::Switch | Remedy::RetryThenSwitch => next_candidate(0, frame),
            Remedy::Compact => next_candidate(window_in_use(frame) + 1, frame),
            Remedy::Retry | Remedy::End => None,
        };
        match target {
            Some(to) => self.switch(to, frame, out),
            None if remedy != Remedy::End && self.draft.has_complete_block() => {
                self.seal(frame, out)
            }
            None => {
                let end = hopeless(&self.failure, self.phase, frame);
                self.give_up(end, Because::RecoveryExhausted, frame, out)
            }
        }
    }

    fn tell(&self, withheld: bool, out: &mut Out) {
        let (attempt, failure) = (self.draft.attempt, self.failure.clone());
        let phase = self.phase;
        out.emit(Effect::Notify(if withheld {
            Notice::ErrorWithheld { attempt, failure }
        } else {
            Notice::AttemptFailed { attempt, phase, failure }
        }));
    }

    /// The owner that repeats the request on the same candidate, if one has budget left: without
    /// the parameter that is not known, with another credential, after a wait, in one piece.
    fn repeat(&self, remedy: Remedy, frame: &mut Frame) -> Option<Repeat> {
        let mend = parameter(&self.failure, frame).or_else(|| credential(&self.failure, frame));
        mend.or_else(|| match remedy {
            Remedy::Retry | Remedy::RetryThenSwitch => {
                retry(&self.failure, self.phase, frame).or_else(|| whole(self, frame))
            }
            Remedy::Switch | Remedy::Compact | Remedy::End => None,
        })
    }

    fn again(mut self, repeat: Repeat, frame: &mut Frame, out: &mut Out) -> Next {
        self.discard(frame, out);
        match repeat {
            Repeat::Parameter(what) => self.leave_out(what, frame, out),
            Repeat::Credential => self.refresh(frame, out),
            Repeat::Later { owner, n, after_ms } => {
                let class = self.failure.class;
                out.emit(Effect::Notify(Notice::RetryScheduled { owner, n, after_ms, class }));
                let timer = frame.open(EffectKind::SetTimer);
                if !active(Defect::ForgetsTimer) {
                    out.emit(Effect::SetTimer { id: timer, after_ms, because: TimerFor::Backoff });
                }
                Next::go(Room::Backoff(Backoff { owner, timer }), Because::RetryScheduled)
            }
            Repeat::Whole => at_once(Owner::StreamFallback, Because::StreamAbandoned, frame),
        }
    }

    fn leave_out(self, what: Arc<str>, frame: &mut Frame, out: &mut Out) -> Next {
        let candidate = frame.sweep.at;
        out.emit(Effect::Notify(Notice::ParameterLeftOut { candidate, what: what.clone() }));
        if let Some(left_out) = frame.sweep.left_out.get_mut(usize::from(candidate.0)) {
            left_out.push(what);
            left_out.sort_unstable();
        }
        at_once(Owner::ParamDegrade, Because::ParameterLeftOut, frame)
    }

    fn refresh(self, frame: &mut Frame, out: &mut Out) -> Next {
        let id = frame.open(EffectKind::RefreshCredential);
        out.emit(Effect::RefreshCredential { id, candidate: frame.sweep.at });
        let room = Refreshing { id, phase: self.phase, failure: self.failure };
        Next::go(Room::Refreshing(Box::new(room)), Because::CredentialWanted)
    }

    fn switch(mut self, to: CandidateId, frame: &mut Frame, out: &mut Out) -> Next {
        self.discard(frame, out);
        let (from, class) = (frame.sweep.at, self.failure.class);
        out.emit(Effect::Notify(Notice::Switched { from, to, class }));
        let decisive = frame.sweep.decisive.take().unwrap_or(self.failure);
        frame.leave_candidate(to, decisive);
        skip_small(from, to, frame);
        let view = BuildView { owner: Owner::ModelFallback, pressure: Pressure::None };
        Next::go(Room::View(view), Because::CandidateSwitched)
    }

    /// The provider says that the view is too large. Its error is withheld, once for a request,
    /// while fewer output tokens are asked for, or else while compaction is tried.
    fn make_room(mut self, frame: &mut Frame, out: &mut Out) -> Next {
        self.discard(frame, out);
        let estimate = frame.request_tokens(&frame.transcript);
        let fewer = self.failure.limit.and_then(|limit| {
            let input = self.failure.actual.filter(|actual| *actual < limit).unwrap_or(estimate);
            shrunk(limit, input, frame).filter(|_| frame.sweep.shrinks == 0)
        });
        if let Some(to) = fewer {
            frame.sweep.shrinks += 1;
            shrink(to, frame, out);
            return at_once(Owner::ContextCompact, Because::OutputShrunk, frame);
        }
        frame.sweep.overflows += 1;
        let pressure = Pressure::Overflow { failure: Box::new(self.failure) };
        let view = BuildView { owner: Owner::ContextCompact, pressure };
        Next::go(Room::View(view), Because::ContextOverflowed)
    }

    /// Keeps what is complete: started calls keep their real results, the other complete ones run,
    /// the unfinished block is dropped.
    fn seal(self, frame: &mut Frame, out: &mut Out) -> Next {
        let calls = self.draft.board.slots.len() as u32;
        let attempt = self.draft.attempt;
        out.emit(Effect::Notify(Notice::Sealed { attempt, calls }));
        frame.count_response(&self.draft.usage, self.draft.said_tokens());
        let (reply, board) = self.draft.file(Wholeness::Sealed, frame);
        if calls > 0 {
            frame.answer.text.clear();
            frame.append(Entry::Reply(reply));
            let gate = Gate { board, end: RoundEnd::Sealed };
            return Next::go(Room::Gate(gate), Because::ResponseSealed);
        }
        frame.answer.text.push_str(&reply.text());
        frame.append(Entry::Reply(reply));
        let finding = Finding::InPart { failure: self.failure };
        Next::go(Decide::on(finding), Because::ResponseSealed)
    }

    fn give_up(
        mut self,
        end: Terminal,
        because: Because,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Next {
        self.discard(frame, out);
        Next::go(Decide::over(end), because)
    }

    /// Forgets the response: what was shown is void, early reads are stopped and never used. What
    /// was said of it was paid for.
    fn discard(&mut self, frame: &mut Frame, out: &mut Out) {
        retract(&self.draft, out);
        self.draft.charge(frame);
        self.draft.board.discard(frame, out);
    }
}

/// The same view goes out once more at once: nothing was appended since the failure.
fn at_once(owner: Owner, because: Because, frame: &Frame) -> Next {
    let view = View::of(&frame.transcript);
    Next::go(Room::Freeze(Freeze { owner, view }), because)
}

/// Tells observers that what they were shown of this response is void.
pub(super) fn retract(draft: &Draft, out: &mut Out) {
    if !draft.blocks.is_empty() && !active(Defect::ForgetsRetraction) {
        out.emit(Effect::Notify(Notice::Retracted { attempt: draft.attempt }));
    }
}
