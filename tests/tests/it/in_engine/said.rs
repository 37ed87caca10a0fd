//! B003, B037, B038, B039: words of the user in mid-turn, and runs that go on from earlier ones.

use engine::Event;
use machine_spec::Terminal;
use machine_spec::input::InterruptedBy;
use tests::scene::{Scene, Stage};

use super::act::{Acted, act, act_again, act_while, kind};

/// How often the words stand in each request.
fn heard(acted: &Acted, words: &str) -> Vec<usize> {
    let bodies = acted.stage.double("a").bodies();
    bodies.iter().map(|body| body["messages"].to_string().matches(words).count()).collect()
}

#[test]
fn b037_words_stand_behind_the_results_in_their_order() {
    let acted = act("answered--a-message-while-tools-run");
    assert_eq!((heard(&acted, "m1: "), heard(&acted, "m2: ")), (vec![0, 1], vec![0, 1]));
    let lines = acted.conversation("a", 1);
    let [.., first, second, third, fourth] = &lines[..] else { panic!("{lines:#?}") };
    assert!(first.starts_with("result ") && second.starts_with("result "), "{lines:#?}");
    assert_eq!([third, fourth], ["user: m1: mind the old flag", "user: m2: and the new one"]);
    let absorbed = acted.told(|event| match event {
        Event::InputAbsorbed { count } => Some(*count),
        _ => None,
    });
    assert_eq!(absorbed, [1, 2]);
    let queued = acted.told(|event| match event {
        Event::InputQueued { texts } => Some(texts.concat()),
        _ => None,
    });
    assert_eq!(queued, ["m1: mind the old flag", "m2: and the new one"]);
    assert!(acted.outcomes().iter().all(machine_spec::message::Outcome::is_success));
}

#[test]
fn b037b_words_that_were_not_read_are_handed_back_and_heard_once() {
    let stage = Stage::set(Scene::of_fixture("answered--a-message-while-tools-run"));
    let mut calls = 0;
    let acted = act_while(
        stage,
        |_| {},
        |event, handle| {
            if kind(event) == "tool_started" {
                calls += 1;
                if calls == 2 {
                    handle.interrupt(InterruptedBy::User);
                }
            }
        },
    );
    assert!(matches!(acted.end(), Terminal::Interrupted { .. }), "{:?}", acted.end());
    let returned = acted.told(|event| match event {
        Event::InputReturned { texts } => Some(texts.clone()),
        _ => None,
    });
    let words = ["m1: mind the old flag", "m2: and the new one"];
    assert_eq!(returned.concat(), words);
    assert_eq!(acted.ended.unread, words);
    let (again, history) = (acted.ended.unread.join("\n"), acted.ended.history());
    let next = act_again(acted.stage, &again, history);
    assert_eq!((heard(&next, "m1: "), heard(&next, "m2: ")), (vec![0, 1], vec![0, 1]));
}

#[test]
fn b037c_words_during_the_answer_cost_one_more_round() {
    let acted = act("answered--a-message-while-the-model-speaks");
    assert_eq!(heard(&acted, "m1: "), [0, 0, 1]);
    let lines = acted.conversation("a", 2);
    assert_eq!(lines.last().map(String::as_str), Some("user: m1: mind the old flag"));
    assert_eq!(acted.end().text(), Some("ok"), "the run is over when that was answered");
}

#[test]
fn b003_and_b038_what_an_earlier_run_knows_is_told_and_nothing_runs_again() {
    for (fixture, unknown) in [
        ("answered--after-an-interrupt", "output so far:\\ncompiling\\n"),
        ("answered--after-the-process-was-killed", "no output so far"),
    ] {
        let acted = act(fixture);
        assert_eq!(acted.stage.lines("ledger").len(), 0, "{fixture}: nothing runs again");
        let lines = acted.conversation("a", 0);
        assert_eq!(lines[5], "result toolu_t1: the text of a.txt\\n", "{fixture}");
        assert!(lines[6].starts_with("error toolu_t2: interrupted while running"), "{lines:#?}");
        assert!(lines[6].ends_with(unknown), "{fixture}: {}", lines[6]);
        assert!(lines[7].starts_with("error toolu_t3: not started"), "{lines:#?}");
        assert_eq!(lines[8], format!("user: {}", acted.stage.prompt()));
        assert!(matches!(acted.end(), Terminal::Answered { .. }), "{:?}", acted.end());
    }
}

#[test]
fn b039_equal_requests_get_their_answers_in_order() {
    let acted = act("answered--the-same-question-twice");
    let bodies = acted.stage.double("b").exchanges();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0].body, bodies[1].body, "to the byte");
    let lines = acted.conversation("a", 1);
    let [.., first, second] = &lines[..] else { panic!("{lines:#?}") };
    assert!(first.ends_with("first answer") && second.ends_with("second answer"), "{lines:#?}");
    assert_eq!(acted.end().text(), Some("end"));
    for call in ["call-1", "call-2"] {
        let path = acted.stage.path(&format!("run.{call}.jsonl"));
        let report = replay::replayer::replay_file(&path, replay::replayer::Options::default());
        assert!(report.expect("a readable recording").is_identical(), "{call}");
    }
}
