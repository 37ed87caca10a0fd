//! Records what the machine was told. A recording is a function of its inputs, so a run that was
//! played without a recorder is recorded afterwards, to the same bytes.

use machine_spec::{Input, step};

use super::{Script, Told};
use crate::format::v1::{Header, Note, Provider};
use crate::recorder::{RecordFailure, Recorder};
use crate::redact::Redactor;
use crate::sink::{MemorySink, Sink};

/// The recording of these inputs.
#[must_use]
pub fn record(script: &Script<'_>, told: &[Told]) -> MemorySink {
    record_into(script, MemorySink::default(), told).0
}

/// Records into any sink; tells what the recorder gave up.
pub(super) fn record_into<S: Sink>(
    script: &Script<'_>,
    sink: S,
    told: &[Told],
) -> (S, Vec<RecordFailure>) {
    let scenario = script.scenario;
    let candidates = scenario.config.candidates.iter().zip(&scenario.providers);
    let providers = candidates.map(|(candidate, plan)| {
        Provider::new(&candidate.name, plan.dialect, &candidate.model, &plan.options)
    });
    let header = Header::new(scenario.config.clone(), providers.collect());
    let mut recorder = Recorder::create(sink, header, Redactor::default());
    recorder.started(&script.begun, &Note::at(0));
    let mut state = script.begun.state.clone();
    for Told { at_ms, input } in told {
        let half = recorder.heard(input);
        let after = step(state, Input::clone(input));
        half.stepped(&after, &Note::at(*at_ms));
        state = after.state;
    }
    recorder.finish()
}
