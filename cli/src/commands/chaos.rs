//! `loopwright chaos`: breaks recordings and plans, and hands back what fails as a plan.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::replay::Recording;
use ::replay::boundary::{Profile, Tally, every_boundary};
use ::replay::checkers::Breach;
use ::replay::scenario::{Library, Scenario, derive};
use ::replay::shrink::shrink;
use ::replay::swarm::{self, Flight};
use engine::clock::Clock;
use serde_json::json;

use crate::fault::Fault;

mod junit;

/// Arguments of `chaos`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Recordings, plans (*.json), or folders of recordings; without any, scenarios are drawn.
    #[arg(value_name = "RECORDING|PLAN")]
    paths: Vec<PathBuf>,
    /// Tries each fault at every byte, event, answer, run, question, input and frame.
    #[arg(long)]
    every_boundary: bool,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// So many seeds of each path, or of drawn scenarios.
    #[arg(long, default_value_t = 1_000)]
    runs: u64,
    /// No new seed is begun after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,
    /// Shrinks the first plan that fails and writes it to stdout.
    #[arg(long)]
    shrink: bool,
    /// One JSON object a path, one a line.
    #[arg(long)]
    json: bool,
    /// Also writes a report that build servers read.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// What was tried and what came of it.
struct Tried {
    name: String,
    variants: u64,
    distinct: u64,
    by_fault: Vec<(String, u64)>,
    endings: Vec<(String, u64)>,
    digest: Option<u64>,
    failures: Vec<Failure>,
}

/// A plan that breaks a law, and how to see it again.
struct Failure {
    breach: Breach,
    faults: String,
    plan: Scenario,
    command: String,
}

/// Most candidates that are played while a plan is shrunk.
pub(super) const MOST_TRIED: u64 = 100_000;

/// Seeds between two looks at the clock and at the progress.
const AT_ONCE: u64 = 256;

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let mut all = Vec::new();
    if args.paths.is_empty() {
        if args.every_boundary {
            return Err(Fault::usage("--every-boundary needs a recording or a plan"));
        }
        all.push(drawn(args));
    }
    for path in found(&args.paths)? {
        let scenario = scenario_at(&path)?;
        let tried = match args.every_boundary {
            true => boundaries(&path, &scenario)?,
            false => mixed(args, &path, &scenario),
        };
        all.push(tried);
    }
    tell(args, &all, out)?;
    if let Some(file) = &args.junit {
        let cannot = |error| Fault::unreadable(format!("LW5003: {}: {error}", file.display()));
        std::fs::write(file, junit::report(&all)).map_err(cannot)?;
    }
    let mut failures = all.iter().flat_map(|tried| &tried.failures);
    if args.shrink
        && let Some(failure) = failures.next()
    {
        shrunk(failure, out)?;
    }
    let codes = all.iter().flat_map(|tried| &tried.failures).map(|failure| code(&failure.breach));
    Ok(ExitCode::from(codes.reduce(worse).unwrap_or(0)))
}

/// The exit code of a broken law: 1 where a replay differs, 10 where the machine panics, else 9.
pub(super) fn code(breach: &Breach) -> u8 {
    match breach.law.as_str() {
        "R01" | "I01" => 1,
        "X01" => 10,
        _ => 9,
    }
}

/// A panic is worse than a broken law, and that is worse than a difference.
const fn worse(a: u8, b: u8) -> u8 {
    if a > b { a } else { b }
}

/// The scenario of a recording or a plan.
pub(super) fn scenario_at(path: &Path) -> Result<Scenario, Fault> {
    let in_file = |problem: String| Fault::unreadable(format!("{}: {problem}", path.display()));
    if path.extension().is_some_and(|extension| extension == "json") {
        let bytes = std::fs::read(path).map_err(|error| in_file(format!("LW5003: {error}")))?;
        let kept = ::replay::regressions::read(&bytes);
        return match kept {
            Ok(kept) => Ok(kept.scenario),
            Err(_) => Scenario::read(&bytes).map_err(|bad| in_file(bad.to_string())),
        };
    }
    let recording = Recording::read(path).map_err(Fault::unreadable)?;
    let recording = recording.sound().map_err(Fault::unreadable)?;
    derive(&recording).map_err(|bad| in_file(bad.to_string()))
}

/// The recordings and plans of these paths.
fn found(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            super::replay::find(path, &mut found)?;
        } else {
            found.push(path.clone());
        }
    }
    if found.is_empty() && !paths.is_empty() {
        return Err(Fault::nothing("LW5002: expected a recording or a plan, found none"));
    }
    Ok(found)
}

fn boundaries(path: &Path, scenario: &Scenario) -> Result<Tried, Fault> {
    let name = name_of(path);
    let told = |variants: u64| {
        if variants > 0 {
            eprintln!("{name}: {variants} variants");
        }
    };
    let tally = every_boundary(scenario, &Library::new(), Profile::FULL, told);
    let Tally { variants, distinct, faults, endings, findings, .. } =
        tally.map_err(Fault::unreadable)?;
    let failures = findings.iter().map(|finding| Failure {
        breach: finding.breach.clone(),
        faults: words(&finding.faults),
        plan: finding.plan(scenario),
        command: format!("loopwright chaos {} --every-boundary --shrink", path.display()),
    });
    Ok(Tried {
        variants,
        distinct,
        by_fault: faults.into_iter().map(|(word, n)| (word.to_owned(), n)).collect(),
        endings: endings.into_iter().collect(),
        digest: None,
        failures: failures.collect(),
        name,
    })
}

