//! A scene, carried through by the engine and judged by what must hold of every run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::pin;

use engine::config::Overrides;
use engine::{Approvals, Clock, Ended, Event, Handle, Observer, Setup};
use machine_spec::input::InterruptedBy;
use machine_spec::message::{Entry, Outcome};
use machine_spec::{EffectKind, Terminal, Transcript};
use replay::reader::Recording;
use replay::replayer::{Options, replay_file};
use serde_json::Value;
use tests::scene::{AnswerTable, InterruptTable, KEY, KEY_NAME, Scene, Stage};
use tests::{hygiene, render};
use wire::Dialect;

/// The time of the first instant: Tue, 14 Nov 2023 22:13:20 GMT.
const EPOCH_MS: u64 = 1_700_000_000_000;

/// A run that is over, and where it happened.
pub(crate) struct Acted {
    pub(crate) stage: Stage,
    pub(crate) events: Vec<Event>,
    pub(crate) ended: Ended,
    pub(crate) recording: Recording,
}

/// A scene of one double that gives these answers, with a step that can be taken.
pub(crate) fn with_step(prompt: &str, config: &str, answers: &[&str]) -> Scene {
    let mut scene = Scene::read(&format!(
        r#"
prompt = "{prompt}"
config = '''
{config}
'''

[[double]]
name = "a"

[[file]]
name = "step.sh"
text = '''
#!/bin/sh
echo "a step"
'''
"#
    ));
    scene.doubles[0].answers = answers.iter().map(|file| AnswerTable::of(file)).collect();
    scene
}

/// Carries the scene of a fixture through.
pub(crate) fn act(fixture: &str) -> Acted {
    act_on(Stage::set(Scene::of_fixture(fixture)))
}

/// Carries a scene through.
pub(crate) fn act_on(stage: Stage) -> Acted {
    act_while(stage, |_| {}, |_, _| {})
}

/// Carries a scene through with another setup, while somebody who sees its events does something.
pub(crate) fn act_while(
    stage: Stage,
    change: impl FnOnce(&mut Setup),
    on: impl FnMut(&Event, &Handle),
) -> Acted {
    let prompt = stage.prompt().to_owned();
    let interrupt = stage.interrupt().cloned();
    run(stage, "run.jsonl", &prompt, interrupt, None, change, on)
}

/// Carries a scene through in which somebody is asked about calls; nobody when there is none.
pub(crate) fn act_asking(stage: Stage, approvals: Option<Approvals>) -> Acted {
    let prompt = stage.prompt().to_owned();
    let interrupt = stage.interrupt().cloned();
    run(stage, "run.jsonl", &prompt, interrupt, approvals, |_| {}, |_, _| {})
}

/// Says more on the same stage, in a run of its own that begins with this history.
pub(crate) fn act_again(stage: Stage, words: &str, history: Transcript) -> Acted {
    let change = |setup: &mut Setup| setup.machine.history = history;
    run(stage, "again.jsonl", words, None, None, change, |_, _| {})
}

fn run(
    stage: Stage,
    file: &str,
    words: &str,
    interrupt: Option<InterruptTable>,
    approvals: Option<Approvals>,
    change: impl FnOnce(&mut Setup),
    on: impl FnMut(&Event, &Handle),
) -> Acted {
    let environment = |name: &str| (name == KEY_NAME).then(|| KEY.to_owned());
    let path = stage.path("config.toml");
    let setup = Setup::load(&path, &Overrides::default(), &environment);
    let mut setup = setup.unwrap_or_else(|error| panic!("{error}"));
    if let Some(earlier) = stage.earlier().filter(|_| file == "run.jsonl") {
        let earlier = Recording::read(&earlier).expect("a readable recording");
        let state = engine::resume::last_state(&earlier).expect("it was started");
        setup.go_on_from(&state);
    }
    change(&mut setup);
    let dialects = setup.providers.iter().map(|provider| provider.dialect).collect();
    let recorded = stage.path(file);
    // What a server asks to wait for is leapt over, and is seen in the events all the same.
    let clock = Clock::leaping(EPOCH_MS);
    let scene = engine::Stage { clock, approvals, ..engine::Stage::recorded(recorded.clone()) };
    let (events, ended) = carry(&stage, setup, words, scene, interrupt, on);
    let recording = Recording::read(&recorded).expect("a readable recording");
    let acted = Acted { stage, events, ended, recording };
    acted.judge(dialects, recorded);
    acted
}

