//! Fixtures are recorded, never written: `loopwright run` plays each scene over a real connection
//! against the double, and what it recorded is the fixture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use machine_spec::Terminal;
use replay::Recording;
use replay::replayer::terminal;
use tests::scene::{KEY, Ran, Scene, Stage};

use crate::tidy::fixtures::ending_of;

mod index;

pub use index::index;

/// Records the runs with these names, all of them when none is named, and writes the index.
///
/// # Errors
/// When the command cannot be built, or a run does not end as its name says.
pub fn record(root: &Path, names: &[&str]) -> Result<(), String> {
    let runs = root.join("fixtures/runs");
    let program = build(root)?;
    let mut scenes = Vec::new();
    for entry in fs::read_dir(&runs).map_err(|problem| format!("{}: {problem}", runs.display()))? {
        let folder = entry.map_err(|problem| problem.to_string())?.path();
        let name = name_of(&folder);
        if folder.join("scene.toml").exists() && (names.is_empty() || names.contains(&&*name)) {
            scenes.push(folder);
        }
    }
    // A run that goes on from another one is recorded after it.
    scenes.sort_by_key(|folder| (Scene::of_fixture(&name_of(folder)).resume, folder.clone()));
    for folder in &scenes {
        record_one(&program, folder)
            .map_err(|problem| format!("{}: {problem}", name_of(folder)))?;
        println!("recorded {}", name_of(folder));
    }
    let file = root.join("fixtures/README.md");
    fs::write(&file, index(root)?).map_err(|problem| format!("{}: {problem}", file.display()))
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Builds the command and tells where it is.
fn build(root: &Path) -> Result<PathBuf, String> {
    let arguments = ["build", "--quiet", "--locked", "--package", "loopwright"];
    let told = ["--message-format", "json-render-diagnostics"];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(arguments).args(told).current_dir(root).output();
    let built = built.map_err(|problem| format!("cargo: {problem}"))?;
    if !built.status.success() {
        return Err(format!("cargo build: {}", String::from_utf8_lossy(&built.stderr)));
    }
    let messages = String::from_utf8_lossy(&built.stdout);
    let program = messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    program.ok_or_else(|| "cargo build made no command".into())
}

fn record_one(program: &Path, folder: &Path) -> Result<(), String> {
    let stage = Stage::set(Scene::of_fixture(&name_of(folder)));
    let ran = stage.play(program);
    judge(folder, &stage, &ran)?;
    let bodies = folder.join("run.bodies");
    let failed = |problem: std::io::Error| problem.to_string();
    if bodies.exists() {
        fs::remove_dir_all(&bodies).map_err(failed)?;
    }
    fs::copy(stage.path("run.jsonl"), folder.join("run.jsonl")).map_err(failed)?;
    if stage.path("run.bodies").exists() {
        fs::create_dir(&bodies).map_err(failed)?;
        for entry in fs::read_dir(stage.path("run.bodies")).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            fs::copy(entry.path(), bodies.join(entry.file_name())).map_err(failed)?;
        }
    }
    Ok(())
}

/// A fixture is what its name says, and it tells nothing of the machine it was made on.
fn judge(folder: &Path, stage: &Stage, ran: &Ran) -> Result<(), String> {
    let expected = ending_of(&name_of(folder)).ok_or("the name does not begin with an ending")?;
    let recorded = stage.path("run.jsonl");
    let read = Recording::read(&recorded);
    let recording = read.map_err(|problem| format!("no recording: {problem}: {ran:#?}"))?;
    let ended = terminal(&recording).map(Terminal::kind);
    if ended != Some(expected) {
        return Err(format!("expected {expected}, but the run ended as {ended:?}: {ran:#?}"));
    }
    let endings = ran.events().iter().filter(|event| event["type"] == "terminal").count();
    if endings != 1 || ran.status.code() != Some(i32::from(expected.exit_code())) {
        return Err(format!("expected one ending and its exit code: {ran:#?}"));
    }
    let text = fs::read_to_string(&recorded).map_err(|problem| problem.to_string())?;
    let here = stage.path("").to_string_lossy().into_owned();
    for secret in [KEY, here.trim_end_matches('/')] {
        if text.contains(secret) {
            return Err(format!("the recording contains `{secret}`"));
        }
    }
    Ok(())
}
