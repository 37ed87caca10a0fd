//! B035, B036: processes that are stopped, output without end, and work in the background.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::input::ToolStatus;
use machine_spec::message::{Fate, Outcome};
use tests::processes::alive_in_group;
use tests::scene::{Scene, Stage};

use super::act::{Acted, act, act_again, act_on, act_while, kind};

const PROVIDER: &str = r#"
[[provider]]
name = "a"
dialect = "anthropic"
model = "claude-test-1"
base_url = "{a}"
api_key_env = "LOOPWRIGHT_TEST_KEY"
"#;

/// A scene in which a command runs that is this script.
fn command(script: &str, more: &str) -> Scene {
    Scene::read(&format!(
        r#"
prompt = "Run it."
config = '''
{PROVIDER}
[[tool]]
name = "run_cmd"
command = ["./run_cmd.sh"]
cwd = "."
{more}
'''

[[double]]
name = "a"
answers = [{{ file = "cases/B035-1.sse" }}]
always = {{ file = "cases/B024-2.sse" }}

[[file]]
name = "run_cmd.sh"
text = '''
#!/bin/sh
{script}
'''
"#
    ))
}

fn stopped(script: &str, more: &str) -> Acted {
    let mut scene = command(&format!("echo $$ >pid; echo begun; {script}"), more);
    scene.interrupt = Some(tests::scene::InterruptTable::Pipe("up".into()));
    let acted = act_on(Stage::set(scene));
    assert!(matches!(acted.end(), Terminal::Interrupted { unknown: 1, .. }), "{:?}", acted.end());
    assert_eq!(acted.outcomes(), [Outcome::Unknown { output: "begun\n".into() }]);
    let group = acted.stage.lines("pid").concat().parse().expect("the id of a process");
    let left = alive_in_group(group);
    assert!(left.is_empty(), "{left:?}");
    let finished = acted.place(|event| kind(event) == "tool_finished");
    let over = acted.place(|event| kind(event) == "terminal");
    assert!(finished < over, "the end comes after the clean-up");
    acted
}

#[test]
fn b035a_nothing_of_a_stopped_group_is_alive() {
    stopped("sleep 300 & sleep 300 & echo >up; wait", "");
}

#[test]
fn b035_the_fixtures_of_stopped_processes() {
    for fixture in ["interrupted--a-group-of-processes", "interrupted--a-tool-that-does-not-listen"]
    {
        let acted = act(fixture);
        assert!(matches!(acted.end(), Terminal::Interrupted { unknown: 1, .. }), "{fixture}");
        let [Outcome::Unknown { .. }] = &acted.outcomes()[..] else { panic!("{fixture}") };
        let group = acted.stage.lines("pid").concat().parse().expect("the id of a process");
        let left = alive_in_group(group);
        assert!(left.is_empty(), "{fixture}: {left:?}");
    }
}

#[test]
fn a_task_that_is_not_waited_for_is_stopped_and_listed() {
    let acted = act("answered--a-task-that-is-not-waited-for");
    let left = acted.told(|event| match event {
        Event::TasksLeft { orphans } => Some(orphans.clone()),
        _ => None,
    });
    let fates: Vec<Fate> = left.concat().iter().map(|orphan| orphan.fate).collect();
    assert_eq!(fates, [Fate::Cancelled, Fate::Cancelled]);
    assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
}

#[test]
fn b035b_what_does_not_listen_is_killed() {
    let limits = "[limits]\nsettle_grace_ms = 600";
    stopped("trap '' TERM; echo >up; while :; do sleep 1; done", limits);
}

