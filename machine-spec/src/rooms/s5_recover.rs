//! Alcove of room 5, Recover: whose failure is it? The owner is named before anything is repeated,
//! and what has started decides whether anything may be (Part 7, decisions 3, 6, 7).
//! Doors: Backoff, View, Gate, Decide.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::s3_govern::{calls_used_up, exhausted, request_tokens};
use super::{Backoff, BuildView, Decide, Finding, Gate, Next, Out, Pressure, Room, RoundEnd};
use crate::because::{Because, Owner};
use crate::draft::Draft;
use crate::effect::{Effect, EffectKind, Notice, TimerFor};
use crate::frame::Frame;
use crate::ids::CandidateId;
use crate::message::{Entry, Wholeness};
use crate::model::{ErrorClass, Failure, StreamPhase};
use crate::planted::{Defect, active};
use crate::policy::{Remedy, retry_owner};
use crate::terminal::{Terminal, Tried};
use crate::view::View;

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
        // A started effect is a fact: the response it came from is never asked for again.
        let traces = self.draft.board.has_started() && !self.draft.board.started_only_reads();
        if traces && !active(Defect::RetryForgetsEffects) {
            return self.seal(frame, out);
        }
        let retry = match remedy {
            Remedy::Retry | Remedy::RetryThenSwitch => self.retry(frame),
            Remedy::Switch | Remedy::Compact | Remedy::End => None,
        };
        if let Some(retry) = retry {
            return match calls_used_up(frame) {
                Some(end) => self.give_up(end, Because::LimitReached, frame, out),
                None => self.again(retry, frame, out),
            };
        }
        if withheld {
            return self.compact(frame, out);
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

    /// The owner's next repetition, if its budget and the server's wish allow one.
    fn retry(&self, frame: &mut Frame) -> Option<Retry> {
        let limits = &frame.config.limits;
        let owner = retry_owner(self.failure.class, self.phase);
        let (used, limit) = match owner {
            Owner::HttpRetry => (&mut frame.sweep.http_retries, limits.http_retries),
            Owner::StreamReissue
            | Owner::Step
            | Owner::ModelFallback
            | Owner::ContextCompact
            | Owner::OutputRepair
            | Owner::ToolFeedback
            | Owner::DoomBreaker
            | Owner::LoopGuard
            | Owner::HookReentry
            | Owner::UserInput => {
                if self.failure.class == ErrorClass::IdleTimeout {
                    (&mut frame.sweep.stalls, limits.stall_reissues)
                } else {
                    (&mut frame.sweep.reissues, limits.stream_reissues)
                }
            }
        };
        if *used >= limit {
            return None;
        }
        let backoff = limits.backoff_base_ms.saturating_mul(1 << (*used).min(20));
        let backoff = backoff.min(limits.backoff_cap_ms);
        let after_ms = match self.failure.retry_after_ms {
            Some(wish) if wish > limits.retry_after_cap_ms => return None,
            Some(wish) => wish,
            None => backoff,
        };
        *used += u32::from(!active(Defect::ForgetsToCount));
        Some(Retry { owner, n: *used, after_ms })
    }

    fn again(mut self, retry: Retry, frame: &mut Frame, out: &mut Out) -> Next {
        self.discard(frame, out);
        let Retry { owner, n, after_ms } = retry;
        let class = self.failure.class;
        out.emit(Effect::Notify(Notice::RetryScheduled { owner, n, after_ms, class }));
        let timer = frame.open(EffectKind::SetTimer);
        if !active(Defect::ForgetsTimer) {
            out.emit(Effect::SetTimer { id: timer, after_ms, because: TimerFor::Backoff });
        }
        Next::go(Room::Backoff(Backoff { owner, timer }), Because::RetryScheduled)
    }

    fn switch(mut self, to: CandidateId, frame: &mut Frame, out: &mut Out) -> Next {
        self.discard(frame, out);
        let (from, class) = (frame.sweep.at, self.failure.class);
        out.emit(Effect::Notify(Notice::Switched { from, to, class }));
        frame.leave_candidate(to, self.failure);
        skip_small(from, to, frame);
        let view = BuildView { owner: Owner::ModelFallback, pressure: Pressure::None };
        Next::go(Room::View(view), Because::CandidateSwitched)
    }

    /// The provider says that the view is too large: its error is withheld while compaction is
    /// tried, once for a request.
    fn compact(mut self, frame: &mut Frame, out: &mut Out) -> Next {
        self.discard(frame, out);
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
        frame.count_response(&self.draft.usage);
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

    /// Forgets the response: what was shown is void, early reads are stopped and never used.
    fn discard(&mut self, frame: &mut Frame, out: &mut Out) {
        retract(&self.draft, out);
        frame.counters.usage.add(&self.draft.usage);
        self.draft.board.discard_running(frame, out);
    }
}

struct Retry {
    owner: Owner,
    n: u32,
    after_ms: u64,
}

/// Tells observers that what they were shown of this response is void.
pub(super) fn retract(draft: &Draft, out: &mut Out) {
    if !draft.blocks.is_empty() && !active(Defect::ForgetsRetraction) {
        out.emit(Effect::Notify(Notice::Retracted { attempt: draft.attempt }));
    }
}

fn window_in_use(frame: &Frame) -> u64 {
    frame.candidate().map_or(0, |candidate| candidate.context_window)
}

/// The next candidate of the chain that the view fits into and whose window is at least so large
/// (Part 7, decisions 7 and 12).
fn next_candidate(least: u64, frame: &Frame) -> Option<CandidateId> {
    if frame.sweep.hops >= frame.config.limits.fallback_hops || calls_used_up(frame).is_some() {
        return None;
    }
    let tokens = request_tokens(&View::of(&frame.transcript), frame);
    let after = usize::from(frame.sweep.at.0) + 1;
    let rest = frame.config.candidates.iter().enumerate().skip(after);
    let mut fitting = rest.filter(|(_, candidate)| {
        let room = candidate.context_window.saturating_sub(candidate.max_output);
        let large = candidate.context_window == 0 || candidate.context_window >= least;
        large && (candidate.context_window == 0 || tokens <= room)
    });
    fitting.next().map(|(at, _)| CandidateId(at as u16))
}

/// Notes the candidates that were passed over because the view does not fit into them.
fn skip_small(from: CandidateId, to: CandidateId, frame: &mut Frame) {
    for at in from.0 + 1..to.0 {
        let mut failure =
            Failure::new(ErrorClass::ContextOverflow, "skipped: the view does not fit its window");
        failure.limit = frame.config.candidates.get(usize::from(at)).map(|c| c.context_window);
        frame.sweep.tried.push(Tried { candidate: CandidateId(at), attempts: 0, failure });
    }
}

/// The ending of a run that no owner can save. The decisive error of every candidate goes with it.
fn hopeless(failure: &Failure, phase: StreamPhase, frame: &Frame) -> Terminal {
    let mut tried = frame.sweep.tried.clone();
    let (candidate, attempts) = (frame.sweep.at, frame.sweep.attempts);
    tried.push(Tried { candidate, attempts, failure: failure.clone() });
    let cap = frame.config.limits.retry_after_cap_ms;
    match (failure.class, failure.retry_after_ms) {
        (ErrorClass::ContextOverflow, _) => exhausted(failure, String::new(), frame),
        (ErrorClass::Throttled | ErrorClass::QuotaExhausted, Some(wish)) if wish > cap => {
            Terminal::RateLimited { retry_after_ms: wish, tried }
        }
        (
            ErrorClass::Throttled
            | ErrorClass::QuotaExhausted
            | ErrorClass::Overloaded
            | ErrorClass::ServerError
            | ErrorClass::ConnectTimeout
            | ErrorClass::RequestTimeout
            | ErrorClass::IdleTimeout
            | ErrorClass::Transport
            | ErrorClass::Tls
            | ErrorClass::Auth
            | ErrorClass::Billing
            | ErrorClass::PayloadTooLarge
            | ErrorClass::ParamRejected
            | ErrorClass::ModelNotFound
            | ErrorClass::BadRequest
            | ErrorClass::ContentRefused
            | ErrorClass::NonApiBody
            | ErrorClass::Incomplete
            | ErrorClass::Garbled
            | ErrorClass::Unknown,
            _,
        ) => Terminal::ProviderFailed { phase, failure: failure.clone(), tried },
    }
}
