//! The command as people and scripts meet it: what it prints and how it exits.

mod chaos;
mod decode;
mod images;
mod replay;
mod run;

use std::path::Path;

use tests::scene::{Ran, Stage};

/// The command of this build.
const LOOPWRIGHT: &str = env!("CARGO_BIN_EXE_loopwright");

/// Runs the command in the folder of a stage.
fn loopwright(stage: &Stage, arguments: &[&str]) -> Ran {
    stage.run(Path::new(LOOPWRIGHT), arguments)
}

/// The exit code. Panics when a signal ended it.
fn code(ran: &Ran) -> i32 {
    ran.status.code().unwrap_or_else(|| panic!("it did not exit by itself: {ran:#?}"))
}

/// A folder without a provider.
fn nothing() -> Stage {
    Stage::set(tests::scene::Scene::read("prompt = \"hi\"\nconfig = \"\"\n"))
}
