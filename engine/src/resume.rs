//! Goes on from the recording of an earlier run, however that ended.

use machine_spec::config::DeferredCall;
use machine_spec::input::{InputKind, InterruptedBy};
use machine_spec::message::{Entry, ImagePlace};
use machine_spec::{Effect, Input, Notice, State, Terminal, step};
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
    end(recording).map(|(state, _)| state)
}

/// Words of the user that a run had heard and not read when its process ended. Nobody was told of
/// them, so they belong to whoever goes on.
#[must_use]
pub fn unread(recording: &Recording) -> Vec<String> {
    end(recording).map(|(_, unread)| unread).unwrap_or_default()
}

fn end(recording: &Recording) -> Option<(State, Vec<String>)> {
    let resumption = recording.resumption()?;
    // How a task ended is not known, and the ending of the run says so of all of them.
    let known = resumption.inputs.into_iter().filter(|input| input.kind() != InputKind::TaskEnded);
    let (words, answers): (Vec<Input>, Vec<Input>) =
        known.partition(|input| input.kind() == InputKind::UserSaid);
    // The answers come behind the interrupt: before it they would set off what nobody carries out.
    let stop = || Input::Interrupted { by: InterruptedBy::Shutdown };
    let told = words.into_iter().chain([stop()]).chain(answers).chain([stop(), stop()]);
    let mut unread = Vec::new();
    let state = told.fold(resumption.state, |state, input| {
        if state.is_done() {
            return state;
        }
        let after = step(state, input);
        unread.extend(after.effects.into_iter().filter_map(returned).flatten());
        after.state
    });
    Some((state, unread))
}

/// The words that an order hands back.
fn returned(effect: Effect) -> Option<Vec<String>> {
    let Effect::Notify(Notice::InputReturned { texts }) = effect else { return None };
    Some(texts)
}
