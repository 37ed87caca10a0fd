//! What a whole run did, as it looks from outside: counted in effects and trails, never in the
//! machine's own counters.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use super::{Invariant, Judged, ensure};
use crate::because::{Because, Owner};
use crate::effect::{Effect, Notice, SealedRequest};
use crate::ids::{CallId, EffectId, TaskId};
use crate::input::{Decision, Input, ToolStatus};
use crate::message::{Entry, Outcome};
use crate::model::ModelEvent;
use crate::state::Step;
use crate::transcript::Transcript;
use crate::view::View;

/// What a whole run did, as it looks from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chronicle {
    /// Requests sent.
    pub model_calls: u32,
    /// Calls started, by id, with the effect of their one start.
    pub started: BTreeMap<CallId, EffectId>,
    /// Endings seen.
    pub finishes: u32,
    /// Inputs accepted from the user.
    pub user_messages: u32,
    shown: BTreeSet<u32>,
    listening: Option<u32>,
    asked: BTreeMap<EffectId, CallId>,
    forbidden: BTreeSet<CallId>,
    settled: BTreeSet<EffectId>,
    tasks: BTreeMap<TaskId, u32>,
    sent: Option<View>,
    moved: bool,
}

impl Chronicle {
    /// Takes a step down and judges what only the whole run shows.
    pub fn note(&mut self, input: &Input, step: &Step) -> Judged {
        let refused = step.effects.iter().any(|effect| matches!(effect, Effect::Reject(_)));
        if !refused {
            self.note_input(input);
        }
        self.moved |= step.trail.iter().any(|passage| moves_prefix(passage.because));
        for effect in &step.effects {
            self.note_effect(effect)?;
        }
        if step.state.is_done() && !refused { self.judge_end(step) } else { Ok(()) }
    }

    fn note_input(&mut self, input: &Input) {
        match input {
            Input::UserSaid { .. } => self.user_messages += 1,
            Input::ModelSaid { event: ModelEvent::BlockBegan { .. }, .. } => {
                self.shown.extend(self.listening);
            }
            Input::ApprovalGiven { id, decision } => {
                let call = self.asked.remove(id);
                match decision {
                    Decision::Allowed
                    | Decision::AllowedAlways { .. }
                    | Decision::Edited { .. } => {}
                    Decision::Denied { .. }
                    | Decision::TimedOut
                    | Decision::Queued { .. }
                    | Decision::Deferred
                    | Decision::NoVerdict => self.forbidden.extend(call),
                }
            }
            Input::ToolReturned { id, report } if report.status != ToolStatus::Cancelled => {
                self.settled.insert(*id);
            }
            Input::ModelSaid { .. }
            | Input::Interrupted { .. }
            | Input::ModelClosed { .. }
            | Input::ToolReturned { .. }
            | Input::Compacted { .. }
            | Input::MemoryRecalled { .. }
            | Input::MemoryFlushed { .. }
            | Input::CredentialRefreshed { .. }
            | Input::ResultStored { .. }
            | Input::TaskEnded { .. }
            | Input::OutputChecked { .. }
            | Input::HookAnswered { .. }
            | Input::TimerFired { .. } => {}
        }
    }

    fn note_effect(&mut self, effect: &Effect) -> Judged {
        match effect {
            Effect::CallModel { request, .. } => self.note_request(request),
            Effect::RunTool { id, call, .. } => self.note_start(*id, *call),
            Effect::StartTask { id, call, task, .. } => {
                self.tasks.insert(*task, 0);
                self.note_start(*id, *call)
            }
            Effect::AskApproval { id, call, .. } => {
                self.asked.insert(*id, *call);
                Ok(())
            }
            Effect::Finish(_) => {
                self.finishes += 1;
                ensure(Invariant::DoneAbsorbs, self.finishes == 1, || "a second Finish".into())
            }
            Effect::Notify(notice) => {
                self.note_notice(notice);
                Ok(())
            }
            Effect::Compact { .. }
            | Effect::StoreResult { .. }
            | Effect::RecallMemory { .. }
            | Effect::FlushMemory { .. }
            | Effect::RefreshCredential { .. }
            | Effect::CheckOutput { .. }
            | Effect::AskHook { .. }
            | Effect::SetTimer { .. }
            | Effect::Cancel { .. }
            | Effect::Detach { .. }
            | Effect::Reject(_) => Ok(()),
        }
    }

