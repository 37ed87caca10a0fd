//! The habits of the house that no compiler knows, checked: lengths, forbidden arms, the direction
//! of dependencies, fixtures, drawings, full stops, paths of somebody's machine.
//!
//! Each rule has a file of its own and a test that plants an offence.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

mod arms;
mod dependencies;
mod drawings;
pub(crate) mod fixtures;
mod lengths;
mod manifests;
mod paths;
mod snapshots;
mod stops;

/// Something that is not tidy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the root.
    pub path: PathBuf,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// What is expected and what was found.
    pub says: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.says)
    }
}

/// Everything that is not tidy in the workspace, sorted by file and line.
///
/// # Errors
/// When the workspace cannot be read, for example because `git` or `cargo` is missing.
pub fn findings(root: &Path) -> Result<Vec<Finding>, String> {
    let mut report = Report::default();
    for path in tracked(root)? {
        // A file that is deleted but not yet committed is nobody's concern.
        let Ok(bytes) = std::fs::read(root.join(&path)) else { continue };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let source = Source { path, text };
        paths::check(&source, &mut report);
        if source.path.extension().is_some_and(|word| word == "rs") {
            check_rust(&source, &mut report);
        }
        if source.path.file_name().is_some_and(|name| name == "Cargo.toml") {
            manifests::check(&source, &mut report);
        }
    }
    dependencies::check(&metadata(root)?, &mut report);
    drawings::check(root, &mut report);
    fixtures::check(root, &mut report);
    report.findings.sort();
    Ok(report.findings)
}

/// Every snapshot of the workspace that no test has looked at; `seen` lists those that were.
///
/// # Errors
/// When the workspace or the list cannot be read.
pub fn unreferenced(root: &Path, seen: &Path) -> Result<Vec<Finding>, String> {
    let seen = std::fs::read_to_string(seen)
        .map_err(|problem| format!("{}: {problem}", seen.display()))?;
    let mut report = Report::default();
    snapshots::check(root, &tracked(root)?, &seen, &mut report);
    Ok(report.findings)
}

fn check_rust(source: &Source, report: &mut Report) {
    stops::check(source, report);
    let file = match syn::parse_file(&source.text) {
        Ok(file) => file,
        Err(problem) => {
            let line = problem.span().start().line;
            return report.tell(source, line, format!("this is not Rust: {problem}"));
        }
    };
    lengths::check(source, &file, report);
    if source.path.starts_with("machine-spec/src") {
        arms::check(source, &file, report);
    }
}

/// The files of the workspace that git knows or would add.
fn tracked(root: &Path) -> Result<Vec<PathBuf>, String> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = run(Command::new("git").args(arguments).current_dir(root))?;
    let mut paths: Vec<PathBuf> =
        listed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// What cargo knows about the workspace and everything it is built from.
fn metadata(root: &Path) -> Result<serde_json::Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version", "1", "--locked"];
    let text = run(Command::new(cargo).args(arguments).current_dir(root))?;
    serde_json::from_str(&text).map_err(|problem| format!("cargo metadata: {problem}"))
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|problem| format!("{command:?}: {problem}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {said}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|problem| format!("{command:?}: {problem}"))
}

/// A text file of the workspace.
struct Source {
    path: PathBuf,
    text: String,
}

/// Findings so far.
#[derive(Default)]
struct Report {
    findings: Vec<Finding>,
}

impl Report {
    fn tell(&mut self, source: &Source, line: usize, says: String) {
        self.note(&source.path, line, says);
    }

    fn note(&mut self, path: &Path, line: usize, says: String) {
        self.findings.push(Finding { path: path.to_path_buf(), line, says });
    }
}

/// The lines of the findings that a rule has over this text.
#[cfg(test)]
fn lines_told(path: &str, text: &str, rule: impl Fn(&Source, &mut Report)) -> Vec<usize> {
    let source = Source { path: PathBuf::from(path), text: text.to_owned() };
    let mut report = Report::default();
    rule(&source, &mut report);
    report.findings.into_iter().map(|finding| finding.line).collect()
}
