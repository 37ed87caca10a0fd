//! The board of a response's calls: what each is, and how far it has come.
//!
//! The order of calls is the order of the wire. A concurrent call may overlap with its neighbours;
//! an exclusive one waits for all earlier calls and holds back all later ones (3.5, T3). Whether a
//! call may run at all is asked for all calls of a response at once, so that people can decide in
//! any order (B034); who is asked, and what the answers mean, stands in `board/vetting.rs`.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::config::{DeferredCall, ToolKind};
use crate::effect::{Allowance, Effect, EffectKind, Notice};
use crate::frame::{Frame, Task};
use crate::hooking::Asked;
use crate::ids::{CallId, EffectId, RuleId, TaskId};
use crate::input::{Stored, ToolReport, ToolStatus};
use crate::message::{CallResult, GateRefusal, Image, NotStarted, Outcome};
use crate::model::{Permission, Safety};
use crate::planted::{Defect, active};
use crate::policy::EarlyStart;
use crate::rooms::{Answer, Out};
use crate::wording;

mod vetting;

/// The calls of one response, in call order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Board {
    /// The calls.
    pub slots: Vec<Slot>,
    /// Whether they stand in no reply of this run, because an earlier run left them pending.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub resumed: bool,
}

/// One call and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Slot {
    /// The call.
    pub call: CallId,
    /// The block of the response that holds it.
    pub block: u32,
    /// Its id on the wire; settled when the reply is filed.
    pub wire_id: Arc<str>,
    /// Name of the tool as the model wrote it.
    pub name: Arc<str>,
    /// The arguments it runs with.
    pub args: Arc<str>,
    /// Digest of its canonical arguments; zero where they cannot be used.
    pub canonical: u64,
    /// Whether it may overlap.
    pub safety: Safety,
    /// Whether it leaves no trace in the world.
    pub read_only: bool,
    /// What a call of the tool is.
    pub kind: ToolKind,
    /// What the permission rules say about it.
    pub permission: Permission,
    /// The rules it does not have the arguments for.
    pub lacks: Vec<RuleId>,
    /// Whether its arguments are not the model's own.
    pub edited: bool,
    /// How far it has come.
    pub status: Status,
    /// Images that it came back with.
    #[serde(default)]
    pub images: Vec<Image>,
}

/// By hand, like a message: a call without images keeps its digest.
impl Serialize for Slot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A field that is not named here does not compile.
        let Slot {
            call,
            block,
            wire_id,
            name,
            args,
            canonical,
            safety,
            read_only,
            kind,
            permission,
            lacks,
            edited,
            status,
            images,
        } = self;
        let fields = 13 + usize::from(!images.is_empty());
        let mut slot = serializer.serialize_struct("Slot", fields)?;
        slot.serialize_field("call", call)?;
        slot.serialize_field("block", block)?;
        slot.serialize_field("wire_id", wire_id)?;
        slot.serialize_field("name", name)?;
        slot.serialize_field("args", args)?;
        slot.serialize_field("canonical", canonical)?;
        slot.serialize_field("safety", safety)?;
        slot.serialize_field("read_only", read_only)?;
        slot.serialize_field("kind", kind)?;
        slot.serialize_field("permission", permission)?;
        slot.serialize_field("lacks", lacks)?;
        slot.serialize_field("edited", edited)?;
        slot.serialize_field("status", status)?;
        if !images.is_empty() {
            slot.serialize_field("images", images)?;
        }
        slot.end()
    }
}

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The gate has nothing against the call as such; nobody was asked yet.
    Unvetted,
    /// The tool hooks are asked.
    Vetting(Vec<Asked>),
    /// Somebody must allow it, and is asked once the message is complete.
    Wanting {
        /// Why, in the hook's words; empty when a rule says so.
        reason: Arc<str>,
    },
    /// Somebody is asked.
    Asking(EffectId),
    /// It may run and waits for its turn.
    Queued,
    /// It runs. This is a fact that no recovery may repeat or hide.
    Running(EffectId),
    /// It came back, and its large output is being put aside.
    Storing {
        /// The order to keep it.
        id: EffectId,
        /// What came of it, whole.
        outcome: Outcome,
    },
    /// It has its outcome; `ran` tells whether it was ever started.
    Settled {
        /// Whether it was started.
        ran: bool,
        /// What came of it.
        outcome: Outcome,
    },
}

/// How far the message has come that the calls stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// More may follow: only what may start early does.
    Open(EarlyStart),
    /// It is over, so nothing is early any more.
    Over,
}

