//! How faults strike: at the bytes and events of a response, instead of it, and at inputs.

use std::sync::Arc;

use machine_spec::Input;
use machine_spec::ids::EffectId;
use machine_spec::model::{BlockKind, Closure, ErrorClass, Failure, ModelEvent};

use super::script::{Piece, Reply};
use super::{Arena, Due, INTERRUPTER, SPEECH};
use crate::faults::{Fault, Placed, Seam, SeamKind};
use crate::scenario::{EndOfBody, WireFile};

/// An effect that no run ever opens.
const NOBODYS: EffectId = EffectId(u64::MAX);

/// What stands in a garbled place: no dialect allows it anywhere in its JSON.
const GARBLED: u8 = 0x01;

impl Arena<'_> {
    /// The response with every fault that strikes it now.
    pub(super) fn spoil(
        &mut self,
        answer: u32,
        place: usize,
        candidate: usize,
        reply: Arc<Reply>,
    ) -> Arc<Reply> {
        let mut faults = Vec::new();
        for at in 0..self.faults.len() {
            let placed = self.faults[at];
            if placed.answer() == Some(answer) && self.strikes[at] < placed.times {
                self.strikes[at] += 1;
                faults.push(placed);
            }
        }
        if faults.is_empty() {
            return reply;
        }
        self.serving.struck = true;
        let instead = faults.iter().find(|placed| placed.fault.seam() == SeamKind::Answer);
        if let Some(placed) = instead {
            let closure = Closure::Failed(failure_of(placed.fault));
            return Arc::new(Reply { pieces: Arc::from([]), closure, before_end_ms: 0 });
        }
        let at_bytes = faults.iter().any(|placed| placed.fault.seam() == SeamKind::Byte);
        let mut reply = match self.script.body(place, candidate) {
            Some((file, dialect)) if at_bytes => {
                let file = spoiled(file, &faults);
                self.script.decode(&file, dialect, 0)
            }
            Some(_) | None => (*reply).clone(),
        };
        for placed in &faults {
            if let Seam::Event { event, .. } = placed.at {
                spoil_event(&mut reply, placed.fault, event as usize);
            }
        }
        Arc::new(reply)
    }

    /// What the machine is told instead of this input; nothing if it comes later.
    pub(super) fn strike_input(&mut self, input: Input) -> Option<Input> {
        let next = self.counts.inputs + 1;
        let here = |placed: &Placed| placed.at == Seam::Input(next as u32);
        while let Some(fault) = self.strikes(here) {
            if fault == Fault::Interrupt {
                self.take(Input::Interrupted { by: INTERRUPTER });
            } else if fault == Fault::Speech {
                self.take(Input::UserSaid {
                    text: SPEECH.into(),
                    images: Vec::new(),
                    rules: Vec::new(),
                });
            } else if fault == Fault::AnswerForged {
                self.take(Input::TimerFired { id: NOBODYS });
            } else if fault == Fault::AnswerRepeated {
                self.take(input.clone());
            } else if let Fault::AnswerLate { behind } = fault
                && input.answers().is_some()
                && !matches!(input, Input::ModelSaid { .. })
            {
                self.held.push((self.counts.inputs + u64::from(behind), input));
                return None;
            }
            if self.is_over() {
                return None;
            }
        }
        Some(input)
    }

    /// Tells what was held back long enough.
    pub(super) fn release(&mut self) {
        while let Some(at) = self.held.iter().position(|(due, _)| *due <= self.counts.inputs) {
            let (_, input) = self.held.remove(at);
            self.push(0, Due::Input(input));
        }
    }
}

/// The failure that comes instead of an answer.
fn failure_of(fault: Fault) -> Failure {
    let (class, status) = match fault {
        Fault::RateLimited { .. } => (ErrorClass::Throttled, Some(429)),
        Fault::ServerError => (ErrorClass::ServerError, Some(500)),
        Fault::ContextOverflow => (ErrorClass::ContextOverflow, Some(400)),
        Fault::RequestFails(class) => (class, None),
        _ => (ErrorClass::Unknown, None),
    };
    let mut failure = Failure::new(class, format!("planned: {}", fault.word()));
    failure.status = status;
    if let Fault::RateLimited { retry_after_ms } = fault {
        failure.retry_after_ms = retry_after_ms;
    }
    failure
}

/// The body with the faults that strike at its bytes.
fn spoiled(file: &WireFile, faults: &[Placed]) -> WireFile {
    let mut file = file.clone();
    for placed in faults {
        let Seam::Byte { byte, .. } = placed.at else { continue };
        let at = usize::try_from(byte).unwrap_or(usize::MAX).min(file.body.len());
        match placed.fault {
            Fault::ByteGarbled => {
                let mut body = file.body.to_vec();
                if let Some(byte) = body.get_mut(at) {
                    *byte = GARBLED;
                }
                file.body = body.into();
            }
            Fault::StreamReset => (file.body, file.plan.end) = (cut(&file, at), EndOfBody::Reset),
            Fault::StreamStall => (file.body, file.plan.end) = (cut(&file, at), EndOfBody::Hang),
            _ => (file.body, file.plan.end) = (cut(&file, at), EndOfBody::Eof),
        }
    }
    file
}

fn cut(file: &WireFile, at: usize) -> Arc<[u8]> {
    Arc::from(&file.body[..at])
}

/// Spoils the n-th event of a response, from 1.
fn spoil_event(reply: &mut Reply, fault: Fault, n: usize) {
    let mut pieces: Vec<Piece> = reply.pieces.to_vec();
    let mut before = 0;
    for at in 0..pieces.len() {
        let mut events = pieces[at].events.to_vec();
        let Some(place) = n.checked_sub(before + 1).filter(|place| *place < events.len()) else {
            before += events.len();
            continue;
        };
        match fault {
            Fault::EventDuplicated => events.insert(place, events[place].clone()),
            Fault::EventDropped => {
                events.remove(place);
            }
            Fault::EventSwapped if place + 1 < events.len() => events.swap(place, place + 1),
            Fault::EventMalformed => {
                let message = "planned: event_malformed";
                events[place] = ModelEvent::Failed(Failure::new(ErrorClass::Garbled, message));
            }
            Fault::ErrorInStream => {
                events.truncate(place);
                let failure = Failure::new(ErrorClass::Overloaded, "planned: error_in_stream");
                events.push(ModelEvent::Failed(failure));
                pieces.truncate(at + 1);
                reply.closure = Closure::Ended;
            }
            _ => {}
        }
        pieces[at].events = events.into();
        break;
    }
    reply.pieces = pieces.into();
}

/// The response with `_n` behind every id, as a provider gives new ones.
pub(super) fn renewed(reply: &Reply, n: u32) -> Reply {
    let renew = |event: &ModelEvent| match event.clone() {
        ModelEvent::BlockBegan { block, kind: BlockKind::Call { mut wire_id, name } } => {
            if !wire_id.is_empty() {
                wire_id = format!("{wire_id}_{n}");
            }
            ModelEvent::BlockBegan { block, kind: BlockKind::Call { wire_id, name } }
        }
        ModelEvent::Began { model, response } => {
            ModelEvent::Began { model, response: format!("{response}_{n}") }
        }
        other => other,
    };
    let pieces = reply.pieces.iter().map(|piece| {
        let events = piece.events.iter().map(renew).collect();
        Piece { pause_ms: piece.pause_ms, events }
    });
    Reply { pieces: pieces.collect(), ..reply.clone() }
}
