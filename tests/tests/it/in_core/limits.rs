//! B031, B032: the limit of tool rounds, and what is a loop.

use machine_spec::message::{Origin, Outcome};
use machine_spec::{Notice, Terminal};
use replay::scenario::{After, Answer};
use wire::Dialect::Anthropic;

use super::play::{Play, says, with_text};
use super::played::Played;

const STEPS: &[&str] = &["B031-1.sse", "B031-2.sse", "B031-3.sse"];

fn steps(rounds: u32) -> Play {
    Play::with(Anthropic, STEPS)
        .acts("step", &[says(1, "done")])
        .set(|config| config.limits.tool_rounds = rounds)
}

#[test]
fn b031_the_calls_of_the_last_round_run_and_nothing_more_is_asked() {
    for rounds in [2, 1] {
        let played = steps(rounds).run();
        let n = rounds as usize;
        assert_eq!((played.asked(), played.ledger().len()), (n, n), "{rounds}");
        assert_eq!(played.outcomes(), vec![Outcome::Succeeded { output: "done".into() }; n]);
        let end = Terminal::MaxTurns { limit: rounds, used: rounds, text: String::new() };
        assert_eq!(played.end(), &end);
        assert_eq!(played.history().first_unpaired(), None);
    }
}

#[test]
fn b031d_a_last_word_is_counted_apart_and_offers_no_tools() {
    let last_word = |play: Play| play.set(|config| config.policy.wrap_up = true).run();
    let played = last_word(steps(2));
    assert_eq!(played.asked(), 3);
    assert_eq!(played.body(2)["tool_choice"]["type"], "none", "{}", played.body(2));
    let text = "So far: steps 1 and 2.".to_owned();
    assert_eq!(played.end(), &Terminal::MaxTurns { limit: 2, used: 2, text });
    assert!(played.origins().contains(&Origin::Continuation));
    // It comes back with a call all the same: that is dropped.
    let calls = Play::with(Anthropic, &["B031-1.sse", "B031-2.sse", "B031-1.sse"])
        .acts("step", &[says(1, "done")])
        .set(|config| config.limits.tool_rounds = 2);
    let played = last_word(calls);
    assert_eq!((played.asked(), played.ledger().len()), (3, 2));
    assert_eq!(played.end(), &Terminal::MaxTurns { limit: 2, used: 2, text: String::new() });
    assert_eq!(played.history().first_unpaired(), None);
}

/// Calls of these files in turn, as often as it takes.
fn circles(files: &[&str], rounds: usize) -> Play {
    let answers: Vec<&str> = files.iter().copied().cycle().take(rounds).collect();
    Play::with(Anthropic, &answers)
        .acts("find", &[says(1, "no oak")])
        .acts("peek", &[says(1, "an elm")])
}

fn warnings(played: &Played) -> Vec<Vec<String>> {
    played.told(|notice| match notice {
        Notice::DoomWarned { cycle } => Some(cycle.clone()),
        _ => None,
    })
}

#[test]
fn b032_a_cycle_that_goes_on_after_its_warning_is_the_end() {
    // Part 7 looks for a single call three times among the last six, so (c) is found a little
    // earlier than a cycle of two would be, and with one of its members.
    for (name, files) in [
        ("a", &["B032-A.sse"][..]),
        ("c", &["B032-A.sse", "B032-B.sse"]),
        ("e", &["B032-K1.sse", "B032-K2.sse"]),
    ] {
        let played = circles(files, 12).run();
        let told = warnings(&played);
        assert_eq!(told.len(), 1, "({name}): one warning: {told:?}");
        assert_eq!(told[0], ["find"], "({name})");
        let Terminal::DoomLoop { cycle } = played.end() else {
            panic!("({name}): {:?}", played.end())
        };
        assert_eq!(cycle.len(), 1, "({name})");
        let warned = (0..played.asked()).find(|n| {
            played
                .conversation(*n)
                .last()
                .is_some_and(|line| line.contains("find") && line.starts_with("user: "))
        });
        assert!(warned.is_some(), "({name}): the model is told of the cycle");
        assert!(played.asked() <= 6, "({name}): {} requests", played.asked());
    }
}

#[test]
fn b032b_a_changing_result_is_polling() {
    let runs = ["10%", "40%", "70%", "done"].map(|output| says(1, output));
    let files = ["B032-P.sse", "B032-P.sse", "B032-P.sse", "B032-P.sse", "B024-2.sse"];
    let played = Play::with(Anthropic, &files).acts("job_status", &runs).run();
    assert_eq!((played.ledger().len(), warnings(&played).len()), (4, 0));
    assert_eq!(played.end().text(), Some("ok"));
}

#[test]
fn b032d_other_arguments_are_another_call() {
    let files = ["B032-D1.sse", "B032-D2.sse", "B032-D3.sse", "B024-2.sse"];
    let played = Play::with(Anthropic, &files).acts("label", &[says(1, "true")]).run();
    assert_eq!((played.ledger().len(), warnings(&played).len()), (3, 0));
    assert_eq!(played.end().text(), Some("ok"));
}

#[test]
fn b032_words_of_the_user_begin_anew() {
    let files = ["B032-A.sse", "B032-A.sse", "B032-A.sse", "B024-2.sse"];
    let played = Play::with(Anthropic, &files)
        .acts("find", &[says(10, "no oak")])
        .says_later("look again", After::ToolStarts(2), 1)
        .run();
    assert_eq!((played.ledger().len(), warnings(&played).len()), (3, 0));
    assert_eq!(played.end().text(), Some("ok"));
}

#[test]
fn b032_what_earlier_results_prove_is_not_run_again() {
    // Three equal calls in one response prove the loop; the fourth of it does not run.
    let call = |id: u32| {
        let begin =
            format!(r#"{{"type":"tool_use","id":"toolu_A{id}","name":"find","input":{{}}}}"#);
        (begin, id)
    };
    let mut body = String::new();
    for (begin, n) in (0..4).map(call) {
        let start =
            format!(r#"{{"type":"content_block_start","index":{n},"content_block":{begin}}}"#);
        let delta = format!(
            r#"{{"type":"content_block_delta","index":{n},"delta":{{"type":"input_json_delta","partial_json":"{{\"k\":\"oak\"}}"}}}}"#
        );
        let stop = format!(r#"{{"type":"content_block_stop","index":{n}}}"#);
        for (event, data) in [("start", start), ("delta", delta), ("stop", stop)] {
            body += &format!("event: content_block_{event}\ndata: {data}\n\n");
        }
    }
    let whole =
        std::fs::read_to_string(tests::house::wire_file("cases/B032-A.sse")).expect("a file");
    let from = whole.find("event: content_block_start").expect("a block");
    let to = whole.find("event: message_delta").expect("an end");
    let answer = with_text("B032-A.sse", &whole[from..to], &body);
    let played = Play::answered(Anthropic, vec![answer, Answer::file("B024-2.sse")])
        .acts("find", &[says(1, "no oak")])
        .run();
    assert_eq!(played.ledger().len(), 3);
    let last = played.outcomes().pop();
    assert!(matches!(last, Some(Outcome::NotStarted { .. })), "{last:?}");
}
