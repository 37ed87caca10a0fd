//! A scenario made ready to be played many times: bodies decoded, the start made.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use machine_spec::effect::ToolChoice;
use machine_spec::model::{Closure, ErrorClass, Failure, ModelEvent};
use machine_spec::{Step, start};
use wire::{Dialect, EncodeOptions, ResponseReader, classify};

use crate::checkers::Watch;
use crate::scenario::{
    Afterwards, Answer, BadPlan, BodyPlan, Chunks, EndOfBody, Library, Patience, Scenario, What,
    WireFile,
};
use crate::world::{Assessor, Follower, PlanAssessor};

/// A scenario made ready.
pub struct Script<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(super) begun: Step,
    pub(super) watch: Watch,
    assessor: PlanAssessor,
    answers: Vec<Ready>,
    /// Inputs of the run that is being played: what is known of it if the machine panics.
    progress: Cell<u64>,
}

/// An answer made ready: in each dialect it may be asked in.
struct Ready {
    replies: Vec<(Option<Dialect>, Arc<Reply>)>,
    /// The body, for faults that strike at its bytes.
    file: Option<WireFile>,
}

/// A response in neutral words.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) pieces: Arc<[Piece]>,
    pub(crate) closure: Closure,
    pub(crate) before_end_ms: u64,
}

/// What comes at once.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) pause_ms: u64,
    pub(crate) events: Arc<[ModelEvent]>,
}

