//! A world without sockets, processes and time. Providers are scripts of wire files, tools and hooks
//! are closures, the clock is a number.

use std::collections::BTreeMap;

use machine_spec::config::{Candidate, HookSpec, ToolSpec};
use machine_spec::effect::{HookQuestion, SealedRequest};
use machine_spec::ids::{EffectId, RuleId};
use machine_spec::input::{Compaction, HookAnswer, InterruptedBy, ToolReport, ToolStatus};
use machine_spec::invariants::{self, Chronicle};
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, Closure, ErrorClass, Failure, ModelEvent, Safety,
};
use machine_spec::rejection::Cause;
use machine_spec::summary::summarise;
use machine_spec::{Effect, Input, InputKind, RunConfig, State, Step, start, step};
use replay::redact::Redactor;
use replay::sink::MemorySink;
use replay::{Header, Note, Recorder};
use serde_json::Value;
use tests::double::{Answer, End, Exchange, Pause, Script, Shape};
use tests::house;
use wire::encode::{EncodeOptions, Encoder};
use wire::{Decoder, Dialect};

use super::played::{Asked, Played, Ran};

/// The virtual now of the first instant: Tue, 14 Nov 2023 22:13:20 GMT.
const EPOCH_MS: u64 = 1_700_000_000_000;

/// What a tool does: after this time it reports this.
type Tool<'a> = Box<dyn FnMut(&str) -> (u64, ToolReport) + 'a>;

/// A tool and what is known of it.
struct Prop<'a> {
    safety: Safety,
    fits: Box<dyn Fn(&Value) -> bool>,
    run: Tool<'a>,
}

/// A play that is being set up.
pub(crate) struct Play<'a> {
    pub(crate) config: RunConfig,
    dialects: Vec<Dialect>,
    scripts: Vec<Script>,
    props: BTreeMap<String, Prop<'a>>,
    hook: Box<dyn FnMut(&HookQuestion) -> HookAnswer + 'a>,
    words: &'static str,
    /// Whether the words of the user match rule 0.
    rule_matches: bool,
    interrupt_at: Option<u64>,
}

/// An answer of our wire files.
pub(crate) fn case(name: &str) -> Answer {
    Answer::file(&house::wire_file("cases").join(name))
}

/// A successful report.
pub(crate) fn ok(output: &str) -> ToolReport {
    ToolReport { status: ToolStatus::Succeeded, output: output.into() }
}

