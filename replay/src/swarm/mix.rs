//! Draws a mix of faults, and a place for each.

use machine_spec::bound;
use machine_spec::model::ErrorClass;

use super::Size;
use crate::chooser::Chooser;
use crate::faults::{Fault, Placed, Seam, SeamKind};
use crate::scenario::{Answer, Scenario, What};

/// How far into a run faults are placed.
const INPUTS: u32 = 48;

/// Draws the faults of a scenario.
pub(super) fn draw(chooser: &mut Chooser, size: Size, scenario: &mut Scenario) {
    let count = chooser.pick(size.faults + 1);
    // Each run has a mix of its own: two faults are frequent, most are off.
    let favourites = match size.configuration {
        true => [chooser.pick(ALL), chooser.pick(ALL)],
        false => [0, 0],
    };
    let mut faults: Vec<Placed> = Vec::new();
    for _ in 0..count {
        let drawn = match size.configuration {
            true => match chooser.pick(3) {
                n @ 0..=1 => favourites[n as usize],
                _ => chooser.pick(ALL),
            },
            false => chooser.pick(ALL),
        };
        let fault = vary(chooser, size, Fault::ALL[drawn as usize]);
        let Some(at) = place(chooser, fault, scenario) else { continue };
        let times = if size.configuration { 1 + chooser.pick(3) } else { 1 };
        faults.push(Placed::new(fault, at).times(times));
    }
    faults.sort_by_key(|placed| (placed.at, placed.fault));
    faults.dedup_by_key(|placed| (placed.at, placed.fault));
    for placed in faults {
        scenario.faults.push(placed);
        // What cannot strike any more is no plan.
        if scenario.validate(&Default::default()).is_err() {
            scenario.faults.pop();
        }
    }
}

const ALL: u32 = Fault::ALL.len() as u32;

/// The fault with what it carries.
fn vary(chooser: &mut Chooser, size: Size, fault: Fault) -> Fault {
    if !size.configuration {
        return fault;
    }
    match fault {
        Fault::RateLimited { .. } => {
            let waits = [None, Some(3), Some(1 << 30)];
            Fault::RateLimited { retry_after_ms: waits[chooser.pick(3) as usize] }
        }
        Fault::RequestFails(_) => {
            Fault::RequestFails(*chooser.one_of(ErrorClass::ALL).unwrap_or(&ErrorClass::Unknown))
        }
        Fault::ToolLate { .. } => {
            Fault::ToolLate { by_ms: [1, 7, 90_000][chooser.pick(3) as usize] }
        }
        Fault::ApprovalLate { .. } => {
            Fault::ApprovalLate { by_ms: [1, 7, 90_000][chooser.pick(3) as usize] }
        }
        Fault::AnswerLate { .. } => Fault::AnswerLate { behind: 1 + chooser.pick(8) },
        Fault::TornWrite { .. } => Fault::TornWrite { bytes: u64::from(chooser.pick(200)) },
        other => other,
    }
}

/// A place for a fault, if the scenario has one.
fn place(chooser: &mut Chooser, fault: Fault, scenario: &Scenario) -> Option<Seam> {
    let answers = scenario.answers.len() as u32;
    let worst = bound::certificate(&scenario.config);
    let most = |bound: u64| u32::try_from(bound.clamp(1, 6)).unwrap_or(1);
    Some(match fault.seam() {
        SeamKind::Byte => {
            let answer = 1 + chooser.pick(answers);
            let length = bytes(scenario.answers.get(answer as usize - 1)?)?;
            Seam::Byte { answer, byte: u64::from(chooser.pick(length + 1)) }
        }
        SeamKind::Event => {
            let answer = 1 + chooser.pick(answers);
            let events = events(scenario.answers.get(answer as usize - 1)?)?;
            Seam::Event { answer, event: 1 + chooser.pick(events) }
        }
        SeamKind::Answer => Seam::Answer(1 + chooser.pick(answers)),
        SeamKind::Tool => Seam::Tool(1 + chooser.pick(most(worst.tool_executions))),
        SeamKind::Hook => Seam::Hook(1 + chooser.pick(most(worst.hook_runs))),
        SeamKind::Approval => Seam::Approval(1 + chooser.pick(4)),
        SeamKind::Store => Seam::Store(1 + chooser.pick(4)),
        SeamKind::Compaction => Seam::Compaction(1 + chooser.pick(most(worst.compactions))),
        SeamKind::Input => Seam::Input(1 + chooser.pick(INPUTS)),
        SeamKind::Frame => Seam::Frame(1 + chooser.pick(INPUTS)),
    })
}

fn bytes(answer: &Answer) -> Option<u32> {
    match &answer.what {
        What::Stream(body) => Some(body.len() as u32),
        What::File(_) | What::Http { .. } | What::Fault(_) | What::Said(_) => None,
    }
}

fn events(answer: &Answer) -> Option<u32> {
    match &answer.what {
        What::Said(events) => Some(events.len() as u32).filter(|events| *events > 0),
        // A call of one piece, with what stands around it.
        What::Stream(_) => Some(8),
        What::File(_) | What::Http { .. } | What::Fault(_) => None,
    }
}
