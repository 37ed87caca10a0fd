//! B004, B025, B026, B027: a conversation that grows too large.

use std::collections::BTreeSet;

use machine_spec::input::Compaction;
use machine_spec::model::ErrorClass;
use machine_spec::{Effect, Notice, Terminal, Transcript};
use replay::scenario::After;
use wire::Dialect::{self, Anthropic, Gemini, OpenAiChat, OpenAiResponses};

use super::play::{Play, says, summary};
use super::played::Played;

const LONG: &str =
    "The oak stands behind the house, and the elm stands beside the road to the mill. ";

/// Turns of talk that are over, about so long.
fn talk(turns: &[&str], times: usize) -> Transcript {
    turns.iter().fold(Transcript::default(), |history, words| {
        let words = format!("{words}. {}", LONG.repeat(times));
        let told = Play::with(Anthropic, &["B001-1.sse"]).says(&words);
        told.set(|config| config.history = history).run().history()
    })
}

fn compactions(played: &Played) -> Vec<u32> {
    played.told(|notice| match notice {
        Notice::Compacted { dropped, .. } => Some(*dropped),
        _ => None,
    })
}

/// A first turn with the call x, and a second one with the calls y and z that meets an overflow.
/// Each result is so many lines long.
fn two_turns(lines: [usize; 3], late: &str) -> Played {
    let text = |n: usize| "a line of a file\n".repeat(n.max(1));
    let first = Play::with(Anthropic, &["B031-1.sse", "B001-1.sse"])
        .acts("step", &[says(5, &text(lines[0]))]);
    let first = match late {
        "" => first.run(),
        late => first.says_later(late, After::ToolStarts(1), 1).run(),
    };
    Play::with(Anthropic, &["B037-1.sse", "B025-1.http", "B004-2.sse"])
        .says("now check both")
        .acts("step", &[])
        .reads("read_file", &[says(1, &text(lines[1])), says(1, &text(lines[2]))])
        .compacts(&[summary("Goal: rename flag. Done: x. Open: y, z.")])
        .set(|config| config.candidates[0].context_window = 200_000)
        .set(|config| config.history = first.history())
        .run()
}

#[test]
fn b004_a_cut_never_parts_a_call_from_its_result() {
    // The tail may hold half of the view: the last results alone.
    let played = two_turns([60, 50, 50], "");
    assert_eq!(played.end().text(), Some("Both checks passed."));
    let lines = played.conversation(2);
    assert!(lines[0].contains("Goal: rename flag."), "{lines:#?}");
    let kinds = ["assistant calls ", "assistant calls ", "result ", "result "];
    assert_eq!(lines.len(), 1 + kinds.len(), "nothing is invented: {lines:#?}");
    assert!(lines[1..].iter().zip(kinds).all(|(line, kind)| line.starts_with(kind)), "{lines:#?}");
}

#[test]
fn b004_every_cut_leaves_a_paired_request() {
    // Every request was judged when it was played.
    let mut cuts = BTreeSet::new();
    let sizes = [1, 20, 80, 400];
    for x in sizes {
        for y in sizes {
            for z in [1, 40, 400] {
                let played = two_turns([x, y, z], "");
                cuts.extend(compactions(&played));
            }
        }
    }
    assert!(cuts.len() >= 2, "the cut falls in several places: {cuts:?}");
}

#[test]
fn b004b_words_beside_a_result_stay_without_it() {
    let late = "also keep the old flag";
    let mut alone = 0;
    for x in [200, 400, 600] {
        for y in [1, 10, 20, 40] {
            let played = two_turns([x, y, y], late);
            let lines = played.conversation(played.asked() - 1);
            let at = lines.iter().position(|line| line.ends_with(late));
            let results = lines.iter().filter(|line| line.starts_with("result ")).count();
            if let (Some(at), 2) = (at, results) {
                assert!(lines[at].starts_with("user: "), "{lines:#?}");
                alone += 1;
            }
        }
    }
    assert!(alone > 0, "no cut falls between the result and the words");
}

