//! Who is asked whether a call may run, and what the answers mean.
//!
//! The order is: doom, required order, tool hooks, permission rules, approval. A hook can forbid,
//! ask, edit or defer, but it cannot lift a rule: the rules are read after it (2.4). Edited arguments
//! are judged like any others.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Board, Message, Slot, Status};
use crate::config::{DeferredCall, FailMode, HookPoint, ToolKind};
use crate::effect::{Effect, EffectKind, Gated, HookQuestion, Notice};
use crate::frame::{Frame, Grant, Stop, Waiting};
use crate::gate;
use crate::hooking::{self, Asked, HookReply};
use crate::ids::{CallId, EffectId, RuleId};
use crate::input::{Decision, GrantScope, HookAnswer};
use crate::message::{GateRefusal, NotApproved, NotStarted, Origin, Outcome};
use crate::model::{ArgsVerdict, CallFacts, Permission};
use crate::policy::Denial;
use crate::rooms::Out;

impl Slot {
    /// A call as its block is complete, with the judgement of the gate over it.
    pub(crate) fn judged(
        call: CallId,
        block: u32,
        name: &str,
        args: &str,
        facts: &CallFacts,
        frame: &Frame,
    ) -> Slot {
        let spec = frame.config.tool(name);
        Slot {
            call,
            block,
            wire_id: Arc::from(""),
            name: Arc::from(name),
            args: Arc::from(args),
            canonical: canonical(facts),
            safety: facts.safety,
            read_only: spec.is_some_and(|tool| tool.read_only),
            kind: spec.map_or(ToolKind::Plain, |tool| tool.kind),
            permission: facts.permission.clone(),
            lacks: facts.lacks.clone(),
            edited: false,
            status: gate::judge(name, facts, frame),
            images: Vec::new(),
        }
    }

    /// Runs with these arguments instead; they are judged like any others.
    fn edit(&mut self, args: &str, facts: &CallFacts, frame: &Frame, out: &mut Out) {
        self.args = Arc::from(args);
        self.canonical = canonical(facts);
        self.safety = facts.safety;
        self.permission = facts.permission.clone();
        self.lacks = facts.lacks.clone();
        self.edited = true;
        self.status = gate::judge(&self.name, facts, frame);
        self.tell(Gated::Edited, out);
    }

    fn tell(&self, verdict: Gated, out: &mut Out) {
        out.emit(Effect::Notify(Notice::CallGated { call: self.call, verdict }));
    }

    fn refuse(&mut self, why: GateRefusal, out: &mut Out) {
        self.status = Status::Settled { ran: false, outcome: Outcome::Refused { why } };
        self.tell(Gated::Denied, out);
    }

    /// Reads the rules. What they only ask for is wanted.
    fn read_rules(&mut self, reason: Arc<str>, asked: bool, frame: &Frame, out: &mut Out) {
        match &self.permission {
            Permission::Deny { reason } => {
                let reason = reason.clone();
                self.refuse(GateRefusal::Denied { reason }, out);
            }
            Permission::OutOfScope => self.refuse(GateRefusal::OutOfScope, out),
            Permission::Ask if !frame.is_granted(&self.name, self.canonical) => {
                self.status = Status::Wanting { reason };
            }
            Permission::Ask | Permission::Allow if asked => {
                self.status = Status::Wanting { reason };
            }
            Permission::Ask | Permission::Allow => self.status = Status::Queued,
        }
    }
}

fn canonical(facts: &CallFacts) -> u64 {
    match facts.args {
        ArgsVerdict::Valid { canonical } => canonical,
        ArgsVerdict::Malformed { .. } | ArgsVerdict::Invalid { .. } => 0,
    }
}

impl Board {
    /// Asks about every call whose time has come.
    pub(super) fn vet(&mut self, message: Message, frame: &mut Frame, out: &mut Out) {
        for at in 0..self.slots.len() {
            let (earlier, rest) = self.slots.split_at_mut(at);
            let slot = &mut rest[0];
            if !message.lets(slot.safety) {
                continue;
            }
            if slot.status == Status::Unvetted {
                if frame.doom.forbids(earlier, slot) {
                    return self.give_up_pending(NotStarted::DoomLoop, frame, out);
                }
                if let Some(first) = out_of_order(slot, earlier, frame) {
                    slot.refuse(GateRefusal::OutOfOrder { first }, out);
                    continue;
                }
                slot.ask_hooks(frame, out);
            }
            // People are asked about complete messages only (B030).
            if message == Message::Over && matches!(slot.status, Status::Wanting { .. }) {
                slot.ask_somebody(frame, out);
            }
        }
    }

