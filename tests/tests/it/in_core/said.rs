//! B037, B038, B039: words of the user in mid-turn, a process that dies, and a strict replay.

use engine::resume::{last_state, unread};
use machine_spec::input::InterruptedBy;
use machine_spec::{Effect, Notice, Terminal};
use replay::format::v1::Frame;
use replay::reader::{Recording, Tail};
use replay::scenario::After;
use replay::sink::MemorySink;
use wire::Dialect::Anthropic;

use super::play::{Play, says};
use super::played::Played;

fn reads(files: &[&str]) -> Play {
    Play::with(Anthropic, files).reads("read_file", &[says(200, "text")])
}

/// How often the words stand in each request.
fn heard(played: &Played, words: &str) -> Vec<usize> {
    let count = |n: usize| played.conversation(n).concat().matches(words).count();
    (0..played.asked()).map(count).collect()
}

fn absorbed(played: &Played) -> u32 {
    let counts = played.told(|notice| match notice {
        Notice::InputAbsorbed { count } => Some(*count),
        _ => None,
    });
    counts.iter().sum()
}

#[test]
fn b037_words_stand_behind_the_results_in_their_order() {
    let played = reads(&["B037-1.sse", "B037-2.sse"])
        .says_later("m1: mind the flag", After::ToolStarts(1), 50)
        .says_later("m2: and hurry", After::ToolStarts(1), 51)
        .run();
    assert_eq!((heard(&played, "m1: "), heard(&played, "m2: ")), (vec![0, 1], vec![0, 1]));
    let lines = played.conversation(1);
    let [.., first, second, third, fourth] = &lines[..] else { panic!("{lines:#?}") };
    assert!(first.starts_with("result ") && second.starts_with("result "), "{lines:#?}");
    assert_eq!([third, fourth], ["user: m1: mind the flag", "user: m2: and hurry"]);
    assert_eq!(played.spans(), [(0, 200), (0, 200)], "no call is stopped");
    assert_eq!(absorbed(&played), 3);
}

#[test]
fn b037b_words_are_never_lost_and_never_said_twice() {
    // The user aborts at any input behind the words.
    let play =
        || reads(&["B037-1.sse", "B037-2.sse"]).says_later("m1: mind it", After::ToolStarts(1), 50);
    let whole = play().run().recording().frames.len() as u64;
    let (mut taken, mut back) = (0, 0);
    for at in 1..whole {
        let played = play().interrupted(After::Inputs(at), 0).run();
        let returned = played.told(|notice| match notice {
            Notice::InputReturned { texts } => Some(texts.concat()),
            _ => None,
        });
        let returned = returned.concat().matches("m1: ").count();
        let told = format!("{:?}", played.history().entries()).matches("m1: ").count();
        let said = played
            .recording()
            .frames
            .iter()
            .any(|frame| format!("{:?}", frame.input).contains("m1: "));
        if said {
            assert_eq!(returned + told, 1, "at {at}");
        }
        taken += told;
        back += returned;
    }
    assert!(taken > 0 && back > 0, "{taken} and {back}");
}

/// The same when the process is killed: what was heard and not read is there for the next run.
#[test]
fn b037b_words_outlive_their_process() {
    let play =
        || reads(&["B037-1.sse", "B037-2.sse"]).says_later("m1: mind it", After::ToolStarts(1), 50);
    let whole = play().run().recording().clone();
    let said = |frame: &Frame| format!("{:?}", frame.input).contains("m1: ");
    let from = whole.frames.iter().position(said).expect("it was said") as u64 + 1;
    for killed in from..whole.frames.len() as u64 {
        let left = play().killed_after(killed);
        let told = format!("{:?}", last_state(&left).expect("it was started").frame().transcript());
        let back = unread(&left).concat();
        let times = told.matches("m1: ").count() + back.matches("m1: ").count();
        assert_eq!(times, 1, "killed after {killed}: {told}\n{back}");
    }
    assert_eq!(unread(&whole), [""; 0], "a run that ended has told of them itself");
}

#[test]
fn b037c_words_during_the_answer_cost_one_more_round() {
    let played = reads(&["B037-1.sse", "B037-2.sse", "B024-2.sse"])
        .says_later("m1: mind the flag", After::Pieces(3), 0)
        .run();
    assert_eq!(heard(&played, "m1: "), [0, 0, 1]);
    assert_eq!(played.end().text(), Some("ok"), "the run is over when that was answered");
}