impl<'s> Script<'s> {
    /// Makes a scenario ready.
    ///
    /// # Errors
    ///
    /// An answer names a file that the library does not have.
    pub fn compile(scenario: &'s Scenario, library: &Library) -> Result<Script<'s>, BadPlan> {
        let begun = start(scenario.config.clone());
        // The machine sorts the tools of its configuration; the watch sees what it sees.
        let watch = Watch::of(begun.state.frame().config());
        let assessor = PlanAssessor::of(scenario);
        let (answers, progress) = (Vec::new(), Cell::new(0));
        let mut script = Script { scenario, begun, watch, assessor, answers, progress };
        for (n, answer) in scenario.answers.iter().enumerate() {
            let ready = script.ready(&format!("answers[{n}]"), answer, library)?;
            script.answers.push(ready);
        }
        if scenario.afterwards == Afterwards::Text {
            let ready = script.ready("afterwards", &Answer::text("done"), library)?;
            script.answers.push(ready);
        }
        Ok(script)
    }

    fn ready(&self, at: &str, answer: &Answer, library: &Library) -> Result<Ready, BadPlan> {
        let file = match &answer.what {
            What::File(name) => match library.get(name) {
                Some(file) => Some(file.clone()),
                None => {
                    let problem = format!("no wire file is called `{name}`");
                    return Err(BadPlan::new(at, problem));
                }
            },
            What::Stream(body) => Some(WireFile::stream(body.as_bytes(), BodyPlan::default())),
            What::Http { status, headers, body } => Some(WireFile {
                status: *status,
                headers: headers.clone(),
                ..WireFile::stream(body.as_bytes(), BodyPlan::default())
            }),
            What::Fault(_) | What::Said(_) => None,
        };
        let file = file.map(|file| {
            let plan = answer.body.clone().unwrap_or_else(|| file.plan.clone());
            WireFile { plan, ..file }
        });
        let dialects: Vec<Dialect> = match (&file, answer.spoken) {
            (None, _) => Vec::new(),
            (Some(_), Some(spoken)) => vec![spoken],
            (Some(_), None) => {
                let mut all: Vec<Dialect> = Vec::new();
                for plan in &self.scenario.providers {
                    if !all.contains(&plan.dialect) {
                        all.push(plan.dialect);
                    }
                }
                all
            }
        };
        let replies = match &file {
            None => vec![(None, Arc::new(self.without_body(answer)))],
            Some(file) => dialects
                .into_iter()
                .map(|dialect| (Some(dialect), Arc::new(self.decoded(answer, file, dialect))))
                .collect(),
        };
        Ok(Ready { replies, file })
    }

    /// The state after the start.
    pub(crate) fn start(&self) -> machine_spec::State {
        self.begun.state.clone()
    }

    /// Everything the n-th answer says, from 1, and how it ends; whoever is asked.
    pub(crate) fn events(&self, answer: u32) -> Option<(Vec<ModelEvent>, Closure)> {
        let reply = self.reply(self.place(answer)?, 0)?;
        let events = reply.pieces.iter().flat_map(|piece| piece.events.iter().cloned());
        Some((events.collect(), reply.closure.clone()))
    }

    /// Inputs of the run that was played last.
    #[must_use]
    pub fn progress(&self) -> u64 {
        self.progress.get()
    }

    pub(super) fn note_progress(&self, inputs: u64) {
        self.progress.set(inputs);
    }

    /// A planned answer, from 1, told in events instead of bytes.
    #[must_use]
    pub fn as_said(&self, answer: u32) -> Option<Answer> {
        let place = (answer as usize).checked_sub(1)?;
        let planned = self.scenario.answers.get(place)?;
        if let What::Said(_) = planned.what {
            return None;
        }
        let (_, reply) = self.answers.get(place)?.replies.first()?;
        let events: Vec<ModelEvent> =
            reply.pieces.iter().flat_map(|piece| piece.events.iter().cloned()).collect();
        let (mut at, mut begins, mut pauses_ms) = (0, Vec::new(), BTreeMap::new());
        for piece in reply.pieces.iter() {
            begins.push(at);
            pauses_ms.insert(at, piece.pause_ms);
            at += piece.events.len() as u64;
        }
        pauses_ms.insert(at, reply.before_end_ms);
        pauses_ms.retain(|_, ms| *ms > 0);
        let body = BodyPlan { chunks: Chunks::At(begins), pauses_ms, ..BodyPlan::default() };
        let ends = Some(reply.closure.clone());
        let (what, body) = (What::Said(events), Some(body));
        Some(Answer { what, after_ms: 0, body, spoken: None, ends })
    }

    /// Bytes and events of a planned answer, from 1.
    #[must_use]
    pub fn size(&self, answer: u32) -> (u64, u32) {
        let place = (answer as usize).checked_sub(1);
        let Some(ready) = place.and_then(|place| self.answers.get(place)) else { return (0, 0) };
        let is_stream = |file: &&WireFile| (200..300).contains(&file.status);
        let bytes = ready.file.as_ref().filter(is_stream).map_or(0, |file| file.body.len() as u64);
        let pieces = ready.replies.first().map_or(&[][..], |(_, reply)| &reply.pieces);
        (bytes, pieces.iter().map(|piece| piece.events.len() as u32).sum())
    }

    /// How many answers are planned.
    pub(super) fn planned(&self) -> u32 {
        self.scenario.answers.len() as u32
    }

    /// The place of an answer, from 1: behind the last one comes what the plan says.
    pub(super) fn place(&self, answer: u32) -> Option<usize> {
        let planned = self.planned();
        match (answer <= planned, self.scenario.afterwards) {
            (true, _) => Some(answer as usize - 1),
            (false, Afterwards::Exhausted) => None,
            (false, Afterwards::LastAgain) => (planned as usize).checked_sub(1),
            (false, Afterwards::Text) => Some(planned as usize),
        }
    }

    /// The answer at a place, as this candidate gives it.
    pub(super) fn reply(&self, place: usize, candidate: usize) -> Option<Arc<Reply>> {
        let ready = self.answers.get(place)?;
        let asked = self.scenario.providers.get(candidate).map(|plan| plan.dialect);
        let same = ready.replies.iter().find(|(dialect, _)| *dialect == asked);
        same.or(ready.replies.first()).map(|(_, reply)| Arc::clone(reply))
    }

    /// Its body, and the dialect it is read in.
    pub(super) fn body(&self, place: usize, candidate: usize) -> Option<(&WireFile, Dialect)> {
        let file = self.answers.get(place)?.file.as_ref()?;
        let asked = self.scenario.providers.get(candidate).map(|plan| plan.dialect);
        let spoken = self.scenario.answers.get(place).and_then(|answer| answer.spoken);
        Some((file, spoken.or(asked)?))
    }

    fn without_body(&self, answer: &Answer) -> Reply {
        let plan = answer.body.clone().unwrap_or_default();
        let (events, closure) = match &answer.what {
            What::Said(events) => (&events[..], Closure::Ended),
            What::Fault(class) => {
                let message = format!("planned: {class}");
                (&[][..], Closure::Failed(Failure::new(*class, message)))
            }
            What::File(_) | What::Stream(_) | What::Http { .. } => (&[][..], Closure::Ended),
        };
        let begins = plan.pieces(events.len() as u64);
        let mut pieces = Vec::with_capacity(begins.len());
        for (n, (from, pause)) in begins.iter().enumerate() {
            let to = begins.get(n + 1).map_or(events.len(), |(to, _)| *to as usize);
            let after_ms = if n == 0 { answer.after_ms } else { 0 };
            let events = Arc::from(&events[(*from as usize).min(to)..to]);
            pieces.push(Piece { pause_ms: pause.saturating_add(after_ms), events });
        }
        Reply {
            pieces: pieces.into(),
            closure: answer.ends.clone().unwrap_or(closure),
            before_end_ms: plan.pause_before_end(events.len() as u64),
        }
    }

    fn decoded(&self, answer: &Answer, file: &WireFile, dialect: Dialect) -> Reply {
        let reply = self.decode(file, dialect, answer.after_ms);
        Reply { closure: answer.ends.clone().unwrap_or(reply.closure), ..reply }
    }

    /// What reads the bodies of a dialect.
    fn reader(&self, dialect: Dialect) -> ResponseReader {
        let speaks = self.scenario.providers.iter().find(|plan| plan.dialect == dialect);
        let options = speaks.map_or_else(EncodeOptions::default, |plan| plan.options.clone());
        ResponseReader::new(dialect, &options, &self.scenario.config, &ToolChoice::Auto)
    }

    /// Reads a body as an engine does, its patience included.
    pub(super) fn decode(&self, file: &WireFile, dialect: Dialect, after_ms: u64) -> Reply {
        if !(200..300).contains(&file.status) {
            let now = Some(self.scenario.start_unix_ms);
            let failure = classify(dialect, file.status, &file.headers, &file.body, now);
            let closure = Closure::Failed(failure);
            return Reply { pieces: Arc::from([]), closure, before_end_ms: after_ms };
        }
        let patience = &self.scenario.patience;
        let mut reading = Reading::new(self.reader(dialect), &self.assessor);
        let length = file.body.len() as u64;
        let begins = file.plan.pieces(length);
        for (n, (from, pause)) in begins.iter().enumerate() {
            let to = begins.get(n + 1).map_or(length, |(to, _)| *to);
            let pause = pause.saturating_add(if n == 0 { after_ms } else { 0 });
            let waits = reading.patience(patience, n == 0);
            if pause > waits {
                return reading.silent(waits, n == 0);
            }
            reading.push(pause, &file.body[*from as usize..to as usize]);
            if reading.reader.is_over() {
                return reading.end(Closure::Ended, 0);
            }
        }
        let pause = file.plan.pause_before_end(length);
        match file.plan.end {
            EndOfBody::Eof => reading.end(Closure::Ended, pause),
            EndOfBody::Reset => {
                let message = "the connection was reset while the body was coming";
                let failure = Failure::new(ErrorClass::Transport, message);
                reading.end(Closure::Failed(failure), pause)
            }
            EndOfBody::Hang => {
                let waits = reading.patience(patience, length == 0);
                reading.silent(waits, length == 0)
            }
        }
    }
}

/// A body that is being read.
struct Reading<'a> {
    reader: ResponseReader,
    follower: Follower,
    assessor: &'a PlanAssessor,
    pieces: Vec<Piece>,
    finished: bool,
}

