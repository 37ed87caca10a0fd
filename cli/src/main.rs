//! The `loopwright` command. Thin: it reads arguments, calls the crates and turns what they say into
//! text, JSON and an exit code. Data goes to stdout, everything else to stderr.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod commands;
mod fault;

use commands::{bound, chaos, decode, draw, explore, fork, replay, run, shrink, trace};

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
    /// Break recordings and plans at every boundary or by chance, and judge what comes of it.
    Chaos(chaos::Args),
    /// Make a plan that breaks a law as small as it gets.
    Shrink(shrink::Args),
    /// Explore everything that small configurations can reach.
    Explore(explore::Args),
    /// Drive a recording again under a change, and show both stories.
    Fork(fork::Args),
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
        Command::Chaos(args) => chaos::run(&args, &mut out),
        Command::Shrink(args) => shrink::run(&args, &mut out),
        Command::Explore(args) => explore::run(&args, &mut out),
        Command::Fork(args) => fork::run(&args, &mut out),
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
