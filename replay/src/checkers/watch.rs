//! The watch: an observer that counts for itself.

use machine_spec::effect::SealedRequest;
use machine_spec::ids::{AttemptId, CallId, EffectId};
use machine_spec::input::ToolStatus;
use machine_spec::ledger::awaited_id;
use machine_spec::limits::Limits;
use machine_spec::message::{Aside, Block, CallResult, Entry, Origin, Outcome, Reply, Wholeness};
use machine_spec::model::Safety;
use machine_spec::view::View;
use machine_spec::{
    Effect, EffectKind, Input, Notice, Owner, Passage, RunConfig, State, Step, Transcript, bound,
};

use super::brief::{EMPTY, Holds, hash_on};
use super::{Breach, Brief, breach, hash_of, output_hash};
use crate::doors;

/// Most doors that one input may open.
const MOST_DOORS: usize = 9;

/// An observer of one run.
#[derive(Clone, Debug)]
pub struct Watch {
    limits: Limits,
    most_model_calls: u64,
    /// Entries of earlier runs of the session.
    history: u32,
    /// Hashes of the names of tools that only read.
    readers: Vec<u64>,
    inputs: u64,
    opened: u64,
    open: Vec<Open>,
    model_calls: u64,
    attempts: Vec<Heard>,
    blocks: Vec<HeardBlock>,
    started: Vec<Started>,
    /// Calls whose output was put aside.
    put_aside: Vec<CallId>,
    /// Hashes of arguments that are not the model's own: edited, or left pending by an earlier run.
    edited: Vec<(u64, Safety)>,
    said: Vec<String>,
    returned: Vec<String>,
    transcript: Transcript,
    repeats: Repeats,
    finishes: u32,
}

/// An order that awaits its answer.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: EffectId,
    kind: EffectKind,
    /// Told to stop: a tool may still report, or be given up.
    cancelled: bool,
}

/// What was heard of an attempt.
#[derive(Clone, Copy, Debug)]
struct Heard {
    attempt: AttemptId,
    text_bytes: u64,
    shown: bool,
    retracted: bool,
}

/// A block of the attempt that is heard now.
#[derive(Clone, Copy, Debug)]
struct HeardBlock {
    holds: Holds,
    args: u64,
    bytes: u64,
    /// A complete call whose arguments may be used, and whether beside others.
    usable: Option<Safety>,
}

/// A call that was started.
#[derive(Clone, Copy, Debug)]
struct Started {
    call: CallId,
    id: EffectId,
    safety: Option<Safety>,
    /// It leaves no trace in the world, so it may be forgotten with the response it came from.
    only_reads: bool,
    ended: Option<(ToolStatus, u64)>,
}

/// Repetitions since anything came to its end.
#[derive(Clone, Copy, Debug, Default)]
struct Repeats {
    http: u32,
    stream: u32,
    hops: u32,
    hooks: u32,
    /// The user's words were read since the last request.
    steered: bool,
}

type Judged = Result<(), Breach>;

impl Watch {
    /// A watch over a run of this configuration.
    #[must_use]
    pub fn of(config: &RunConfig) -> Watch {
        Watch {
            limits: config.limits.clone(),
            most_model_calls: bound::certificate(config).model_calls,
            history: config.history.len(),
            readers: config
                .tools
                .iter()
                .filter(|tool| tool.read_only)
                .map(|tool| hash_of(&tool.name))
                .collect(),
            inputs: 0,
            opened: 0,
            open: Vec::new(),
            model_calls: 0,
            attempts: Vec::new(),
            blocks: Vec::new(),
            started: Vec::new(),
            put_aside: Vec::new(),
            edited: config
                .deferred
                .iter()
                .map(|call| (hash_of(&call.args), call.facts.safety))
                .collect(),
            said: Vec::new(),
            returned: Vec::new(),
            transcript: config.history.clone(),
            repeats: Repeats::default(),
            finishes: 0,
        }
    }

    /// Calls started so far.
    #[must_use]
    pub fn executions(&self) -> usize {
        self.started.len()
    }

