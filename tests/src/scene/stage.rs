//! A scene that is set: doubles listen, files lie in a folder of their own, pipes wait.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::{InterruptTable, SayTable, Scene};
use crate::double::{Double, Gate, make_pipe};
use crate::house;

/// How long a program may take before it is ended by force.
const PATIENCE: Duration = Duration::from_secs(120);

/// The environment variable that holds the key of every scene.
pub const KEY_NAME: &str = "LOOPWRIGHT_TEST_KEY";

/// The key itself. It must be in no recording, no output and no tool.
pub const KEY: &str = "~key-that-nobody-may-see~";

/// A scene that is set. Everything of it is gone when it is dropped.
pub struct Stage {
    scene: Scene,
    folder: TempDir,
    doubles: BTreeMap<String, Double>,
    gates: BTreeMap<String, Gate>,
}

/// What a program did on a stage.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Ran {
    /// The JSON events of stdout, one a line. Panics when a line is none.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let read = |line: &str| {
            serde_json::from_str(line)
                .unwrap_or_else(|problem| panic!("not an event: {line}: {problem}\n{self:#?}"))
        };
        self.stdout.lines().map(read).collect()
    }
}

impl Stage {
    /// Sets a scene.
    #[must_use]
    pub fn set(scene: Scene) -> Stage {
        let folder = tempfile::tempdir().expect("a folder for the stage");
        for file in &scene.files {
            let path = folder.path().join(&file.name);
            fs::write(&path, &file.text).expect("a file of the stage");
            if file.text.starts_with("#!") {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                    .expect("a program of the stage");
            }
        }
        for pipe in &scene.pipes {
            make_pipe(&folder.path().join(pipe)).expect("a pipe");
        }
        let gates: BTreeMap<String, Gate> = waited_at(&scene)
            .into_iter()
            .map(|pipe| {
                let gate = Gate::opened_by_pipe(&folder.path().join(&pipe)).expect("a pipe");
                (pipe, gate)
            })
            .collect();
        let gate = |pipe: &str| gates[pipe].clone();
        let doubles: BTreeMap<String, Double> = scene
            .doubles
            .iter()
            .map(|table| (table.name.clone(), Double::serve(table.script(&gate))))
            .collect();
        let stage = Stage { scene, folder, doubles, gates };
        fs::write(stage.path("config.toml"), stage.config()).expect("the configuration");
        stage
    }

    /// A file of the stage.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes what waits for words of the user.
    pub fn write_behind(&self, say: &SayTable) {
        write_behind(self.folder.path(), say);
    }

    /// The lines of a file of the stage; none when nobody has written it.
    #[must_use]
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(String::from).collect()
    }

    /// The provider of this name.
    #[must_use]
    pub fn double(&self, name: &str) -> &Double {
        self.doubles.get(name).unwrap_or_else(|| panic!("the scene has no double {name}"))
    }

    /// The gate that a pipe opens.
    #[must_use]
    pub fn gate(&self, pipe: &str) -> Gate {
        self.gates.get(pipe).unwrap_or_else(|| panic!("the scene has no pipe {pipe}")).clone()
    }

    /// The names of all providers, in the order of the scene.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.scene.doubles.iter().map(|double| double.name.as_str()).collect()
    }

    /// When the run is interrupted.
    #[must_use]
    pub fn interrupt(&self) -> Option<&InterruptTable> {
        self.scene.interrupt.as_ref()
    }

    /// What the user says while it runs.
    #[must_use]
    pub fn says(&self) -> &[SayTable] {
        &self.scene.says
    }

    /// What the user says.
    #[must_use]
    pub fn prompt(&self) -> &str {
        &self.scene.prompt
    }

    /// The configuration with the addresses of this stage.
    #[must_use]
    pub fn config(&self) -> String {
        let mut text = self.scene.config.clone();
        for (name, double) in &self.doubles {
            text = text.replace(&format!("{{{name}}}"), &double.base_url());
        }
        text
    }

    /// The recording that the scene goes on from, or what is left of it.
    #[must_use]
    pub fn earlier(&self) -> Option<PathBuf> {
        let fixture = self.scene.resume.as_ref()?;
        let whole = house::root().join("fixtures/runs").join(fixture).join("run.jsonl");
        let Some(kind) = &self.scene.killed_behind else { return Some(whole) };
        let recorded = fs::read_to_string(whole).expect("a recording to go on from");
        let last = format!("\"input\":{{\"{kind}\":");
        let at = recorded.find(&last).unwrap_or_else(|| panic!("{fixture} has no {kind}"));
        let end = at + recorded[at..].find('\n').expect("the end of a line") + 1;
        let next = recorded[end..].lines().next().unwrap_or_default().len() / 2;
        let left = self.path("earlier.jsonl");
        fs::write(&left, &recorded[..end + next]).expect("a file of the stage");
        Some(left)
    }

    /// What the command is told so that it plays the scene and records it to `run.jsonl`.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let plain = ["run", "--config", "config.toml", "--record", "run.jsonl", "--json"];
        let mut arguments: Vec<String> = plain.map(String::from).to_vec();
        if let Some(earlier) = self.earlier() {
            arguments.extend(["--resume".into(), earlier.to_string_lossy().into_owned()]);
        }
        if !self.scene.says.is_empty() {
            arguments.push("--listen".into());
        }
        arguments.push(self.scene.prompt.clone());
        arguments
    }

    /// Runs a program in the folder of the stage. It is ended by force when it takes too long.
    #[must_use]
    pub fn run(&self, program: &Path, arguments: &[&str]) -> Ran {
        self.watch(program, arguments, None, &[])
    }

    /// Plays the scene with the command, which is interrupted when the scene says so.
    #[must_use]
    pub fn play(&self, program: &Path) -> Ran {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.watch(program, &arguments, self.scene.interrupt.as_ref(), &self.scene.says)
    }

    fn watch(
        &self,
        program: &Path,
        arguments: &[&str],
        interrupt: Option<&InterruptTable>,
        says: &[SayTable],
    ) -> Ran {
        let mut child = self.spawn(program, arguments, !says.is_empty());
        let (id, stdin) = (child.id(), child.stdin.take());
        let mut awaited = None;
        match interrupt {
            Some(InterruptTable::Pipe(pipe)) => {
                let gate = self.gate(pipe);
                std::thread::spawn(move || {
                    gate.wait();
                    signal(id, "INT");
                });
            }
            Some(InterruptTable::Event(word)) => awaited = Some(word.clone()),
            None => {}
        }
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let (folder, says) = (self.folder.path().to_owned(), says.to_vec());
        let cues = Cues { id, awaited, stdin, folder, says, seen: Vec::new() };
        let told = std::thread::spawn(move || cues.listen(stdout));
        let output = finish(child);
        let stdout = told.join().expect("stdout can be read");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ran { status: output.status, stdout, stderr }
    }

    fn spawn(&self, program: &Path, arguments: &[&str], spoken_to: bool) -> Child {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path());
        // What the machine of a developer says about proxies and keys is no part of a scene.
        command.env_clear().envs(std::env::vars().filter(|(name, _)| name == "PATH"));
        command.env(KEY_NAME, KEY);
        command.stdin(if spoken_to { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
            .spawn()
            .unwrap_or_else(|problem| panic!("{} cannot be started: {problem}", program.display()))
    }
}