impl<'a> Play<'a> {
    /// A play with one provider.
    pub(crate) fn with(dialect: Dialect, script: Script) -> Play<'a> {
        let play = Play {
            config: RunConfig::default(),
            dialects: Vec::new(),
            scripts: Vec::new(),
            props: BTreeMap::new(),
            hook: Box::new(|_| HookAnswer::Allowed),
            words: "Write the report.",
            rule_matches: false,
            interrupt_at: None,
        };
        play.then(dialect, script)
    }

    /// A further provider of the fallback chain.
    pub(crate) fn then(mut self, dialect: Dialect, script: Script) -> Play<'a> {
        let n = self.scripts.len() + 1;
        let (name, model) = (format!("p{n}"), format!("model-test-{n}"));
        self.config.candidates.push(Candidate { name, model, context_window: 0, max_output: 0 });
        self.dialects.push(dialect);
        self.scripts.push(script);
        self
    }

    /// A tool that may overlap with others and leaves no trace.
    pub(crate) fn reads(self, name: &str, run: impl FnMut(&str) -> (u64, ToolReport) + 'a) -> Self {
        self.tool(name, Safety::Concurrent, run)
    }

    /// A tool with effects.
    pub(crate) fn acts(self, name: &str, run: impl FnMut(&str) -> (u64, ToolReport) + 'a) -> Self {
        self.tool(name, Safety::Exclusive, run)
    }

    fn tool(
        mut self,
        name: &str,
        safety: Safety,
        run: impl FnMut(&str) -> (u64, ToolReport) + 'a,
    ) -> Self {
        let read_only = safety == Safety::Concurrent;
        let (description, input_schema) = (String::new(), r#"{"type":"object"}"#.into());
        self.config.tools.push(ToolSpec {
            name: name.into(),
            description,
            input_schema,
            read_only,
        });
        let prop = Prop { safety, fits: Box::new(|_| true), run: Box::new(run) };
        self.props.insert(name.into(), prop);
        self
    }

    /// What the arguments of a tool must be like.
    pub(crate) fn fits(mut self, tool: &str, fits: fn(&Value) -> bool) -> Self {
        self.props.get_mut(tool).expect("a tool of the play").fits = Box::new(fits);
        self
    }

    /// A stop hook.
    pub(crate) fn hook(mut self, ask: impl FnMut(&HookQuestion) -> HookAnswer + 'a) -> Self {
        self.config.stop_hooks.push(HookSpec { name: "stop.sh".into() });
        self.hook = Box::new(ask);
        self
    }

    /// A required tool; the words of the user match its rule.
    pub(crate) fn requires(mut self, tool: &str) -> Self {
        let (when, tools) = ("(?i)report".into(), vec![tool.into()]);
        self.config.rules.push(machine_spec::config::Rule { when, tools });
        self.rule_matches = true;
        self
    }

    /// What the user says.
    pub(crate) fn says(mut self, words: &'static str) -> Self {
        self.words = words;
        self
    }

    /// The user interrupts at this time.
    pub(crate) fn interrupted_at(mut self, ms: u64) -> Self {
        self.interrupt_at = Some(ms);
        self
    }

    /// Other settings.
    pub(crate) fn set(mut self, change: impl FnOnce(&mut RunConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Plays it to its end: until the run is over, or nothing more can happen.
    pub(crate) fn run(self) -> Played {
        let mut encoders = Vec::new();
        for dialect in &self.dialects {
            encoders.push(Encoder::new(*dialect, EncodeOptions::default()));
        }
        let header = Header::new(self.config.clone(), Vec::new());
        let recorder = Recorder::create(MemorySink::default(), header, Redactor::default());
        let played = Played::new(self.dialects.clone());
        Stage { play: self, encoders, recorder, now: 0, due: BTreeMap::new(), order: 0, played }
            .run()
    }
}

/// A play on its way.
struct Stage<'a> {
    play: Play<'a>,
    encoders: Vec<Encoder>,
    recorder: Recorder<MemorySink>,
    now: u64,
    /// What will happen: time, then order of arrival.
    due: BTreeMap<(u64, u64), Input>,
    order: u64,
    played: Played,
}

impl Stage<'_> {
    fn run(mut self) -> Played {
        let begun = start(self.play.config.clone());
        self.recorder.started(&begun, &Note::at(0));
        let mut state = begun.state.clone();
        self.perform(&begun, &state);
        let rules = if self.play.rule_matches { vec![RuleId(0)] } else { Vec::new() };
        self.later(0, Input::UserSaid { text: self.play.words.into(), rules });
        if let Some(at) = self.play.interrupt_at {
            self.later(at, Input::Interrupted { by: InterruptedBy::User });
        }
        let mut chronicle = Chronicle::default();
        while let Some(((at, _), input)) = self.due.pop_first() {
            self.now = at;
            let before = state.clone();
            let half = self.recorder.heard(&input);
            let after = step(state, input.clone());
            half.stepped(&after, &Note::at(at));
            invariants::check(&before, &input, &after)
                .and_then(|()| chronicle.note(&input, &after))
                .unwrap_or_else(|broken| panic!("{broken} at {at} ms on {input:?}"));
            self.played.note_input(at, &input);
            self.perform(&after, &after.state);
            state = after.state;
        }
        let (sink, failures) = self.recorder.finish();
        assert!(failures.is_empty(), "memory never fails: {failures:?}");
        self.played.close(state, sink);
        self.played
    }

    /// Lets an input happen after this time, behind all that is due at the same instant.
    fn later(&mut self, after_ms: u64, input: Input) {
        self.order += 1;
        self.due.insert((self.now + after_ms, self.order), input);
    }

    fn perform(&mut self, taken: &Step, state: &State) {
        for effect in &taken.effects {
            match effect {
                Effect::CallModel { id, request } => self.ask(*id, request, state),
                Effect::RunTool { id, call, name, args } => {
                    let prop = self.play.props.get_mut(&**name).expect("a declared tool");
                    let (ms, report) = (prop.run)(args);
                    let ran = Ran { id: *id, call: *call, from: self.now, to: None };
                    self.played.tools.push(ran);
                    self.later(ms, Input::ToolReturned { id: *id, report });
                }
                Effect::AskHook { id, question, .. } => {
                    self.played.questions.push(question.clone());
                    let answer = (self.play.hook)(question);
                    self.later(1, Input::HookAnswered { id: *id, answer });
                }
                Effect::SetTimer { id, after_ms, .. } => {
                    self.played.waits.push((self.now, *after_ms));
                    self.later(*after_ms, Input::TimerFired { id: *id });
                }
                Effect::Cancel { id } => self.cancel(*id),
                Effect::Notify(notice) => self.played.notices.push((self.now, notice.clone())),
                Effect::Finish(end) => self.played.endings.push(end.clone()),
                Effect::Compact { id, head, .. } => {
                    self.played.compactions += 1;
                    let result = Compaction::Summarised { text: summarise(head) };
                    self.later(1, Input::Compacted { id: *id, result });
                }
                Effect::Reject(rejection) => {
                    // The last word of a tool whose response is forgotten comes too late.
                    let late = rejection.cause == Cause::EffectClosed
                        && rejection.input == InputKind::ToolReturned;
                    assert!(late, "the play said something unfit: {rejection:?}");
                }
            }
        }
    }

    /// A tool that is stopped reports what it had said so far; everything else falls silent.
    fn cancel(&mut self, id: EffectId) {
        self.due.retain(|_, input| input.answers() != Some(id));
        let runs = |ran: &Ran| ran.id == id && ran.to.is_none();
        if self.played.tools.iter().any(runs) {
            let report = ToolReport { status: ToolStatus::Cancelled, output: "so far".into() };
            self.later(1, Input::ToolReturned { id, report });
        }
    }

    fn ask(&mut self, id: EffectId, request: &SealedRequest, state: &State) {
        let place = usize::from(request.candidate.0);
        let config = state.frame().config();
        let body = self.encoders[place].encode(config, request).body;
        let answer = self.play.scripts[place].choose(&Exchange::of(&body));
        let json = serde_json::from_slice(&body).expect("a request is JSON");
        self.played.asked.push(Asked {
            at: self.now,
            candidate: request.candidate,
            owner: request.owner,
            body: json,
        });
        match answer.shape {
            Shape::Response => {
                let failure = refused(self.play.dialects[place], &answer.bytes, self.now);
                self.later(0, Input::ModelClosed { id, closure: Closure::Failed(failure) });
            }
            Shape::Stream => self.stream(id, self.play.dialects[place], &answer),
        }
    }

    fn stream(&mut self, id: EffectId, dialect: Dialect, answer: &Answer) {
        let mut decoder = Decoder::new(dialect, wire::DecodeLimits::default());
        let mut events = Vec::new();
        let mut after = 0;
        let mut names = BTreeMap::new();
        for chunk in answer.plan.cut(answer.bytes.len()) {
            if let Some(pause) = answer.plan.pauses.get(&chunk.start) {
                after += match pause {
                    Pause::Time(time) => time.as_millis() as u64,
                    Pause::Until(gate) => panic!("a play knows no gate: {gate:?}"),
                };
            }
            decoder.push(&answer.bytes[chunk], &mut events);
            self.said(id, after, &mut names, &mut events);
        }
        let closure = match answer.plan.end {
            End::Hang => return,
            End::Eof => Closure::Ended,
            End::Reset => Closure::Failed(Failure::new(ErrorClass::Transport, "reset")),
        };
        decoder.finish(&mut events);
        self.said(id, after, &mut names, &mut events);
        self.later(after, Input::ModelClosed { id, closure });
    }

    fn said(
        &mut self,
        id: EffectId,
        after: u64,
        calls: &mut BTreeMap<u32, (String, String)>,
        events: &mut Vec<ModelEvent>,
    ) {
        for mut event in events.drain(..) {
            self.assess(&mut event, calls);
            self.later(after, Input::ModelSaid { id, event });
        }
    }

    /// What only the tools know about a call is added, as the engine does it.
    fn assess(&self, event: &mut ModelEvent, calls: &mut BTreeMap<u32, (String, String)>) {
        match event {
            ModelEvent::BlockBegan { block, kind: BlockKind::Call { name, .. } } => {
                calls.insert(*block, (name.clone(), String::new()));
            }
            ModelEvent::Delta { block, text } => {
                if let Some((_, args)) = calls.get_mut(block) {
                    args.push_str(text);
                }
            }
            ModelEvent::BlockDone { block, done: BlockEnd::Call(facts), .. } => {
                let (name, args) = &calls[block];
                let Some(prop) = self.play.props.get(name) else { return };
                facts.safety = prop.safety;
                let args = serde_json::from_str(args).unwrap_or_default();
                if !(prop.fits)(&args) {
                    let (path, problem) = (String::new(), "does not fit".into());
                    facts.args = ArgsVerdict::Invalid { path, problem };
                }
            }
            ModelEvent::BlockBegan { .. }
            | ModelEvent::BlockDone { .. }
            | ModelEvent::Began { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Finished { .. }
            | ModelEvent::Failed(_) => {}
        }
    }
}

/// The failure that a complete HTTP response stands for.
fn refused(dialect: Dialect, response: &[u8], now: u64) -> Failure {
    let text = String::from_utf8_lossy(response);
    let (head, body) = text.split_once("\r\n\r\n").expect("a complete response");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
    let status = status.parse().expect("a status is a number");
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().into()))
        .collect();
    wire::error_body::classify(dialect, status, &headers, body.as_bytes(), Some(EPOCH_MS + now))
}
