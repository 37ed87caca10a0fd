//! A response that is coming: cut into pieces, decoded, watched, closed.

use machine_spec::Input;
use machine_spec::ids::EffectId;
use machine_spec::model::{Closure, ErrorClass, Failure, ModelEvent};
use wire::{Dialect, ResponseReader, classify};

use super::World;
use super::assess::Follower;
use super::queue::Due;
use crate::format::v1::{BodyEnd, WireSpan};
use crate::scenario::{EndOfBody, WireFile};
use crate::sink::Sink;

/// A response that is coming.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    dialect: Dialect,
    file: WireFile,
    reader: ResponseReader,
    follower: Follower,
    /// Where each piece begins, and the pause before it.
    pieces: Vec<(u64, u64)>,
    /// The piece that comes next; behind the last one comes the end.
    next: usize,
    /// Bytes that came.
    came: u64,
    /// Whether the model said why it stopped: then only usage may still come.
    finished: bool,
    /// How the plan says that it ends.
    ends: Option<Closure>,
}

impl Attempt {
    pub(super) fn new(
        dialect: Dialect,
        reader: ResponseReader,
        file: WireFile,
        ends: Option<Closure>,
    ) -> Attempt {
        Attempt {
            dialect,
            reader,
            follower: Follower::default(),
            pieces: file.plan.pieces(file.body.len() as u64),
            file,
            next: 0,
            came: 0,
            finished: false,
            ends,
        }
    }

    /// The status of the answer.
    pub(super) const fn status(&self) -> u16 {
        self.file.status
    }

    const fn is_stream(&self) -> bool {
        self.file.status >= 200 && self.file.status < 300
    }

    /// The bytes of the next piece, if one is left.
    fn take_piece(&mut self) -> Option<Vec<u8>> {
        let (from, _) = *self.pieces.get(self.next)?;
        let to = self.pieces.get(self.next + 1).map_or(self.file.body.len() as u64, |next| next.0);
        self.next += 1;
        self.came = to;
        let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
        self.file.body.get(range).map(<[u8]>::to_vec)
    }

    /// The pause before what comes next; `None` if nothing comes any more.
    fn pause(&self) -> Option<u64> {
        match (self.pieces.get(self.next), self.file.plan.end) {
            (Some((_, pause)), _) => Some(*pause),
            (None, EndOfBody::Eof | EndOfBody::Reset) => {
                Some(self.file.plan.pause_before_end(self.file.body.len() as u64))
            }
            (None, EndOfBody::Hang) => None,
        }
    }

    /// What the bytes that came mean, when they are no stream.
    fn refusal(&self, now_unix_ms: u64) -> Failure {
        let came = usize::try_from(self.came).unwrap_or(usize::MAX).min(self.file.body.len());
        let body = &self.file.body[..came];
        classify(self.dialect, self.file.status, &self.file.headers, body, Some(now_unix_ms))
    }
}

impl<S: Sink> World<'_, S> {
    /// Begins a response: its first piece is on its way.
    pub(super) fn begin_attempt(&mut self, id: EffectId, attempt: Attempt, after_ms: u64) {
        let pause = attempt.pause().unwrap_or(0).saturating_add(after_ms);
        self.attempts.insert(id, attempt);
        if pause > self.scenario.patience.request_ms {
            self.queue.push(self.now + self.scenario.patience.request_ms, Due::Silence(id));
        } else {
            self.queue.push(self.now + pause, Due::Piece(id));
        }
    }

    /// The next piece of a body comes, or its end.
    pub(super) fn piece(&mut self, id: EffectId) {
        self.queue.drop_silence(id);
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        let from = attempt.came;
        let Some(bytes) = attempt.take_piece() else { return self.end_of_body(id) };
        let to = attempt.came;
        self.recorder.body(id, &bytes);
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        if attempt.is_stream() {
            let mut events = Vec::new();
            attempt.reader.push(&bytes, &mut events);
            attempt.finished |= attempt.reader.holds_an_end();
            let span = (!bytes.is_empty()).then_some(WireSpan { body: id, from, to });
            self.say(id, events, span);
        }
        let Some(attempt) = self.attempts.get(&id) else { return };
        if attempt.reader.is_over() {
            return self.close(id, Closure::Ended, BodyEnd::Ended);
        }
        self.await_more(id);
    }

    fn await_more(&mut self, id: EffectId) {
        let Some(attempt) = self.attempts.get(&id) else { return };
        let patience = match attempt.finished {
            true => self.scenario.patience.linger_ms,
            false => self.scenario.patience.idle_ms,
        };
        match attempt.pause() {
            Some(pause) if pause <= patience => self.queue.push(self.now + pause, Due::Piece(id)),
            Some(_) | None => self.queue.push(self.now + patience, Due::Silence(id)),
        }
    }

    /// Says the events of a response, as long as anybody listens.
    fn say(&mut self, id: EffectId, events: Vec<ModelEvent>, mut span: Option<WireSpan>) {
        for event in events {
            let Some(attempt) = self.attempts.get_mut(&id) else { return };
            attempt.finished |= matches!(event, ModelEvent::Finished { .. });
            let event = attempt.follower.refine(event, &*self.assessor);
            let admitted: Vec<Input> =
                self.recorder.admit(Input::ModelSaid { id, event }).collect();
            for input in admitted {
                if !self.is_over() {
                    self.take(input, span.take());
                }
            }
            if self.is_over() {
                return;
            }
        }
    }

    fn end_of_body(&mut self, id: EffectId) {
        let Some(attempt) = self.attempts.get(&id) else { return };
        match attempt.file.plan.end {
            EndOfBody::Eof | EndOfBody::Hang => self.close(id, Closure::Ended, BodyEnd::Ended),
            EndOfBody::Reset => {
                let message = "the connection was reset while the body was coming";
                let failure = Failure::new(ErrorClass::Transport, message);
                self.close(id, Closure::Failed(failure), BodyEnd::Broken);
            }
        }
    }

    /// Nobody waits any longer.
    pub(super) fn silence(&mut self, id: EffectId) {
        let Some(attempt) = self.attempts.get(&id) else { return };
        if attempt.finished {
            return self.close(id, Closure::Ended, BodyEnd::Cancelled);
        }
        let patience = &self.scenario.patience;
        let (class, ms) = match attempt.came {
            0 => (ErrorClass::RequestTimeout, patience.request_ms),
            _ => (ErrorClass::IdleTimeout, patience.idle_ms),
        };
        let failure = Failure::new(class, format!("nothing came for {ms} ms"));
        self.close(id, Closure::Failed(failure), BodyEnd::Silent);
    }

    /// A body is over, however it came to that.
    fn close(&mut self, id: EffectId, closure: Closure, end: BodyEnd) {
        let now_unix_ms = self.scenario.start_unix_ms.saturating_add(self.now);
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        let closure = if attempt.is_stream() {
            let mut events = Vec::new();
            attempt.reader.finish(&mut events);
            self.say(id, events, None);
            closure
        } else {
            Closure::Failed(attempt.refusal(now_unix_ms))
        };
        // The machine may have cancelled it over what was just said.
        let Some(attempt) = self.attempts.remove(&id) else { return };
        if self.trouble.is_some() {
            return;
        }
        self.recorder.body_ended(id, end, Some(attempt.status()));
        let closure = attempt.ends.unwrap_or(closure);
        self.tell(Input::ModelClosed { id, closure });
    }
}
