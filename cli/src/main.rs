//! The `loopwright` command. Thin: it reads arguments, calls the crates and turns what they say into
//! text, JSON and an exit code. Data goes to stdout, everything else to stderr.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod commands;
mod fault;

use commands::{bound, decode, draw, replay, run, trace};

/// Run, record, replay and explain an agent loop that is an explicit state machine.
#[derive(Parser)]
#[command(name = "loopwright", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a prompt through the loop, recorded while it runs.
    Run(run::Args),
    /// Replay recordings without network or key and tell the first difference.
    Replay(replay::Args),
    /// Tell the story of a recording: rooms, causes, owners, and why the loop ran again.
    Trace(trace::Args),
    /// Tell what a provider stream says.
    Decode(decode::Args),
    /// Compute the worst case of a configuration: requests, tool executions, waits.
    Bound(bound::Args),
    /// Draw the loop; with a recording, the doors it walked stand out.
    Draw(draw::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = std::io::stdout().lock();
    let done = match cli.command {
        Command::Run(args) => run::run(&args, &mut out),
        Command::Replay(args) => replay::run(&args, &mut out),
        Command::Trace(args) => trace::run(&args, &mut out),
        Command::Decode(args) => decode::run(&args, &mut out),
        Command::Bound(args) => bound::run(&args, &mut out),
        Command::Draw(args) => draw::run(&args, &mut out),
    };
    let done = done.and_then(|code| {
        out.flush()?;
        Ok(code)
    });
    match done {
        Ok(code) => code,
        Err(fault) => fault.report(),
    }
}