    /// Requests sent so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.model_calls
    }

    fn fault(&self, law: &str, detail: impl Into<String>) -> Breach {
        breach(law, self.inputs, detail)
    }

    fn ensure(&self, law: &str, holds: bool, detail: impl FnOnce() -> String) -> Judged {
        if holds { Ok(()) } else { Err(self.fault(law, detail())) }
    }

    /// Judges the start.
    ///
    /// # Errors
    ///
    /// The broken law.
    pub fn begun(&mut self, step: &Step) -> Judged {
        self.effects(step)?;
        self.house(&step.state)
    }

    /// Takes down what an input says before it is stepped.
    #[inline]
    pub(crate) fn hear(&self, input: &Input) -> Brief {
        Brief::of(input, |block| self.args_so_far(block))
    }

    /// The hash of the arguments of an open call.
    fn args_so_far(&self, block: u32) -> Option<u64> {
        let heard = self.blocks.get(block as usize)?;
        matches!(heard.holds, Holds::Call(_)).then_some(heard.args)
    }

    /// Takes down a piece that the machine took down in place.
    #[inline]
    pub(crate) fn took_down(&mut self, block: u32, text: &str) {
        self.inputs += 1;
        self.heard_more(block, text.len() as u64, |args| hash_on(args, text));
    }

    /// A block has grown by so many bytes; of the arguments of a call a hash is kept.
    #[inline]
    fn heard_more(&mut self, block: u32, bytes: u64, args: impl FnOnce(u64) -> u64) {
        let Some(heard) = self.blocks.get_mut(block as usize) else { return };
        heard.bytes += bytes;
        match heard.holds {
            Holds::Text => {
                if let Some(attempt) = self.attempts.last_mut() {
                    attempt.text_bytes += bytes;
                }
            }
            Holds::Call(_) => heard.args = args(heard.args),
            Holds::Other => {}
        }
    }

    /// Judges what came of an input.
    ///
    /// # Errors
    ///
    /// The broken law.
    #[inline]
    pub(crate) fn judge(&mut self, brief: Brief, step: &Step) -> Judged {
        self.inputs += 1;
        if step.effects.is_empty() && step.trail.is_empty() {
            return self.accept(brief);
        }
        if step.effects.iter().any(|effect| matches!(effect, Effect::Reject(_))) {
            let alone = step.effects.len() == 1 && step.trail.is_empty();
            return self.ensure("I02", alone, || {
                format!("a refusal came with {} orders", step.effects.len())
            });
        }
        self.ensure("I03", self.finishes == 0, || "a finished run accepted an input".into())?;
        self.accept(brief)?;
        self.doors(&step.trail, &step.effects)?;
        self.effects(step)?;
        self.house(&step.state)
    }

    fn accept(&mut self, brief: Brief) -> Judged {
        match brief {
            Brief::Piece { block, bytes, hash } => self.heard_more(block, bytes, |_| hash),
            Brief::Begins { holds } => {
                self.blocks.push(HeardBlock { holds, args: EMPTY, bytes: 0, usable: None });
                if let Some(attempt) = self.attempts.last_mut() {
                    attempt.shown = true;
                }
            }
            Brief::Edited { id, args, safety } => {
                self.edited.push((args, safety));
                self.close(id)?;
            }
            Brief::CallDone { block, valid, safety } => {
                if let Some(heard) = self.blocks.get_mut(block as usize) {
                    heard.usable = valid.then_some(safety);
                }
            }
            Brief::Answer(id) => self.close(id)?,
            Brief::Tool { id, status, output, bytes } => {
                self.close(id)?;
                if let Some(call) = self.started.iter_mut().find(|call| call.id == id) {
                    call.ended = Some((status, output));
                    if bytes > self.limits.inline_result_bytes {
                        self.put_aside.push(call.call);
                    }
                }
            }
            Brief::Said(text) => {
                self.said.push(text);
            }
            Brief::Event | Brief::Other => {}
        }
        Ok(())
    }

    fn close(&mut self, id: EffectId) -> Judged {
        match self.open.iter().position(|open| open.id == id) {
            Some(at) => {
                self.open.swap_remove(at);
                Ok(())
            }
            None => Err(self.fault("I04", format!("{id} was answered and accepted twice"))),
        }
    }

    fn doors(&self, trail: &[Passage], effects: &[Effect]) -> Judged {
        self.ensure("I09", trail.len() <= MOST_DOORS, || format!("{} doors", trail.len()))?;
        doors::judge(trail, effects).map_err(|detail| self.fault("I11", detail))
    }

    fn effects(&mut self, step: &Step) -> Judged {
        for effect in &step.effects {
            if let Some(id) = awaited_id(effect) {
                self.ensure("I04", id.0 == self.opened, || {
                    format!("expected e{} to be opened next, found {id}", self.opened)
                })?;
                self.opened += 1;
                self.open.push(Open { id, kind: effect.kind(), cancelled: false });
            }
            if let Effect::CallModel { request, .. } = effect {
                self.request(request, &step.state)?;
            } else if let Effect::RunTool { id, call, name, args, .. } = effect {
                self.start(*id, *call, name, args)?;
            } else if let Effect::StartTask { id, call, name, args, .. } = effect {
                self.start(*id, *call, name, args)?;
            } else if let Effect::Cancel { id } | Effect::Detach { id } = effect {
                self.cancel(*id)?;
            } else if let Effect::Notify(notice) = effect {
                self.notice(notice);
            } else if let Effect::Finish(_) = effect {
                self.finishes += 1;
                self.ensure("I03", self.finishes == 1, || "a second end".into())?;
            }
        }
        Ok(())
    }

    fn cancel(&mut self, id: EffectId) -> Judged {
        let Some(at) = self.open.iter().position(|open| open.id == id) else {
            return Err(self.fault("I04", format!("{id} was cancelled and is not open")));
        };
        match self.open[at].kind {
            EffectKind::RunTool => self.open[at].cancelled = true,
            _ => {
                self.open.swap_remove(at);
            }
        }
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        if let Notice::Retracted { attempt } = notice
            && let Some(heard) = self.attempts.iter_mut().find(|heard| heard.attempt == *attempt)
        {
            heard.retracted = true;
        } else if let Notice::InputReturned { texts } = notice {
            self.returned.extend(texts.iter().cloned());
        } else if let Notice::InputAbsorbed { .. } = notice {
            self.repeats.steered = true;
        }
    }

    fn request(&mut self, request: &SealedRequest, state: &State) -> Judged {
        self.model_calls += 1;
        let most = self.most_model_calls;
        self.ensure("T06", self.model_calls <= most, || {
            format!("request {} of at most {most}", self.model_calls)
        })?;
        let transcript = state.frame().transcript();
        let unpaired = transcript.first_unpaired();
        self.ensure("I05", unpaired.is_none(), || {
            format!("a request is sent while entry {unpaired:?} is not paired")
        })?;
        self.ensure("I07", request.view == View::of(transcript), || {
            "the view of a request is not that of the transcript".into()
        })?;
        let kept = self.attempts.last().is_some_and(|last| keeps(transcript, last.attempt));
        if kept {
            // The response came to an end: its owners start afresh.
            (self.repeats.http, self.repeats.stream) = (0, 0);
        }
        self.repetition(request.owner)?;
        if let Some(last) = self.attempts.last() {
            let told = !last.shown || last.retracted || kept;
            self.ensure("T09", told, || {
                format!("{} was shown, is not kept and was not retracted", last.attempt)
            })?;
        }
        let (attempt, shown, retracted) = (request.attempt, false, false);
        self.attempts.push(Heard { attempt, text_bytes: 0, shown, retracted });
        self.blocks.clear();
        Ok(())
    }

    fn repetition(&mut self, owner: Owner) -> Judged {
        let repeats = &mut self.repeats;
        match owner {
            Owner::HttpRetry => repeats.http += 1,
            Owner::StreamReissue => repeats.stream += 1,
            Owner::ContextCompact => {}
            Owner::ModelFallback => {
                repeats.hops += 1;
                (repeats.http, repeats.stream) = (0, 0);
            }
            _ => {
                (repeats.http, repeats.stream) = (0, 0);
                repeats.hooks += u32::from(owner == Owner::HookReentry);
            }
        }
        if std::mem::take(&mut repeats.steered) {
            repeats.hooks = 0;
        }
        let (limits, used) = (&self.limits, self.repeats);
        for (name, used, limit) in [
            ("http retries", used.http, limits.http_retries),
            ("reissues", used.stream, limits.stream_reissues + limits.stall_reissues),
            ("hops", used.hops, limits.fallback_hops),
            ("hook re-entries", used.hooks, limits.stop_hook_blocks),
        ] {
            self.ensure("T07", used <= limit, || format!("{used} {name}, limit {limit}"))?;
        }
        Ok(())
    }

    fn start(&mut self, id: EffectId, call: CallId, name: &str, args: &str) -> Judged {
        let twice = self.started.iter().any(|started| started.call == call);
        self.ensure("T04", !twice, || format!("{call} was started twice"))?;
        let (name_hash, args_hash) = (hash_of(name), hash_of(args));
        let usable = self.blocks.iter().find_map(|block| {
            let same = block.args == args_hash || (block.bytes == 0 && args == "{}");
            (block.holds == Holds::Call(name_hash) && same).then_some(block.usable).flatten()
        });
        let edited = self.edited.iter().find(|(args, _)| *args == args_hash);
        let usable = usable.or(edited.map(|(_, safety)| *safety));
        self.ensure("T02", usable.is_some(), || {
            format!("{call} of `{name}` was started and was never heard complete and valid")
        })?;
        let mut running = self.open.iter().filter(|open| open.kind == EffectKind::RunTool);
        let others = running.clone().count() > 1;
        let beside_exclusive = running.any(|open| {
            let call = self.started.iter().find(|started| started.id == open.id);
            call.is_some_and(|call| call.safety == Some(Safety::Exclusive))
        });
        let alone = usable != Some(Safety::Exclusive) || !others;
        self.ensure("T03", alone && !beside_exclusive, || {
            format!("{call} of `{name}` overlaps, and one of them is exclusive")
        })?;
        let only_reads = self.readers.contains(&name_hash);
        self.started.push(Started { call, id, safety: usable, only_reads, ended: None });
        Ok(())
    }

    /// What can be seen of the state after a step that did something.
    fn house(&mut self, state: &State) -> Judged {
        let (transcript, ledger) = (state.frame().transcript(), state.frame().ledger());
        let grew = transcript.len() >= self.transcript.len()
            && *transcript.at(self.transcript.len()) == self.transcript;
        self.ensure("I06", grew, || "an earlier entry of the transcript changed".into())?;
        if transcript.len() != self.transcript.len() {
            self.transcript = transcript.clone();
        }
        let mut known = 0;
        for (id, kind) in ledger.iter() {
            let open = self.open.iter().any(|open| open.id == id && open.kind == kind);
            self.ensure("I04", open, || format!("the ledger holds {id}, which is not open"))?;
            known += 1;
        }
        if known != self.open.len() {
            // A tool that was told to stop may be given up.
            self.open.retain(|open| !open.cancelled || ledger.iter().any(|(id, _)| id == open.id));
            self.ensure("I04", known == self.open.len(), || {
                format!("{:?} is open and the ledger forgot it", self.open)
            })?;
        }
        self.ensure("I03", state.is_done() == (self.finishes == 1), || {
            format!("{} ends were told, and the run stands in {}", self.finishes, state.room())
        })?;
        if state.is_done() { self.end(state) } else { Ok(()) }
    }

    fn end(&self, state: &State) -> Judged {
        self.ensure("I03", self.open.is_empty(), || format!("{:?} is open", self.open))?;
        let transcript = state.frame().transcript();
        let unpaired = transcript.first_unpaired();
        self.ensure("I05", unpaired.is_none(), || format!("entry {unpaired:?} is not paired"))?;
        let entries = transcript.entries();
        let mut said = Vec::new();
        let (mut kept, mut results) = (Vec::new(), Vec::new());
        for entry in entries.into_iter().skip(self.history as usize) {
            match entry {
                Entry::Said(words) if matches!(words.origin, Origin::User | Origin::Steer) => {
                    said.push(&words.text);
                }
                Entry::Reply(reply)
                | Entry::Aside(Aside::BlankReply(reply) | Aside::RefusedReply(reply)) => {
                    self.reply(reply)?;
                    kept.push(reply.attempt);
                }
                Entry::Results(told) => {
                    told.iter().try_for_each(|result| self.result(result))?;
                    results.extend(told.iter().map(|result| result.call));
                }
                Entry::Said(_) | Entry::Boundary(_) | Entry::Aside(Aside::Orphans(_)) => {}
            }
        }
        // A call that an earlier run left pending is told of in words: its place was taken.
        let resumed = state.frame().config().deferred.is_some();
        let forgotten = self
            .started
            .iter()
            .find(|started| !started.only_reads && !results.contains(&started.call));
        self.ensure("T04", resumed || forgotten.is_none(), || {
            format!("{forgotten:?} left its trace in the world and is forgotten")
        })?;
        said.extend(&self.returned);
        self.ensure("I14", said.iter().copied().eq(&self.said), || {
            format!("{:?} was said; {said:?} was read or given back", self.said)
        })?;
        let lost = self
            .attempts
            .iter()
            .find(|heard| heard.shown && !heard.retracted && !kept.contains(&heard.attempt));
        self.ensure("T09", lost.is_none(), || {
            format!("{lost:?} was shown, is not kept and was not retracted")
        })
    }

    /// What was kept of an attempt is what was heard of it.
    fn reply(&self, reply: &Reply) -> Judged {
        let heard = self.attempts.iter().find(|heard| heard.attempt == reply.attempt);
        let Some(heard) = heard else {
            return Err(self.fault("T09", format!("{} was never heard", reply.attempt)));
        };
        self.ensure("T09", !heard.retracted, || {
            format!("{} was retracted and is kept", reply.attempt)
        })?;
        let texts = reply.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.len() as u64),
            Block::Thinking(_) | Block::Call(_) | Block::Opaque(_) => None,
        });
        let bytes: u64 = texts.sum();
        let same = match reply.wholeness {
            Wholeness::Whole => bytes == heard.text_bytes,
            Wholeness::Sealed | Wholeness::Interrupted => bytes <= heard.text_bytes,
        };
        self.ensure("T09", same, || {
            format!("{} said {} bytes of text, {bytes} are kept", reply.attempt, heard.text_bytes)
        })
    }

    /// A result is what the tool reported; of a call that was never started nothing is claimed.
    fn result(&self, result: &CallResult) -> Judged {
        let started = self.started.iter().find(|started| started.call == result.call);
        let (status, output) = match &result.outcome {
            Outcome::Succeeded { output } => (ToolStatus::Succeeded, output_hash(output)),
            Outcome::Failed { output } => (ToolStatus::Failed, output_hash(output)),
            Outcome::TimedOut { output } => (ToolStatus::TimedOut, output_hash(output)),
            Outcome::Unknown { output } => (ToolStatus::Cancelled, output_hash(output)),
            Outcome::Partial { output } => (ToolStatus::Partial, output_hash(output)),
            Outcome::Acknowledged { .. } => {
                return self.ensure("T15", started.is_some(), || {
                    format!("{} is acknowledged and was never started", result.call)
                });
            }
            Outcome::NotApproved { .. } | Outcome::NotStarted { .. } | Outcome::Refused { .. } => {
                return self.ensure("T05", started.is_none(), || {
                    format!("{} was started, and its result denies it", result.call)
                });
            }
        };
        let Some(started) = started else {
            return Err(self.fault("T05", format!("{} has a result and never ran", result.call)));
        };
        let truth = match started.ended {
            // Of an output that was put aside, head and tail are told.
            Some(told) if self.put_aside.contains(&result.call) => told.0 == status,
            Some(told) => told == (status, output),
            // It was given up: nobody knows what it did.
            None => status == ToolStatus::Cancelled,
        };
        self.ensure("T05", truth, || {
            format!("{} ended as {:?}, its result says {status}", result.call, started.ended)
        })
    }
}

/// Whether the response of an attempt is kept.
fn keeps(transcript: &Transcript, attempt: AttemptId) -> bool {
    transcript.newest_first().any(|entry| match entry {
        Entry::Reply(reply)
        | Entry::Aside(Aside::BlankReply(reply) | Aside::RefusedReply(reply)) => {
            reply.attempt == attempt
        }
        Entry::Said(_)
        | Entry::Results(_)
        | Entry::Boundary(_)
        | Entry::Aside(Aside::Orphans(_)) => false,
    })
}
