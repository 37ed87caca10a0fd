//! A scenario out of a recording: what the world answered then, it can answer again.
//!
//! Times become places: what came n frames later comes n milliseconds later, so that the order of
//! everything is that of the recording, whatever the clock said. A body that was kept is served
//! byte for byte; where none was kept, its events stand for it.

use std::collections::BTreeMap;

use machine_spec::config::RunConfig;
use machine_spec::effect::{SealedRequest, Transport};
use machine_spec::ids::{EffectId, HookId};
use machine_spec::input::{ToolReport, ToolStatus};
use machine_spec::model::{BlockEnd, BlockKind, ModelEvent};
use machine_spec::{Effect, Input};
use wire::{Dialect, EncodeOptions};

use super::{
    Act, After, Afterwards, Answer, Approval, BadPlan, BodyPlan, Chunks, EndOfBody, HookPlan,
    Output, Patience, ProviderPlan, Scenario, ToolPlan, ToolRun, UserAct, Verdict, What,
    WhenCancelled, most_inputs, start_unix_ms,
};
use crate::format::v1::{BodyEnd, BodyNote, Frame, Provider};
use crate::reader::{Body, Recording};

/// The delay of a tool that was never heard of again: longer than any run.
const NEVER_MS: u64 = 1 << 40;

/// The scenario of a recording. Played without faults it is the same run.
///
/// # Errors
///
/// The recording names a dialect that this release does not know.
pub fn derive(recording: &Recording) -> Result<Scenario, BadPlan> {
    let header = &recording.header;
    let config = header.config.clone();
    let providers = providers(&config, &header.providers)?;
    let moments = moments(&recording.frames);
    let source = Source { recording, moments: &moments, providers: &providers };
    let mut scenario = Scenario {
        answers: source.answers(),
        afterwards: Afterwards::Text,
        keep_ids: true,
        tools: source.tools(),
        hooks: source.hooks(config.hooks().count()),
        compactions: source.compactions(),
        approvals: source.approvals(),
        recalls: source.said(|input| match input {
            Input::MemoryRecalled { result, .. } => Some(result.clone()),
            _ => None,
        }),
        refreshes: source.said(|input| match input {
            Input::CredentialRefreshed { result, .. } => Some(result.clone()),
            _ => None,
        }),
        shapes: source.said(|input| match input {
            Input::OutputChecked { verdict, .. } => Some(verdict.clone()),
            _ => None,
        }),
        stores: source.said(|input| match input {
            Input::ResultStored { result, .. } | Input::MemoryFlushed { result, .. } => {
                Some(result.clone())
            }
            _ => None,
        }),
        user: source.user(),
        patience: Patience::default(),
        start_unix_ms: start_unix_ms(),
        most_inputs: most_inputs(),
        verdicts: source.verdicts(),
        faults: Vec::new(),
        providers,
        config,
    };
    for verdict in &scenario.verdicts {
        let plan = scenario.tools.entry(verdict.tool.clone()).or_default();
        plan.safety = verdict.facts.safety;
    }
    Ok(scenario)
}

fn providers(config: &RunConfig, told: &[Provider]) -> Result<Vec<ProviderPlan>, BadPlan> {
    let plan = |(at, _)| {
        let Some(provider): Option<&Provider> = told.get(at) else {
            let options = EncodeOptions::default();
            return Ok(ProviderPlan { dialect: Dialect::Anthropic, options });
        };
        let bad = |problem: String| BadPlan::new(format!("providers[{at}]"), problem);
        let dialect = provider.dialect.parse().map_err(|_| {
            bad(format!("expected a dialect of this release, found `{}`", provider.dialect))
        })?;
        let options = provider.options.clone().into_iter().collect();
        let options = serde_json::from_value(serde_json::Value::Object(options))
            .map_err(|error| bad(format!("its options cannot be read: {error}")))?;
        Ok(ProviderPlan { dialect, options })
    };
    config.candidates.iter().enumerate().map(plan).collect()
}

/// The moment of each frame: its number, and for the later events of one piece that of its first.
fn moments(frames: &[Frame]) -> Vec<u64> {
    let mut moments: Vec<u64> = Vec::with_capacity(frames.len());
    for (at, frame) in frames.iter().enumerate() {
        let goes_on = matches!(&frame.input, Some(Input::ModelSaid { .. }))
            && frame.note.wire.is_none()
            && at > 0
            && matches!(&frames[at - 1].input, Some(Input::ModelSaid { .. }));
        let moment = if goes_on { moments[at - 1] } else { at as u64 };
        moments.push(moment);
    }
    moments
}

struct Source<'r> {
    recording: &'r Recording,
    moments: &'r [u64],
    providers: &'r [ProviderPlan],
}

