//! Whole runs against a small double on loopback. The cases from the field are played in the crate
//! `tests`; here is what belongs to the loop itself.

use std::path::{Path, PathBuf};

use machine_spec::Terminal;
use machine_spec::input::{InterruptedBy, ToolStatus};
use replay::replayer::{Options, replay_file};
use tempfile::TempDir;

use super::{Ended, Stage, run};
use crate::clock::Clock;
use crate::config::Overrides;
use crate::double::{BEGIN, HEAD, TEXT, Then, calling, hello, serve_all};
use crate::error::EngineError;
use crate::events::{Event, Events, Observer};
use crate::inbox::{Handle, inputs};
use crate::journal::RecordingStatus;
use crate::setup::Setup;

const KEY: &str = "key-of-the-house";

struct House {
    dir: TempDir,
    setup: Setup,
}

/// A house whose provider is at this address, with a tool `sh` that runs its argument `cmd`.
fn house(address: std::net::SocketAddr, more: &str) -> House {
    let dir = tempfile::tempdir().expect("a folder");
    let config = format!(
        r#"
[[provider]]
name = "a"
dialect = "anthropic"
model = "claude-test-1"
base_url = "http://{address}"
api_key_env = "HOUSE_KEY"

[[tool]]
name = "sh"
command = ["sh", "-c", 'read -r line; eval "$(printf %s "$line" | sed "s/.*\"cmd\":\"\([^\"]*\)\".*/\1/")"']
input_schema = {{ type = "object", required = ["cmd"] }}
env = {{ SIGN = "{}" }}
{more}"#,
        dir.path().join("up").display()
    );
    let environment = |name: &str| (name == "HOUSE_KEY").then(|| KEY.to_owned());
    let path = dir.path().join("loopwright.toml");
    let setup = Setup::parse(&config, &path, &Overrides::default(), &environment);
    House { setup: setup.expect("a sound configuration"), dir }
}

impl House {
    fn recording(&self) -> PathBuf {
        self.dir.path().join("runs/run.jsonl")
    }

    async fn up(&self) {
        while !self.dir.path().join("up").exists() {
            tokio::task::yield_now().await;
        }
    }

    async fn run(&self, stage: Stage) -> (Result<Ended, EngineError>, Vec<Event>) {
        self.run_while(stage, |_, _| std::future::ready(())).await
    }

    /// Runs with the prompt `go` while somebody outside does something.
    async fn run_while<F: Future<Output = ()>>(
        &self,
        stage: Stage,
        outside: impl FnOnce(Handle, Events) -> F,
    ) -> (Result<Ended, EngineError>, Vec<Event>) {
        let (handle, line) = inputs();
        handle.say("go").expect("somebody listens");
        let (observer, mut events) = Observer::new();
        let (watcher, watched) = Observer::new();
        let running = run(self.setup.clone(), line, observer, stage);
        let forward = async {
            let mut seen = Vec::new();
            while let Some(event) = events.recv().await {
                watcher.tell(event.clone());
                seen.push(event);
            }
            seen
        };
        let (ended, seen, ()) = tokio::join!(running, forward, outside(handle, watched));
        (ended, seen)
    }
}

fn terminals(events: &[Event]) -> usize {
    assert!(matches!(events.last(), Some(Event::Terminal(_))), "{:?}", events.last());
    events.iter().filter(|event| matches!(event, Event::Terminal(_))).count()
}

fn kinds(events: &[Event]) -> Vec<String> {
    let kind = |event: &Event| {
        let value: serde_json::Value = serde_json::from_str(&event.to_json()).expect("JSON");
        value["type"].as_str().expect("a type").to_owned()
    };
    let mut kinds: Vec<String> = events.iter().map(kind).collect();
    kinds.dedup();
    kinds
}

fn replays(path: &Path) {
    let report = replay_file(path, Options::default()).expect("a readable recording");
    assert_eq!(report.exit_code(), 0, "{:?}", report.verdict);
}

