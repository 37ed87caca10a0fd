//! `loopwright fork`: a recorded run, and the same run under a change, side by side.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::replay::Recording;
use ::replay::fork::{Change, Fork, fork};
use ::replay::render::{self, Mode};
use ::replay::replayer::terminal;
use comfy_table::{ContentArrangement, Table, presets};
use machine_spec::{Input, Terminal};
use serde_json::{Value, json};

use super::chaos::code;
use crate::fault::Fault;

/// Arguments of `fork`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recording.
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// The last frame that both stories share.
    #[arg(long, value_name = "FRAME")]
    at: u64,
    /// Members of the configuration, as a JSON merge patch or a file that holds one.
    #[arg(long, value_name = "JSON|FILE")]
    config: Option<String>,
    /// An input that comes instead of the recorded answer to its effect: `tool_returned`,
    /// `hook_answered` or `compacted`, as a recording holds it. May be given several times.
    #[arg(long, value_name = "JSON|FILE")]
    answer: Vec<String>,
    /// Both endings and the plan of the changed run as one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    if args.config.is_none() && args.answer.is_empty() {
        return Err(Fault::usage("expected a change: --config or --answer"));
    }
    let recording = Recording::read(&args.recording).map_err(Fault::unreadable)?;
    let recording = recording.sound().map_err(Fault::unreadable)?;
    let config = args.config.as_deref().map(json_or_file).transpose()?;
    let mut answers = Vec::new();
    for text in &args.answer {
        let input: Input = serde_json::from_value(json_or_file(text)?)
            .map_err(|error| Fault::usage(format!("--answer: {error}")))?;
        answers.push(input);
    }
    let forked = fork(&recording, args.at, &Change { config, answers }).map_err(Fault::usage)?;
    if args.json {
        writeln!(out, "{}", as_json(&recording, &forked))?;
    } else {
        tell(args, &recording, &forked, out)?;
    }
    Ok(ExitCode::from(forked.breach.as_ref().map_or(0, code)))
}

/// JSON as it stands, or a file that holds it.
pub(super) fn json_or_file(text: &str) -> Result<Value, Fault> {
    let inline = text.trim_start().starts_with(['{', '"']);
    let held = match inline {
        true => text.to_owned(),
        false => std::fs::read_to_string(Path::new(text))
            .map_err(|error| Fault::unreadable(format!("LW5003: cannot read {text}: {error}")))?,
    };
    serde_json::from_str(&held).map_err(|error| Fault::usage(format!("{text}: {error}")))
}

fn tell(
    args: &Args,
    recording: &Recording,
    forked: &Fork,
    out: &mut impl Write,
) -> Result<(), Fault> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["as it was recorded", "as it goes under the change"]);
    let (left, right) = (story(recording, args.at), story(&forked.recording, args.at));
    table.add_row([left, right]);
    writeln!(out, "{table}")?;
    match forked.differs_at {
        Some(frame) => writeln!(out, "the stories part at frame {frame}")?,
        None => writeln!(out, "the change shows nowhere: both stories are the same")?,
    }
    writeln!(out, "recorded: {}", ending(terminal(recording)))?;
    writeln!(out, "changed:  {}", ending(terminal(&forked.recording)))?;
    if let Some(breach) = &forked.breach {
        writeln!(out, "{breach}")?;
    }
    Ok(())
}

/// The story behind a frame.
fn story(recording: &Recording, at: u64) -> String {
    let mut rest = recording.clone();
    rest.frames.retain(|frame| frame.seq > at);
    rest.asides.clear();
    render::trail(&rest, Mode::Short)
}

fn ending(terminal: Option<&Terminal>) -> String {
    terminal.map_or_else(|| "no end".into(), |terminal| terminal.kind().to_string())
}

fn as_json(recording: &Recording, forked: &Fork) -> Value {
    json!({
        "recorded": terminal(recording),
        "changed": terminal(&forked.recording),
        "differs_at": forked.differs_at,
        "breach": forked.breach,
        "plan": forked.plan,
    })
}
