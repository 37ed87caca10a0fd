//! Orders that nobody outside the engine is needed for: keep, remember, recall, judge, look up.
//!
//! They may block, so they are carried out on threads of their own; the loop never waits for a disk.

use std::sync::Arc;

use machine_spec::ids::{CandidateId, EffectId};
use machine_spec::input::{OutputVerdict, Recall, Refresh, Stored};
use machine_spec::view::View;
use machine_spec::{Effect, Input};
use secrecy::{ExposeSecret, SecretString};

use super::{Job, LOST, Performer, Task};
use crate::credentials;
use crate::events::Event;
use crate::inbox::{Line, Owed};
use crate::memory::worth_remembering;
use crate::store::Kept;

/// What is said where memory is wanted and there is none.
const NO_MEMORY: &str = "no memory is configured: give a [memory] with a `dir`";

impl Performer {
    /// Carries something out beside the loop. Its answer is owed.
    pub(super) fn aside(
        &mut self,
        line: Line,
        lost: Input,
        work: impl FnOnce() -> Input + Send + 'static,
    ) {
        let id = line.id();
        let owed = Owed::new(line, lost);
        let task = tokio::spawn(async move {
            if let Ok(answer) = tokio::task::spawn_blocking(work).await {
                owed.pay(answer);
            }
        });
        self.under_way.insert(id, Job::Wait { _task: Task(task.abort_handle()) });
    }

    /// Holds the output of a tool that has just come back, where this step wants it kept. What the
    /// machine heard has passed the redactor already.
    pub(crate) fn hold(&mut self, input: &Input, effects: &[Effect]) {
        let Input::ToolReturned { id, report } = input else { return };
        let wanted = |effect: &Effect| matches!(effect, Effect::StoreResult { of, .. } if of == id);
        self.held = effects.iter().any(wanted).then(|| (*id, report.output.clone()));
    }

    /// Keeps the whole output of the tool that has just come back.
    pub(crate) fn store_result(&mut self, line: Line, of: EffectId) -> Option<Event> {
        let id = line.id();
        let Some((_, output)) = self.held.take().filter(|(held, _)| *held == of) else {
            let problem = "its output is not at hand any more".to_owned();
            line.answer(Input::ResultStored { id, result: Stored::Failed { problem } });
            return None;
        };
        let store = self.store.clone();
        let lost = Stored::Failed { problem: LOST.to_owned() };
        self.aside(line, Input::ResultStored { id, result: lost }, move || {
            let result = stored(store.keep(Kept::Result, &output));
            Input::ResultStored { id, result }
        });
        None
    }

    /// Asks memory.
    pub(crate) fn recall(&mut self, line: Line, query: String) -> Option<Event> {
        let id = line.id();
        let Some(memory) = self.memory.clone() else {
            let result = Recall::Failed { problem: NO_MEMORY.to_owned() };
            line.answer(Input::MemoryRecalled { id, result });
            return None;
        };
        let lost = Recall::Failed { problem: LOST.to_owned() };
        self.aside(line, Input::MemoryRecalled { id, result: lost }, move || {
            let result = match memory.recall(&query) {
                Ok(Some(text)) => Recall::Found { text },
                Ok(None) => Recall::Nothing,
                Err(problem) => Recall::Failed { problem },
            };
            Input::MemoryRecalled { id, result }
        });
        None
    }

    /// Gives memory what is about to leave the view.
    pub(crate) fn flush(&mut self, line: Line, head: &View) -> Option<Event> {
        let id = line.id();
        let Some(memory) = self.memory.clone() else {
            let result = Stored::Failed { problem: NO_MEMORY.to_owned() };
            line.answer(Input::MemoryFlushed { id, result });
            return None;
        };
        let texts = worth_remembering(head);
        let lost = Stored::Failed { problem: LOST.to_owned() };
        self.aside(line, Input::MemoryFlushed { id, result: lost }, move || {
            let result = stored(memory.remember(&texts));
            Input::MemoryFlushed { id, result }
        });
        None
    }

    /// Holds the answer against the wanted schema.
    pub(crate) fn check_output(&self, line: &Line, text: &str) -> Option<Event> {
        let id = line.id();
        // The machine asks only where a schema is configured, and the shape is made from it.
        let verdict = self.shape.as_ref().map_or(OutputVerdict::Fits, |shape| shape.judge(text));
        line.answer(Input::OutputChecked { id, verdict });
        None
    }

    /// Looks a credential up again. A new one goes to the driver first, and never into an input.
    pub(crate) fn refresh(&mut self, line: Line, candidate: CandidateId) -> Option<Event> {
        let id = line.id();
        let place = usize::from(candidate.0);
        let Some(provider) = self.connections.get(place).map(|one| Arc::clone(one.provider()))
        else {
            let result = Refresh::Failed { problem: LOST.to_owned() };
            line.answer(Input::CredentialRefreshed { id, result });
            return None;
        };
        let lost = Refresh::Failed { problem: LOST.to_owned() };
        let owed = Owed::new(line.clone(), Input::CredentialRefreshed { id, result: lost });
        let task = tokio::spawn(async move {
            let result = match credentials::look_up(&provider.key).await {
                Ok(key) if provider.auth.is(&key) => {
                    Refresh::Failed { problem: "the key is the same as before".to_owned() }
                }
                Ok(key) => {
                    line.credential(candidate, key);
                    Refresh::Refreshed
                }
                Err(problem) => Refresh::Failed { problem },
            };
            owed.pay(Input::CredentialRefreshed { id, result });
        });
        self.under_way.insert(id, Job::Wait { _task: Task(task.abort_handle()) });
        None
    }

    /// From here on requests to this candidate prove who sends them with this key.
    pub(crate) fn set_credential(&mut self, candidate: CandidateId, key: SecretString) {
        self.store.learn(key.expose_secret());
        if let Some(connection) = self.connections.get_mut(usize::from(candidate.0)) {
            connection.set_key(key);
        }
    }
}

fn stored(kept: Result<String, String>) -> Stored {
    match kept {
        Ok(reference) => Stored::Kept { reference },
        Err(problem) => Stored::Failed { problem },
    }
}
