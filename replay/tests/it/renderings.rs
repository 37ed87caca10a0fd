//! Runs as people read them. No redactions: whatever would need one is not deterministic.

use machine_spec::config::HookSpec;
use machine_spec::input::HookAnswer;
use machine_spec::model::Safety;
use machine_spec::view::View;
use replay::render::{self, Mode};
use replay::scenario::{HookPlan, Scenario, ToolPlan, ToolRun};
use replay::world::play;

use crate::worlds::{library, scenario};

/// A call that starts early, a stream that dies, a server that fails, and a hook that wants more.
fn eventful() -> Scenario {
    let files = ["B030-1.sse", "B005-2.http", "B030-2.sse", "B001-1.sse"];
    let mut dies = scenario(&["append_log", "read_file"], &files);
    let log = ToolRun { delay_ms: 200, ..ToolRun::says("appended") };
    dies.tools
        .insert("append_log".into(), ToolPlan { safety: Safety::Concurrent, runs: vec![log] });
    dies.config.stop_hooks = vec![HookSpec { name: "tests".into() }];
    let blocked = HookAnswer::Blocked { reason: "tests were not run".into() };
    dies.hooks = vec![HookPlan {
        answers: vec![blocked, HookAnswer::Allowed],
        delay_ms: 30,
        ..HookPlan::default()
    }];
    dies
}

#[test]
fn the_trail_of_an_eventful_run() {
    let run = play(&eventful(), &library());
    assert_eq!(run.trouble, None);
    let recording = run.recording().expect("readable");
    insta::assert_snapshot!("trail_kinds", render::trail(&recording, Mode::Kinds));
    insta::assert_snapshot!("trail_short", render::trail(&recording, Mode::Short));
    let full = render::trail(&recording, Mode::Full);
    assert!(full.lines().count() > render::trail(&recording, Mode::Short).lines().count());
    assert!(full.contains("parse → recover, because stream_broke"), "{full}");
}

#[test]
fn what_was_said_in_it_and_what_became_of_every_order() {
    let run = play(&eventful(), &library());
    let recording = run.recording().expect("readable");
    let transcript = run.state.frame().transcript();
    insta::assert_snapshot!("transcript_kinds", render::transcript(transcript, Mode::Kinds));
    insta::assert_snapshot!("transcript_short", render::transcript(transcript, Mode::Short));
    let view = View::of(transcript);
    insta::assert_snapshot!("view_short", render::view(&view, Mode::Short));
    insta::assert_snapshot!("ledger_kinds", render::ledger(&recording, Mode::Kinds));
    insta::assert_snapshot!("ledger_short", render::ledger(&recording, Mode::Short));
}
