//! `loopwright replay`: recordings driven again, as a table and as an exit code.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::replay::ReadError;
use ::replay::replayer::{Options, Report, Verdict, replay_file};
use comfy_table::{Table, presets};
use serde_json::json;

use crate::fault::Fault;

/// Arguments of `replay`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Recordings, or folders that hold some.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// One JSON object a recording, one a line.
    #[arg(long)]
    json: bool,
}

/// A recording and what its replay came to.
struct Row {
    path: PathBuf,
    came_to: Result<Report, Box<ReadError>>,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let mut found = Vec::new();
    for path in &args.paths {
        find(path, &mut found)?;
    }
    if found.is_empty() {
        let told: Vec<String> = args.paths.iter().map(|path| path.display().to_string()).collect();
        let told = told.join(", ");
        return Err(Fault::nothing(format!(
            "LW5002: expected at least one recording (*.jsonl) in {told}, found none"
        )));
    }
    let mut exit = 0;
    let mut rows = Vec::new();
    for path in found {
        let came_to = replay_file(&path, Options::default());
        let code = came_to.as_ref().map_or(3, Report::exit_code);
        exit = worse(exit, code);
        let row = Row { path, came_to };
        if args.json {
            writeln!(out, "{}", as_json(&row))?;
        }
        rows.push(row);
    }
    if !args.json {
        tell(&rows, out)?;
    }
    Ok(ExitCode::from(exit))
}

/// A divergence is worse than an unreadable file: it is a finding about the machine.
fn worse(so_far: u8, code: u8) -> u8 {
    match (so_far, code) {
        (1, _) | (_, 1) => 1,
        (a, b) => a.max(b),
    }
}

/// Every recording below a path, in the order of their names. A folder of bodies holds none.
pub(super) fn find(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), Fault> {
    let cannot = |error: std::io::Error| {
        Fault::unreadable(format!("LW5003: cannot read {}: {error}", path.display()))
    };
    if !path.is_dir() {
        path.metadata().map_err(cannot)?;
        found.push(path.to_owned());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in path.read_dir().map_err(cannot)? {
        entries.push(entry.map_err(cannot)?.path());
    }
    entries.sort();
    for entry in entries {
        let ends = |with: &str| entry.extension().is_some_and(|extension| extension == with);
        if entry.is_dir() && !ends("bodies") {
            find(&entry, found)?;
        } else if entry.is_file() && ends("jsonl") {
            found.push(entry);
        }
    }
    Ok(())
}

fn as_json(row: &Row) -> serde_json::Value {
    match &row.came_to {
        Ok(report) => {
            json!({ "path": row.path, "exit_code": report.exit_code(), "report": report })
        }
        Err(error) => json!({ "path": row.path, "exit_code": 3, "error": error }),
    }
}

fn tell(rows: &[Row], out: &mut impl Write) -> Result<(), Fault> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["recording", "terminal", "passages", "frames", "requests", "verdict"]);
    for row in rows {
        table.add_row(cells(row));
    }
    writeln!(out, "{table}")?;
    for row in rows {
        match &row.came_to {
            Ok(report) => tell_report(row, report, out)?,
            Err(error) => writeln!(out, "\n{error}")?,
        }
    }
    let same = rows.iter().filter(|row| is_same(row)).count();
    writeln!(out, "\n{same} of {} recordings replay identically", rows.len())?;
    Ok(())
}

fn is_same(row: &Row) -> bool {
    row.came_to.as_ref().is_ok_and(Report::is_identical)
}

fn tell_report(row: &Row, report: &Report, out: &mut impl Write) -> Result<(), Fault> {
    for warning in &report.warnings {
        writeln!(out, "\nwarning: {}: {warning}", row.path.display())?;
    }
    match &report.verdict {
        Verdict::Identical => {}
        Verdict::Diverged(divergence) => writeln!(out, "\n{divergence}")?,
        Verdict::Unreadable(error) => writeln!(out, "\n{error}")?,
    }
    Ok(())
}

fn cells(row: &Row) -> [String; 6] {
    let name = shown(&row.path);
    let Ok(report) = &row.came_to else {
        return [name, "-".into(), "-".into(), "-".into(), "-".into(), "unreadable".into()];
    };
    let terminal = match &report.terminal {
        Some(terminal) => terminal.kind().to_string(),
        None => format!("none yet, in {}", report.room),
    };
    let verdict = match &report.verdict {
        Verdict::Identical => "identical".into(),
        Verdict::Diverged(divergence) => format!("{} at frame {}", divergence.code, divergence.at),
        Verdict::Unreadable(error) => format!("{} at line {}", error.code, error.line),
    };
    let requests = report.requests.compared.to_string();
    [name, terminal, report.passages.to_string(), report.frames.to_string(), requests, verdict]
}

/// The folder of a fixture says more than its file, which is always `run.jsonl`.
pub(super) fn shown(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    match folder {
        Some(folder) if file == "run.jsonl" => folder.to_string_lossy().into_owned(),
        Some(_) | None => path.display().to_string(),
    }
}
