//! Carries out the orders of the machine.

use machine_spec::effect::SealedRequest;
use machine_spec::ids::{EffectId, HookId};
use machine_spec::input::{
    Compaction, Decision, HookAnswer, OutputVerdict, Recall, Refresh, Stored, ToolReport,
    ToolStatus,
};
use machine_spec::model::{Closure, Failure, ModelEvent};
use machine_spec::policy::Compactor;
use machine_spec::view::View;
use machine_spec::{Effect, Input, summary};
use wire::ResponseReader;

use super::attempt::Attempt;
use super::ids::renewed;
use super::queue::Due;
use super::{Asked, Awaits, Execution, RunningTool, Trouble, World};
use crate::format::v1::BodyEnd;
use crate::scenario::{
    Afterwards, Answer, Approval, Output, ToolRun, What, WhenCancelled, WireFile,
};
use crate::sink::Sink;

impl<S: Sink> World<'_, S> {
    /// Carries out one order.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::CallModel { id, request } => self.call_model(id, &request),
            Effect::RunTool { id, call, name, args, .. } => {
                let (tool, args) = (name.to_string(), args.to_string());
                let execution = Execution { call, tool, args, started_ms: self.now, ended: None };
                self.run_tool(id, execution, Awaits::Result);
            }
            Effect::StartTask { id, call, name, args, .. } => {
                let (tool, args) = (name.to_string(), args.to_string());
                let execution = Execution { call, tool, args, started_ms: self.now, ended: None };
                self.run_tool(id, execution, Awaits::TaskReport);
            }
            Effect::AskApproval { id, .. } => self.ask_approval(id),
            Effect::StoreResult { id, .. } => {
                let result = self.put_aside(format!("results/{id}"));
                self.answer_now(Input::ResultStored { id, result });
            }
            Effect::FlushMemory { id, .. } => {
                let result = self.put_aside("memory".to_owned());
                self.answer_now(Input::MemoryFlushed { id, result });
            }
            Effect::RecallMemory { id, .. } => {
                let result = next(&self.scenario.recalls, &mut self.counts.recalls);
                let result = result.unwrap_or(Recall::Nothing);
                self.answer_now(Input::MemoryRecalled { id, result });
            }
            Effect::RefreshCredential { id, .. } => {
                let result = next(&self.scenario.refreshes, &mut self.counts.refreshes);
                let none = || Refresh::Failed { problem: "there is no other credential".into() };
                let result = result.unwrap_or_else(none);
                self.answer_now(Input::CredentialRefreshed { id, result });
            }
            Effect::CheckOutput { id, .. } => {
                let verdict = next(&self.scenario.shapes, &mut self.counts.shapes);
                let verdict = verdict.unwrap_or(OutputVerdict::Fits);
                self.answer_now(Input::OutputChecked { id, verdict });
            }
            Effect::Compact { id, head, by } => self.compact(id, &head, by),
            Effect::AskHook { id, hook, question } => {
                self.run.questions.push(Asked { at_ms: self.now, hook, question });
                self.ask_hook(id, hook);
            }
            Effect::SetTimer { id, after_ms, .. } => {
                let due = Due::Input(Input::TimerFired { id });
                self.queue.push(self.now.saturating_add(after_ms), due);
            }
            Effect::Cancel { id } => self.cancel(id),
            Effect::Detach { id } => {
                // It runs on, and nobody hears how it ends.
                self.tools.remove(&id);
                self.queue.drop_effect(id);
            }
            Effect::Notify(notice) => self.run.notices.push((self.now, notice)),
            Effect::Reject(_) | Effect::Finish(_) => {}
        }
    }

    fn call_model(&mut self, id: EffectId, request: &SealedRequest) {
        let n = self.counts.requests;
        let Some(answer) = self.answer(n) else {
            let (request, answers) = (n as usize + 1, self.scenario.answers.len());
            self.trouble.get_or_insert(Trouble::Exhausted { request, answers });
            return;
        };
        let times_served = self.serve(n);
        let after_ms = answer.after_ms;
        let file = match &answer.what {
            What::Said(events) => return self.say_plan(id, events, &answer),
            What::Fault(class) => {
                let failure = Failure::new(*class, format!("planned: {class}"));
                let closure = answer.ends.clone().unwrap_or(Closure::Failed(failure));
                let due = Due::Input(Input::ModelClosed { id, closure });
                return self.queue.push(self.now + after_ms, due);
            }
            What::File(name) => match self.library.get(name) {
                Some(file) => file.clone(),
                None => {
                    self.trouble.get_or_insert(Trouble::NoSuchFile { name: name.clone() });
                    return;
                }
            },
            What::Stream(body) => WireFile::stream(body.as_bytes(), Default::default()),
            What::Http { status, headers, body } => WireFile {
                status: *status,
                headers: headers.clone(),
                ..WireFile::stream(body.as_bytes(), Default::default())
            },
        };
        let plan = answer.body.clone().unwrap_or_else(|| file.plan.clone());
        let mut file = WireFile { plan, ..file };
        if times_served > 1 && !self.scenario.keep_ids {
            let (body, plan) = renewed(&file.body, &file.plan, times_served);
            (file.body, file.plan) = (body.into(), plan);
        }
        let candidate = usize::from(request.candidate.0);
        let Some(provider) = self.scenario.providers.get(candidate) else {
            let name = format!("provider of {}", request.candidate);
            self.trouble.get_or_insert(Trouble::NoSuchFile { name });
            return;
        };
        let config = &self.scenario.config;
        let dialect = answer.spoken.unwrap_or(provider.dialect);
        let reader = ResponseReader::new(dialect, &provider.options, config, &request.tools);
        let attempt = Attempt::new(dialect, reader, file, answer.ends.clone());
        self.begin_attempt(id, attempt, after_ms);
    }

    /// A response in neutral words: it comes at once, and without a body to keep.
    fn say_plan(&mut self, id: EffectId, events: &[ModelEvent], answer: &Answer) {
        let plan = answer.body.clone().unwrap_or_default();
        let pieces = plan.pieces(events.len() as u64);
        let mut at = self.now.saturating_add(answer.after_ms);
        for (n, event) in (0..).zip(events) {
            let pause = pieces.iter().find(|(from, _)| *from == n).map_or(0, |(_, pause)| *pause);
            at = at.saturating_add(pause);
            self.queue.push(at, Due::Input(Input::ModelSaid { id, event: event.clone() }));
        }
        let closure = answer.ends.clone().unwrap_or(Closure::Ended);
        let at = at.saturating_add(plan.pause_before_end(events.len() as u64));
        self.queue.push(at, Due::Input(Input::ModelClosed { id, closure }));
    }

    /// The answer to the n-th request, from 0.
    fn answer(&self, n: u64) -> Option<Answer> {
        let answers = &self.scenario.answers;
        let planned = usize::try_from(n).ok().and_then(|n| answers.get(n));
        let last = match self.scenario.afterwards {
            Afterwards::Exhausted => None,
            Afterwards::LastAgain => answers.last(),
            Afterwards::Text => return planned.cloned().or_else(|| Some(Answer::text("done"))),
        };
        planned.or(last).cloned()
    }

    /// Counts a request; tells how often its answer was served, this time included.
    fn serve(&mut self, n: u64) -> u32 {
        self.counts.requests += 1;
        let Some(answer) = self.answer(n) else { return 0 };
        let key = match answer.what {
            What::File(name) => name,
            What::Stream(body) | What::Http { body, .. } => body,
            What::Fault(_) | What::Said(_) => return 0,
        };
        let times = self.counts.served.entry(key).or_default();
        *times += 1;
        *times
    }

    /// Counts a request that was sent before the process was killed.
    pub(super) fn count_serving(&mut self) {
        self.serve(self.counts.requests);
    }

    /// Counts a question to a hook.
    pub(super) fn count_ask(&mut self, hook: HookId) -> usize {
        let place = usize::from(hook.0);
        if self.counts.hook_asks.len() <= place {
            self.counts.hook_asks.resize(place + 1, 0);
        }
        self.counts.hook_asks[place] += 1;
        self.counts.hook_asks[place] as usize
    }

    fn ask_approval(&mut self, id: EffectId) {
        let approval = next(&self.scenario.approvals, &mut self.counts.approvals);
        let approval = approval.unwrap_or(Approval::at_once(Decision::NoVerdict));
        let due = Due::Input(Input::ApprovalGiven { id, decision: approval.decision });
        self.queue.push(self.now.saturating_add(approval.delay_ms), due);
    }

    fn put_aside(&mut self, reference: String) -> Stored {
        let planned = next(&self.scenario.stores, &mut self.counts.stores);
        planned.unwrap_or(Stored::Kept { reference })
    }

    fn answer_now(&mut self, input: Input) {
        self.queue.push(self.now, Due::Input(input));
    }

    fn run_tool(&mut self, id: EffectId, execution: Execution, awaits: Awaits) {
        let nth = {
            let starts = self.counts.tool_starts.entry(execution.tool.clone()).or_default();
            *starts += 1;
            *starts as usize
        };
        let run = self.planned_run(&execution.tool, nth);
        let delay_ms = match &mut self.times {
            None => run.delay_ms,
            // Between nothing and three times as long.
            Some(chooser) => run.delay_ms * u64::from(chooser.pick(301)) / 100,
        };
        let output = match run.output {
            Output::Text(text) => text,
            Output::Arguments => execution.args.clone(),
            Output::Clock => format!("{} ms", self.now + delay_ms),
        };
        let (images, spent) = (run.images, run.spent);
        let report = ToolReport { images, spent, ..ToolReport::new(run.status, output) };
        let running = RunningTool {
            execution: self.run.executions.len(),
            when_cancelled: run.when_cancelled,
            awaits,
        };
        self.tools.insert(id, running);
        self.run.executions.push(execution);
        self.queue.push(self.now + delay_ms, Due::Input(awaits.told(id, report)));
    }

    fn planned_run(&self, tool: &str, nth: usize) -> ToolRun {
        let runs = self.scenario.tools.get(tool).map_or(&[][..], |plan| &plan.runs);
        runs.get(nth - 1).or(runs.last()).cloned().unwrap_or_default()
    }

    /// Takes down how a tool ended.
    pub(super) fn note_end_of_tool(&mut self, input: &Input) {
        if let Input::ToolReturned { id, report } | Input::TaskEnded { id, report } = input
            && let Some(execution) =
                self.tools.remove(id).and_then(|tool| self.run.executions.get_mut(tool.execution))
        {
            execution.ended = Some((self.now, report.status));
        }
    }

    fn ask_hook(&mut self, id: EffectId, hook: HookId) {
        let nth = self.count_ask(hook);
        let plan = self.scenario.hooks.get(usize::from(hook.0));
        let answers = plan.map_or(&[][..], |plan| &plan.answers);
        let answer = answers.get(nth - 1).or(answers.last()).cloned();
        let answer = answer.unwrap_or(HookAnswer::Allowed);
        let delay_ms = plan.map_or(0, |plan| plan.delay(nth));
        self.queue.push(self.now + delay_ms, Due::Input(Input::HookAnswered { id, answer }));
    }

    fn compact(&mut self, id: EffectId, head: &View, by: Compactor) {
        let planned = self.scenario.compactions.get(self.counts.compactions).cloned();
        self.counts.compactions += 1;
        let result = match by {
            Compactor::Model => planned,
            Compactor::Off | Compactor::Summary => None,
        };
        let result = result.unwrap_or_else(|| {
            let text = summary::summarise(head);
            Compaction::Summarised { text, archive: String::new() }
        });
        self.queue.push(self.now, Due::Input(Input::Compacted { id, result }));
    }

    fn cancel(&mut self, id: EffectId) {
        if let Some(attempt) = self.attempts.remove(&id) {
            self.queue.drop_effect(id);
            self.recorder.body_ended(id, BodyEnd::Cancelled, Some(attempt.status()));
            return;
        }
        let Some(running) = self.tools.get(&id).copied() else {
            self.queue.drop_effect(id);
            return;
        };
        match running.when_cancelled {
            WhenCancelled::GoesOn => {}
            WhenCancelled::IsSilent => {
                self.queue.drop_effect(id);
            }
            WhenCancelled::Stops => {
                self.queue.drop_effect(id);
                let report = ToolReport::new(ToolStatus::Cancelled, "");
                self.queue.push(self.now, Due::Input(running.awaits.told(id, report)));
            }
        }
    }
}

/// The next of these plans, and one more is used.
fn next<T: Clone>(plans: &[T], used: &mut usize) -> Option<T> {
    let plan = plans.get(*used).cloned();
    *used += 1;
    plan
}