/// A conversation that meets an overflow in this spelling.
fn overflows(dialect: Dialect, file: &str, end: &str) -> Played {
    Play::with(dialect, &[file, end])
        .compacts(&[summary("The user spoke of oaks and elms, at length.")])
        .set(|config| config.history = talk(&["one", "two", "three"], 6))
        .run()
}

#[test]
fn b025_one_condition_in_six_spellings_is_withheld_and_mended() {
    let numbers = |limit, actual| (Some(limit), Some(actual));
    for (dialect, file, end, (limit, actual)) in [
        (Anthropic, "B025-1.http", "B025-10.sse", numbers(200_000, 204_812)),
        (OpenAiChat, "B025-2.http", "B040-2.sse", numbers(128_000, 131_211)),
        (OpenAiChat, "B025-3.http", "B040-2.sse", numbers(512_000, 530_211)),
        (OpenAiChat, "B025-5.http", "B040-2.sse", numbers(262_144, 301_442)),
        (Gemini, "B025-6.http", "B023c-1.sse", numbers(1_048_576, 1_200_000)),
        (OpenAiResponses, "B025-8.sse", "B021-2.sse", (None, None)),
    ] {
        let played = overflows(dialect, file, end);
        assert_eq!(compactions(&played).len(), 1, "{file}: {:?}", played.end());
        assert_eq!(played.asked(), 2, "{file}");
        let told = played.told(|notice| match notice {
            Notice::ErrorWithheld { failure, .. } => {
                Some((failure.class, failure.limit, failure.actual))
            }
            Notice::AttemptFailed { .. } => panic!("{file}: the user sees an error"),
            _ => None,
        });
        assert_eq!(told, [(ErrorClass::ContextOverflow, limit, actual)], "{file}");
        assert!(matches!(played.end(), Terminal::Answered { .. }), "{file}: {:?}", played.end());
        assert!(played.conversation(1)[0].contains("oaks and elms"), "{file}");
    }
}

#[test]
fn b025_a_size_in_bytes_and_a_parameter_are_no_overflow() {
    for (file, class) in
        [("B025-4.http", ErrorClass::PayloadTooLarge), ("B025-7.http", ErrorClass::BadRequest)]
    {
        let played = overflows(Anthropic, file, "B025-10.sse");
        assert_eq!((played.asked(), compactions(&played).len()), (1, 0), "{file}");
        match played.end() {
            Terminal::ProviderFailed { failure, .. } => assert_eq!(failure.class, class, "{file}"),
            end => panic!("{file}: {end:?}"),
        }
    }
}

#[test]
fn b026a_a_compaction_without_progress_is_the_last_one() {
    let played = Play::with(Anthropic, &["B026a-1.sse"])
        .for_ever()
        .acts("next_step", &[says(1, "done")])
        .compacts(&[summary("Nothing much was said."), summary("Nothing much was said.")])
        .set(|config| config.system = LONG.repeat(3_600))
        .set(|config| {
            config.history =
                talk(&["one", "two", "three", "four", "five", "six", "seven", "eight"], 80)
        })
        .set(|config| config.candidates[0].context_window = 200_000)
        .run();
    match played.end() {
        Terminal::CompactionThrash { before, after } => assert!(after * 20 > before * 19),
        end => panic!("{end:?}"),
    }
    assert_eq!(compactions(&played).len(), 1, "at most one without progress");
    assert_eq!(played.end().kind().class(), machine_spec::terminal::TerminalClass::Limit);
}