/// Two calls of B003, the second of which runs when the process dies.
fn two_calls() -> Play {
    Play::with(Anthropic, &["B003-1.sse", "B038-1.sse"])
        .reads("read_file", &[says(10, "the text of a.txt")])
        .acts("run_cmd", &[says(10_000, "built")])
}

/// What is left of it when the process dies while the second call runs.
fn dies() -> Recording {
    let whole = two_calls().run();
    let frames = &whole.recording().frames;
    let second =
        |effect: &Effect| matches!(effect, Effect::RunTool { name, .. } if &**name == "run_cmd");
    let at = frames.iter().position(|frame| frame.effects.iter().any(second));
    two_calls().killed_after(at.expect("it is started") as u64 + 1)
}

fn goes_on(recording: &Recording) -> Played {
    let state = last_state(recording).expect("it was started");
    Play::with(Anthropic, &["B038-1.sse"])
        .reads("read_file", &[])
        .acts("run_cmd", &[])
        .says("go on")
        .set(|config| config.history = state.frame().transcript().settled())
        .run()
}

#[test]
fn b038_a_resumed_run_knows_what_it_knows_and_repeats_nothing() {
    let left = dies();
    let state = last_state(&left).expect("it was started");
    match state.terminal() {
        Some(Terminal::Interrupted { by: InterruptedBy::Shutdown, .. }) => {}
        end => panic!("{end:?}"),
    }
    let first = goes_on(&left);
    assert_eq!(first.ledger().len(), 0, "nothing runs on its own");
    let lines = first.conversation(0);
    assert_eq!(lines[5], "result toolu_t1: the text of a.txt");
    assert!(lines[6].starts_with("error toolu_t2: ") && lines[6].contains("may have had effects"));
    assert!(lines[7].starts_with("error toolu_t3: not started"), "{lines:#?}");
    assert_eq!(lines[8], "user: go on");
    // The process is killed again before the first byte of the answer.
    let sent = first.recording().frames.iter().position(|frame| {
        frame.effects.iter().any(|effect| matches!(effect, Effect::CallModel { .. }))
    });
    let mut again = first.recording().clone();
    again.frames.truncate(sent.expect("it was sent") + 1);
    let second = goes_on(&again);
    let told = second.conversation(0);
    assert_eq!(told[..8], lines[..8], "the repair adds nothing the second time");
    assert_eq!(second.ledger().len(), 0);
}

#[test]
fn b038_a_record_that_is_half_written_is_dropped_at_every_byte() {
    let last = dies().frames.last().expect("a frame").seq;
    let whole = two_calls().run().run.sink;
    let text = String::from_utf8(whole.recording.clone()).expect("a recording is text");
    let from = text.find(&format!("{{\"seq\":{last},")).expect("the record");
    let length = text[from..].find('\n').expect("its end");
    for cut in from + 1..from + length {
        let torn = MemorySink { recording: whole.recording[..cut].to_vec(), ..whole.clone() };
        let read = Recording::from_memory(&torn).expect("readable");
        assert!(matches!(read.tail, Tail::Torn(_)), "a warning: cut at byte {cut}");
        assert_eq!(read.frames.last().map(|frame| frame.seq), Some(last - 1), "{cut}");
        let state = last_state(&read).expect("it was started");
        assert_eq!(state.frame().transcript().first_unpaired(), None, "cut at byte {cut}");
        let played = goes_on(&read);
        assert_eq!(played.ledger().len(), 0, "cut at byte {cut}");
    }
}

#[test]
fn b039_equal_requests_get_their_answers_in_order() {
    // The connection dies behind the first answer, so the second request is the first again.
    let cut = replay::scenario::EndOfBody::Reset;
    let mut first = replay::scenario::Answer::file("B039-1.sse");
    let body = replay::scenario::BodyPlan { end: cut, ..replay::scenario::BodyPlan::default() };
    first.body = Some(body);
    let whole =
        std::fs::read_to_string(tests::house::wire_file("cases/B039-1.sse")).expect("a file");
    let end = whole.find("event: message_delta").expect("an end");
    first.what = replay::scenario::What::Stream(whole[..end].to_owned());
    let answers = vec![first, replay::scenario::Answer::file("B039-2.sse")];
    let played = Play::answered(Anthropic, answers).run();
    assert_eq!(played.run.requests[0].body, played.run.requests[1].body);
    assert_eq!(played.end().text(), Some("second answer"), "and it replays so");
}
