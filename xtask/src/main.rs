//! `cargo xtask <chore>`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use xtask::tidy::Finding;

const CHORES: &str = "\
cargo xtask unreferenced FILE
                       tell the snapshots that are not listed in FILE (see .ci/run)
cargo xtask chaos      break every recorded run at every boundary
cargo xtask draw       write the drawings of the machine into machine-spec/spec
cargo xtask explore    explore the machine far beyond what a test can afford
cargo xtask record-fixtures [NAME...]
                       play the scenes of fixtures/runs and record them
cargo xtask tidy       check the habits of the house that no compiler knows";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
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
