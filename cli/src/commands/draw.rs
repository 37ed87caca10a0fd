//! `loopwright draw`: the table as a picture.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ::replay::Recording;
use machine_spec::draw::{Format, Walk, draw};

use crate::fault::Fault;

/// Arguments of `draw`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The format: mermaid, dot, scxml or xstate.
    #[arg(long, default_value = "mermaid", value_parser = format)]
    format: Format,
    /// Colour the doors that this recording walked.
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
}

fn format(word: &str) -> Result<Format, String> {
    let found = Format::ALL.iter().copied().find(|format| format.word() == word);
    found.ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.word()).collect();
        format!("expected one of {}", known.join(", "))
    })
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let mut walk = Walk::default();
    if let Some(path) = &args.recording {
        let recording = Recording::read(path).map_err(Fault::unreadable)?;
        for passage in recording.frames.iter().flat_map(|frame| &frame.trail) {
            walk.note(passage);
        }
    }
    write!(out, "{}", draw(args.format, &walk))?;
    Ok(ExitCode::SUCCESS)
}
