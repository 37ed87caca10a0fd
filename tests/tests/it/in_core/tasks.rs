//! B035, B036: calls that are stopped, and work in the background.

use machine_spec::config::ToolKind;
use machine_spec::message::{Fate, Outcome};
use machine_spec::policy::Tasks;
use machine_spec::{Notice, Terminal};
use replay::scenario::{After, Answer, BodyPlan, ToolRun, WhenCancelled};
use wire::Dialect::Anthropic;

use super::play::{Play, says};
use super::played::Played;

#[test]
fn b035_a_stopped_call_is_unknown_and_the_run_ends_within_its_grace() {
    for (when_cancelled, end) in [
        (WhenCancelled::Stops, 100),
        (WhenCancelled::IsSilent, 100 + 600),
        // It comes to its own end before the grace is over: then that is its result.
        (WhenCancelled::GoesOn, 400),
    ] {
        let run = ToolRun { when_cancelled, ..says(400, "begun") };
        let played = Play::with(Anthropic, &["B035-1.sse"])
            .acts("run_cmd", &[run])
            .set(|config| config.limits.settle_grace_ms = 600)
            .interrupted_at(100)
            .run();
        assert!(matches!(played.end(), Terminal::Interrupted { .. }), "{:?}", played.end());
        assert_eq!(played.run.at_ms, end, "{when_cancelled:?}");
        let outcomes = played.outcomes();
        let real = matches!(outcomes[..], [Outcome::Succeeded { .. }]);
        let unknown = matches!(outcomes[..], [Outcome::Unknown { .. }]);
        assert!(
            if when_cancelled == WhenCancelled::GoesOn { real } else { unknown },
            "{outcomes:?}"
        );
    }
}

#[test]
fn b035d_a_task_survives_a_cancelled_turn_by_policy_and_is_listed() {
    let answers = vec![Answer::file("B036-1.sse"), paused()];
    for (tasks, fate) in [(Tasks::Leave, Fate::Detached), (Tasks::Cancel, Fate::Cancelled)] {
        let played = background(answers.clone(), [60_000, 60_000])
            .set(|config| config.policy.tasks = tasks)
            .interrupted(After::Pieces(3), 0)
            .run();
        assert!(matches!(played.end(), Terminal::Interrupted { .. }), "{:?}", played.end());
        assert_eq!(fates(&played), [fate, fate]);
    }
}

/// B036-2 with its pause between the two pieces of text.
fn paused() -> Answer {
    Answer::file("B036-2.sse")
}

/// Two tasks that take so long.
fn background(answers: Vec<Answer>, ms: [u64; 2]) -> Play {
    let runs = [says(ms[0], "build is done"), says(ms[1], "lint is done")];
    Play::answered(Anthropic, answers)
        .acts("start_background", &runs)
        .set(|config| config.tools[0].kind = ToolKind::Task)
}

fn files(n: usize) -> Vec<Answer> {
    let names = ["B036-1.sse", "B036-2.sse", "B036-3.sse", "B036-4.sse"];
    names[..n].iter().map(|name| Answer::file(name)).collect()
}

/// How often a request tells that a task is over.
fn notices(played: &Played, task: &str) -> Vec<usize> {
    let notice = format!("The background task {task} (start_background) is done");
    let count = |n: usize| played.conversation(n).concat().matches(&notice).count();
    (0..played.asked()).map(count).collect()
}

fn fates(played: &Played) -> Vec<Fate> {
    let left = played.told(|notice| match notice {
        Notice::TasksLeft { orphans } => Some(orphans.clone()),
        _ => None,
    });
    left.concat().iter().map(|orphan| orphan.fate).collect()
}

#[test]
fn b036a_a_task_is_heard_of_at_the_next_safe_point_and_wakes_an_idle_run() {
    // The first ends while the second answer streams, the second five seconds after that.
    let played = background(files(4), [100, 5_500]).run();
    assert_eq!(notices(&played, "task-1"), [0, 0, 1, 1], "once, and then it is history");
    assert_eq!(notices(&played, "task-2"), [0, 0, 0, 1]);
    assert_eq!(played.run.requests[3].at_ms, 5_500, "it wakes the run");
    assert_eq!(played.end().text(), Some("Lint finished."));
    assert_eq!(fates(&played), []);
}

#[test]
fn b036b_two_ends_in_one_instant_are_told_in_one_request() {
    let played = background(files(3), [100, 100]).run();
    let told = (notices(&played, "task-1"), notices(&played, "task-2"));
    assert_eq!(told, (vec![0, 0, 1], vec![0, 0, 1]));
    assert_eq!(played.end().text(), Some("Build finished."));
}

#[test]
fn b036c_an_end_at_any_instant_is_told_exactly_once() {
    // Around the end of the answer: before it, at it, and after it.
    for ms in [1, 100, 499, 500, 501, 502, 1_000] {
        let played = background(files(4), [100, ms]).run();
        for task in ["task-1", "task-2"] {
            let told = notices(&played, task);
            let first = told.iter().position(|n| *n > 0).unwrap_or_else(|| panic!("{ms}: {task}"));
            assert!(told[first..].iter().all(|n| *n == 1), "{ms}: {task}: {told:?}");
        }
    }
}

#[test]
fn b036c_what_comes_too_late_opens_the_next_run() {
    let first = background(files(2), [60_000, 60_000])
        .set(|config| config.policy.tasks = Tasks::Leave)
        .run();
    assert_eq!(fates(&first), [Fate::Detached, Fate::Detached]);
    let next = Play::with(Anthropic, &["B036-3.sse"]).says("and?");
    let next = next.set(|config| config.history = first.history()).run();
    let told = next.conversation(0).concat();
    for task in ["task-1", "task-2"] {
        assert!(told.contains(task), "{told}");
    }
}

#[test]
fn b036_no_notice_stands_between_a_call_and_its_result() {
    // A task ends while another call runs; every request was judged when it was played.
    let answers =
        vec![Answer::file("B036-1.sse"), Answer::file("B031-1.sse"), Answer::file("B024-2.sse")];
    let play = background(answers, [50, 50]).acts("step", &[says(1_000, "done")]);
    let played = play.run();
    let lines = played.conversation(2);
    let result = lines.iter().position(|line| line.contains(": done")).expect("a result");
    let notice = lines.iter().position(|line| line.contains("is done")).expect("a notice");
    assert!(result < notice, "{lines:#?}");
    assert_eq!(notices(&played, "task-1"), [0, 0, 1]);
}

/// A body that stays open behind its first piece of text.
#[test]
fn b036_the_last_open_task_wakes_too() {
    let mut answers = files(3);
    answers[1].body = Some(BodyPlan::default());
    let played = background(answers, [60_000, 90_000])
        .set(|config| config.limits.task_wait_ms = 600_000)
        .for_ever()
        .run();
    assert_eq!(notices(&played, "task-2").last(), Some(&1));
    assert_eq!(played.run.requests.last().map(|sent| sent.at_ms), Some(90_000));
}
