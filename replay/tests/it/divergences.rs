//! Divergences as people read them.

use replay::format::ReadLimits;
use replay::reader::Bodies;
use replay::replayer::{Options, Report, replay_bytes};

use crate::support::{contents, recorded, sealed};

fn report(bytes: &[u8]) -> Report {
    let path = Some("fixtures/runs/a run/run.jsonl".into());
    replay_bytes(bytes, ReadLimits::default(), path, Bodies::none(), Options::default())
        .expect("the header is sound")
}

/// The report of a recording in which the first line that says `from` says `to`, sealed again.
fn edited(from: &str, to: &str) -> Report {
    let mut lines = contents(&recorded(2, &[0, 0, 1, 0, 1, 1, 1]));
    let line = lines.iter_mut().skip(1).find(|line| line.contains(from)).expect("it is said");
    *line = line.replacen(from, to, 1);
    report(&sealed(&lines))
}

fn told(report: &Report) -> String {
    let divergence = report.divergence().unwrap_or_else(|| panic!("{:?}", report.verdict));
    assert_eq!(report.exit_code(), 1);
    let json = serde_json::to_value(divergence).expect("reports are serialisable");
    for key in ["code", "at", "room", "path", "recorded", "replayed", "why", "command"] {
        assert!(json.get(key).is_some(), "{key} is missing in {json}");
    }
    divergence.to_string()
}

#[test]
fn another_order() {
    insta::assert_snapshot!(
        "another_order",
        told(&edited("\"owner\":\"step\"", "\"owner\":\"loop_guard\""))
    );
}

#[test]
fn an_order_that_was_not_recorded() {
    let (from, to) = ("[{\"notify\":{\"input_absorbed\":{\"count\":1}}},", "[");
    insta::assert_snapshot!("an_order_that_was_not_recorded", told(&edited(from, to)));
}

#[test]
fn another_door() {
    let (from, to) = ("\"because\":\"request_sealed\"", "\"because\":\"over_budget\"");
    insta::assert_snapshot!("another_door", told(&edited(from, to)));
}

#[test]
fn another_state() {
    let digest = contents(&recorded(2, &[0, 0, 1, 0, 1, 1, 1]))[1].clone();
    let from = digest.split("\"digest\":\"").nth(1).expect("frame 0 has one")[..16].to_owned();
    // Not a snapshot: the digest of a state changes with every field of the machine.
    let found = told(&edited(&from, "0000000000000000"));
    assert!(found.starts_with("LW1003 at frame 0: the machine is in another state"), "{found}");
    assert!(found.contains("recorded   \"0000000000000000\""), "{found}");
    assert!(found.contains(&format!("replayed   \"{from}\"")), "{found}");
}

#[test]
fn another_word_of_the_user() {
    let (from, to) = ("{\"text\":\"u\"", "{\"text\":\"U\"");
    insta::assert_snapshot!("another_word_of_the_user", told(&edited(from, to)));
}

/// One byte changed on disk, nothing sealed again.
fn altered(find: &str, replace: &str) -> Report {
    let text = String::from_utf8(recorded(2, &[0, 0, 1, 0, 1, 1, 1]).recording).expect("text");
    let at = text[text.find('\n').expect("a header")..].find(find).expect("it is said");
    let at = at + text.find('\n').expect("a header");
    report(format!("{}{replace}{}", &text[..at], &text[at + find.len()..]).as_bytes())
}

#[test]
fn a_changed_byte_in_an_order() {
    let found = altered("\"count\":1", "\"count\":2");
    insta::assert_snapshot!("a_changed_byte_in_an_order", told(&found));
}

#[test]
fn a_changed_byte_in_an_input() {
    let found = altered("\"text\":\"u\"", "\"text\":\"v\"");
    insta::assert_snapshot!("a_changed_byte_in_an_input", told(&found));
}

#[test]
fn a_changed_byte_that_breaks_the_json() {
    let found = altered("\"text\":\"u\"", "\"text\":}u\"");
    insta::assert_snapshot!("a_changed_byte_that_breaks_the_json", told(&found));
}

#[test]
fn a_changed_byte_in_a_check() {
    let text = String::from_utf8(recorded(2, &[0, 0, 1, 0, 1, 1, 1]).recording).expect("text");
    let line = text.lines().nth(3).expect("a fourth line");
    let check = &line[line.len() - 18..line.len() - 2];
    let other = if check.starts_with('0') { "1" } else { "0" };
    let found = altered(check, &format!("{other}{}", &check[1..]));
    let found = told(&found);
    assert!(found.starts_with("LW1006 at frame 2: the frame is not what was written"), "{found}");
    assert!(found.contains(&format!("path       check\n  recorded   {other}{}", &check[1..])));
    assert!(found.contains(&format!("replayed   {check}")), "{found}");
}