/// What is done to a program when it tells of something.
struct Cues {
    id: u32,
    /// The event at which it is interrupted.
    awaited: Option<String>,
    stdin: Option<ChildStdin>,
    folder: PathBuf,
    says: Vec<SayTable>,
    /// The types of its events so far.
    seen: Vec<String>,
}

impl Cues {
    /// Reads what a program says to its end, and acts on it.
    fn listen(mut self, stdout: ChildStdout) -> String {
        let mut said = String::new();
        for line in BufReader::new(stdout).lines() {
            let line = line.expect("the output is text");
            if let Ok(event) = serde_json::from_str::<Value>(&line) {
                self.heard(&event);
            }
            said.push_str(&line);
            said.push('\n');
        }
        said
    }

    fn heard(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap_or_default();
        if self.awaited.as_ref().is_some_and(|awaited| awaited == kind) {
            signal(self.id, "INT");
            self.awaited = None;
        }
        self.seen.push(kind.to_owned());
        for say in self.says.iter().filter(|say| say.is_due(&self.seen)) {
            let Some(stdin) = &mut self.stdin else { return };
            // A program that has ended meanwhile hears nothing, and its events will tell.
            drop(writeln!(stdin, "{}", say.words).and_then(|()| stdin.flush()));
        }
        if kind == "input_queued" {
            // Whoever waits for the words goes on once they were heard, not when they are written.
            let heard = |say: &&SayTable| event["texts"][0] == say.words.as_str();
            self.says.iter().filter(heard).for_each(|say| write_behind(&self.folder, say));
        }
    }
}

fn write_behind(folder: &Path, say: &SayTable) {
    if let Some(name) = &say.writes {
        fs::write(folder.join(name), "said\n").expect("a file of the stage");
    }
}

/// The pipes that a scene itself waits at.
fn waited_at(scene: &Scene) -> Vec<String> {
    let answers = scene
        .doubles
        .iter()
        .flat_map(|double| double.answers.iter().chain(&double.always).chain(&double.forced));
    let gates = answers.flat_map(|answer| answer.gates.iter().map(|gate| gate.pipe.clone()));
    let interrupt = scene.interrupt.iter().filter_map(|interrupt| match interrupt {
        InterruptTable::Pipe(pipe) => Some(pipe.clone()),
        InterruptTable::Event(_) => None,
    });
    let mut pipes: Vec<String> = gates.chain(interrupt).collect();
    pipes.sort();
    pipes.dedup();
    pipes
}

/// Waits for a program, with patience.
fn finish(child: Child) -> Output {
    let id = child.id();
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output()));
    let output = ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        signal(id, "KILL");
        ended.recv().expect("a killed program ends")
    });
    output.expect("the output of a program")
}

fn signal(id: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), id.to_string()]).status();
    // A program that has just ended by itself cannot be told anything any more.
    drop(sent);
}
