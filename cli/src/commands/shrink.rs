//! `loopwright shrink`: the smallest plan that breaks the same law.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ::replay::scenario::{Library, Scenario};
use ::replay::shrink::{Shrunk, shrink};
use ::replay::swarm;

use super::chaos::{MOST_TRIED, code, scenario_at};
use crate::fault::Fault;

/// Arguments of `shrink`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A plan, or a recording that a seed puts faults into.
    #[arg(value_name = "PLAN|RECORDING", required_unless_present = "seed")]
    path: Option<PathBuf>,
    /// The seed that failed.
    #[arg(long)]
    seed: Option<u64>,
    /// Most candidates that are played.
    #[arg(long, value_name = "N", default_value_t = MOST_TRIED)]
    tries: u64,
    /// Where the plan goes instead of stdout.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let plan = match (&args.path, args.seed) {
        (Some(path), Some(seed)) => swarm::mixed_into(&scenario_at(path)?, seed),
        (Some(path), None) => scenario_at(path)?,
        (None, Some(seed)) => swarm::scenario_of(seed),
        (None, None) => return Err(Fault::usage("expected a plan or a seed")),
    };
    let small = shrink(&plan, &Library::new(), args.tries).map_err(Fault::unreadable)?;
    let Some(small) = small else {
        eprintln!("every law holds: there is nothing to shrink");
        return Ok(ExitCode::SUCCESS);
    };
    match &args.out {
        None => tell(&small, "loopwright shrink PLAN", out)?,
        Some(file) => {
            let cannot = |error| Fault::unreadable(format!("LW5003: {}: {error}", file.display()));
            let command = format!("loopwright shrink {}", file.display());
            let mut text = Vec::new();
            tell(&small, &command, &mut text)?;
            std::fs::write(file, text).map_err(cannot)?;
        }
    }
    Ok(ExitCode::from(code(&small.breach)))
}

/// The plan to stdout, everything else to stderr.
pub(super) fn tell(small: &Shrunk, command: &str, out: &mut impl Write) -> Result<(), Fault> {
    let Shrunk { plan, breach, inputs, tried } = small;
    eprintln!("{breach}");
    eprintln!("  smallest   {inputs} inputs, {} faults; {tried} plans played", plan.faults.len());
    for placed in &plan.faults {
        eprintln!("  fault      {placed}");
    }
    eprintln!("  reproduce  {command}");
    writeln!(out, "{}", text(plan)?)?;
    Ok(())
}

fn text(plan: &Scenario) -> Result<String, Fault> {
    serde_json::to_string_pretty(plan).map_err(Fault::unreadable)
}
