//! `loopwright chaos`, `shrink`, `explore` and `fork`: what they print and how they exit.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tests::house;
use tests::scene::{Ran, Stage};

use crate::{code, loopwright, nothing};

fn fixture(name: &str) -> String {
    let path: PathBuf = house::root().join("fixtures/runs").join(name).join("run.jsonl");
    path.to_string_lossy().into_owned()
}

fn ran(arguments: &[&str]) -> (Stage, Ran) {
    let stage = nothing();
    let ran = loopwright(&stage, arguments);
    (stage, ran)
}

#[test]
fn every_boundary_of_a_recording_is_counted_and_none_breaks() {
    let path = fixture("context-exhausted--the-prompt-is-too-long");
    let (stage, ran) =
        ran(&["chaos", &path, "--every-boundary", "--json", "--junit", "report.xml"]);
    assert_eq!(code(&ran), 0, "{ran:#?}");
    let told: Value = serde_json::from_str(ran.stdout.trim()).expect("one object a path");
    assert!(told["variants"].as_u64() >= Some(200), "{told}");
    assert_eq!(told["failures"], Value::Array(vec![]), "{told}");
    assert!(told["faults"]["crash_at"].as_u64() > Some(1), "{told}");
    assert!(ran.stderr.contains("variants"), "progress goes to stderr: {ran:#?}");
    let xml = fs::read_to_string(stage.path("report.xml")).expect("a report");
    assert!(xml.starts_with("<?xml") && xml.contains("failures=\"0\""), "{xml}");
    assert!(xml.contains("name=\"torn_write ("), "{xml}");
}

#[test]
fn seeds_are_repeatable_drawn_or_over_a_recording() {
    let path = fixture("answered--five-calls-in-order");
    for arguments in [
        &["chaos", "--seed", "70", "--runs", "60"][..],
        &["chaos", &path, "--seed", "7", "--runs", "60"],
    ] {
        let (_, first) = ran(arguments);
        let (_, second) = ran(arguments);
        assert_eq!(code(&first), 0, "{first:#?}");
        assert!(first.stdout.contains("60 variants") && first.stdout.contains("digest of all"));
        assert_eq!(first.stdout, second.stdout);
    }
    let (_, none) = ran(&["chaos", "--runs", "1000000", "--time", "0"]);
    assert!(none.stdout.contains("256 variants"), "no new seed when the time is over: {none:#?}");
}

#[test]
fn a_plan_that_holds_every_law_is_not_shrunk_and_a_bad_one_is_refused_with_its_place() {
    let (stage, plan) = ran(&["shrink", "--seed", "1"]);
    assert_eq!((code(&plan), plan.stdout.as_str()), (0, ""), "{plan:#?}");
    assert!(plan.stderr.contains("every law holds"), "{plan:#?}");
    let kept = house::root().join("fixtures/regressions");
    let kept = fs::read_dir(kept).expect("regressions").flatten().next().expect("one").path();
    let kept = kept.join("plan.json").to_string_lossy().into_owned();
    let sound = loopwright(&stage, &["chaos", &kept, "--every-boundary"]);
    assert_eq!(code(&sound), 0, "{sound:#?}");
    let text = fs::read_to_string(&kept).expect("a plan").replace("\"anthropic\"", "\"martian\"");
    fs::write(stage.path("bad.json"), text).expect("written");
    for command in ["chaos", "shrink"] {
        let bad = loopwright(&stage, &[command, "bad.json"]);
        assert_eq!(code(&bad), 3, "{bad:#?}");
        assert!(bad.stderr.contains("LW1301: line "), "{bad:#?}");
    }
}

#[test]
fn exploration_tells_what_it_reached() {
    let patch = "{\"limits\":{\"fallback_hops\":0}}";
    let (_, seen) = ran(&["explore", "--profile", "windows", "--json"]);
    assert_eq!(code(&seen), 0, "{seen:#?}");
    let whole: Value = serde_json::from_str(seen.stdout.trim()).expect("one object a profile");
    let (_, seen) = ran(&["explore", "--profile", "windows", "--config", patch, "--json"]);
    let fewer: Value = serde_json::from_str(seen.stdout.trim()).expect("one object a profile");
    assert!(fewer["states"].as_u64() < whole["states"].as_u64(), "{fewer} {whole}");
    let (_, cut) = ran(&["explore", "--profile", "windows", "--states", "10"]);
    assert!(cut.stdout.contains("cut short"), "{cut:#?}");
    assert_eq!(code(&ran(&["explore", "--profile", "nobody"]).1), 4);
    assert_eq!(code(&ran(&["explore", "--config", "{\"wishes\":3}"]).1), 2);
}

#[test]
fn a_fork_shows_both_stories() {
    let path = fixture("max-turns--two-rounds");
    let patch = "{\"limits\":{\"tool_rounds\":9}}";
    let frames = fs::read_to_string(&path).expect("a fixture");
    let last = frames.lines().filter(|line| line.starts_with("{\"seq\":")).count() - 2;
    let at = last.to_string();
    let (_, both) = ran(&["fork", &path, "--at", &at, "--config", patch]);
    assert_eq!(code(&both), 0, "{both:#?}");
    for words in ["recorded: max_turns", "changed:  answered", "the stories part at frame"] {
        assert!(both.stdout.contains(words), "{words}: {both:#?}");
    }
    let (_, early) = ran(&["fork", &path, "--at", "9999", "--config", patch]);
    assert_eq!(code(&early), 2, "{early:#?}");
    assert_eq!(code(&ran(&["fork", &path, "--at", "1"]).1), 2, "nothing is changed");
    assert_eq!(code(&ran(&["fork", "absent.jsonl", "--at", "1", "--config", "{}"]).1), 3);
}

#[test]
fn what_selects_nothing_or_makes_no_sense_exits_so() {
    assert_eq!(code(&ran(&["chaos", "--every-boundary"]).1), 2);
    assert_eq!(code(&ran(&["chaos", "absent.jsonl"]).1), 3);
    assert_eq!(code(&ran(&["chaos", "."]).1), 4);
    assert_eq!(code(&ran(&["shrink"]).1), 2);
}