fn carry(
    stage: &Stage,
    setup: Setup,
    words: &str,
    scene: engine::Stage,
    interrupt: Option<InterruptTable>,
    mut on: impl FnMut(&Event, &Handle),
) -> (Vec<Event>, Ended) {
    let (handle, inputs) = engine::inputs();
    let (observer, mut told) = Observer::new();
    handle.say(words).expect("the run has not begun");
    let (pipe, word) = match interrupt {
        Some(InterruptTable::Pipe(pipe)) => (Some(stage.gate(&pipe)), None),
        Some(InterruptTable::Event(word)) => (None, Some(word)),
        None => (None, None),
    };
    let ran = engine::block_on(async {
        let watch = async {
            let mut events: Vec<Event> = Vec::new();
            let mut seen: Vec<String> = Vec::new();
            while let Some(event) = told.recv().await {
                let awaited =
                    |event: &Event| word.as_ref().is_some_and(|word| kind(event) == *word);
                if awaited(&event) && !events.iter().any(awaited) {
                    handle.interrupt(InterruptedBy::User);
                }
                seen.push(kind(&event));
                for say in stage.says().iter().filter(|say| say.is_due(&seen)) {
                    handle.say(say.words.clone()).expect("the run goes on");
                    stage.write_behind(say);
                }
                on(&event, &handle);
                events.push(event);
            }
            events
        };
        let act = async {
            let mut run = pin!(engine::run(setup, inputs, observer, scene));
            if let Some(gate) = &pipe {
                tokio::select! {
                    ended = &mut run => return ended,
                    () = gate.passed() => handle.interrupt(InterruptedBy::User),
                }
            }
            run.await
        };
        let (events, ended) = tokio::join!(watch, act);
        (events, ended)
    });
    let (events, ended) = ran.expect("a runtime");
    let ended = ended.unwrap_or_else(|error| panic!("{error}\n{events:#?}"));
    (events, ended)
}

/// The `type` of an event.
pub(crate) fn kind(event: &Event) -> String {
    let event: Value = serde_json::from_str(&event.to_json()).expect("an event is JSON");
    event["type"].as_str().expect("an event has a type").to_owned()
}

impl Acted {
    /// What must hold of every run: one ending and nothing after it, clean requests, no call
    /// executed twice, no secret anywhere, and an identical replay that builds the same requests.
    fn judge(&self, dialects: Vec<Dialect>, recorded: PathBuf) {
        let endings: Vec<usize> = (0..self.events.len())
            .filter(|n| matches!(self.events[*n], Event::Terminal(_)))
            .collect();
        assert_eq!(endings, [self.events.len() - 1], "{:#?}", self.events);
        for (name, dialect) in self.stage.names().into_iter().zip(dialects) {
            hygiene::assert_clean(dialect, &self.stage.double(name).bodies());
        }
        let mut started = BTreeSet::new();
        for event in &self.events {
            if let Event::ToolStarted { call, .. } = event {
                assert!(started.insert(*call), "{call} ran twice");
            }
        }
        let effects = || self.recording.frames.iter().flat_map(|frame| &frame.effects);
        let asked = effects().filter(|effect| effect.kind() == EffectKind::CallModel).count();
        let report = replay_file(&recorded, Options::default()).expect("a readable recording");
        assert!(report.is_identical(), "{report:#?}");
        assert_eq!((report.requests.compared, report.requests.skipped), (asked as u64, 0));
        assert_eq!(report.terminal.as_ref(), Some(&self.ended.terminal));
        let bytes = std::fs::read_to_string(&recorded).expect("a readable recording");
        let told: String = self.events.iter().map(Event::to_json).collect();
        assert!(!bytes.contains(KEY) && !told.contains(KEY), "the key is shown");
    }

    /// The ending.
    pub(crate) fn end(&self) -> &Terminal {
        &self.ended.terminal
    }

    /// How many requests a provider got.
    pub(crate) fn asked(&self, double: &str) -> usize {
        self.stage.double(double).exchanges().len()
    }

    /// The conversation as the n-th request to a provider tells it.
    pub(crate) fn conversation(&self, double: &str, n: usize) -> Vec<String> {
        let body = &self.stage.double(double).bodies()[n];
        let target = self.stage.double(double).exchanges()[n].target.clone();
        let dialect = match &*target {
            chat if chat.ends_with("/chat/completions") => Dialect::OpenAiChat,
            responses if responses.ends_with("/responses") => Dialect::OpenAiResponses,
            gemini if gemini.contains("enerateContent") => Dialect::Gemini,
            _ => Dialect::Anthropic,
        };
        render::conversation(dialect, body)
    }

    /// The outcomes of all calls, in call order.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let transcript = self.ended.state.frame().transcript();
        let mut outcomes = Vec::new();
        for entry in transcript.newest_first() {
            if let Entry::Results(results) = entry {
                outcomes.extend(results.iter().rev().map(|result| result.outcome.clone()));
            }
        }
        outcomes.reverse();
        outcomes
    }

    /// What of the events fits, in order.
    pub(crate) fn told<T>(&self, fits: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(fits).collect()
    }

    /// Where the first event that fits stands.
    pub(crate) fn place(&self, fits: impl Fn(&Event) -> bool) -> usize {
        let place = self.events.iter().position(fits);
        place.unwrap_or_else(|| panic!("no such event in {:#?}", self.events))
    }
}