#[test]
fn b035c_a_flood_is_kept_within_bounds() {
    let flood = "yes éééééééééééééééé | tr -d '\\n' | head -c 200000000";
    let acted = act_on(Stage::set(command(flood, "max_output_bytes = 1000000")));
    let outcomes = acted.outcomes();
    let [Outcome::Succeeded { output }] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert!(output.len() < 31_000, "{} bytes stand in the conversation", output.len());
    assert!(output.starts_with("éé") && output.ends_with('é'), "cut between characters");
    assert!(!output.contains('\u{fffd}'));
    let reference = output.split("the whole is kept at ").nth(1).expect("a reference");
    let reference = reference.split(']').next().expect("its end");
    let kept = std::fs::read_to_string(reference).expect("the whole can be read");
    assert!(kept.len() < 1_000_200, "{} bytes are kept", kept.len());
    assert!(kept.contains("of 200000000 bytes left out]"), "and say how much there was");
    let recording = std::fs::metadata(acted.stage.path("run.jsonl")).expect("a recording");
    assert!(recording.len() < 1_300_000, "{} bytes are recorded", recording.len());
    assert_eq!(acted.end().text(), Some("ok"));
}

/// Two tasks that wait for a file of their own name.
fn background(more: &str) -> Scene {
    Scene::read(&format!(
        r#"
prompt = "Build and lint."
config = '''
{PROVIDER}
[[tool]]
name = "start_background"
command = ["./start.sh"]
cwd = "."
background = true
{more}
'''

[[double]]
name = "a"
answers = [
  {{ file = "cases/B036-1.sse" }},
  {{ file = "cases/B036-2.sse", gate = [{{ before = 488, pipe = "heard" }}] }},
  {{ file = "cases/B036-3.sse" }},
  {{ file = "cases/B036-4.sse" }},
]

[[file]]
name = "start.sh"
text = '''
#!/bin/sh
read -r args
case $args in *build*) me=build ;; *) me=lint ;; esac
echo $$ >$me.pid
while [ ! -e $me ]; do sleep 0.02; done
echo "$me is done"
'''
"#
    ))
}

/// How many times a notice stands in each request.
fn notices(acted: &Acted, task: &str) -> Vec<usize> {
    let bodies = acted.stage.double("a").bodies();
    let notice = format!("The background task {task} (start_background) is done");
    bodies.iter().map(|body| body["messages"].to_string().matches(&notice).count()).collect()
}

fn count(events: &[String], wanted: &str) -> usize {
    events.iter().filter(|kind| *kind == wanted).count()
}

/// Plays the scene; `release` is told the kinds of all events so far and names files to make.
fn play(scene: Scene, release: impl Fn(&[String]) -> Vec<&'static str>) -> Acted {
    let stage = Stage::set(scene);
    let (folder, heard) = (stage.path(""), stage.gate("heard"));
    let mut seen: Vec<String> = Vec::new();
    act_while(
        stage,
        |_| {},
        |event, _| {
            seen.push(kind(event));
            for name in release(&seen) {
                match name {
                    "heard" => heard.open(),
                    name => std::fs::write(folder.join(name), "").expect("a file of the stage"),
                }
            }
        },
    )
}

#[test]
fn b036a_a_task_is_heard_of_between_rounds_and_wakes_an_idle_run() {
    let acted = play(background(""), |seen| match seen.last().map(String::as_str) {
        Some("text_delta") if count(seen, "text_delta") == 1 => vec!["build"],
        Some("task_finished") if count(seen, "task_finished") == 1 => vec!["heard"],
        // The answer about the build is whole: nothing more comes by itself.
        Some("model_finished") if count(seen, "model_finished") == 3 => vec!["lint"],
        _ => vec![],
    });
    assert_eq!(acted.end().text(), Some("Lint finished."));
    assert_eq!(notices(&acted, "task-1"), [0, 0, 1, 1], "once, and then it is history");
    assert_eq!(notices(&acted, "task-2"), [0, 0, 0, 1]);
    let first = acted.conversation("a", 2);
    assert!(first[3].contains("result toolu_1: started in the background as task-1"), "{first:#?}");
    assert!(first.last().is_some_and(|line| line.contains("no consent")), "{first:#?}");
}

#[test]
fn b036b_two_ends_are_told_in_one_request() {
    let mut scene = background("");
    scene.doubles[0].answers.truncate(3);
    let acted = play(scene, |seen| match seen.last().map(String::as_str) {
        Some("text_delta") if count(seen, "text_delta") == 1 => vec!["build", "lint"],
        Some("task_finished") if count(seen, "task_finished") == 2 => vec!["heard"],
        _ => vec![],
    });
    assert_eq!(acted.end().text(), Some("Build finished."));
    assert_eq!(
        (notices(&acted, "task-1"), notices(&acted, "task-2")),
        (vec![0, 0, 1], vec![0, 0, 1])
    );
}