#[test]
fn b026b_each_head_is_shorter_than_the_one_before() {
    let too_long = Compaction::TooLong { problem: "207004 tokens > 200000 maximum".into() };
    let turns = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let played = Play::with(Anthropic, &["B025-1.http"])
        .for_ever()
        .compacts(&vec![too_long; 9])
        .set(|config| config.history = talk(&turns, 1))
        .run();
    let effects = played.recording().frames.iter().flat_map(|frame| &frame.effects);
    let heads: Vec<(u32, u64)> = effects
        .filter_map(|effect| match effect {
            Effect::Compact { head, .. } => Some((head.entries, head.tokens)),
            _ => None,
        })
        .collect();
    assert!((2..=4).contains(&heads.len()), "the first and at most three shorter ones: {heads:?}");
    assert!(heads.windows(2).all(|pair| pair[1] < pair[0]), "{heads:?}");
    match played.end() {
        Terminal::ContextExhausted { compaction, .. } => {
            assert!(compaction.contains("207004 tokens"), "{compaction}");
        }
        end => panic!("{end:?}"),
    }
    assert_eq!(played.asked(), 1, "no request goes out twice");
}

#[test]
fn b026_the_guard_of_compaction_is_of_the_run() {
    let too_long = Compaction::Failed { problem: "no".into() };
    let history = talk(&["one", "two", "three"], 6);
    let failed = Play::with(Anthropic, &["B025-1.http"])
        .compacts(std::slice::from_ref(&too_long))
        .set(|config| config.history = history.clone())
        .run();
    assert!(matches!(failed.end(), Terminal::ContextExhausted { .. }), "{:?}", failed.end());
    let next = Play::with(Anthropic, &["B025-1.http", "B025-10.sse"])
        .says("again")
        .compacts(&[summary("The user spoke of oaks and elms.")])
        .set(|config| config.history = failed.history())
        .run();
    assert!(matches!(next.end(), Terminal::Answered { .. }), "{:?}", next.end());
}

#[test]
fn b027_after_a_compaction_the_current_task_is_the_last_word_of_the_user() {
    let text = "a line of the changed file\n".repeat(200);
    let played = Play::with(Anthropic, &["B031-1.sse", "B025-1.http", "B027-2.sse", "B024-2.sse"])
        .for_ever()
        .says("rename --fast to --quick, and report")
        .requires("submit")
        .acts("step", &[says(1, &text)])
        .acts("submit", &[])
        .says_later("m10: and tell me the port", After::Requests(2), 0)
        .compacts(&[summary("Linter set up earlier.")])
        .set(|config| config.limits.guard_retries = 1)
        .set(|config| {
            config.history = talk(&["set up the linter", "write its help", "test it"], 20)
        })
        .run();
    assert_eq!(compactions(&played).len(), 1, "{:?}", played.end());
    let lines = played.conversation(2);
    assert!(lines[0].contains("Linter set up earlier."), "{lines:#?}");
    assert!(lines[0].contains("The current task, word for word:"), "{lines:#?}");
    assert!(lines[0].contains("rename --fast to --quick, and report"), "{lines:#?}");
    assert!(!lines.concat().contains("user: set up the linter"), "{lines:#?}");
    let heard = |n: usize| played.conversation(n).concat().matches("m10: ").count();
    let heard: Vec<usize> = (0..played.asked()).map(heard).collect();
    assert!(heard.iter().all(|n| *n <= 1) && heard.last() == Some(&1), "{heard:?}");
    match played.end() {
        Terminal::RequiredToolMissing { missing, .. } => assert_eq!(missing, &["submit"]),
        end => panic!("the guard forgets nothing: {end:?}"),
    }
}

#[test]
fn b027_a_loop_across_compactions_is_still_a_loop() {
    let text = "a line of the changed file\n".repeat(200);
    let files = ["B032-A.sse", "B025-1.http"];
    let answers: Vec<&str> = files.iter().copied().cycle().take(14).collect();
    let played = Play::with(Anthropic, &answers)
        .for_ever()
        .acts("find", &[says(1, &text)])
        .compacts(&vec![summary("The user looks for an oak. Nothing was found so far."); 9])
        .set(|config| config.history = talk(&["one", "two"], 9))
        .run();
    let warned = |notice: &Notice| matches!(notice, Notice::DoomWarned { .. }).then_some(());
    assert_eq!(played.told(warned).len(), 1, "{:?}", played.end());
    assert!(compactions(&played).len() > 1);
    assert!(matches!(played.end(), Terminal::DoomLoop { .. }), "{:?}", played.end());
}
