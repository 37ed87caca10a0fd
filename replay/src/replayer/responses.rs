//! Decodes the raw responses of a run again and compares them with what was heard.

use std::collections::BTreeMap;

use machine_spec::effect::Transport;
use machine_spec::ids::EffectId;
use machine_spec::model::{ArgsVerdict, BlockEnd, CallFacts, ModelEvent};
use machine_spec::{Effect, Input, RunConfig};
use serde_json::Value;
use wire::{Dialect, EncodeOptions, ResponseReader};

use crate::divergence::{Difference, first_difference};
use crate::format::v1::{BodyEnd, BodyNote, Provider};
use crate::reader::{Bodies, Body};

/// The responses that are being heard.
#[derive(Debug)]
pub(super) struct Responses {
    config: RunConfig,
    speakers: Vec<Option<(Dialect, EncodeOptions)>>,
    heard: BTreeMap<EffectId, Heard>,
}

/// A response as it was heard.
#[derive(Debug)]
struct Heard {
    reader: Option<ResponseReader>,
    transport: Transport,
    /// Its events with their frames.
    events: Vec<(u64, ModelEvent)>,
    end: End,
    body: Option<BodyNote>,
}

/// How hearing a response came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Not yet.
    Open,
    /// It was heard to its end.
    Closed,
    /// It was cancelled: what still came was not heard.
    Cancelled,
}

/// What a comparison of a response came to.
#[derive(Debug)]
pub(super) enum Compared {
    /// The bytes say what was heard.
    Same,
    /// They say something else at this frame.
    Differs(u64, Difference),
    /// The bytes are not those that came.
    Altered(Difference),
    /// The bytes are named and not there.
    Missing(String),
    /// The recording does not hold what a comparison takes.
    NotComparable,
}

impl Responses {
    pub(super) fn of(providers: &[Provider], config: &RunConfig) -> Responses {
        let speakers = providers.iter().map(Provider::speaks).collect();
        Responses { config: config.clone(), speakers, heard: BTreeMap::new() }
    }

    /// Takes down a piece of a response, before it is stepped.
    pub(super) fn hear(&mut self, seq: u64, input: &Input) {
        if let Input::ModelSaid { id, event } = input
            && let Some(heard) = self.heard.get_mut(id)
        {
            heard.events.push((seq, event.clone()));
        }
    }

    /// Takes down that a response was heard to its end.
    pub(super) fn close(&mut self, id: EffectId, bodies: &Bodies) -> Option<Compared> {
        self.end(id, End::Closed, bodies)
    }

    /// Takes down what a step ordered: a request, or the end of one.
    pub(super) fn order(&mut self, effect: &Effect, bodies: &Bodies) -> Option<Compared> {
        match effect {
            Effect::CallModel { id, request } => {
                let speaker = self.speakers.get(usize::from(request.candidate.0));
                let reader = speaker.and_then(Option::as_ref).map(|(dialect, options)| {
                    ResponseReader::new(*dialect, options, &self.config, &request.tools)
                });
                let transport = request.transport;
                let (events, end, body) = (Vec::new(), End::Open, None);
                let heard = Heard { reader, transport, events, end, body };
                self.heard.insert(*id, heard);
                None
            }
            Effect::Cancel { id } => self.end(*id, End::Cancelled, bodies),
            _ => None,
        }
    }

    fn end(&mut self, id: EffectId, end: End, bodies: &Bodies) -> Option<Compared> {
        let heard = self.heard.get_mut(&id)?;
        heard.end = end;
        self.compare_if_whole(id, bodies)
    }

    /// Takes down the raw bytes of a response.
    pub(super) fn body(&mut self, note: &BodyNote, bodies: &Bodies) -> Option<Compared> {
        let heard = self.heard.get_mut(&note.effect)?;
        heard.body = Some(note.clone());
        self.compare_if_whole(note.effect, bodies)
    }