impl Reading<'_> {
    fn new(reader: ResponseReader, assessor: &PlanAssessor) -> Reading<'_> {
        Reading {
            reader,
            follower: Follower::default(),
            assessor,
            pieces: Vec::new(),
            finished: false,
        }
    }

    fn push(&mut self, pause_ms: u64, bytes: &[u8]) {
        let mut events = Vec::new();
        self.reader.push(bytes, &mut events);
        self.keep(pause_ms, events);
    }

    fn keep(&mut self, pause_ms: u64, events: Vec<ModelEvent>) {
        let events: Vec<ModelEvent> = events
            .into_iter()
            .map(|event| self.follower.refine(event, self.assessor as &dyn Assessor))
            .collect();
        self.finished |= self.reader.holds_an_end();
        self.finished |= events.iter().any(|event| matches!(event, ModelEvent::Finished { .. }));
        self.pieces.push(Piece { pause_ms, events: events.into() });
    }

    const fn patience(&self, patience: &Patience, first: bool) -> u64 {
        match (first, self.finished) {
            (true, _) => patience.request_ms,
            (false, true) => patience.linger_ms,
            (false, false) => patience.idle_ms,
        }
    }

    fn silent(self, waits: u64, first: bool) -> Reply {
        if self.finished {
            return self.end(Closure::Ended, waits);
        }
        let class = if first { ErrorClass::RequestTimeout } else { ErrorClass::IdleTimeout };
        let failure = Failure::new(class, format!("nothing came for {waits} ms"));
        self.end(Closure::Failed(failure), waits)
    }

    fn end(mut self, closure: Closure, before_end_ms: u64) -> Reply {
        let mut events = Vec::new();
        self.reader.finish(&mut events);
        if events.is_empty() {
            return Reply { pieces: self.pieces.into(), closure, before_end_ms };
        }
        // What the end of the body completes is said when the end comes.
        self.keep(before_end_ms, events);
        Reply { pieces: self.pieces.into(), closure, before_end_ms: 0 }
    }
}