impl Source<'_> {
    fn frames(&self) -> impl Iterator<Item = (usize, &Frame)> {
        self.recording.frames.iter().enumerate()
    }

    fn effects(&self) -> impl Iterator<Item = (usize, &Effect)> {
        self.frames().flat_map(|(at, frame)| frame.effects.iter().map(move |effect| (at, effect)))
    }

    /// The frames whose inputs answer an effect.
    fn answers_to(&self, id: EffectId) -> impl Iterator<Item = (usize, &Input)> {
        let inputs = self.frames().filter_map(|(at, frame)| Some((at, frame.input.as_ref()?)));
        inputs.filter(move |(_, input)| input.answers() == Some(id))
    }

    fn answers(&self) -> Vec<Answer> {
        let requests = self.effects().filter_map(|(at, effect)| match effect {
            Effect::CallModel { id, request } => Some((at, *id, request)),
            _ => None,
        });
        requests.map(|(at, id, request)| self.answer(at, id, request)).collect()
    }

    fn answer(&self, asked: usize, id: EffectId, request: &SealedRequest) -> Answer {
        let candidate = usize::from(request.candidate.0);
        // What came in one piece is no stream, so it is told in neutral words.
        let streamed = request.transport == Transport::Stream;
        let ends = self.answers_to(id).find_map(|(at, input)| match input {
            Input::ModelClosed { closure, .. } => Some((at, closure.clone())),
            _ => None,
        });
        let note = self.recording.responses().find(|note| streamed && note.effect == id);
        let kept = note.and_then(|note| Some((note, self.body(note)?)));
        let closed = ends.as_ref().map(|(at, _)| *at);
        let spoken = self.providers.get(candidate).map(|plan| plan.dialect);
        let (what, body) = match kept {
            Some((note, text)) => {
                let length = text.len() as u64;
                (What::Stream(text), self.delivery(asked, id, length, note.end, closed))
            }
            None => {
                let events = self.events(id);
                let body = self.event_delivery(asked, id, closed);
                (What::Said(events), body)
            }
        };
        let ends = ends.map(|(_, closure)| closure);
        Answer { what, after_ms: 0, body: Some(body), spoken, ends }
    }

    /// The text of a body that was kept, if it was a stream.
    fn body(&self, note: &BodyNote) -> Option<String> {
        let is_stream = note.status.is_some_and(|status| (200..300).contains(&status));
        if !is_stream || note.redacted {
            return None;
        }
        match self.recording.bodies.get(&note.digest) {
            Body::Found(bytes) => String::from_utf8(bytes).ok(),
            Body::Missing | Body::Altered { .. } | Body::Unreadable { .. } => None,
        }
    }

    fn events(&self, id: EffectId) -> Vec<ModelEvent> {
        let said = self.answers_to(id).filter_map(|(_, input)| match input {
            Input::ModelSaid { event, .. } => Some(event.clone()),
            _ => None,
        });
        said.collect()
    }

    fn delivery(
        &self,
        asked: usize,
        id: EffectId,
        length: u64,
        end: BodyEnd,
        closed: Option<usize>,
    ) -> BodyPlan {
        let pieces = self.answers_to(id).filter_map(|(at, _)| {
            let span = self.recording.frames[at].note.wire?;
            (span.body == id).then_some((at, span.from))
        });
        let pieces: Vec<(usize, u64)> = pieces.filter(|(_, from)| *from < length).collect();
        let end = match end {
            BodyEnd::Ended => EndOfBody::Eof,
            BodyEnd::Broken => EndOfBody::Reset,
            BodyEnd::Silent | BodyEnd::Cancelled => EndOfBody::Hang,
        };
        self.paused(asked, &pieces, length, end, closed)
    }

    /// Without a body the places are those of the events.
    fn event_delivery(&self, asked: usize, id: EffectId, closed: Option<usize>) -> BodyPlan {
        let said =
            self.answers_to(id).filter(|(_, input)| matches!(input, Input::ModelSaid { .. }));
        let pieces: Vec<(usize, u64)> = said.map(|(at, _)| at).zip(0..).collect();
        let length = pieces.len() as u64;
        self.paused(asked, &pieces, length, EndOfBody::Hang, closed)
    }

    fn paused(
        &self,
        asked: usize,
        pieces: &[(usize, u64)],
        length: u64,
        end: EndOfBody,
        closed: Option<usize>,
    ) -> BodyPlan {
        let mut pauses_ms = BTreeMap::new();
        let mut last = asked;
        for (at, from) in pieces {
            pauses_ms.insert(*from, self.between(last, *at));
            last = *at;
        }
        if let Some(closed) = closed {
            pauses_ms.insert(length, self.between(last, closed));
        }
        pauses_ms.retain(|_, ms| *ms > 0);
        let chunks = Chunks::At(pieces.iter().map(|(_, from)| *from).collect());
        BodyPlan { chunks, pauses_ms, end, note: String::new() }
    }

    fn between(&self, from: usize, to: usize) -> u64 {
        self.moments[to].saturating_sub(self.moments[from])
    }

    /// What was said of one kind, in order.
    fn said<T>(&self, what: impl Fn(&Input) -> Option<T>) -> Vec<T> {
        self.frames().filter_map(|(_, frame)| what(frame.input.as_ref()?)).collect()
    }

    /// What was decided about calls, in the order in which it was asked.
    fn approvals(&self) -> Vec<Approval> {
        let asked = self.effects().filter_map(|(at, effect)| match effect {
            Effect::AskApproval { id, .. } => Some((at, *id)),
            _ => None,
        });
        let decided = asked.filter_map(|(at, id)| {
            self.answers_to(id).find_map(|(then, input)| match input {
                Input::ApprovalGiven { decision, .. } => {
                    let (decision, delay_ms) = (decision.clone(), self.between(at, then));
                    Some(Approval { decision, delay_ms })
                }
                _ => None,
            })
        });
        decided.collect()
    }

    fn tools(&self) -> BTreeMap<String, ToolPlan> {
        let mut tools: BTreeMap<String, ToolPlan> = BTreeMap::new();
        for (at, effect) in self.effects() {
            let (Effect::RunTool { id, name, .. } | Effect::StartTask { id, name, .. }) = effect
            else {
                continue;
            };
            tools.entry(name.to_string()).or_default().runs.push(self.tool_run(at, *id));
        }
        tools
    }

    fn tool_run(&self, started: usize, id: EffectId) -> ToolRun {
        let returned = self.answers_to(id).find_map(|(at, input)| match input {
            Input::ToolReturned { report, .. } | Input::TaskEnded { report, .. } => {
                Some((at, report))
            }
            _ => None,
        });
        let Some((at, ToolReport { status, output, images, spent })) = returned else {
            let when_cancelled = WhenCancelled::IsSilent;
            return ToolRun { delay_ms: NEVER_MS, when_cancelled, ..ToolRun::default() };
        };
        // A run that ended otherwise than by being cancelled would have ended so anyway, and one
        // that said something then says it again.
        let when_cancelled = match (status, output.is_empty()) {
            (ToolStatus::Cancelled, true) => WhenCancelled::Stops,
            (ToolStatus::Cancelled, false)
            | (
                ToolStatus::Succeeded
                | ToolStatus::Failed
                | ToolStatus::TimedOut
                | ToolStatus::Partial,
                _,
            ) => WhenCancelled::GoesOn,
        };
        ToolRun {
            status: *status,
            output: Output::Text(output.clone()),
            delay_ms: self.between(started, at),
            when_cancelled,
            images: images.clone(),
            spent: *spent,
        }
    }

    fn hooks(&self, count: usize) -> Vec<HookPlan> {
        let mut hooks = vec![HookPlan::default(); count];
        let asked = self.effects().filter_map(|(at, effect)| match effect {
            Effect::AskHook { id, hook, .. } => Some((at, *id, *hook)),
            _ => None,
        });
        for (asked, id, HookId(hook)) in asked {
            let answer = self.answers_to(id).find_map(|(at, input)| match input {
                Input::HookAnswered { answer, .. } => Some((at, answer.clone())),
                _ => None,
            });
            if let (Some((at, answer)), Some(plan)) = (answer, hooks.get_mut(usize::from(hook))) {
                plan.answers.push(answer);
                plan.delays_ms.push(self.between(asked, at));
            }
        }
        hooks
    }

    fn compactions(&self) -> Vec<machine_spec::input::Compaction> {
        let results = self.frames().filter_map(|(_, frame)| match &frame.input {
            Some(Input::Compacted { result, .. }) => Some(result.clone()),
            Some(_) | None => None,
        });
        results.collect()
    }

    fn user(&self) -> Vec<UserAct> {
        let acts = self.frames().filter_map(|(at, frame)| {
            let act = match frame.input.clone()? {
                Input::UserSaid { text, images, rules } => Act::Says { text, images, rules },
                Input::Interrupted { by } => Act::Interrupts { by },
                _ => return None,
            };
            let after = if at <= 1 { After::Start } else { After::Inputs(at as u64 - 1) };
            Some(UserAct { act, after, plus_ms: 0 })
        });
        acts.collect()
    }

    /// What the tools said about each call, as the recording tells it.
    fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts: Vec<Verdict> = Vec::new();
        let mut open: BTreeMap<(EffectId, u32), (String, String)> = BTreeMap::new();
        for (_, frame) in self.frames() {
            let Some(Input::ModelSaid { id, event }) = &frame.input else { continue };
            match event {
                ModelEvent::BlockBegan { block, kind: BlockKind::Call { name, .. } } => {
                    open.insert((*id, *block), (name.clone(), String::new()));
                }
                ModelEvent::Delta { block, text } => {
                    if let Some((_, args)) = open.get_mut(&(*id, *block)) {
                        args.push_str(text);
                    }
                }
                ModelEvent::BlockDone { block, done: BlockEnd::Call(facts), .. } => {
                    let Some((tool, args)) = open.remove(&(*id, *block)) else { continue };
                    let verdict = Verdict { tool, args, facts: facts.clone() };
                    if !verdicts.contains(&verdict) {
                        verdicts.push(verdict);
                    }
                }
                ModelEvent::Began { .. }
                | ModelEvent::BlockBegan { .. }
                | ModelEvent::BlockDone { .. }
                | ModelEvent::Usage(_)
                | ModelEvent::Finished { .. }
                | ModelEvent::Failed(_) => {}
            }
        }
        verdicts
    }
}
