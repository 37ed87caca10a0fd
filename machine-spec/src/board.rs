//! The board of a response's calls: what each is, and how far it has come.
//!
//! The order of calls is the order of the wire. A concurrent call may overlap with its neighbours;
//! an exclusive one waits for all earlier calls and holds back all later ones (3.5, T3).

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::effect::{Effect, EffectKind};
use crate::frame::Frame;
use crate::ids::{CallId, EffectId};
use crate::input::{ToolReport, ToolStatus};
use crate::message::{CallResult, NotStarted, Outcome};
use crate::model::Safety;
use crate::planted::{Defect, active};
use crate::policy::EarlyStart;
use crate::rooms::Out;

/// The calls of one response, in call order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Board {
    /// The calls.
    pub slots: Vec<Slot>,
}

/// One call and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// The call.
    pub call: CallId,
    /// The block of the response that holds it.
    pub block: u32,
    /// Its id on the wire; settled when the reply is filed.
    pub wire_id: Arc<str>,
    /// Name of the tool as the model wrote it.
    pub name: Arc<str>,
    /// The arguments.
    pub args: Arc<str>,
    /// Digest of its canonical arguments; zero where they cannot be used.
    pub canonical: u64,
    /// Whether it may overlap.
    pub safety: Safety,
    /// Whether it leaves no trace in the world.
    pub read_only: bool,
    /// How far it has come.
    pub status: Status,
}

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The gate let it pass; it waits for its turn.
    Queued,
    /// It runs. This is a fact that no recovery may repeat or hide.
    Running(EffectId),
    /// It has its outcome; `ran` tells whether it was ever started.
    Settled {
        /// Whether it was started.
        ran: bool,
        /// What came of it.
        outcome: Outcome,
    },
}

impl Slot {
    fn is_settled(&self) -> bool {
        match self.status {
            Status::Settled { .. } => true,
            Status::Queued | Status::Running(_) => false,
        }
    }

    /// Whether it was ever started.
    #[must_use]
    pub fn has_started(&self) -> bool {
        match self.status {
            Status::Running(_) | Status::Settled { ran: true, .. } => true,
            Status::Queued | Status::Settled { ran: false, .. } => false,
        }
    }
}

impl Board {
    /// Starts every call whose turn has come, as far as the parallelism limit allows.
    pub(crate) fn start_ready(&mut self, early: EarlyStart, frame: &mut Frame, out: &mut Out) {
        let limit = frame.config.limits.parallel_tools as usize;
        let mut running = self.running().count();
        let mut all_settled = true;
        for at in 0..self.slots.len() {
            let (earlier, rest) = self.slots.split_at_mut(at);
            let slot = &mut rest[0];
            if slot.status == Status::Queued && frame.doom.forbids(earlier, slot) {
                self.give_up_queued(NotStarted::DoomLoop);
                return;
            }
            let may_start = match slot.safety {
                Safety::Concurrent => !matches!(early, EarlyStart::Off),
                Safety::Exclusive => {
                    (all_settled || active(Defect::IgnoresBarrier))
                        && matches!(early, EarlyStart::All)
                }
            };
            if slot.status == Status::Queued && may_start && running < limit {
                let id = frame.open(EffectKind::RunTool);
                if !active(Defect::StartsTwice) {
                    slot.status = Status::Running(id);
                }
                running += 1;
                let (name, args) = (slot.name.clone(), slot.args.clone());
                out.emit(Effect::RunTool { id, call: slot.call, name, args });
            }
            all_settled &= slot.is_settled();
            if slot.safety == Safety::Exclusive && !slot.is_settled() {
                break;
            }
        }
    }

    /// Whether a call waits for its turn.
    #[must_use]
    pub fn has_queued(&self) -> bool {
        self.slots.iter().any(|slot| slot.status == Status::Queued)
    }

    /// The calls that run.
    pub fn running(&self) -> impl Iterator<Item = EffectId> + '_ {
        self.slots.iter().filter_map(|slot| match slot.status {
            Status::Running(id) => Some(id),
            Status::Queued | Status::Settled { .. } => None,
        })
    }

    /// Whether any call was ever started.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.slots.iter().any(Slot::has_started)
    }

    /// Whether every started call leaves no trace in the world.
    #[must_use]
    pub fn started_only_reads(&self) -> bool {
        self.slots.iter().filter(|slot| slot.has_started()).all(|slot| slot.read_only)
    }

    /// Whether every call has its outcome.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.slots.iter().all(Slot::is_settled)
    }

    /// Settles the running call that this effect stands for.
    pub(crate) fn settle(&mut self, id: EffectId, report: ToolReport) {
        let outcome = match report.status {
            ToolStatus::Succeeded => Outcome::Succeeded { output: report.output },
            ToolStatus::Failed => Outcome::Failed { output: report.output },
            ToolStatus::TimedOut => Outcome::TimedOut { output: report.output },
            ToolStatus::Cancelled if active(Defect::GuessesOutcome) => {
                Outcome::Succeeded { output: report.output }
            }
            ToolStatus::Cancelled => Outcome::Unknown { output: report.output },
        };
        for slot in &mut self.slots {
            if slot.status == Status::Running(id) {
                slot.status = Status::Settled { ran: true, outcome };
                return;
            }
        }
    }

    /// Gives every queued call this outcome: its turn will not come.
    pub(crate) fn give_up_queued(&mut self, why: NotStarted) {
        for slot in &mut self.slots {
            if slot.status == Status::Queued {
                let outcome = Outcome::NotStarted { why };
                slot.status = Status::Settled { ran: false, outcome };
            }
        }
    }

    /// Gives every running call up for unknown: it was told to stop and did not answer in time.
    pub(crate) fn give_up_running(&mut self, frame: &mut Frame) {
        for slot in &mut self.slots {
            if let Status::Running(id) = slot.status {
                frame.close(id);
                let outcome = Outcome::Unknown { output: Default::default() };
                slot.status = Status::Settled { ran: true, outcome };
            }
        }
    }

    /// Cancels every running call and forgets it. Only for calls without a trace in the world,
    /// with the response they came from (Part 7, decision 6).
    pub(crate) fn discard_running(&mut self, frame: &mut Frame, out: &mut Out) {
        for id in self.running() {
            frame.close(id);
            out.emit(Effect::Cancel { id });
        }
        self.slots.clear();
    }

    /// The results of all calls, in call order. A call without outcome is given up.
    pub(crate) fn into_results(mut self) -> Vec<CallResult> {
        self.give_up_queued(NotStarted::Interrupted);
        if active(Defect::MixesResults) {
            self.slots.reverse();
        }
        let results = self.slots.into_iter().filter_map(|slot| {
            let outcome = match slot.status {
                Status::Settled { outcome, .. } => outcome,
                Status::Queued | Status::Running(_) => return None,
            };
            Some(CallResult { call: slot.call, wire_id: slot.wire_id, name: slot.name, outcome })
        });
        results.collect()
    }
}