fn words(faults: &[::replay::faults::Placed]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Plays seeds until there are enough, or the time is over.
fn seeds(args: &Args, name: &str, fly: impl Fn(std::ops::Range<u64>) -> Flight) -> Flight {
    let clock = Clock::system();
    let mut flight = Flight::default();
    let end = args.seed.saturating_add(args.runs);
    let mut from = args.seed;
    while from < end {
        let to = from.saturating_add(AT_ONCE).min(end);
        flight.merge(fly(from..to));
        from = to;
        if from.is_multiple_of(AT_ONCE * 64) {
            eprintln!("{name}: {} runs", flight.runs);
        }
        if args.time.is_some_and(|seconds| clock.since_start_ms() >= seconds.saturating_mul(1000)) {
            break;
        }
    }
    flight
}

fn drawn(args: &Args) -> Tried {
    let flight = seeds(args, "drawn", swarm::fly);
    flown(flight, "drawn scenarios".into(), swarm::scenario_of, |seed| {
        format!("loopwright shrink --seed {seed}")
    })
}

/// A scenario with a mix of faults for every seed.
fn mixed(args: &Args, path: &Path, scenario: &Scenario) -> Tried {
    let name = name_of(path);
    let flight = seeds(args, &name, |range| swarm::fly_over(scenario, range));
    let plan = |seed| swarm::mixed_into(scenario, seed);
    flown(flight, name, plan, |seed| format!("loopwright shrink {} --seed {seed}", path.display()))
}

fn flown(
    flight: Flight,
    name: String,
    plan: impl Fn(u64) -> Scenario,
    command: impl Fn(u64) -> String,
) -> Tried {
    let failures = flight.findings.into_iter().map(|(seed, breach)| {
        let plan = plan(seed);
        Failure { breach, faults: words(&plan.faults), plan, command: command(seed) }
    });
    Tried {
        name,
        variants: flight.runs,
        distinct: flight.runs,
        by_fault: flight.struck.into_iter().collect(),
        endings: flight.endings.into_iter().collect(),
        digest: Some(flight.digest),
        failures: failures.collect(),
    }
}

fn name_of(path: &Path) -> String {
    super::replay::shown(path)
}

fn tell(args: &Args, all: &[Tried], out: &mut impl Write) -> Result<(), Fault> {
    for tried in all {
        if args.json {
            writeln!(out, "{}", as_json(tried))?;
            continue;
        }
        let Tried { name, variants, distinct, failures, .. } = tried;
        let failed = failures.len();
        writeln!(out, "{variants:>8} variants {distinct:>7} distinct {failed:>3} failed | {name}")?;
        if let Some(digest) = tried.digest {
            writeln!(out, "         digest of all runs: {digest:016x}")?;
        }
        for failure in failures {
            writeln!(out, "         {}", failure.breach)?;
            writeln!(out, "           faults     {}", failure.faults)?;
            writeln!(out, "           reproduce  {}", failure.command)?;
        }
    }
    Ok(())
}

fn as_json(tried: &Tried) -> serde_json::Value {
    let pairs = |pairs: &[(String, u64)]| {
        let pairs = pairs.iter().map(|(word, n)| (word.clone(), json!(n)));
        serde_json::Value::Object(pairs.collect())
    };
    let failures: Vec<_> = tried
        .failures
        .iter()
        .map(|failure| {
            json!({
                "breach": failure.breach,
                "exit_code": code(&failure.breach),
                "faults": failure.plan.faults,
                "command": failure.command,
            })
        })
        .collect();
    json!({
        "path": tried.name,
        "variants": tried.variants,
        "distinct": tried.distinct,
        "faults": pairs(&tried.by_fault),
        "endings": pairs(&tried.endings),
        "digest": tried.digest.map(|digest| format!("{digest:016x}")),
        "failures": failures,
    })
}

fn shrunk(failure: &Failure, out: &mut impl Write) -> Result<(), Fault> {
    let small = shrink(&failure.plan, &Library::new(), MOST_TRIED).map_err(Fault::unreadable)?;
    let Some(small) = small else {
        return Err(Fault::unreadable("the plan that failed does not fail again"));
    };
    super::shrink::tell(&small, &failure.command, out)
}

#[cfg(test)]
mod tests {
    use super::{Breach, code, worse};

    #[test]
    fn a_difference_a_broken_law_and_a_panic_exit_apart() {
        let of = |law: &str| code(&Breach { law: law.into(), at: 0, detail: String::new() });
        assert_eq!((of("R01"), of("T04"), of("I13"), of("X01")), (1, 9, 9, 10));
        assert_eq!([1, 9, 10, 9].into_iter().reduce(worse), Some(10));
    }
}
