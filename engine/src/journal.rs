//! Keeps the recording of a run, and secrets out of it.
//!
//! A thin layer over the recorder of `replay`: it knows what the engine knows besides the frames,
//! which is the time, the raw bytes of responses and the requests. With or without a file, what the
//! machine hears has passed the redactor first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use machine_spec::config::RunConfig;
use machine_spec::ids::EffectId;
use machine_spec::{Input, Step};
use replay::Recorder;
use replay::format::v1::{BodyEnd, Header, Note, Provider, WireSpan};
use replay::recorder::{HalfFrame, RecordFailure};
use replay::redact::{Admitted, Redactor};
use replay::sink::FileSink;
use wire::Images;

use crate::clock::Clock;
use crate::error::{Code, EngineError};
use crate::events::Event;
use crate::setup::Setup;

/// The state of a recording when its run is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingStatus {
    /// Nobody asked for one.
    NotAsked,
    /// It is whole.
    Complete(PathBuf),
    /// Something of it was lost, as the warnings said.
    Incomplete(PathBuf),
}

/// Keeps the recording.
#[derive(Debug)]
pub(crate) struct Journal {
    recorder: Option<Recorder<FileSink>>,
    path: Option<PathBuf>,
    redactor: Redactor,
    clock: Clock,
    body: Option<Body>,
    lost: bool,
}

/// The raw response that is coming.
#[derive(Clone, Copy, Debug)]
struct Body {
    id: EffectId,
    status: u16,
    /// Bytes that came.
    came: u64,
    /// Bytes that stand in the note of a frame.
    noted: u64,
}

/// An input that is written and whose outcome is not yet.
#[derive(Debug)]
#[must_use = "the outcome of the step must be written behind its input"]
pub(crate) struct Half<'a> {
    frame: Option<HalfFrame<'a, FileSink>>,
    note: Note,
}

impl Journal {
    /// Begins a recording, if one is wanted.
    pub(crate) fn begin(
        setup: &Setup,
        path: Option<&Path>,
        clock: &Clock,
        note: BTreeMap<String, String>,
    ) -> Result<Journal, EngineError> {
        let redactor = setup.redactor();
        let recorder = match path {
            None => None,
            Some(path) => {
                let sink = create(path).map_err(|error| EngineError::Recording {
                    path: path.to_owned(),
                    problem: error.to_string(),
                })?;
                let mut header = Header::new(setup.machine.clone(), providers(setup));
                header.note = note;
                Some(Recorder::create(sink, header, redactor.clone()))
            }
        };
        let path = path.map(Path::to_owned);
        Ok(Journal { recorder, path, redactor, clock: clock.clone(), body: None, lost: false })
    }

    /// The configuration to start with: the one in the header.
    pub(crate) fn config(&self, setup: &Setup) -> RunConfig {
        match &self.recorder {
            Some(recorder) => recorder.header().config.clone(),
            None => self.redactor.value(setup.machine.clone()),
        }
    }

    /// The inputs to step instead of this one: the same, without secrets.
    pub(crate) fn admit(&mut self, input: Input) -> Admitted {
        match &mut self.recorder {
            Some(recorder) => recorder.admit(input),
            None => self.redactor.admit(input),
        }
    }

    /// From here on this is a secret too.
    pub(crate) fn learn(&mut self, secret: &str) {
        self.redactor.learn(secret);
        if let Some(recorder) = &mut self.recorder {
            recorder.learn(secret);
        }
    }

    /// A redactor of its own for somebody else.
    pub(crate) fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// A text for people, without secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.redactor.text(text)
    }

    /// Writes what the start came to.
    pub(crate) fn started(&mut self, step: &Step) {
        let note = Note::at(self.clock.since_start_ms());
        if let Some(recorder) = &mut self.recorder {
            recorder.started(step, &note);
        }
    }

    /// Keeps the bytes of images.
    pub(crate) fn keep(&mut self, images: &Images) {
        if let Some(recorder) = &mut self.recorder {
            images.all().for_each(|bytes| recorder.keep(bytes));
        }
    }

    /// Writes an input before it is stepped.
    pub(crate) fn heard(&mut self, input: &Input) -> Half<'_> {
        let mut note = Note::at(self.clock.since_start_ms());
        if let (Input::ModelSaid { id, .. }, Some(body)) = (input, &mut self.body)
            && body.id == *id
            && body.noted < body.came
        {
            note.wire = Some(WireSpan { body: *id, from: body.noted, to: body.came });
            body.noted = body.came;
        }
        Half { frame: self.recorder.as_mut().map(|recorder| recorder.heard(input)), note }
    }

    /// Keeps raw bytes of a response.
    pub(crate) fn bytes(&mut self, id: EffectId, status: u16, bytes: &[u8]) {
        if let Some(recorder) = &mut self.recorder {
            recorder.body(id, bytes);
        }
        let begun = self.body.filter(|body| body.id == id);
        let body = begun.unwrap_or(Body { id, status, came: 0, noted: 0 });
        self.body = Some(Body { came: body.came + bytes.len() as u64, ..body });
    }

    /// A raw response is over.
    pub(crate) fn body_over(&mut self, id: EffectId, end: BodyEnd, status: Option<u16>) {
        self.body = self.body.filter(|body| body.id != id);
        if let Some(recorder) = &mut self.recorder {
            recorder.body_ended(id, end, status);
        }
    }

    /// An effect was cancelled: if its raw response was coming, that is its end.
    pub(crate) fn cancelled(&mut self, id: EffectId) {
        if let Some(body) = self.body.filter(|body| body.id == id) {
            self.body_over(id, BodyEnd::Cancelled, Some(body.status));
        }
    }

    /// What was lost since the last time this was asked, for observers.
    pub(crate) fn warnings(&mut self) -> Vec<Event> {
        let failures = self.recorder.as_mut().map(Recorder::take_failures).unwrap_or_default();
        self.lost |= !failures.is_empty();
        let warning = |failure: RecordFailure| Event::Warning {
            code: Code::RecordingLost,
            message: failure.to_string(),
        };
        failures.into_iter().map(warning).collect()
    }

    /// Ends the recording.
    pub(crate) fn finish(mut self) -> (RecordingStatus, Vec<Event>) {
        let mut warnings = self.warnings();
        let (Some(recorder), Some(path)) = (self.recorder.take(), self.path.take()) else {
            return (RecordingStatus::NotAsked, warnings);
        };
        let (_, failures) = recorder.finish();
        self.lost |= !failures.is_empty();
        warnings.extend(failures.into_iter().map(|failure| Event::Warning {
            code: Code::RecordingLost,
            message: failure.to_string(),
        }));
        let status = match self.lost {
            true => RecordingStatus::Incomplete(path),
            false => RecordingStatus::Complete(path),
        };
        (status, warnings)
    }
}

impl Half<'_> {
    /// Notes the request that the step ordered.
    pub(crate) fn request(&mut self, body: &[u8]) {
        if let Some(frame) = &mut self.frame {
            self.note.request = Some(frame.request(body));
        }
    }

    /// Writes what came of the input.
    pub(crate) fn stepped(self, step: &Step) {
        if let Some(frame) = self.frame {
            frame.stepped(step, &self.note);
        }
    }
}

fn create(path: &Path) -> std::io::Result<FileSink> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    FileSink::create(path)
}

fn providers(setup: &Setup) -> Vec<Provider> {
    let told = |one: &crate::setup::Provider| {
        Provider::new(&one.name, one.dialect, &one.model, &one.options)
    };
    setup.providers.iter().map(told).collect()
}