    /// A tool hook has answered.
    pub(super) fn hook_answered(
        &mut self,
        id: EffectId,
        answer: &HookAnswer,
        frame: &mut Frame,
        out: &mut Out,
    ) {
        let lone = self.slots.len() == 1;
        for slot in &mut self.slots {
            let Status::Vetting(asked) = &mut slot.status else { continue };
            if !hooking::note(asked, id, answer, frame, out) {
                continue;
            }
            if !hooking::is_open(asked) {
                let asked = core::mem::take(asked);
                slot.vetted(&asked, lone, frame, out);
            }
        }
        self.halt_if_told(frame, out);
    }

    /// Somebody has decided about a call.
    pub(super) fn decided(
        &mut self,
        id: EffectId,
        decision: Decision,
        frame: &mut Frame,
        out: &mut Out,
    ) {
        let lone = self.slots.len() == 1;
        let stands_for = |slot: &&mut Slot| slot.status == Status::Asking(id);
        let Some(slot) = self.slots.iter_mut().find(stands_for) else { return };
        let denied = matches!(decision, Decision::Denied { .. });
        slot.decide(decision, lone, frame, out);
        if denied && frame.config.policy.denial == Denial::Batch {
            self.give_up_pending(NotStarted::BatchDenied, frame, out);
        }
    }

    /// A hook stops everything: no further call of the response is started.
    fn halt_if_told(&mut self, frame: &mut Frame, out: &mut Out) {
        let halted = match frame.stop {
            Stop::Halted { .. } => true,
            Stop::Nothing | Stop::Deferred { .. } => false,
        };
        if halted {
            self.give_up_pending(NotStarted::Halted, frame, out);
        }
    }
}

/// The tool that must succeed before this call, if a rule in force says so. What stands before it in
/// the same response counts once it has succeeded, or while it may still.
fn out_of_order(slot: &Slot, earlier: &[Slot], frame: &Frame) -> Option<String> {
    let ordered = |rule: &RuleId| {
        frame.config.rules.get(usize::from(rule.0)).is_some_and(|rule| rule.ordered)
    };
    let active = frame.guard.active.iter().map(|active| active.rule).filter(ordered);
    for rule in active {
        let missing = frame.missing(rule);
        let Some(at) = missing.iter().position(|tool| **tool == *slot.name) else { continue };
        let comes = |tool: &String| {
            earlier
                .iter()
                .any(|slot| *slot.name == **tool && (slot.is_pending() || slot.has_started()))
        };
        if let Some(first) = missing[..at].iter().find(|tool| !comes(tool)) {
            return Some(first.clone());
        }
    }
    None
}

impl Slot {
    fn ask_hooks(&mut self, frame: &mut Frame, out: &mut Out) {
        let (call, tool, args) = (self.call, self.name.clone(), self.args.clone());
        let asked = hooking::ask(HookPoint::Tool, frame, out, |_| HookQuestion::Tool {
            call,
            tool: tool.clone(),
            args: args.clone(),
        });
        if asked.is_empty() {
            self.read_rules(Arc::from(""), false, frame, out);
        } else {
            self.status = Status::Vetting(asked);
        }
    }

