//! `loopwright bound`: the worst case of a configuration, computed without running anything.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use engine::Setup;
use engine::config::{Overrides, process_environment};
use machine_spec::bound::{Certificate, certificate};

use crate::fault::Fault;

/// Arguments of `bound`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The certificate as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let setup = Setup::load(&args.config, &Overrides::default(), &without_keys);
    let setup = setup.map_err(Fault::usage)?;
    let found = certificate(&setup.machine);
    if args.json {
        let json = serde_json::to_string_pretty(&found).map_err(Fault::unreadable)?;
        writeln!(out, "{json}")?;
    } else {
        tell(&found, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Nothing is sent, so no key is needed.
fn without_keys(name: &str) -> Option<String> {
    let is_key = name.ends_with("KEY") || name.ends_with("TOKEN");
    process_environment(name).or_else(|| is_key.then(|| "not needed".into()))
}

fn tell(found: &Certificate, out: &mut impl Write) -> Result<(), Fault> {
    let Certificate {
        model_calls,
        responses,
        tool_executions,
        hook_runs,
        compactions,
        backoff_ms,
        longest_wait_ms,
        path,
    } = found;
    for (what, at_most) in [
        ("requests to models", model_calls),
        ("responses", responses),
        ("tool executions", tool_executions),
        ("hook runs", hook_runs),
        ("compactions", compactions),
        ("ms of backoff", backoff_ms),
        ("ms of waiting, if every server asks for the longest wait", longest_wait_ms),
    ] {
        writeln!(out, "at most {at_most:>12} {what}")?;
    }
    writeln!(out, "\nthe path that reaches it, by owner of the requests:")?;
    for leg in path {
        writeln!(out, "        {:>12} {}", leg.times, leg.owner)?;
    }
    Ok(())
}
