//! What input and output may take of a window.

use crate::effect::{Effect, Notice};
use crate::frame::Frame;
use crate::rooms::Out;

/// Tokens that input may fill of the window in use, less what the next output may take; `None` where
/// the window is not known.
pub(super) fn input_window(frame: &Frame) -> Option<u64> {
    let candidate = frame.candidate().filter(|candidate| candidate.context_window != 0)?;
    let output = frame.sweep.max_output.unwrap_or(candidate.max_output);
    Some(candidate.usable_window().saturating_sub(output))
}

/// To how many output tokens a request can be shrunk so that this input fits the window (Part 7,
/// decision 9): shrink first, then compact.
pub(super) fn shrink_to(tokens: u64, frame: &Frame) -> Option<u64> {
    let candidate = frame.candidate().filter(|candidate| candidate.context_window != 0)?;
    shrunk(candidate.usable_window(), tokens, frame)
}

/// The output tokens that a window leaves, if they are fewer than now and still worth asking for.
pub(in crate::rooms) fn shrunk(window: u64, tokens: u64, frame: &Frame) -> Option<u64> {
    let least = frame.config.limits.least_output;
    let now = frame.sweep.max_output.or(frame.candidate().map(|c| c.max_output))?;
    let room = window.saturating_sub(tokens);
    (least > 0 && room >= least && room < now).then_some(room)
}

/// Asks for so many output tokens from now on.
pub(in crate::rooms) fn shrink(to: u64, frame: &mut Frame, out: &mut Out) {
    frame.sweep.max_output = Some(to);
    out.emit(Effect::Notify(Notice::OutputShrunk { to }));
}
