//! What a play came to, and what must hold of every play.

use std::collections::BTreeMap;

use machine_spec::because::Owner;
use machine_spec::effect::HookQuestion;
use machine_spec::ids::{CallId, CandidateId, EffectId};
use machine_spec::message::{CallResult, Entry, Origin, Outcome};
use machine_spec::{Input, Notice, State, Terminal, Transcript};
use replay::reader::Recording;
use replay::replayer::{Options, replay};
use replay::sink::MemorySink;
use serde_json::Value;
use tests::{hygiene, render};
use wire::Dialect;

/// What a play came to.
pub(crate) struct Played {
    /// The requests, in order.
    pub(crate) asked: Vec<Asked>,
    /// The tools that ran, in the order of their start.
    pub(crate) tools: Vec<Ran>,
    /// What the hooks were asked.
    pub(crate) questions: Vec<HookQuestion>,
    /// The waits that were ordered: when, and how long.
    pub(crate) waits: Vec<(u64, u64)>,
    /// How often the conversation was to be summarised.
    pub(crate) compactions: u32,
    /// What observers were told, and when.
    pub(crate) notices: Vec<(u64, Notice)>,
    /// Every ending; there must be one.
    pub(crate) endings: Vec<Terminal>,
    /// The conversation.
    pub(crate) transcript: Transcript,
    dialects: Vec<Dialect>,
    recording: Option<Recording>,
}

/// A request.
pub(crate) struct Asked {
    pub(crate) at: u64,
    pub(crate) candidate: CandidateId,
    pub(crate) owner: Owner,
    pub(crate) body: Value,
}

/// A tool that ran.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) id: EffectId,
    pub(crate) call: CallId,
    pub(crate) from: u64,
    pub(crate) to: Option<u64>,
}

impl Ran {
    /// When it ended. Panics when it never did.
    pub(crate) fn end(&self) -> u64 {
        self.to.unwrap_or_else(|| panic!("{self:?} never ended"))
    }
}

impl Played {
    pub(super) fn new(dialects: Vec<Dialect>) -> Played {
        Played {
            asked: Vec::new(),
            tools: Vec::new(),
            questions: Vec::new(),
            waits: Vec::new(),
            compactions: 0,
            notices: Vec::new(),
            endings: Vec::new(),
            transcript: Transcript::default(),
            dialects,
            recording: None,
        }
    }

    pub(super) fn note_input(&mut self, at: u64, input: &Input) {
        if let Input::ToolReturned { id, .. } = input {
            for ran in self.tools.iter_mut().filter(|ran| ran.id == *id) {
                ran.to = Some(at);
            }
        }
    }

    /// Ends the play and judges what must hold of every one: one ending, clean requests, no call
    /// executed twice, an identical replay.
    pub(super) fn close(&mut self, state: State, sink: MemorySink) {
        self.transcript = state.frame().transcript().clone();
        assert_eq!(self.endings.len(), 1, "one ending: {:?}", self.endings);
        for asked in &self.asked {
            let dialect = self.dialects[usize::from(asked.candidate.0)];
            hygiene::assert_clean(dialect, std::slice::from_ref(&asked.body));
        }
        let mut calls = BTreeMap::new();
        for ran in &self.tools {
            assert!(calls.insert(ran.call, ran).is_none(), "{ran:?} ran twice");
        }
        let recording = Recording::from_memory(&sink).expect("it was just written");
        let report = replay(&recording, Options { requests: false, ..Options::default() });
        assert!(report.is_identical(), "{report:#?}");
        assert_eq!(report.terminal.as_ref(), self.endings.first());
        self.recording = Some(recording);
    }

    /// The one ending.
    pub(crate) fn end(&self) -> &Terminal {
        &self.endings[0]
    }

    /// The conversation as the n-th request tells it.
    pub(crate) fn conversation(&self, n: usize) -> Vec<String> {
        let asked = &self.asked[n];
        render::conversation(self.dialects[usize::from(asked.candidate.0)], &asked.body)
    }

    /// Who spoke in the user's role, in order.
    pub(crate) fn origins(&self) -> Vec<Origin> {
        let said = self.entries().into_iter().filter_map(|entry| match entry {
            Entry::Said(said) => Some(said.origin),
            Entry::Reply(_) | Entry::Results(_) | Entry::Boundary(_) | Entry::Aside(_) => None,
        });
        said.collect()
    }

    /// All results of the conversation, in order.
    pub(crate) fn results(&self) -> Vec<CallResult> {
        let mut results = Vec::new();
        for entry in self.entries() {
            if let Entry::Results(more) = entry {
                results.extend(more);
            }
        }
        results
    }

    /// The outcomes of all calls, in call order.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.results().into_iter().map(|result| result.outcome).collect()
    }

    /// The conversation, oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.transcript.newest_first().cloned().collect();
        entries.reverse();
        entries
    }

    /// What observers were told that fits.
    pub(crate) fn told<T>(&self, fits: impl Fn(&Notice) -> Option<T>) -> Vec<T> {
        self.notices.iter().filter_map(|(_, notice)| fits(notice)).collect()
    }
}