#[test]
fn b036c_a_task_that_outlives_the_answer_is_listed_and_told_to_the_next_run() {
    let mut scene = background("[policy]\ntasks = \"cancel\"");
    scene.doubles[0].answers.truncate(2);
    scene.doubles[0].answers.push(tests::scene::AnswerTable::of("cases/B036-3.sse"));
    // The answer goes on once both of them have begun.
    let begun = "echo $$ >$me.pid\n[ -s build.pid ] && [ -s lint.pid ] && echo >heard";
    scene.files[0].text = scene.files[0].text.replace("echo $$ >$me.pid", begun);
    let acted = play(scene, |_| vec![]);
    assert_eq!(acted.end().text(), Some("Both are running, I will report."));
    let left = acted.told(|event| match event {
        Event::TasksLeft { orphans } => Some(orphans.clone()),
        _ => None,
    });
    let fates: Vec<Fate> = left.concat().iter().map(|orphan| orphan.fate).collect();
    assert_eq!(fates, [Fate::Cancelled, Fate::Cancelled]);
    for name in ["build.pid", "lint.pid"] {
        let group = acted.stage.lines(name).concat().parse().expect("the id of a process");
        assert!(alive_in_group(group).is_empty(), "{name}");
    }
    let history = acted.ended.history();
    let again = act_again(acted.stage, "and?", history);
    let told = again.conversation("a", 2).join("\n");
    assert_eq!(told.matches("was stopped; it may have had effects").count(), 2, "{told}");
}

#[test]
fn b035d_a_task_that_may_stay_survives_an_interrupt_and_is_listed() {
    let mut scene = background("[policy]\ntasks = \"leave\"");
    scene.interrupt = Some(tests::scene::InterruptTable::Event("text_delta".into()));
    let acted = play(scene, |_| vec![]);
    assert!(matches!(acted.end(), Terminal::Interrupted { .. }), "{:?}", acted.end());
    let left = acted.told(|event| match event {
        Event::TasksLeft { orphans } => Some(orphans.clone()),
        _ => None,
    });
    let fates: Vec<Fate> = left.concat().iter().map(|orphan| orphan.fate).collect();
    assert_eq!(fates, [Fate::Detached, Fate::Detached]);
    let papers = std::fs::read_dir(acted.stage.path("tasks")).expect("what they print");
    assert_eq!(papers.count(), 2);
    for name in ["build", "lint"] {
        let pid = || acted.stage.lines(&format!("{name}.pid")).concat();
        // It has begun before the interrupt, but perhaps not come to that line.
        while pid().is_empty() {
            std::thread::yield_now();
        }
        let group: u32 = pid().parse().expect("a process id");
        assert!(!alive_in_group(group).is_empty(), "{name} lives on");
        std::fs::write(acted.stage.path(name), "").expect("a file of the stage");
        while !alive_in_group(group).is_empty() {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_task_that_fails_is_told_as_what_it_is() {
    let mut scene = background("");
    scene.files[0].text = scene.files[0].text.replace("echo \"$me is done\"", "echo no; exit 3");
    scene.doubles[0].answers.truncate(3);
    let acted = play(scene, |seen| match seen.last().map(String::as_str) {
        Some("text_delta") if count(seen, "text_delta") == 1 => vec!["build", "lint"],
        Some("task_finished") if count(seen, "task_finished") == 2 => vec!["heard"],
        _ => vec![],
    });
    let ends = acted.told(|event| match event {
        Event::TaskFinished { status, output, .. } => Some((*status, output.clone())),
        _ => None,
    });
    assert_eq!(ends, vec![(ToolStatus::Failed, "no\n[exit code 3]".to_owned()); 2]);
    let told = acted.conversation("a", 2).join("\n");
    assert_eq!(told.matches("ended without success").count(), 2, "{told}");
}
