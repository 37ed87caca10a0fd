//! Carries out the orders of the machine. A new order, or a new input that answers one, does not
//! compile until it is carried out here.

use machine_spec::effect::SealedRequest;
use machine_spec::ids::{EffectId, HookId};
use machine_spec::input::{
    Compaction, Decision, HookAnswer, OutputVerdict, Recall, Refresh, Stored, ToolReport,
    ToolStatus,
};
use machine_spec::policy::Compactor;
use machine_spec::view::View;
use machine_spec::{Effect, Input, Notice, Owner, summary};
use std::sync::Arc;

use super::{Arena, Due, Running, Serving, Stream};
use crate::faults::{Fault, Seam};
use crate::scenario::{Approval, Output, ToolRun, WhenCancelled};
use crate::world::Trouble;

/// How long a hook may take before it is given up, in milliseconds.
const HOOK_DEADLINE_MS: u64 = 60_000;

/// How long a call waits for somebody to decide about it, in milliseconds.
const APPROVAL_DEADLINE_MS: u64 = 300_000;

/// How long a tool may take before it is stopped, in milliseconds.
const TOOL_DEADLINE_MS: u64 = 60_000;

fn is_archived(result: &Compaction) -> bool {
    matches!(result, Compaction::Summarised { archive, .. } if !archive.is_empty())
}

/// Counts one more; tells how many there were before.
fn nth(count: &mut usize) -> usize {
    *count += 1;
    *count - 1
}

