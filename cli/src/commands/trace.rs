//! `loopwright trace`: the story of a recording: rooms, causes, owners, and why the loop ran again.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ::replay::{Frame, Recording};
use clap::ValueEnum;
use machine_spec::effect::SealedRequest;
use machine_spec::ids::EffectId;
use machine_spec::input::ToolStatus;
use machine_spec::model::{BlockKind, Closure, ModelEvent};
use machine_spec::{Effect, Input, Notice, Passage};
use serde_json::json;

use crate::fault::Fault;

/// Arguments of `trace`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recording.
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// How much is told.
    #[arg(long, value_enum, default_value_t = Mode::Short)]
    mode: Mode,
    /// One JSON object a frame, one a line.
    #[arg(long)]
    json: bool,
}

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The rooms alone.
    Kinds,
    /// Rooms, requests, calls and what was said, cut to a line.
    Short,
    /// Everything, whole.
    Full,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let recording = Recording::read(&args.recording).map_err(Fault::unreadable)?;
    let recording = recording.sound().map_err(Fault::unreadable)?;
    if args.json {
        for frame in &recording.frames {
            writeln!(out, "{}", as_json(frame))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut story = Story { mode: args.mode, model: String::new(), calls: BTreeMap::new() };
    header(&recording, out)?;
    let mut again = Vec::new();
    for frame in &recording.frames {
        story.frame(frame, out)?;
        again.extend(repeats(frame));
    }
    if !again.is_empty() {
        writeln!(out, "\nwhy the loop ran again:")?;
        for line in again {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(frame: &Frame) -> serde_json::Value {
    json!({
        "seq": frame.seq,
        "at_ms": frame.note.at_ms,
        "input": frame.input.as_ref().map(Input::kind),
        "trail": frame.trail,
        "effects": frame.effects,
        "digest": frame.digest,
    })
}

fn header(recording: &Recording, out: &mut impl Write) -> Result<(), Fault> {
    let header = &recording.header;
    let names = |all: Vec<String>| if all.is_empty() { "none".into() } else { all.join(", ") };
    let candidates = header.config.candidates.iter().map(|c| format!("{}/{}", c.name, c.model));
    let tools = header.config.tools.iter().map(|tool| tool.name.clone());
    writeln!(out, "{} by machine {}", header.format, header.machine)?;
    writeln!(out, "candidates: {}", names(candidates.collect()))?;
    writeln!(out, "tools: {}", names(tools.collect()))?;
    Ok(())
}

/// What is told of frames that only make sense together.
struct Story {
    mode: Mode,
    /// What the model has said since the last line.
    model: String,
    /// Names of the calls that run.
    calls: BTreeMap<EffectId, String>,
}

impl Story {
    fn frame(&mut self, frame: &Frame, out: &mut impl Write) -> Result<(), Fault> {
        match &frame.input {
            Some(Input::ModelSaid { event, .. }) => self.hear(event),
            Some(input) => self.input(frame.seq, input, out)?,
            None => {}
        }
        let quiet = frame.trail.is_empty() && frame.effects.is_empty();
        if quiet {
            return Ok(());
        }
        if matches!(frame.input, Some(Input::ModelSaid { .. })) {
            self.spoken(frame.seq, out)?;
        }
        if !frame.trail.is_empty() {
            writeln!(out, "       {}", doors(&frame.trail))?;
        }
        for effect in &frame.effects {
            if let Some(line) = self.effect(effect) {
                writeln!(out, "       {line}")?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, event: &ModelEvent) {
        let said = match event {
            ModelEvent::BlockBegan { kind: BlockKind::Call { name, .. }, .. } => format!(" {name}"),
            ModelEvent::BlockBegan { kind: BlockKind::Thinking, .. } => " (thinking) ".into(),
            ModelEvent::BlockBegan { kind: BlockKind::Opaque, .. } => " (opaque)".into(),
            ModelEvent::Delta { text, .. } => text.clone(),
            ModelEvent::Finished { reason, word } => format!(" [{reason}: {word}]"),
            ModelEvent::Failed(failure) => format!(" [{}: {}]", failure.class, failure.message),
            ModelEvent::BlockBegan { kind: BlockKind::Text, .. }
            | ModelEvent::Began { .. }
            | ModelEvent::BlockDone { .. }
            | ModelEvent::Usage(_) => return,
        };
        self.model.push_str(&said);
    }

    fn spoken(&mut self, seq: u64, out: &mut impl Write) -> Result<(), Fault> {
        let said = std::mem::take(&mut self.model);
        if !said.is_empty() && self.mode != Mode::Kinds {
            writeln!(out, "#{seq:<5} model: {}", self.cut(said.trim()))?;
        }
        Ok(())
    }

    fn input(&mut self, seq: u64, input: &Input, out: &mut impl Write) -> Result<(), Fault> {
        self.spoken(seq, out)?;
        let told = match input {
            Input::UserSaid { text, .. } => format!("user: {}", self.cut(text)),
            Input::Interrupted { by } => format!("interrupted by {by}"),
            Input::ModelSaid { .. } => return Ok(()),
            Input::ModelClosed { closure: Closure::Ended, .. } => "the response ended".into(),
            Input::ModelClosed { closure: Closure::Failed(failure), .. } => {
                format!("the response failed: {} ({})", failure.message, failure.class)
            }
            Input::ToolReturned { id, report } => {
                let name = self.calls.remove(id).unwrap_or_else(|| id.to_string());
                let mark = if report.status == ToolStatus::Succeeded { "" } else { "!" };
                format!("{mark}{name} {}: {}", report.status, self.cut(&report.output))
            }
            Input::Compacted { result, .. } => format!("compaction: {result:?}"),
            Input::HookAnswered { answer, .. } => format!("hook: {answer:?}"),
            Input::TimerFired { .. } => "the wait is over".into(),
        };
        if self.mode == Mode::Kinds {
            writeln!(out, "#{seq:<5} {}", input.kind())?;
        } else {
            writeln!(out, "#{seq:<5} {told}")?;
        }
        Ok(())
    }

    fn effect(&mut self, effect: &Effect) -> Option<String> {
        if let Effect::RunTool { id, name, .. } = effect {
            self.calls.insert(*id, name.to_string());
        }
        if self.mode == Mode::Kinds {
            return None;
        }
        Some(match effect {
            Effect::CallModel { request, .. } => sent(request),
            Effect::RunTool { call, name, args, .. } => {
                format!("> run {call} {name} {}", self.cut(args))
            }
            Effect::Compact { head, by, .. } => {
                format!("> compact {} entries by {by}", head.entries)
            }
            Effect::AskHook { hook, .. } => format!("> ask {hook}"),
            Effect::SetTimer { after_ms, because, .. } => {
                format!("> wait {after_ms} ms for {because}")
            }
            Effect::Cancel { id } => format!("> cancel {id}"),
            Effect::Notify(notice) => format!("- {}", self.notice(notice)),
            Effect::Reject(refusal) => {
                format!("x {} is refused in {}: {}", refusal.input, refusal.room, refusal.cause)
            }
            Effect::Finish(terminal) => {
                let text = terminal.text().map(|text| format!(": {}", self.cut(text)));
                format!("= {}{}", terminal.kind(), text.unwrap_or_default())
            }
        })
    }

    /// A notice as its fixed word and its data.
    fn notice(&self, notice: &Notice) -> String {
        match serde_json::to_value(notice) {
            Ok(serde_json::Value::Object(object)) => {
                let told = object.into_iter().map(|(word, data)| format!("{word} {data}"));
                self.cut(&told.collect::<Vec<_>>().join(" "))
            }
            Ok(word) => word.as_str().unwrap_or_default().to_owned(),
            Err(fault) => fault.to_string(),
        }
    }

    fn cut(&self, text: &str) -> String {
        if self.mode == Mode::Full {
            return text.to_owned();
        }
        let line: Vec<&str> = text.split_whitespace().collect();
        let line = line.join(" ");
        match line.char_indices().nth(100) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

fn sent(request: &SealedRequest) -> String {
    let SealedRequest { attempt, candidate, owner, view, .. } = request;
    format!(
        "> {attempt} to {candidate} by {owner}: {} entries, about {} tokens",
        view.entries, view.tokens
    )
}

fn doors(trail: &[Passage]) -> String {
    let walked = trail.iter().map(|door| format!("{} ({})", door.to, door.because));
    let from = trail.first().map_or("", |door| door.from.word());
    format!("{from} -> {}", walked.collect::<Vec<_>>().join(" -> "))
}

/// The requests of a frame that are repetitions, each with its owner and the causes that led to it.
fn repeats(frame: &Frame) -> Vec<String> {
    let sent = frame.effects.iter().filter_map(|effect| match effect {
        Effect::CallModel { request, .. } => Some(request),
        Effect::RunTool { .. }
        | Effect::Compact { .. }
        | Effect::AskHook { .. }
        | Effect::SetTimer { .. }
        | Effect::Cancel { .. }
        | Effect::Notify(_)
        | Effect::Reject(_)
        | Effect::Finish(_) => None,
    });
    let repeated = sent.filter(|request| request.owner != machine_spec::Owner::Step);
    let causes: Vec<&str> = frame.trail.iter().map(|door| door.because.word()).collect();
    repeated
        .map(|request| {
            let (attempt, owner) = (request.attempt, request.owner);
            format!("#{:<5} {attempt} by {owner}: {}", frame.seq, causes.join(", "))
        })
        .collect()
}
