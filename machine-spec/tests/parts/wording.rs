//! Every word that the machine says to a model. Silence is not refusal, queued is neither refusal
//! nor failure, and what may have had effects says so (T14, T05).

use std::fmt::Write as _;

use machine_spec::ids::TaskId;
use machine_spec::message::{
    CallResult, Fate, GateRefusal, NotApproved, NotStarted, Orphan, Outcome,
};
use machine_spec::wording::{
    clipped, cut_in_the_middle, deferred_report, misfit, orphans, outcome, recalled, result,
    task_report,
};

use crate::made;

fn every_outcome() -> Vec<Outcome> {
    let output = || String::from("out");
    let mut all = vec![
        Outcome::Succeeded { output: output() },
        Outcome::Failed { output: output() },
        Outcome::TimedOut { output: output() },
        Outcome::TimedOut { output: String::new() },
        Outcome::Unknown { output: output() },
        Outcome::Partial { output: output() },
        Outcome::Acknowledged { task: TaskId(3) },
        Outcome::NotApproved { how: NotApproved::Denied { reason: String::new() } },
        Outcome::NotApproved { how: NotApproved::Denied { reason: "too dear".into() } },
        Outcome::NotApproved { how: NotApproved::TimedOut },
        Outcome::NotApproved { how: NotApproved::Queued { ticket: "T-1".into() } },
        Outcome::NotApproved { how: NotApproved::NoVerdict },
    ];
    all.extend(NotStarted::ALL.iter().map(|why| Outcome::NotStarted { why: *why }));
    let refusals = [
        GateRefusal::UnknownTool { nearest: vec![] },
        GateRefusal::UnknownTool { nearest: vec!["read".into(), "write".into()] },
        GateRefusal::OutOfScope,
        GateRefusal::OutOfOrder { first: "read".into() },
        GateRefusal::Denied { reason: String::new() },
        GateRefusal::Denied { reason: "not here".into() },
        GateRefusal::TooManyTasks { limit: 2 },
        GateRefusal::TooDeep { limit: 3 },
    ];
    all.extend(refusals.map(|why| Outcome::Refused { why }));
    all
}

#[test]
fn outcomes_are_told_in_these_words() {
    let mut told = String::new();
    for one in every_outcome() {
        let (text, is_error) = outcome(&one);
        writeln!(told, "{} {text}", if is_error { "error" } else { "ok" }).expect("text");
        // Nothing else is said of a result whose call nobody changed.
        assert_eq!(result(&made::result(1, one.clone())), (text, is_error));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn reports_say_that_they_are_no_words_of_the_user() {
    let done = Outcome::Succeeded { output: "out".into() };
    let edited = CallResult { edited: Some("{\"a\":1}".into()), ..made::result(1, done.clone()) };
    let lost = [
        Orphan { task: TaskId(1), tool: "watch".into(), fate: Fate::Cancelled },
        Orphan { task: TaskId(2), tool: "serve".into(), fate: Fate::Detached },
    ];
    let told = [
        task_report(TaskId(1), "watch", &done),
        task_report(TaskId(1), "watch", &Outcome::Failed { output: "no".into() }),
        deferred_report(&made::result(1, done.clone())),
        deferred_report(&edited),
        orphans(&lost),
        recalled("the port is 80"),
        misfit("", "it is a list"),
        misfit("/n", "it is a text"),
        result(&edited).0.into_owned(),
    ];
    insta::assert_snapshot!(told.join("\n----\n"));
}

#[test]
fn long_texts_are_cut_on_characters() {
    assert_eq!(clipped("ééé", 3), "ééé");
    assert_eq!(clipped("éééé", 3), "ééé…");
    let kept = Ok("results/1");
    assert_eq!(
        cut_in_the_middle("0123456789", 4, kept),
        "01\n[6 of 10 bytes left out here; the whole is kept at results/1]\n89"
    );
    assert_eq!(
        cut_in_the_middle("éééééééééé", 6, Err("the disk is full")),
        "é\n[16 of 20 bytes left out here; the whole could not be kept: the disk is full]\né"
    );
    assert_eq!(
        cut_in_the_middle("ab", 100, kept),
        "ab\n[0 of 2 bytes left out here; the whole is kept at results/1]\n"
    );
}
