//! The summary that is made without a model.

use machine_spec::Transcript;
use machine_spec::ids::TaskId;
use machine_spec::message::{
    Block, Entry, GateRefusal, NotApproved, NotStarted, Origin, Outcome, Said,
};
use machine_spec::summary::summarise;
use machine_spec::view::View;

use crate::made;

fn reply(text: &str) -> Entry {
    Entry::Reply(made::reply(vec![Block::Text(text.into())]))
}

fn ended(outcomes: Vec<Outcome>) -> Entry {
    Entry::Results(outcomes.into_iter().map(|outcome| made::result(1, outcome)).collect())
}

fn of(entries: Vec<Entry>) -> String {
    summarise(&View::of(&entries.into_iter().collect::<Transcript>()))
}

#[test]
fn it_tells_goals_notes_and_ends() {
    let output = || String::from("two  words");
    let words = |origin, text: &str| Entry::Said(Said::words(origin, text));
    let told = of(vec![
        words(Origin::Summary, "an earlier summary"),
        words(Origin::User, "find\n  it"),
        words(Origin::Guard, "not told"),
        reply(" \n"),
        reply("I look."),
        ended(vec![
            Outcome::Succeeded { output: output() },
            Outcome::Failed { output: output() },
            Outcome::TimedOut { output: output() },
            Outcome::Unknown { output: output() },
            Outcome::Partial { output: output() },
        ]),
        words(Origin::Steer, "faster"),
    ]);
    insta::assert_snapshot!(told);
    let rest = of(vec![ended(vec![
        Outcome::Acknowledged { task: TaskId(1) },
        Outcome::NotApproved { how: NotApproved::TimedOut },
        Outcome::NotStarted { why: NotStarted::Halted },
        Outcome::Refused { why: GateRefusal::OutOfScope },
    ])]);
    insta::assert_snapshot!(rest);
    assert_eq!(of(vec![]), "Summary of the conversation so far.");
}

#[test]
fn the_newest_six_are_told_and_every_quotation_is_short() {
    let entries: Vec<Entry> =
        (0..9).map(|n| Entry::Said(Said::words(Origin::User, format!("goal {n}")))).collect();
    let told = of(entries);
    assert!(
        !told.contains("goal 2") && told.contains("goal 3") && told.contains("goal 8"),
        "{told}"
    );
    let long = of(vec![Entry::Said(Said::words(Origin::User, "é".repeat(500)))]);
    assert_eq!(long.matches('é').count(), 160);
    assert!(long.ends_with('…'), "{long}");
    let many: Vec<Entry> = (0..6)
        .flat_map(|_| {
            let words = Entry::Said(Said::words(Origin::User, "g".repeat(300)));
            [
                words,
                reply(&"n".repeat(300)),
                ended(vec![Outcome::Failed { output: "o".repeat(300) }]),
            ]
        })
        .collect();
    assert_eq!(of(many).chars().count(), 1_201, "1,200 and the mark of the cut");
}
