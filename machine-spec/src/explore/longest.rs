//! The longest run of a profile: how many requests the worst world can bring about.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Profile, alphabet, folded};
use crate::digest::Digest;
use crate::effect::Effect;
use crate::input::Input;
use crate::state::State;

/// What is known about the rest of a run from a state on.
#[derive(Clone, Copy)]
enum Rest {
    /// It is being looked at: coming back here costs nothing.
    Open,
    /// At most so many requests follow.
    Known(u32),
}

/// The largest number of requests that any world of the profile can bring about, found by looking
/// at every path of the folded graph once. A path that comes back to a state costs nothing on the
/// way, as every repetition has a budget that the state holds.
#[must_use]
pub fn most_model_calls(profile: &Profile) -> u32 {
    let mut known = BTreeMap::new();
    let mut stack = Vec::from([Visit::new(crate::start(profile.config.clone()).state, profile)]);
    let mut returned = None;
    while let Some(visit) = stack.last_mut() {
        if let Some(calls) = returned.take() {
            visit.most = visit.most.max(visit.sent + calls);
        }
        match visit.next(&known) {
            Some(next) => {
                known.insert(folded(&next), Rest::Open);
                stack.push(Visit::new(next, profile));
            }
            None => {
                known.insert(visit.at, Rest::Known(visit.most));
                returned = Some(visit.most);
                stack.pop();
            }
        }
    }
    returned.unwrap_or(0)
}

/// A state on the path that is being looked at.
struct Visit {
    state: State,
    at: Digest,
    inputs: Vec<Input>,
    /// Requests of the step that was taken last.
    sent: u32,
    most: u32,
}

impl Visit {
    fn new(state: State, profile: &Profile) -> Visit {
        let (at, inputs) = (folded(&state), alphabet(&state, profile));
        Visit { state, at, inputs, sent: 0, most: 0 }
    }

    /// The next state that nothing is known about; what is known is taken into account on the way.
    fn next(&mut self, known: &BTreeMap<Digest, Rest>) -> Option<State> {
        while let Some(input) = self.inputs.pop() {
            let after = crate::step(self.state.clone(), input);
            let calls = after.effects.iter().filter(|e| matches!(e, Effect::CallModel { .. }));
            let sent = calls.count() as u32;
            match known.get(&folded(&after.state)) {
                Some(Rest::Known(rest)) => self.most = self.most.max(sent + rest),
                Some(Rest::Open) => self.most = self.most.max(sent),
                None => {
                    self.sent = sent;
                    return Some(after.state);
                }
            }
        }
        None
    }
}