#[tokio::test]
async fn a_run_with_a_tool_is_told_recorded_and_replayed() {
    let call = calling("sh", r#"{"cmd":"echo $HOUSE_KEY-key-of-the-house"}"#);
    let (address, served) = serve_all(vec![(call, Then::End), (hello(), Then::Hang)]).await;
    let house = house(address, "");
    let (ended, events) = house.run(Stage::recorded(house.recording())).await;
    let ended = ended.expect("the run ends by design");
    assert_eq!(
        ended.terminal,
        Terminal::Answered { text: "hello".into(), stop: "end_turn".into() }
    );
    assert_eq!(ended.recording, RecordingStatus::Complete(house.recording()));
    assert_eq!(ended.exit_code(), 0);
    assert_eq!(terminals(&events), 1);
    insta::assert_snapshot!("a-run-with-a-tool", kinds(&events).join("\n"));
    // The key was neither given to the tool nor kept when the tool said it all the same.
    let output = events.iter().find_map(|event| match event {
        Event::ToolFinished { output, .. } => Some(output.clone()),
        _ => None,
    });
    assert_eq!(output.as_deref(), Some("-[redacted]\n"));
    let requests = served.await.expect("served");
    assert!(requests[0].contains(KEY), "the key travels in its header");
    assert!(!requests[1].split_once("\r\n\r\n").expect("a body").1.contains(KEY));
    let recording = std::fs::read_to_string(house.recording()).expect("a recording");
    assert!(!recording.contains(KEY), "the key is in the recording");
    replays(&house.recording());
}

#[tokio::test]
async fn an_interrupt_in_the_middle_of_a_stream_closes_the_connection() {
    // B002: the hook that always blocks is never asked.
    let (address, served) = serve_all(vec![(format!("{HEAD}{BEGIN}{TEXT}"), Then::Hang)]).await;
    let house =
        house(address, "[[hook]]\nevent = \"Stop\"\ncommand = [\"sh\", \"-c\", \"exit 2\"]\n");
    let stage = Stage::recorded(house.recording());
    let (ended, events) = house
        .run_while(stage, |handle, mut events| async move {
            while !matches!(events.recv().await, Some(Event::TextDelta { .. })) {}
            handle.interrupt(InterruptedBy::User);
        })
        .await;
    let terminal = ended.expect("the run ends by design").terminal;
    assert!(matches!(terminal, Terminal::Interrupted { by: InterruptedBy::User, .. }));
    served.await.expect("the connection was closed");
    assert_eq!(terminals(&events), 1);
    let kinds = kinds(&events);
    assert!(!kinds.iter().any(|kind| kind == "hook_started"), "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| *kind == "interrupted").count(), 1);
    replays(&house.recording());
}

#[tokio::test]
async fn an_interrupt_ends_a_running_tool_before_the_run_is_over() {
    // B035 (a), through the loop.
    let call = calling("sh", r#"{"cmd":"echo begun; : > $SIGN; sleep 300 & sleep 300; wait"}"#);
    let (address, _served) = serve_all(vec![(call, Then::End)]).await;
    let house = &house(address, "");
    let (ended, events) = house
        .run_while(Stage::recorded(house.recording()), |handle, _events| async move {
            house.up().await;
            handle.interrupt(InterruptedBy::User);
        })
        .await;
    let terminal = ended.expect("the run ends by design").terminal;
    assert!(
        matches!(terminal, Terminal::Interrupted { settled: 0, unknown: 1, .. }),
        "{terminal:?}"
    );
    let told = events.iter().any(|event| {
        matches!(
            event,
            Event::ToolFinished { status: ToolStatus::Cancelled, output, .. } if output == "begun\n"
        )
    });
    assert!(told, "{events:?}");
    replays(&house.recording());
}

#[tokio::test]
async fn a_second_interrupt_waits_for_nothing() {
    let call = calling("sh", r#"{"cmd":"trap : TERM; : > $SIGN; while :; do sleep 300; done"}"#);
    let (address, _served) = serve_all(vec![(call, Then::End)]).await;
    let mut house = house(address, "");
    house.setup.machine.limits.settle_grace_ms = 600_000;
    let house = &house;
    let (ended, _) = house
        .run_while(Stage::default(), |handle, mut events| async move {
            house.up().await;
            handle.interrupt(InterruptedBy::User);
            while !matches!(events.recv().await, Some(Event::Interrupted)) {}
            handle.interrupt(InterruptedBy::User);
        })
        .await;
    let terminal = ended.expect("the run ends by design").terminal;
    assert!(
        matches!(terminal, Terminal::Interrupted { settled: 0, unknown: 1, .. }),
        "{terminal:?}"
    );
}

#[tokio::test]
async fn a_wait_that_the_server_asks_for_is_kept_and_announced() {
    // B024 (a), on a clock that leaps.
    let slow = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 30\r\ncontent-length: 0\r\n\r\n";
    let (address, served) = serve_all(vec![(slow.into(), Then::End), (hello(), Then::End)]).await;
    let house = house(address, "");
    let clock = Clock::leaping(1_700_000_000_000);
    let stage = Stage { clock: clock.clone(), ..Stage::recorded(house.recording()) };
    let (ended, events) = house.run(stage).await;
    assert_eq!(ended.expect("the run ends by design").exit_code(), 0);
    let waits: Vec<(u64, u64)> = events
        .iter()
        .filter_map(|event| match event {
            Event::RetryScheduled { wait_ms, until_unix_ms, .. } => {
                Some((*wait_ms, *until_unix_ms))
            }
            _ => None,
        })
        .collect();
    let [(wait_ms, until)] = waits[..] else { panic!("{waits:?}") };
    assert!((30_000..=37_500).contains(&wait_ms), "{wait_ms}");
    assert_eq!(until, 1_700_000_000_000 + wait_ms);
    assert_eq!(clock.unix_ms(), until);
    assert_eq!(served.await.expect("served").len(), 2);
    replays(&house.recording());
}

#[tokio::test]
async fn words_after_the_end_come_back() {
    let (address, _served) = serve_all(vec![(format!("{HEAD}{BEGIN}{TEXT}"), Then::Hang)]).await;
    let house = house(address, "");
    let (ended, events) = house
        .run_while(Stage::default(), |handle, mut events| async move {
            while !matches!(events.recv().await, Some(Event::TextDelta { .. })) {}
            handle.say("and then").expect("somebody listens");
            handle.interrupt(InterruptedBy::User);
            handle.say("too late").expect("the line is still open");
        })
        .await;
    assert_eq!(ended.expect("the run ends by design").unread, ["and then", "too late"]);
    assert_eq!(terminals(&events), 1);
}

#[tokio::test]
async fn a_run_that_nobody_can_begin_ends() {
    let (address, _served) = serve_all(vec![]).await;
    let house = house(address, "");
    let (handle, line) = inputs();
    drop(handle);
    let ended = run(house.setup.clone(), line, Observer::nobody(), Stage::default()).await;
    let terminal = ended.expect("the run ends by design").terminal;
    assert!(matches!(terminal, Terminal::Interrupted { by: InterruptedBy::Parent, .. }));
}

#[tokio::test]
async fn a_recording_that_cannot_be_begun_stops_the_run_before_it_starts() {
    let (address, _served) = serve_all(vec![]).await;
    let house = house(address, "");
    let path = house.dir.path().join("up/run.jsonl");
    std::fs::write(house.dir.path().join("up"), "").expect("a file in the way");
    let (ended, events) = house.run(Stage::recorded(&path)).await;
    assert!(matches!(ended, Err(EngineError::Recording { path: told, .. }) if told == path));
    assert_eq!(kinds(&events), ["terminal"]);
}

#[tokio::test]
async fn a_recording_that_fails_on_the_way_fails_no_run() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        println!("SKIPPED: this system has no /dev/full");
        return;
    }
    let (address, _served) = serve_all(vec![(hello(), Then::End)]).await;
    let house = house(address, "");
    let (ended, events) = house.run(Stage::recorded(full)).await;
    let ended = ended.expect("the run ends by design");
    assert_eq!(ended.terminal.text(), Some("hello"));
    assert_eq!(ended.recording, RecordingStatus::Incomplete(full.to_owned()));
    let kinds = kinds(&events);
    assert_eq!(kinds.iter().filter(|kind| *kind == "warning").count(), 1, "{kinds:?}");
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_nothing_behind() {
    let call = calling("sh", r#"{"cmd":"echo $$ > $SIGN.new; mv $SIGN.new $SIGN; sleep 300"}"#);
    let (address, _served) = serve_all(vec![(call, Then::End)]).await;
    let house = &house(address, "");
    let (handle, line) = inputs();
    handle.say("go").expect("somebody listens");
    let running = run(house.setup.clone(), line, Observer::nobody(), Stage::default());
    tokio::select! {
        _ = running => panic!("the tool does not end by itself"),
        () = house.up() => {}
    }
    let leader = std::fs::read_to_string(house.dir.path().join("up")).expect("a process id");
    let stat = format!("/proc/{}/stat", leader.trim());
    // A zombie is dead; it only waits for whoever has to bury it.
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() {
        tokio::task::yield_now().await;
    }
}
