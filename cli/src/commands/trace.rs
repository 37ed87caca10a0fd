//! `loopwright trace`: the story of a recording: rooms, causes, owners, and why the loop ran again.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ::replay::render::{self, Mode};
use ::replay::{Frame, Recording};
use clap::ValueEnum;
use machine_spec::view::View;
use machine_spec::{Effect, Input, Owner};
use serde_json::json;

use crate::fault::Fault;

/// Arguments of `trace`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recording.
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// What is told.
    #[arg(long, value_enum, default_value_t = Subject::Story)]
    show: Subject,
    /// How much is told.
    #[arg(long, value_enum, default_value_t = Detail::Short)]
    mode: Detail,
    /// One JSON object a frame, one a line.
    #[arg(long, conflicts_with = "show")]
    json: bool,
}

/// What is told.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// What happened, frame by frame, and why the loop ran again.
    Story,
    /// Everything that was said, as the run left it.
    Transcript,
    /// What a model would see next.
    View,
    /// Every effect: when it was ordered, when it was answered.
    Ledger,
}

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Detail {
    /// The rooms and kinds alone.
    Kinds,
    /// Everything that happened, long texts cut to a line.
    Short,
    /// Everything, whole.
    Full,
}

impl From<Detail> for Mode {
    fn from(detail: Detail) -> Mode {
        match detail {
            Detail::Kinds => Mode::Kinds,
            Detail::Short => Mode::Short,
            Detail::Full => Mode::Full,
        }
    }
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
    let mode = args.mode.into();
    match args.show {
        Subject::Story => {
            write!(out, "{}", render::trail(&recording, mode))?;
            repeats(&recording, out)?;
        }
        Subject::Ledger => write!(out, "{}", render::ledger(&recording, mode))?,
        Subject::Transcript | Subject::View => {
            let last = recording.frames.len().saturating_sub(1) as u64;
            let Some(state) = recording.state_at(last) else { return Ok(ExitCode::SUCCESS) };
            let transcript = state.frame().transcript();
            if args.show == Subject::View {
                write!(out, "{}", render::view(&View::of(transcript), mode))?;
            } else {
                write!(out, "{}", render::transcript(transcript, mode))?;
            }
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

/// Every request that is a repetition: who owns it, and the causes that led to it.
fn repeats(recording: &Recording, out: &mut impl Write) -> Result<(), Fault> {
    let mut title = "\nwhy the loop ran again:\n";
    for frame in &recording.frames {
        for effect in &frame.effects {
            let Effect::CallModel { request, .. } = effect else { continue };
            if request.owner == Owner::Step {
                continue;
            }
            let causes: Vec<&str> = frame.trail.iter().map(|door| door.because.word()).collect();
            let (attempt, owner, causes) = (request.attempt, request.owner, causes.join(", "));
            write!(out, "{title}")?;
            writeln!(out, "{:>5}  {attempt} by {owner}: {causes}", frame.seq)?;
            title = "";
        }
    }
    Ok(())
}
