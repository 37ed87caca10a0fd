//! `cargo xtask <chore>`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use xtask::tidy::Finding;

const CHORES: &str = "\
cargo xtask unreferenced FILE
                       tell the snapshots that are not listed in FILE (see .ci/run)
cargo xtask bless regression PLAN SLUG LAW FOUND
                       keep a plan that broke a law under the next number
cargo xtask chaos      break every recorded run at every boundary
cargo xtask draw       write the drawings of the machine into machine-spec/spec
cargo xtask explore    explore the machine far beyond what a test can afford
cargo xtask record-fixtures [NAME...]
                       play the scenes of fixtures/runs and record them
cargo xtask swarm [FROM COUNT]
                       play seeds twice here and once in another process
cargo xtask tidy       check the habits of the house that no compiler knows";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["bless", "regression", plan, slug, law, found] => {
            xtask::bless::regression(&root(), Path::new(plan), slug, law, found)
        }
        ["swarm"] => xtask::swarm::lane(0, 100_000),
        ["swarm", from, count] => {
            numbers(from, count).and_then(|(from, count)| xtask::swarm::lane(from, count))
        }
        ["swarm-once", from, count] => {
            numbers(from, count).and_then(|(from, count)| xtask::swarm::once(from, count))
        }
        ["chaos"] => xtask::chaos::boundaries(&root()),
        ["draw"] => xtask::draw::refresh(&root()).map_err(|problem| problem.to_string()),
        ["explore"] => xtask::explore::large(),
        ["record-fixtures", names @ ..] => xtask::fixtures::record(&root(), names),
        ["tidy"] => told(xtask::tidy::findings(&root())),
        ["unreferenced", seen] => told(xtask::tidy::unreferenced(&root(), Path::new(seen))),
        _ => Err(format!("expected one of these chores:\n{CHORES}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn numbers(from: &str, count: &str) -> Result<(u64, u64), String> {
    let number =
        |word: &str| word.parse::<u64>().map_err(|_| format!("expected a number, found `{word}`"));
    Ok((number(from)?, number(count)?))
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

fn told(findings: Result<Vec<Finding>, String>) -> Result<(), String> {
    let findings = findings?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n => Err(format!("{n} findings")),
    }
}