    fn compare_if_whole(&mut self, id: EffectId, bodies: &Bodies) -> Option<Compared> {
        let heard = self.heard.get(&id)?;
        if heard.end == End::Open || heard.body.is_none() {
            return None;
        }
        self.heard.remove(&id).map(|heard| heard.compare(bodies))
    }

    /// What is left when the recording ends: bodies whose responses were never heard to their end.
    pub(super) fn rest(&mut self, bodies: &Bodies) -> Vec<Compared> {
        let left = std::mem::take(&mut self.heard).into_values();
        left.filter(|heard| heard.body.is_some()).map(|heard| heard.compare(bodies)).collect()
    }
}

impl Heard {
    fn compare(mut self, bodies: &Bodies) -> Compared {
        let (Some(mut reader), Some(note)) = (self.reader.take(), &self.body) else {
            return Compared::NotComparable;
        };
        let is_stream = note.status.is_none_or(|status| (200..300).contains(&status));
        if note.redacted || note.digest.is_empty() || !is_stream {
            return Compared::NotComparable;
        }
        let bytes = match bodies.get(&note.digest) {
            Body::Found(bytes) => bytes,
            Body::Missing if bodies.are_absent() => return Compared::NotComparable,
            Body::Missing | Body::Unreadable { .. } => {
                return Compared::Missing(note.digest.clone());
            }
            Body::Altered { found } => {
                let path = format!("bodies/{}", note.digest);
                return Compared::Altered(Difference {
                    path,
                    left: note.digest.clone(),
                    right: found,
                });
            }
        };
        let decoded = match self.transport {
            Transport::Stream => {
                let mut decoded = Vec::new();
                reader.push(&bytes, &mut decoded);
                reader.finish(&mut decoded);
                decoded
            }
            Transport::Whole => reader.read_whole(&bytes, note.end == BodyEnd::Ended),
        };
        self.first_difference(&decoded)
    }

    fn first_difference(&self, decoded: &[ModelEvent]) -> Compared {
        let differing = self.events.iter().enumerate().find_map(|(n, (seq, heard))| {
            let same = decoded.get(n).is_some_and(|decoded| says_the_same(heard, decoded));
            (!same).then_some((n, *seq))
        });
        let more = decoded.len() > self.events.len() && self.end == End::Closed;
        let (n, seq) = match differing {
            Some(place) => place,
            None if more => (self.events.len(), self.events.last().map_or(0, |(seq, _)| *seq)),
            None => return Compared::Same,
        };
        let json = |event: Option<&ModelEvent>| {
            event.map_or(Value::Null, |event| serde_json::to_value(event).unwrap_or(Value::Null))
        };
        let heard = self.events.get(n).map(|(_, event)| event);
        let base = format!("response.events[{n}]");
        let found = first_difference(&base, &json(heard), &json(decoded.get(n)));
        let found = found.unwrap_or_else(|| Difference {
            path: base,
            left: "(equal as text)".into(),
            right: "(equal as text)".into(),
        });
        Compared::Differs(seq, found)
    }
}

/// Whether the decoder would say this again. What the edge found out about a call besides is not
/// for the decoder to know: its safety, and whether its arguments satisfy the schema.
fn says_the_same(heard: &ModelEvent, decoded: &ModelEvent) -> bool {
    match (heard, decoded) {
        (
            ModelEvent::BlockDone { block: a, proof: p, done: BlockEnd::Call(heard) },
            ModelEvent::BlockDone { block: b, proof: q, done: BlockEnd::Call(decoded) },
        ) => a == b && p == q && reads_the_same(heard, decoded),
        (heard, decoded) => heard == decoded,
    }
}

fn reads_the_same(heard: &CallFacts, decoded: &CallFacts) -> bool {
    match (&heard.args, &decoded.args) {
        (ArgsVerdict::Invalid { .. }, ArgsVerdict::Valid { .. }) => true,
        (heard, decoded) => heard == decoded,
    }
}