impl Message {
    /// Whether a call may be vetted and started at this point.
    const fn lets(self, safety: Safety) -> bool {
        match (self, safety) {
            (Message::Over, _) | (Message::Open(EarlyStart::All), _) => true,
            (Message::Open(EarlyStart::Safe), Safety::Concurrent) => true,
            (Message::Open(EarlyStart::Safe), Safety::Exclusive)
            | (Message::Open(EarlyStart::Off), _) => false,
        }
    }
}

impl Slot {
    /// A call that was never started gets this outcome, whatever was asked about it.
    pub(crate) fn give_up(&mut self, outcome: Outcome, frame: &mut Frame, out: &mut Out) {
        for id in self.asked() {
            frame.close(id);
            out.emit(Effect::Cancel { id });
        }
        self.status = Status::Settled { ran: false, outcome };
    }

    /// The open questions about it.
    fn asked(&self) -> Vec<EffectId> {
        match &self.status {
            Status::Vetting(asked) => crate::hooking::awaited(asked).collect(),
            Status::Asking(id) => Vec::from([*id]),
            Status::Unvetted
            | Status::Wanting { .. }
            | Status::Queued
            | Status::Running(_)
            | Status::Storing { .. }
            | Status::Settled { .. } => Vec::new(),
        }
    }

    /// Whether it was neither started nor given up.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        match self.status {
            Status::Unvetted
            | Status::Vetting(_)
            | Status::Wanting { .. }
            | Status::Asking(_)
            | Status::Queued => true,
            Status::Running(_) | Status::Storing { .. } | Status::Settled { .. } => false,
        }
    }

    fn is_settled(&self) -> bool {
        match self.status {
            Status::Settled { .. } => true,
            Status::Running(_) | Status::Storing { .. } => false,
            Status::Unvetted
            | Status::Vetting(_)
            | Status::Wanting { .. }
            | Status::Asking(_)
            | Status::Queued => false,
        }
    }

    /// Whether it was ever started.
    #[must_use]
    pub fn has_started(&self) -> bool {
        match self.status {
            Status::Running(_) | Status::Storing { .. } | Status::Settled { ran: true, .. } => true,
            Status::Settled { ran: false, .. } => false,
            Status::Unvetted
            | Status::Vetting(_)
            | Status::Wanting { .. }
            | Status::Asking(_)
            | Status::Queued => false,
        }
    }
}

impl Board {
    /// The board of the one call that an earlier run left pending.
    pub(crate) fn resumed(deferred: &DeferredCall, frame: &mut Frame) -> Board {
        let call = frame.mint_call();
        let slot = Slot::judged(call, 0, &deferred.name, &deferred.args, &deferred.facts, frame);
        Board { slots: Vec::from([slot]), resumed: true }
    }

    /// Vets and starts every call whose turn has come, as far as the limits allow.
    pub(crate) fn advance(&mut self, message: Message, frame: &mut Frame, out: &mut Out) {
        self.vet(message, frame, out);
        self.start_ready(message, frame, out);
    }

    /// Takes an answer about a call down, in the rooms that have a board. `Err` for any other.
    pub(crate) fn hear(
        &mut self,
        answer: Answer,
        frame: &mut Frame,
        out: &mut Out,
    ) -> Result<(), ()> {
        match answer {
            Answer::ToolReturned(id, report) => {
                frame.close(id);
                self.settle(id, report, frame, out);
            }
            Answer::ResultStored(id, result) => {
                frame.close(id);
                self.stored(id, &result, frame, out);
            }
            Answer::HookAnswered(id, answer) => {
                frame.close(id);
                self.hook_answered(id, &answer, frame, out);
            }
            Answer::ApprovalGiven(id, decision) => {
                frame.close(id);
                self.decided(id, decision, frame, out);
            }
            Answer::ModelSaid(_)
            | Answer::ModelClosed(_)
            | Answer::Compacted(_)
            | Answer::MemoryRecalled(_)
            | Answer::MemoryFlushed(_)
            | Answer::CredentialRefreshed(_)
            | Answer::OutputChecked(_)
            | Answer::TimerFired => return Err(()),
        }
        Ok(())
    }

    fn start_ready(&mut self, message: Message, frame: &mut Frame, out: &mut Out) {
        let limit = frame.config.limits.parallel_tools as usize;
        let mut running = self.running().count();
        let mut all_settled = true;
        for at in 0..self.slots.len() {
            let (earlier, rest) = self.slots.split_at_mut(at);
            let slot = &mut rest[0];
            let queued = slot.status == Status::Queued;
            if queued && frame.doom.forbids(earlier, slot) {
                return self.give_up_pending(NotStarted::DoomLoop, frame, out);
            }
            let turn = match slot.safety {
                Safety::Concurrent => true,
                // Later ones may run already: before an edit this one was concurrent (T03).
                Safety::Exclusive => all_settled && running == 0 || active(Defect::IgnoresBarrier),
            };
            if queued && turn && message.lets(slot.safety) && running < limit {
                running += usize::from(slot.start(frame, out));
            }
            all_settled &= slot.is_settled();
            if slot.safety == Safety::Exclusive && !slot.is_settled() {
                break;
            }
        }
    }