impl Arena<'_> {
    /// Carries out one order.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::CallModel { id, request } => self.call_model(id, &request),
            Effect::RunTool { id, name, args, .. } => self.run_tool(id, &name, &args),
            Effect::Compact { id, head, by } => self.compact(id, &head, by),
            Effect::AskHook { id, hook, .. } => self.ask_hook(id, hook),
            Effect::SetTimer { id, after_ms, .. } => {
                self.push(after_ms, Due::Input(Input::TimerFired { id }));
            }
            Effect::Cancel { id } => self.cancel(id),
            Effect::Notify(notice) => self.notify(&notice),
            Effect::StartTask { id, name, args, .. } => self.run_task(id, &name, &args),
            Effect::AskApproval { id, .. } => self.decide(id),
            Effect::StoreResult { id, .. } => {
                let result = self.stored();
                self.push(0, Due::Input(Input::ResultStored { id, result }));
            }
            Effect::FlushMemory { id, .. } => {
                let result = self.stored();
                self.push(0, Due::Input(Input::MemoryFlushed { id, result }));
            }
            Effect::RecallMemory { id, .. } => {
                let nth = nth(&mut self.counts.recalls);
                let planned = self.script.scenario.recalls.get(nth).cloned();
                let result = planned.unwrap_or(Recall::Nothing);
                self.push(0, Due::Input(Input::MemoryRecalled { id, result }));
            }
            Effect::RefreshCredential { id, .. } => {
                let nth = nth(&mut self.counts.refreshes);
                let planned = self.script.scenario.refreshes.get(nth).cloned();
                let problem = "planned: there is no other one".into();
                let result = planned.unwrap_or(Refresh::Failed { problem });
                self.push(0, Due::Input(Input::CredentialRefreshed { id, result }));
            }
            Effect::CheckOutput { id, .. } => {
                let nth = nth(&mut self.counts.shapes);
                let planned = self.script.scenario.shapes.get(nth).cloned();
                let verdict = planned.unwrap_or(OutputVerdict::Fits);
                self.push(0, Due::Input(Input::OutputChecked { id, verdict }));
            }
            Effect::Detach { id } => self.forget(id),
            Effect::Reject(_) | Effect::Finish(_) => {}
        }
    }

    /// What is decided about a call: as planned, and behind that nobody is there to ask.
    fn decide(&mut self, id: EffectId) {
        let nth = nth(&mut self.counts.approvals);
        let planned = self.script.scenario.approvals.get(nth).cloned();
        let Approval { mut decision, mut delay_ms } =
            planned.unwrap_or_else(|| Approval::at_once(Decision::NoVerdict));
        let here = Seam::Approval(nth as u32 + 1);
        while let Some(fault) = self.strikes(|placed| placed.at == here) {
            if let Fault::ApprovalLate { by_ms } = fault {
                delay_ms = delay_ms.saturating_add(by_ms);
                break;
            }
            (decision, delay_ms) = (Decision::TimedOut, delay_ms.max(APPROVAL_DEADLINE_MS));
        }
        self.push(delay_ms, Due::Input(Input::ApprovalGiven { id, decision }));
    }

    fn stored(&mut self) -> Stored {
        let nth = nth(&mut self.counts.stores);
        if self.strikes(|placed| placed.at == Seam::Store(nth as u32 + 1)).is_some() {
            return Stored::Failed { problem: "planned: store_fails".into() };
        }
        let planned = self.script.scenario.stores.get(nth).cloned();
        planned.unwrap_or_else(|| Stored::Kept { reference: format!("stored/{nth}") })
    }

    /// What became of an attempt decides which answer comes next.
    fn notify(&mut self, notice: &Notice) {
        if let Notice::AttemptFailed { .. } | Notice::ErrorWithheld { .. } = notice {
            self.serving.failed = true;
        } else if let Notice::Sealed { .. } = notice {
            self.serving.sealed = true;
        }
    }

    fn call_model(&mut self, id: EffectId, request: &SealedRequest) {
        self.counts.requests += 1;
        let Serving { answer, struck, failed, sealed } = self.serving;
        // A question that a fault left without an answer is asked again; a new one gets the next.
        let again = struck && failed && !sealed && request.owner != Owner::Step;
        let answer = if again { answer } else { answer + 1 };
        self.serving = Serving { answer, ..Serving::default() };
        let candidate = usize::from(request.candidate.0);
        let place = self.script.place(answer);
        let reply = place.and_then(|place| Some((place, self.script.reply(place, candidate)?)));
        let Some((place, reply)) = reply else {
            let (request, answers) = (answer as usize, self.script.planned() as usize);
            self.trouble.get_or_insert(Trouble::Exhausted { request, answers });
            return;
        };
        let times = self.count_serving(place);
        let reply = match self.faults.is_empty() {
            true => reply,
            false => self.spoil(answer, place, candidate, reply),
        };
        let reply = match times > 1 && !self.script.scenario.keep_ids {
            true => Arc::new(super::strike::renewed(&reply, times)),
            false => reply,
        };
        let first = reply.pieces.first().map_or(reply.before_end_ms, |piece| piece.pause_ms);
        let (closure, before_end_ms) = (reply.closure.clone(), reply.before_end_ms);
        let pieces = Arc::clone(&reply.pieces);
        self.streams.push(Stream { id, pieces, next: 0, closure, before_end_ms });
        self.push(first, Due::Piece(id));
    }

    fn count_serving(&mut self, place: usize) -> u32 {
        if self.counts.served.len() <= place {
            self.counts.served.resize(place + 1, 0);
        }
        self.counts.served[place] += 1;
        self.counts.served[place]
    }

    fn run_tool(&mut self, id: EffectId, name: &Arc<str>, args: &str) {
        let (report, delay_ms, when_cancelled) = self.planned_run(name, args);
        self.tools.push(Running { id, when_cancelled });
        self.push(delay_ms, Due::Input(Input::ToolReturned { id, report }));
    }

    /// A task that is stopped owes no answer.
    fn run_task(&mut self, id: EffectId, name: &Arc<str>, args: &str) {
        let (report, delay_ms, _) = self.planned_run(name, args);
        self.push(delay_ms, Due::Input(Input::TaskEnded { id, report }));
    }

    /// What comes of the next run of a tool, and when.
    fn planned_run(&mut self, name: &Arc<str>, args: &str) -> (ToolReport, u64, WhenCancelled) {
        self.counts.tools += 1;
        let nth = self.count_run(name);
        let runs = self.script.scenario.tools.get(&**name).map_or(&[][..], |plan| &plan.runs);
        let run = runs.get(nth - 1).or(runs.last()).cloned().unwrap_or_default();
        let ToolRun { mut status, output, mut delay_ms, when_cancelled, images, spent } = run;
        let mut output = match output {
            Output::Text(text) => text,
            Output::Arguments => args.to_owned(),
            Output::Clock => format!("{} ms", self.now.saturating_add(delay_ms)),
        };
        let (nth, mut wait) = (self.counts.tools, 0);
        while let Some(fault) = self.strikes(|placed| placed.at == Seam::Tool(nth)) {
            let told = match fault {
                Fault::ToolTimeout => Some((ToolStatus::TimedOut, TOOL_DEADLINE_MS)),
                Fault::ToolCrash => Some((ToolStatus::Failed, 0)),
                Fault::ToolUnknown => Some((ToolStatus::Cancelled, 0)),
                _ => None,
            };
            if let Some((told, ms)) = told {
                (status, output) = (told, format!("planned: {}", fault.word()));
                wait = ms;
            } else if let Fault::ToolLate { by_ms } = fault {
                delay_ms = delay_ms.saturating_add(by_ms);
                break;
            }
        }
        let report = ToolReport { images, spent, ..ToolReport::new(status, output) };
        (report, delay_ms.max(wait), when_cancelled)
    }

    fn count_run(&mut self, name: &Arc<str>) -> usize {
        match self.counts.runs.iter_mut().find(|(known, _)| known == name) {
            Some((_, runs)) => {
                *runs += 1;
                *runs
            }
            None => {
                self.counts.runs.push((Arc::clone(name), 1));
                1
            }
        }
    }

    fn ask_hook(&mut self, id: EffectId, hook: HookId) {
        self.counts.hooks += 1;
        let place = usize::from(hook.0);
        if self.counts.asks.len() <= place {
            self.counts.asks.resize(place + 1, 0);
        }
        self.counts.asks[place] += 1;
        let nth = self.counts.asks[place];
        let plan = self.script.scenario.hooks.get(place);
        let answers = plan.map_or(&[][..], |plan| &plan.answers);
        let answer = answers.get(nth - 1).or(answers.last()).cloned();
        let mut answer = answer.unwrap_or(HookAnswer::Allowed);
        let mut delay_ms = plan.map_or(0, |plan| plan.delay(nth));
        let nth = self.counts.hooks;
        if let Some(fault) = self.strikes(|placed| placed.at == Seam::Hook(nth)) {
            answer = HookAnswer::Failed { problem: format!("planned: {}", fault.word()) };
            if fault == Fault::HookHang {
                delay_ms = HOOK_DEADLINE_MS;
            }
        }
        self.push(delay_ms, Due::Input(Input::HookAnswered { id, answer }));
    }

    fn compact(&mut self, id: EffectId, head: &View, by: Compactor) {
        let nth = self.counts.compactions;
        self.counts.compactions += 1;
        let planned = self.script.scenario.compactions.get(nth as usize).cloned();
        let planned = match by {
            Compactor::Model => planned,
            // What was kept of the head somewhere else is told with the summary.
            Compactor::Summary => planned.filter(is_archived),
            Compactor::Off => None,
        };
        let mut result = planned.unwrap_or_else(|| Compaction::Summarised {
            text: summary::summarise(head),
            archive: String::new(),
        });
        if self.strikes(|placed| placed.at == Seam::Compaction(nth + 1)).is_some() {
            result = Compaction::Failed { problem: "planned: compaction_fails".into() };
        }
        self.push(0, Due::Input(Input::Compacted { id, result }));
    }

    fn cancel(&mut self, id: EffectId) {
        self.streams.retain(|stream| stream.id != id);
        let running = self.tools.iter().find(|tool| tool.id == id).copied();
        match running.map(|tool| tool.when_cancelled) {
            Some(WhenCancelled::GoesOn) => {}
            Some(WhenCancelled::IsSilent) => self.forget(id),
            Some(WhenCancelled::Stops) => {
                self.forget(id);
                let report = ToolReport::new(ToolStatus::Cancelled, "");
                self.push(0, Due::Input(Input::ToolReturned { id, report }));
            }
            None => self.forget(id),
        }
    }

    /// Drops everything that is due of an order.
    fn forget(&mut self, id: EffectId) {
        self.queue.retain(|timed| match &timed.due {
            Due::Input(input) => input.answers() != Some(id),
            Due::Piece(of) => *of != id,
            Due::Act(_) => true,
        });
    }
}
