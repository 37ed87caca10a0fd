//! A scene: everything a run needs besides the engine, as data. Who is asked, what is answered and
//! when, which tools and hooks there are, who interrupts.
//!
//! A scene names no port and no folder: a [`Stage`] puts those in when it is set.

use serde::Deserialize;

use crate::double::{Answer, End, Gate, Pause, Script};
use crate::house;

mod stage;

pub use stage::{KEY, KEY_NAME, Ran, Stage};

/// A scene, as it stands in a `scene.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// What the user says.
    pub prompt: String,
    /// The configuration of the run. `{NAME}` becomes the base URL of the double of this name.
    pub config: String,
    /// The providers.
    #[serde(default, rename = "double")]
    pub doubles: Vec<DoubleTable>,
    /// Programs and data of the folder the run is started in.
    #[serde(default, rename = "file")]
    pub files: Vec<FileTable>,
    /// Named pipes through which its programs wait for each other.
    #[serde(default)]
    pub pipes: Vec<String>,
    /// When the run is interrupted.
    #[serde(default)]
    pub interrupt: Option<InterruptTable>,
    /// What the user says while it runs.
    #[serde(default, rename = "say")]
    pub says: Vec<SayTable>,
    /// The fixture whose recording the run goes on from.
    #[serde(default)]
    pub resume: Option<String>,
    /// The kind of the input behind which the process of that recording is killed, in the middle of
    /// the line that comes next; what is left of it is gone on from.
    #[serde(default)]
    pub killed_behind: Option<String>,
}

/// A provider of a scene.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DoubleTable {
    /// Its name in the configuration.
    pub name: String,
    /// The answers, in order.
    pub answers: Vec<AnswerTable>,
    /// The answer to every further request.
    pub always: Option<AnswerTable>,
    /// The answer to every request that forces a tool.
    pub forced: Option<AnswerTable>,
}

/// An answer of a scene.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerTable {
    /// The file, from `fixtures/wire`.
    pub file: String,
    /// What is waited for in the middle of it.
    #[serde(default, rename = "gate")]
    pub gates: Vec<GateTable>,
    /// How it ends, when not as its plan says.
    #[serde(default)]
    pub end: Option<End>,
    /// The number of bytes that are served, when not all.
    #[serde(default)]
    pub cut: Option<usize>,
}

/// A wait in the middle of an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateTable {
    /// The offset of the byte that has to wait.
    pub before: usize,
    /// The pipe that a tool writes to when it may come.
    pub pipe: String,
}

/// A file of the folder the run is started in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTable {
    /// Its name.
    pub name: String,
    /// Its text. One that begins with `#!` may be executed.
    pub text: String,
}

/// When a run is interrupted.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptTable {
    /// When somebody writes to this pipe.
    Pipe(String),
    /// When the run tells of an event of this type.
    Event(String),
}

/// What the user says while the run goes on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SayTable {
    /// The words.
    pub words: String,
    /// The type of the event it is said after.
    pub event: String,
    /// Which event of this type it is, from 1.
    #[serde(default = "first")]
    pub nth: usize,
    /// The file of the stage that is written once the run has heard it, or the pipe: whoever waits
    /// there goes on.
    #[serde(default)]
    pub writes: Option<String>,
}

const fn first() -> usize {
    1
}

impl SayTable {
    /// Whether it is said after the last of these events, told by their types.
    #[must_use]
    pub fn is_due(&self, seen: &[String]) -> bool {
        let alike = || seen.iter().filter(|kind| **kind == self.event).count();
        seen.last().is_some_and(|kind| *kind == self.event) && alike() == self.nth
    }
}

impl Scene {
    /// Reads a scene. Panics when it is none: what follows would prove nothing.
    #[must_use]
    pub fn read(text: &str) -> Scene {
        toml::from_str(text).unwrap_or_else(|problem| panic!("not a scene: {problem}"))
    }

    /// Reads the scene of a folder of `fixtures/runs`.
    #[must_use]
    pub fn of_fixture(name: &str) -> Scene {
        let path = house::root().join("fixtures/runs").join(name).join("scene.toml");
        let text = std::fs::read_to_string(&path);
        Scene::read(&text.unwrap_or_else(|problem| panic!("{}: {problem}", path.display())))
    }
}

impl DoubleTable {
    fn script(&self, gate: &impl Fn(&str) -> Gate) -> Script {
        let mut script = Script::list(self.answers.iter().map(|answer| answer.made(gate)));
        if let Some(answer) = &self.always {
            script = script.then_always(answer.made(gate));
        }
        if let Some(answer) = &self.forced {
            let forces = |request: &crate::double::Exchange| {
                let choice = &request.json()["tool_choice"];
                choice["type"] == "tool" || choice["type"] == "function"
            };
            script = script.when(forces, answer.made(gate));
        }
        script
    }
}

impl AnswerTable {
    /// A whole file as it is.
    #[must_use]
    pub fn of(file: &str) -> AnswerTable {
        AnswerTable { file: file.into(), gates: Vec::new(), end: None, cut: None }
    }

    fn made(&self, gate: &impl Fn(&str) -> Gate) -> Answer {
        let mut answer = Answer::file(&house::wire_file(&self.file));
        for wait in &self.gates {
            answer = answer.pause(wait.before, Pause::Until(gate(&wait.pipe)));
        }
        if let Some(end) = self.end {
            answer = answer.end(end);
        }
        match self.cut {
            Some(length) => answer.cut(length),
            None => answer,
        }
    }
}
