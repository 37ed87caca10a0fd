//! Goes on from the recording of an earlier run, however that ended.

use machine_spec::config::DeferredCall;
use machine_spec::input::{InputKind, InterruptedBy};
use machine_spec::message::{Entry, ImagePlace};
use machine_spec::{Input, State, Terminal, step};
use replay::Recording;
use replay::reader::Body;

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

    /// Takes over the bytes of the images in its history, as far as they were kept with this
    /// recording. Of others the model is told that they are not available any more.
    pub fn hold_images_of(&mut self, recording: &Recording) {
        for image in self.machine.history.newest_first().flat_map(Entry::images) {
            if let ImagePlace::Held(address) = &image.place
                && let Body::Found(bytes) = recording.bodies.get(address)
            {
                self.images.hold(&image.media, &bytes);
            }
        }
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
    let state = known.fold(resumption.state, |state, input| step(state, input).state);
    Some(if state.is_done() { state } else { interrupted(state) })
}

/// Interrupts without waiting for anything to settle.
fn interrupted(mut state: State) -> State {
    for _ in 0..2 {
        state = step(state, Input::Interrupted { by: InterruptedBy::Shutdown }).state;
    }
    state
}
