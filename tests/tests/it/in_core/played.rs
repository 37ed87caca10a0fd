//! What a play came to, and what must hold of every play.

use std::collections::BTreeSet;

use machine_spec::because::Owner;
use machine_spec::message::{Entry, Origin, Outcome};
use machine_spec::model::Failure;
use machine_spec::{Effect, Notice, Terminal, Transcript};
use replay::reader::Recording;
use replay::replayer::{Options, replay};
use replay::world::{Execution, Run};
use serde_json::Value;
use tests::{hygiene, render};
use wire::Dialect;

/// What a play came to.
pub(crate) struct Played {
    pub(crate) run: Run,
    recording: Recording,
    dialects: Vec<Dialect>,
}

impl Played {
    /// Judges what must hold of every play: clean requests, no call executed twice, an identical
    /// replay that builds the same requests. (The invariants were judged at every step.)
    pub(super) fn judged(run: Run, dialects: Vec<Dialect>) -> Played {
        let recording = run.recording().expect("it was just written");
        let report = replay(&recording, Options::default());
        assert!(report.is_identical(), "{report:#?}");
        assert_eq!(report.terminal.as_ref(), run.terminal());
        assert_eq!(report.requests.compared, run.requests.len() as u64);
        let played = Played { run, recording, dialects };
        for n in 0..played.asked() {
            hygiene::assert_clean(played.dialect(n), &[played.body(n)]);
        }
        let mut calls = BTreeSet::new();
        for ran in &played.run.executions {
            assert!(calls.insert(ran.call), "{ran:?} ran twice");
        }
        played
    }

    /// Its recording.
    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// How many requests were sent.
    pub(crate) fn asked(&self) -> usize {
        self.run.requests.len()
    }

    /// To whom each request went.
    pub(crate) fn candidates(&self) -> Vec<u16> {
        self.run.requests.iter().map(|sent| sent.candidate.0).collect()
    }

    /// Who ordered each request.
    pub(crate) fn owners(&self) -> Vec<Owner> {
        let effects = self.recording.frames.iter().flat_map(|frame| &frame.effects);
        let owners = effects.filter_map(|effect| match effect {
            Effect::CallModel { request, .. } => Some(request.owner),
            _ => None,
        });
        owners.collect()
    }

    /// The waits that were ordered, in milliseconds.
    pub(crate) fn waits(&self) -> Vec<u64> {
        let effects = self.recording.frames.iter().flat_map(|frame| &frame.effects);
        let waits = effects.filter_map(|effect| match effect {
            Effect::SetTimer { after_ms, .. } => Some(*after_ms),
            _ => None,
        });
        waits.collect()
    }

    fn dialect(&self, n: usize) -> Dialect {
        self.dialects[usize::from(self.run.requests[n].candidate.0)]
    }

    /// The body of the n-th request.
    pub(crate) fn body(&self, n: usize) -> Value {
        serde_json::from_slice(&self.run.requests[n].body).expect("a request is JSON")
    }

    /// The conversation as the n-th request tells it.
    pub(crate) fn conversation(&self, n: usize) -> Vec<String> {
        render::conversation(self.dialect(n), &self.body(n))
    }

    /// The ending.
    pub(crate) fn end(&self) -> &Terminal {
        self.run.terminal().expect("the run is over")
    }

    /// The conversation as the next run of the session begins with it.
    pub(crate) fn history(&self) -> Transcript {
        self.run.state.frame().transcript().settled()
    }

    /// The failures of attempts, as observers were told or not yet told.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        self.told(|notice| match notice {
            Notice::AttemptFailed { failure, .. } | Notice::ErrorWithheld { failure, .. } => {
                Some(failure.clone())
            }
            _ => None,
        })
    }

    /// How often something shown was taken back.
    pub(crate) fn retractions(&self) -> usize {
        self.told(|notice| matches!(notice, Notice::Retracted { .. }).then_some(())).len()
    }

    /// Who spoke in the user's role, in order.
    pub(crate) fn origins(&self) -> Vec<Origin> {
        let entries = self.run.state.frame().transcript().entries();
        let said = entries.into_iter().filter_map(|entry| match entry {
            Entry::Said(said) => Some(said.origin),
            Entry::Reply(_) | Entry::Results(_) | Entry::Boundary(_) | Entry::Aside(_) => None,
        });
        said.collect()
    }

    /// The outcomes of all calls, in call order.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for entry in self.run.state.frame().transcript().entries() {
            if let Entry::Results(results) = entry {
                outcomes.extend(results.iter().map(|result| result.outcome.clone()));
            }
        }
        outcomes
    }

    /// What observers were told that fits.
    pub(crate) fn told<T>(&self, fits: impl Fn(&Notice) -> Option<T>) -> Vec<T> {
        self.run.notices.iter().filter_map(|(_, notice)| fits(notice)).collect()
    }

    /// The calls that ran, with their starts and ends.
    pub(crate) fn spans(&self) -> Vec<(u64, u64)> {
        let span = |ran: &Execution| {
            let (ended, _) = ran.ended.unwrap_or_else(|| panic!("{ran:?} never ended"));
            (ran.started_ms, ended)
        };
        self.run.executions.iter().map(span).collect()
    }

    /// The arguments of the calls that ran.
    pub(crate) fn ledger(&self) -> Vec<&str> {
        self.run.executions.iter().map(|ran| ran.args.as_str()).collect()
    }
}
