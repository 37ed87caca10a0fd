//! The story of a run: what came, which doors were walked and why, what was ordered and by whom.

use std::collections::BTreeMap;
use std::fmt::Write;

use machine_spec::because::Owner;
use machine_spec::effect::{HookQuestion, SealedRequest, Transport};
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, Closure, ModelEvent, Permission,
};
use machine_spec::{Because, Effect, Input, Passage, RoomKind, Terminal};

use super::Mode;
use super::talk;
use super::words::{count, cut, facts, quoted, time, word};
use crate::format::v1::Frame;
use crate::reader::{Recording, Tail};

pub(super) fn of(recording: &Recording, mode: Mode) -> String {
    let mut story = Story::new(recording, mode);
    for frame in &recording.frames {
        story.frame(frame);
    }
    story.end(&recording.tail)
}

struct Story<'a> {
    recording: &'a Recording,
    mode: Mode,
    text: String,
    heard: Heard,
    /// The last cause for which the loop went on or a request was repeated.
    again: Option<Because>,
    at_ms: u64,
    doors: u64,
    owners: BTreeMap<Owner, u64>,
    calls: u64,
    terminal: Option<&'a Terminal>,
}

/// What was heard of a response since the last line.
#[derive(Default)]
struct Heard {
    from: u64,
    to: u64,
    blocks: Vec<(BlockKind, String)>,
}