    fn note_notice(&mut self, notice: &Notice) {
        if let Notice::Retracted { attempt } = notice {
            self.shown.remove(&attempt.0);
        }
        if let Notice::TaskReported { task } = notice {
            *self.tasks.entry(*task).or_default() += 1;
        }
        if let Notice::TasksLeft { orphans } = notice {
            for orphan in orphans {
                *self.tasks.entry(orphan.task).or_default() += 1;
            }
        }
    }

    fn note_start(&mut self, id: EffectId, call: CallId) -> Judged {
        let open = self.asked.values().any(|asked| *asked == call);
        let forbidden = open || self.forbidden.contains(&call);
        ensure(Invariant::ConsentGiven, !forbidden, || format!("{call} runs without consent"))?;
        let twice = self.started.insert(call, id);
        ensure(Invariant::StartedOnce, twice.is_none(), || format!("{call} started twice"))
    }

    fn note_request(&mut self, request: &SealedRequest) -> Judged {
        self.model_calls += 1;
        self.listening = Some(request.attempt.0);
        let again = match request.owner {
            Owner::HttpRetry
            | Owner::ParamDegrade
            | Owner::CredentialRefresh
            | Owner::StreamReissue
            | Owner::StreamFallback
            | Owner::ModelFallback => true,
            Owner::Step
            | Owner::ContextCompact
            | Owner::OutputRepair
            | Owner::ToolFeedback
            | Owner::DoomBreaker
            | Owner::LoopGuard
            | Owner::HookReentry
            | Owner::UserInput
            | Owner::Supervisor
            | Owner::WrapUp => false,
        };
        let before = request.attempt.0 - 1;
        let held = again && self.shown.contains(&before);
        ensure(Invariant::Retracted, !held, || {
            format!("attempt {before} was shown, repeated and not retracted")
        })?;
        let stable = self.moved || self.sent.as_ref().is_none_or(|sent| grew(sent, &request.view));
        self.moved = false;
        self.sent = Some(request.view.clone());
        ensure(Invariant::PrefixStable, stable, || "the sent prefix moved without a cause".into())
    }

    fn judge_end(&self, step: &Step) -> Judged {
        let transcript = step.state.frame().transcript();
        let odd = self.tasks.iter().find(|(_, reports)| **reports != 1);
        ensure(Invariant::TasksAccounted, odd.is_none(), || {
            format!("task and number of its reports: {odd:?}")
        })?;
        let settled = transcript.settled();
        let left = settled.newest_first().any(is_scaffolding);
        ensure(Invariant::ScaffoldingGone, !left, || "scaffolding is left in the history".into())?;
        // Calls of earlier runs are numbered like ours and are no affair of this one.
        let earlier = step.state.frame().config().history.len();
        let ours = transcript.len().saturating_sub(earlier);
        self.judge_truths(transcript, ours as usize)
    }

    /// A call that came back keeps its result, whatever happened after (T5).
    fn judge_truths(&self, transcript: &Transcript, ours: usize) -> Judged {
        for entry in transcript.newest_first().take(ours) {
            let Entry::Results(results) = entry else { continue };
            for result in results {
                let effect = self.started.get(&result.call);
                let came_back = effect.is_some_and(|effect| self.settled.contains(effect));
                let denied = match result.outcome {
                    Outcome::Unknown { .. } | Outcome::NotStarted { .. } => true,
                    Outcome::Succeeded { .. }
                    | Outcome::Failed { .. }
                    | Outcome::TimedOut { .. }
                    | Outcome::Partial { .. }
                    | Outcome::Acknowledged { .. }
                    | Outcome::NotApproved { .. }
                    | Outcome::Refused { .. } => false,
                };
                ensure(Invariant::TruthKept, !(came_back && denied), || {
                    format!("{} came back and is recorded as {:?}", result.call, result.outcome)
                })?;
            }
        }
        Ok(())
    }
}

/// Whether a door lets the sent prefix move: the conversation was compacted or cut, or another model
/// is asked, which has a prefix of its own.
fn moves_prefix(because: Because) -> bool {
    matches!(because, Because::Compacted | Because::ContextTruncated | Because::CandidateSwitched)
}

/// Whether a view begins with all of an earlier one.
fn grew(earlier: &View, later: &View) -> bool {
    let since = later.entries.saturating_sub(earlier.entries) as usize;
    let boundary = |entry: &Entry| matches!(entry, Entry::Boundary(_));
    later.transcript().at(earlier.entries).digest() == earlier.digest
        && !later.transcript().newest_first().take(since).any(boundary)
}

fn is_scaffolding(entry: &Entry) -> bool {
    matches!(entry, Entry::Said(said) if said.origin.is_scaffolding())
}