    /// All hooks have answered. The most restrictive answer wins: halt, deny, defer, ask, edit.
    fn vetted(&mut self, asked: &[Asked], lone: bool, frame: &mut Frame, out: &mut Out) {
        let mut reason: Option<Arc<str>> = None;
        let mut edit = None;
        let mut deferred = false;
        for Asked { hook, reply, .. } in asked {
            let HookReply::Said(answer) = reply else { continue };
            match answer {
                HookAnswer::Halted { reason } => {
                    frame.stop = Stop::Halted { reason: reason.clone() };
                    self.status = Status::Queued;
                    return;
                }
                HookAnswer::Denied { reason } | HookAnswer::Blocked { reason } => {
                    let reason = reason.clone();
                    return self.refuse(GateRefusal::Denied { reason }, out);
                }
                HookAnswer::Failed { problem } if fails_closed(*hook, frame) => {
                    let reason = problem.clone();
                    return self.refuse(GateRefusal::Denied { reason }, out);
                }
                HookAnswer::Asked { reason: why, edit: wanted } => {
                    reason.get_or_insert_with(|| Arc::from(why.as_str()));
                    edit = edit.or(wanted.as_deref().map(|edit| (&edit.args, &edit.facts)));
                }
                HookAnswer::Edited { args, facts } => edit = edit.or(Some((args, facts))),
                HookAnswer::Deferred => deferred = true,
                HookAnswer::Continued { context } => {
                    frame.inbox.push(Waiting::words(Origin::HookFeedback, context.clone()));
                }
                HookAnswer::Allowed | HookAnswer::Failed { .. } => {}
            }
        }
        if deferred && lone {
            return self.defer(frame, out);
        }
        if let Some((args, facts)) = edit {
            self.edit(args, facts, frame, out);
            if self.status != Status::Unvetted {
                return;
            }
        }
        // Only a lone call can be deferred; among others somebody is asked instead.
        let asked = reason.is_some() || deferred;
        self.read_rules(reason.unwrap_or_else(|| Arc::from("")), asked, frame, out);
    }

    /// The run ends with this call pending; its result says so.
    fn defer(&mut self, frame: &mut Frame, out: &mut Out) {
        let facts = CallFacts {
            args: ArgsVerdict::Valid { canonical: self.canonical },
            safety: self.safety,
            permission: self.permission.clone(),
            lacks: self.lacks.clone(),
        };
        let (name, args) = (String::from(&*self.name), String::from(&*self.args));
        frame.stop = Stop::Deferred { call: DeferredCall { name, args, facts } };
        let outcome = Outcome::NotStarted { why: NotStarted::Deferred };
        self.status = Status::Settled { ran: false, outcome };
        self.tell(Gated::Deferred, out);
    }

    fn ask_somebody(&mut self, frame: &mut Frame, out: &mut Out) {
        let Status::Wanting { reason } = &self.status else { return };
        let id = frame.open(EffectKind::AskApproval);
        out.emit(Effect::AskApproval {
            id,
            call: self.call,
            name: self.name.clone(),
            args: self.args.clone(),
            reason: String::from(&**reason),
            lineage: frame.config.lineage.clone(),
        });
        self.status = Status::Asking(id);
    }

    fn decide(&mut self, decision: Decision, lone: bool, frame: &mut Frame, out: &mut Out) {
        let how = match decision {
            Decision::Allowed => {
                self.status = Status::Queued;
                return;
            }
            Decision::AllowedAlways { scope } => {
                let canonical = match scope {
                    GrantScope::Call => Some(self.canonical),
                    GrantScope::Tool => None,
                };
                frame.grants.push(Grant { tool: self.name.clone(), canonical });
                self.status = Status::Queued;
                return;
            }
            Decision::Edited { args, facts } => {
                self.edit(&args, &facts, frame, out);
                if self.status == Status::Unvetted {
                    // Who edits has seen what runs; a rule that forbids it still counts.
                    self.permission = match &self.permission {
                        Permission::Ask => Permission::Allow,
                        Permission::Allow | Permission::Deny { .. } | Permission::OutOfScope => {
                            self.permission.clone()
                        }
                    };
                    self.read_rules(Arc::from(""), false, frame, out);
                }
                return;
            }
            Decision::Deferred if lone => return self.defer(frame, out),
            Decision::Denied { reason } => {
                self.tell(Gated::Refused, out);
                NotApproved::Denied { reason }
            }
            Decision::TimedOut => self.unanswered(NotApproved::TimedOut, out),
            Decision::Queued { ticket } => self.unanswered(NotApproved::Queued { ticket }, out),
            Decision::Deferred | Decision::NoVerdict => {
                self.unanswered(NotApproved::NoVerdict, out)
            }
        };
        self.status = Status::Settled { ran: false, outcome: Outcome::NotApproved { how } };
    }

    fn unanswered(&self, how: NotApproved, out: &mut Out) -> NotApproved {
        self.tell(Gated::Unanswered, out);
        how
    }
}

fn fails_closed(hook: crate::ids::HookId, frame: &Frame) -> bool {
    frame.config.hook(hook).is_some_and(|hook| hook.on_failure == FailMode::Closed)
}
