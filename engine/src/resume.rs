//! Goes on from the recording of an earlier run, however that ended.

use machine_spec::config::DeferredCall;
use machine_spec::input::{InputKind, InterruptedBy};
use machine_spec::{Input, State, Terminal, step};
use replay::Recording;

use crate::setup::Setup;

impl Setup {
    /// Goes on where an earlier run of the session ended: with what was said in it, and with the
    /// call it left pending, which is judged by what is known of the tools today.
    pub fn go_on_from(&mut self, state: &State) {
        self.machine.history = state.frame().transcript().settled();
        self.machine.deferred = match state.terminal() {
            Some(Terminal::ToolDeferred { call }) => {
                let facts = self.assessor.facts(&call.name, &call.args);
                Some(DeferredCall { facts, ..call.clone() })
            }
            // Every other ending leaves nothing pending.
            Some(_) | None => None,
        };
    }
}

/// The state in which a recorded run ended; `None` if it was never started.
///
/// A run whose process ended before it did is taken as interrupted: of calls that ran nobody knows
/// what they did, the others were not started, and every call has its result. Background tasks
/// that ran are told as left behind.
#[must_use]
pub fn last_state(recording: &Recording) -> Option<State> {
    let resumption = recording.resumption()?;
    // How a task ended is not known, and the ending of the run says so of all of them.
    let known = resumption.inputs.into_iter().filter(|input| input.kind() != InputKind::TaskEnded);
    let (words, answers): (Vec<Input>, Vec<Input>) =
        known.partition(|input| input.kind() == InputKind::UserSaid);
    let state = told(resumption.state, words);
    // The answers come behind the interrupt: before it they would set off what nobody carries out.
    let state = told(interrupted(state), answers);
    Some(if state.is_done() { state } else { interrupted(interrupted(state)) })
}

fn told(state: State, inputs: Vec<Input>) -> State {
    inputs.into_iter().fold(state, |state, input| step(state, input).state)
}

fn interrupted(state: State) -> State {
    step(state, Input::Interrupted { by: InterruptedBy::Shutdown }).state
}