impl<'a> Story<'a> {
    fn new(recording: &'a Recording, mode: Mode) -> Story<'a> {
        Story {
            recording,
            mode,
            text: String::new(),
            heard: Heard::default(),
            again: None,
            at_ms: 0,
            doors: 0,
            owners: BTreeMap::new(),
            calls: 0,
            terminal: None,
        }
    }

    fn line(&mut self, words: &str) {
        let _ = writeln!(self.text, "{words}");
    }

    fn frame(&mut self, frame: &'a Frame) {
        self.at_ms = frame.note.at_ms.unwrap_or(self.at_ms);
        self.doors += frame.trail.len() as u64;
        let quiet = frame.effects.is_empty() && frame.trail.is_empty();
        if quiet
            && self.mode != Mode::Full
            && let Some(Input::ModelSaid { event, .. }) = &frame.input
        {
            return self.hear(frame.seq, event);
        }
        self.flush_heard();
        match self.mode {
            Mode::Kinds => self.kinds(frame),
            Mode::Short | Mode::Full => self.tell(frame),
        }
        for effect in &frame.effects {
            match effect {
                Effect::CallModel { request, .. } => {
                    *self.owners.entry(request.owner).or_default() += 1;
                }
                Effect::RunTool { .. } | Effect::StartTask { .. } => self.calls += 1,
                Effect::Finish(terminal) => self.terminal = Some(terminal),
                Effect::AskApproval { .. }
                | Effect::StoreResult { .. }
                | Effect::RecallMemory { .. }
                | Effect::FlushMemory { .. }
                | Effect::RefreshCredential { .. }
                | Effect::CheckOutput { .. }
                | Effect::Compact { .. }
                | Effect::AskHook { .. }
                | Effect::SetTimer { .. }
                | Effect::Cancel { .. }
                | Effect::Detach { .. }
                | Effect::Notify(_)
                | Effect::Reject(_) => {}
            }
        }
    }

    fn kinds(&mut self, frame: &Frame) {
        let input =
            frame.input.as_ref().map_or("start".to_owned(), |input| input.kind().to_string());
        let mut line = input;
        for Passage { because, to, .. } in &frame.trail {
            let _ = write!(line, " -{because}-> {to}");
        }
        let effects: Vec<String> = frame.effects.iter().map(|e| e.kind().to_string()).collect();
        if !effects.is_empty() {
            let _ = write!(line, " [{}]", effects.join(" "));
        }
        self.line(&line);
    }

    fn tell(&mut self, frame: &Frame) {
        let words = match &frame.input {
            None => "the run begins".to_owned(),
            Some(input) => input_words(input, self.mode),
        };
        let time = time(self.at_ms);
        self.line(&format!("{:>5}  {words}  [{time}]", frame.seq));
        if self.mode == Mode::Full {
            return self.tell_by_door(frame);
        }
        if let Some(first) = frame.trail.first() {
            let mut line = format!("         {}", first.from);
            for Passage { because, to, .. } in &frame.trail {
                let _ = write!(line, " → {to} ({because})");
            }
            self.line(&line);
        }
        self.note_again(&frame.trail);
        for effect in &frame.effects {
            self.effect(effect);
        }
    }

    /// Every door on a line of its own, with the orders given on the way.
    fn tell_by_door(&mut self, frame: &Frame) {
        let mut effects = frame.effects.iter();
        self.note_again(&frame.trail);
        let before = frame.trail.iter().map(|passage| usize::from(passage.emitted)).sum::<usize>();
        let beyond = frame.effects.len().saturating_sub(before);
        for passage in &frame.trail {
            for effect in effects.by_ref().take(usize::from(passage.emitted)) {
                self.effect(effect);
            }
            let Passage { from, because, to, .. } = passage;
            self.line(&format!("         {from} → {to}, because {because}"));
        }
        for effect in effects.take(beyond) {
            self.effect(effect);
        }
    }

    fn note_again(&mut self, trail: &[Passage]) {
        for passage in trail {
            let repeats = match (passage.from, passage.to) {
                (RoomKind::Decide, RoomKind::Absorb)
                | (RoomKind::Recover, RoomKind::Backoff | RoomKind::View) => true,
                (from, to) => from == RoomKind::Compacting && to == RoomKind::View,
            };
            if repeats {
                self.again = Some(passage.because);
            }
        }
    }

    fn effect(&mut self, effect: &Effect) {
        let words = match effect {
            Effect::CallModel { request, .. } => self.request_words(request),
            Effect::RunTool { id, call, name, args, allowance: _ } => {
                format!("starts {call} {name} {} ({id})", cut(args, self.mode))
            }
            Effect::StartTask { id, task, call, name, args, allowance: _ } => {
                format!("starts {task} from {call} {name} {} ({id})", cut(args, self.mode))
            }
            Effect::AskApproval { id, call, name, args, reason, lineage } => {
                let args = cut(args, self.mode);
                let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                let whose = if lineage.is_empty() {
                    String::new()
                } else {
                    format!(" for {}", lineage.join(" > "))
                };
                format!("asks whether {call} {name} {args} may run{whose}{why} ({id})")
            }
            Effect::StoreResult { id, of, call, bytes } => {
                format!("puts {bytes} bytes of {call} aside, from {of} ({id})")
            }
            Effect::RecallMemory { id, query } => {
                format!("asks memory about {} ({id})", quoted(query, self.mode))
            }
            Effect::FlushMemory { id, head } => {
                format!("shows memory {} ({id})", entries(head.entries))
            }
            Effect::RefreshCredential { id, candidate } => {
                format!("looks up the credential of {candidate} again ({id})")
            }
            Effect::CheckOutput { id, text } => {
                format!("holds the answer against its schema: {} ({id})", quoted(text, self.mode))
            }
            Effect::Detach { id } => format!("lets {id} run on alone"),
            Effect::AskHook { id, hook, question } => self.question_words(*hook, question, *id),
            Effect::SetTimer { id, after_ms, because } => {
                format!("waits {} for {} ({id})", time(*after_ms), word(because))
            }
            Effect::Cancel { id } => format!("cancels {id}"),
            Effect::Notify(notice) => format!("tells {}", facts(notice, self.mode)),
            Effect::Reject(rejection) => {
                format!("refuses {} in {}: {}", rejection.input, rejection.room, rejection.cause)
            }
            Effect::Finish(terminal) => format!("ends: {}", facts(terminal, self.mode)),
            Effect::Compact { id, head, by } => {
                format!("compacts {} by {} ({id})", entries(head.entries), word(by))
            }
        };
        self.line(&format!("         · {words}"));
    }

    fn request_words(&self, request: &SealedRequest) -> String {
        let SealedRequest {
            attempt,
            candidate,
            owner,
            view,
            tools,
            transport,
            max_output,
            left_out,
        } = request;
        let config = &self.recording.header.config;
        let to = match config.candidates.get(usize::from(candidate.0)) {
            Some(known) => format!("{}/{}", known.name, known.model),
            None => candidate.to_string(),
        };
        let why = match (owner, self.again) {
            (Owner::Step, _) => "the first of the turn".to_owned(),
            (owner, Some(because)) => format!("again, for {owner}, because {because}"),
            (owner, None) => format!("again, for {owner}"),
        };
        let tools = match word(tools).as_str() {
            "auto" => String::new(),
            _ => format!(", tools: {}", facts(tools, self.mode)),
        };
        let whole = match transport {
            Transport::Stream => "",
            Transport::Whole => ", in one piece",
        };
        let least = max_output.map_or(String::new(), |most| format!(", at most {most} of output"));
        let left_out = match left_out.as_slice() {
            [] => String::new(),
            words => format!(", without {}", words.join(", ")),
        };
        let (entries, tokens) = (entries(view.entries), view.tokens);
        format!(
            "asks {to} ({attempt}): {why}; {entries}, about {tokens} tokens{tools}{whole}{least}{left_out}"
        )
    }

    fn question_words(
        &self,
        hook: machine_spec::ids::HookId,
        question: &HookQuestion,
        id: machine_spec::ids::EffectId,
    ) -> String {
        let known = self.recording.header.config.hook(hook);
        let name = known.map_or("?", |hook| hook.name.as_str());
        format!("asks {hook} `{name}`: {} ({id})", facts(question, self.mode))
    }

    fn hear(&mut self, seq: u64, event: &ModelEvent) {
        if self.heard.to == 0 {
            self.heard.from = seq;
        }
        self.heard.to = seq;
        match event {
            ModelEvent::BlockBegan { kind, .. } => {
                self.heard.blocks.push((kind.clone(), String::new()));
            }
            ModelEvent::Delta { text, .. } => match self.heard.blocks.last_mut() {
                Some((_, so_far)) => so_far.push_str(text),
                None => self.heard.blocks.push((BlockKind::Text, text.clone())),
            },
            _ => {}
        }
    }

    /// One line for all that was heard of a response and moved nothing.
    fn flush_heard(&mut self) {
        let Heard { from, to, blocks } = std::mem::take(&mut self.heard);
        if to == 0 {
            return;
        }
        if self.mode == Mode::Kinds {
            let kinds: Vec<String> = blocks.iter().map(|(kind, _)| word(kind)).collect();
            return self.line(&format!("model_said ({})", kinds.join(" ")));
        }
        let parts: Vec<String> = blocks
            .iter()
            .map(|(kind, text)| match kind {
                BlockKind::Text => format!("text {}", quoted(text, self.mode)),
                BlockKind::Thinking => format!("thinking {}", quoted(text, self.mode)),
                BlockKind::Call { name, .. } => {
                    format!("a call of {name} {}", cut(text, self.mode))
                }
                BlockKind::Opaque => "something only its provider understands".to_owned(),
            })
            .collect();
        let heard = if parts.is_empty() { "nothing to show".to_owned() } else { parts.join(", ") };
        self.line(&format!("{from:>5}  to {to}: the model says {heard}"));
    }

    fn end(mut self, tail: &Tail) -> String {
        self.flush_heard();
        match tail {
            Tail::Clean => {}
            Tail::Torn(torn) => self.line(&format!("torn: {torn}")),
            Tail::Damaged { error, .. } => self.line(&format!("damaged: {error}")),
        }
        if self.mode == Mode::Kinds {
            return self.text;
        }
        let ending = self.terminal.map_or("not over".to_owned(), |end| end.kind().to_string());
        let requests: u64 = self.owners.values().sum();
        let owners: Vec<String> =
            self.owners.iter().map(|(owner, n)| format!("{owner} {n}")).collect();
        let owners =
            if owners.is_empty() { String::new() } else { format!(" ({})", owners.join(", ")) };
        let line = format!(
            "{ending} after {}: {}, {}, {}{owners}, {}",
            time(self.at_ms),
            count(self.recording.frames.len() as u64, "frame"),
            count(self.doors, "door"),
            count(requests, "request"),
            count(self.calls, "call"),
        );
        self.line(&line);
        self.text
    }
}

fn input_words(input: &Input, mode: Mode) -> String {
    match input {
        Input::UserSaid { text, images, rules } => {
            let shown: String = images.iter().map(talk::image).collect();
            let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
            let matches = if rules.is_empty() { "" } else { ", which matches " };
            format!("the user says {}{shown}{matches}{}", quoted(text, mode), rules.join(", "))
        }
        Input::Interrupted { by } => format!("interrupted by {by}"),
        Input::ModelSaid {
            id,
            event: ModelEvent::BlockDone { done: BlockEnd::Call(call), .. },
        } => {
            let CallFacts { args, safety, permission, lacks } = call;
            let args = match args {
                ArgsVerdict::Valid { .. } => "valid".to_owned(),
                ArgsVerdict::Malformed { .. } | ArgsVerdict::Invalid { .. } => facts(args, mode),
            };
            let permission = match permission {
                Permission::Allow => String::new(),
                Permission::Ask | Permission::Deny { .. } | Permission::OutOfScope => {
                    format!(", {}", facts(permission, mode))
                }
            };
            let lacks: String =
                lacks.iter().map(|rule| format!(", not enough for {rule}")).collect();
            format!(
                "a call is complete ({id}): arguments {args}, {}{permission}{lacks}",
                word(safety)
            )
        }
        Input::ModelSaid { id, event } => format!("the model says ({id}): {}", facts(event, mode)),
        Input::ModelClosed { id, closure: Closure::Ended } => format!("the response ends ({id})"),
        Input::ModelClosed { id, closure: Closure::Failed(failure) } => {
            format!("the response fails ({id}): {}", facts(failure, mode))
        }
        Input::ToolReturned { id, report } => {
            format!("a tool comes back ({id}): {} {}", report.status, quoted(&report.output, mode))
        }
        Input::HookAnswered { id, answer } => {
            format!("a hook answers ({id}): {}", facts(answer, mode))
        }
        Input::TimerFired { id } => format!("the wait is over ({id})"),
        Input::ApprovalGiven { id, decision } => {
            format!("somebody decides ({id}): {}", facts(decision, mode))
        }
        Input::TaskEnded { id, report } => {
            format!("a task is over ({id}): {} {}", report.status, quoted(&report.output, mode))
        }
        Input::ResultStored { id, result } => {
            format!("the result is put aside ({id}): {}", facts(result, mode))
        }
        Input::MemoryRecalled { id, result } => {
            format!("memory answers ({id}): {}", facts(result, mode))
        }
        Input::MemoryFlushed { id, result } => {
            format!("memory has seen it ({id}): {}", facts(result, mode))
        }
        Input::CredentialRefreshed { id, result } => {
            format!("the credential was looked up ({id}): {}", facts(result, mode))
        }
        Input::OutputChecked { id, verdict } => {
            format!("the answer was checked ({id}): {}", facts(verdict, mode))
        }
        Input::Compacted { id, result } => {
            format!("the head was summarised ({id}): {}", facts(result, mode))
        }
    }
}

fn entries(n: u32) -> String {
    count(u64::from(n), "entry").replace("entrys", "entries")
}
