//! Takes a run up where its process ended.
//!
//! The state is what the recorded inputs lead to. What was ordered and not answered is answered
//! now, honestly: of a call that was running nobody knows what it did, so it is never run again; a
//! response that was coming broke off; a hook did not answer; a wait begins anew. These answers are
//! ordinary inputs, so the repair is recorded once and a second resumption finds nothing to add.

use machine_spec::effect::TimerFor;
use machine_spec::ids::EffectId;
use machine_spec::input::{Compaction, HookAnswer, ToolReport, ToolStatus};
use machine_spec::model::{Closure, ErrorClass, Failure};
use machine_spec::planted::{Defect, active};
use machine_spec::{Effect, EffectKind, Input, State, start, step};

use crate::reader::{Recording, Tail};

/// Where a run is taken up again, and what must be told to it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumption {
    /// The state after the last whole frame.
    pub state: State,
    /// The inputs to tell first, in order, each as if it had just come.
    pub inputs: Vec<Input>,
    /// The waits to begin anew before the inputs are told.
    pub timers: Vec<OpenTimer>,
}

/// A wait that the ended process did not see the end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTimer {
    /// The effect to answer.
    pub id: EffectId,
    /// The whole wait in milliseconds; how much of it had passed is not known.
    pub after_ms: u64,
    /// What is waited for.
    pub because: TimerFor,
}

impl Recording {
    /// The state after this frame; `None` if there is no such frame.
    #[must_use]
    pub fn state_at(&self, seq: u64) -> Option<State> {
        let frames = self.frames.get(..=usize::try_from(seq).ok()?)?;
        let begun = start(self.header.config.clone()).state;
        let inputs = frames.iter().filter_map(|frame| frame.input.clone());
        Some(inputs.fold(begun, |state, input| step(state, input).state))
    }

    /// The state after the last frame, and what must be told to it first; `None` if the run was
    /// never started.
    #[must_use]
    pub fn resumption(&self) -> Option<Resumption> {
        let last = self.frames.last()?.seq;
        let state = self.state_at(last)?;
        let mut inputs = Vec::new();
        let mut known = state.clone();
        if let Tail::Torn(torn) = &self.tail
            && let Some(input) = &torn.input
        {
            // It had come and was about to be heard.
            inputs.push(input.clone());
            known = step(known, input.clone()).state;
        }
        let open: Vec<(EffectId, EffectKind)> = known.frame().ledger().iter().collect();
        // A response that breaks off is judged by what has become of its calls, so it comes last.
        for wanted in
            [EffectKind::RunTool, EffectKind::AskHook, EffectKind::Compact, EffectKind::CallModel]
        {
            let of_kind = open.iter().filter(|(_, kind)| *kind == wanted);
            inputs.extend(of_kind.filter_map(|(id, kind)| unanswered(*id, *kind)));
        }
        let forgets = active(Defect::ResumesWithoutTimer);
        let timers = open.iter().filter(|(_, kind)| *kind == EffectKind::SetTimer && !forgets);
        let timers = timers.filter_map(|(id, _)| self.timer(*id)).collect();
        Some(Resumption { state, inputs, timers })
    }

    fn timer(&self, wanted: EffectId) -> Option<OpenTimer> {
        let effects = self.frames.iter().rev().flat_map(|frame| &frame.effects);
        effects.into_iter().find_map(|effect| {
            let Effect::SetTimer { id, after_ms, because } = effect else { return None };
            let (id, after_ms, because) = (*id, *after_ms, *because);
            (id == wanted).then_some(OpenTimer { id, after_ms, because })
        })
    }
}

/// The honest answer to an order whose process ended.
fn unanswered(id: EffectId, kind: EffectKind) -> Option<Input> {
    Some(match kind {
        EffectKind::RunTool => {
            let status = match active(Defect::ResumesWithGuess) {
                true => ToolStatus::Succeeded,
                false => ToolStatus::Cancelled,
            };
            let report = ToolReport { status, output: String::new() };
            Input::ToolReturned { id, report }
        }
        EffectKind::AskHook => {
            let problem = "the process ended before the hook answered".into();
            Input::HookAnswered { id, answer: HookAnswer::Failed { problem } }
        }
        EffectKind::Compact => {
            let problem = "the process ended before the conversation was summarised".into();
            Input::Compacted { id, result: Compaction::Failed { problem } }
        }
        EffectKind::CallModel => {
            let message = "the process ended while the response was awaited";
            let failure = Failure::new(ErrorClass::Transport, message);
            Input::ModelClosed { id, closure: Closure::Failed(failure) }
        }
        EffectKind::SetTimer
        | EffectKind::Cancel
        | EffectKind::Notify
        | EffectKind::Reject
        | EffectKind::Finish => return None,
    })
}