    /// The calls that run.
    pub fn running(&self) -> impl Iterator<Item = EffectId> + '_ {
        self.slots.iter().filter_map(|slot| match slot.status {
            Status::Running(id) => Some(id),
            Status::Unvetted
            | Status::Vetting(_)
            | Status::Wanting { .. }
            | Status::Asking(_)
            | Status::Queued
            | Status::Storing { .. }
            | Status::Settled { .. } => None,
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

    /// The running call that this effect stands for has come back.
    fn settle(&mut self, id: EffectId, report: ToolReport, frame: &mut Frame, out: &mut Out) {
        let Some((slot, bytes, outcome)) = self.came_back(id, report, frame) else { return };
        slot.status = if bytes > frame.config.limits.inline_result_bytes {
            let store = frame.open(EffectKind::StoreResult);
            out.emit(Effect::StoreResult { id: store, of: id, call: slot.call, bytes });
            Status::Storing { id: store, outcome }
        } else {
            Status::Settled { ran: true, outcome }
        };
    }

    /// Likewise, when there is no time to put a large output aside.
    pub(crate) fn settle_inline(&mut self, id: EffectId, report: ToolReport, frame: &mut Frame) {
        let Some((slot, bytes, outcome)) = self.came_back(id, report, frame) else { return };
        let large = bytes > frame.config.limits.inline_result_bytes;
        let outcome = if large { cut(outcome, &no_time(), frame) } else { outcome };
        slot.status = Status::Settled { ran: true, outcome };
    }

    /// The running call that came back, the bytes of its output, and what came of it.
    fn came_back(
        &mut self,
        id: EffectId,
        mut report: ToolReport,
        frame: &mut Frame,
    ) -> Option<(&mut Slot, u64, Outcome)> {
        frame.spend(report.spent);
        let slot = self.slots.iter_mut().find(|slot| slot.status == Status::Running(id))?;
        let bytes = report.output.len() as u64;
        slot.images = core::mem::take(&mut report.images);
        Some((slot, bytes, ended(report)))
    }

    /// A large output was put aside, or could not be: its head and tail stay either way.
    fn stored(&mut self, store: EffectId, result: &Stored, frame: &Frame, out: &mut Out) {
        for slot in &mut self.slots {
            let Status::Storing { id, outcome } = &slot.status else { continue };
            if *id != store {
                continue;
            }
            if let Stored::Failed { problem } = result {
                let (call, problem) = (slot.call, problem.clone());
                out.emit(Effect::Notify(Notice::StoreFailed { call, problem }));
            }
            let outcome = cut(outcome.clone(), result, frame);
            slot.status = Status::Settled { ran: true, outcome };
        }
    }

    /// Gives every call that was not started this outcome: its turn will not come.
    pub(crate) fn give_up_pending(&mut self, why: NotStarted, frame: &mut Frame, out: &mut Out) {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_pending()) {
            slot.give_up(Outcome::NotStarted { why }, frame, out);
        }
    }

    /// Does not wait any longer for outputs to be put aside.
    pub(crate) fn give_up_storing(&mut self, frame: &mut Frame, out: &mut Out) {
        for slot in &mut self.slots {
            let Status::Storing { id, outcome } = &slot.status else { continue };
            frame.close(*id);
            out.emit(Effect::Cancel { id: *id });
            let outcome = cut(outcome.clone(), &no_time(), frame);
            slot.status = Status::Settled { ran: true, outcome };
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

    /// Cancels whatever is open about the calls and forgets them. Only for calls without a trace in
    /// the world, with the response they came from (Part 7, decision 6).
    pub(crate) fn discard(&mut self, frame: &mut Frame, out: &mut Out) {
        for slot in self.slots.drain(..) {
            let under_way = match slot.status {
                Status::Running(id) | Status::Storing { id, .. } => Some(id),
                Status::Unvetted
                | Status::Vetting(_)
                | Status::Wanting { .. }
                | Status::Asking(_)
                | Status::Queued
                | Status::Settled { .. } => None,
            };
            for id in slot.asked().into_iter().chain(under_way) {
                frame.close(id);
                out.emit(Effect::Cancel { id });
            }
        }
    }

    /// The results of all calls, in call order, with what each call lacks. Every call is settled.
    pub(crate) fn into_results(mut self) -> Vec<(CallResult, Vec<RuleId>)> {
        if active(Defect::MixesResults) {
            self.slots.reverse();
        }
        let results = self.slots.into_iter().map(|slot| {
            let outcome = match slot.status {
                Status::Settled { outcome, .. } => outcome,
                Status::Unvetted
                | Status::Vetting(_)
                | Status::Wanting { .. }
                | Status::Asking(_)
                | Status::Queued
                | Status::Running(_)
                | Status::Storing { .. } => Outcome::NotStarted { why: NotStarted::Interrupted },
            };
            let edited = slot.edited.then_some(slot.args);
            let (call, wire_id, name) = (slot.call, slot.wire_id, slot.name);
            let images = slot.images;
            (CallResult { call, wire_id, name, outcome, edited, images }, slot.lacks)
        });
        results.collect()
    }
}

impl Slot {
    /// Starts the call; says whether it runs now.
    fn start(&mut self, frame: &mut Frame, out: &mut Out) -> bool {
        if self.kind.is_task() {
            self.start_task(frame, out);
            return false;
        }
        let id = frame.open(EffectKind::RunTool);
        if !active(Defect::StartsTwice) {
            self.status = Status::Running(id);
        }
        let allowance = allowance(self.kind, frame);
        let (call, name, args) = (self.call, self.name.clone(), self.args.clone());
        out.emit(Effect::RunTool { id, call, name, args, allowance });
        true
    }

    /// Starts the call in the background. It is settled at once, by its acknowledgement.
    fn start_task(&mut self, frame: &mut Frame, out: &mut Out) {
        let limits = &frame.config.limits;
        let full = frame.tasks.len() >= limits.parallel_tasks as usize;
        if full || frame.counters.tasks >= limits.tasks {
            let limit = if full { limits.parallel_tasks } else { limits.tasks };
            let outcome = Outcome::Refused { why: GateRefusal::TooManyTasks { limit } };
            self.status = Status::Settled { ran: false, outcome };
            return;
        }
        let effect = frame.open(EffectKind::StartTask);
        frame.counters.tasks += 1;
        let task = TaskId(frame.counters.tasks);
        let (call, tool) = (self.call, self.name.clone());
        let lacks = self.lacks.clone();
        frame.tasks.push(Task { task, effect, tool: tool.clone(), lacks });
        out.emit(Effect::Notify(Notice::TaskStarted { task, call, tool: tool.clone() }));
        let (args, allowance) = (self.args.clone(), allowance(self.kind, frame));
        out.emit(Effect::StartTask { id: effect, task, call, name: tool, args, allowance });
        self.status = Status::Settled { ran: true, outcome: Outcome::Acknowledged { task } };
    }
}

/// What a child may spend: what is left.
fn allowance(kind: ToolKind, frame: &Frame) -> Option<Allowance> {
    let (limits, spent) = (&frame.config.limits, frame.counters.spent);
    let left = |limit: u64, used: u64| (limit > 0).then(|| limit.saturating_sub(used));
    kind.is_child().then(|| Allowance {
        tokens: left(limits.tokens, spent.tokens),
        nanos: left(limits.nanos, spent.nanos),
        depth: frame.config.lineage.len() as u32 + 1,
    })
}

/// What a report comes to.
pub(crate) fn ended(report: ToolReport) -> Outcome {
    let output = report.output;
    match report.status {
        ToolStatus::Succeeded => Outcome::Succeeded { output },
        ToolStatus::Failed => Outcome::Failed { output },
        ToolStatus::TimedOut => Outcome::TimedOut { output },
        ToolStatus::Cancelled if active(Defect::GuessesOutcome) => Outcome::Succeeded { output },
        ToolStatus::Cancelled => Outcome::Unknown { output },
        ToolStatus::Partial => Outcome::Partial { output },
    }
}

fn no_time() -> Stored {
    Stored::Failed { problem: "the run was interrupted".into() }
}

/// The outcome with the middle of its output left out.
fn cut(outcome: Outcome, whole: &Stored, frame: &Frame) -> Outcome {
    let whole = match whole {
        Stored::Kept { reference } => Ok(reference.as_str()),
        Stored::Failed { problem } => Err(problem.as_str()),
    };
    let inline = frame.config.limits.inline_result_bytes;
    let short = |output: alloc::string::String| wording::cut_in_the_middle(&output, inline, whole);
    match outcome {
        Outcome::Succeeded { output } => Outcome::Succeeded { output: short(output) },
        Outcome::Failed { output } => Outcome::Failed { output: short(output) },
        Outcome::TimedOut { output } => Outcome::TimedOut { output: short(output) },
        Outcome::Unknown { output } => Outcome::Unknown { output: short(output) },
        Outcome::Partial { output } => Outcome::Partial { output: short(output) },
        Outcome::Acknowledged { .. }
        | Outcome::NotApproved { .. }
        | Outcome::NotStarted { .. }
        | Outcome::Refused { .. } => outcome,
    }
}
