//! Cases from the field, played in the scripted world and replayed from their own recording.

use std::path::Path;

use machine_spec::RoomKind;
use machine_spec::config::{Candidate, HookSpec, RunConfig, ToolSpec};
use machine_spec::effect::Notice;
use machine_spec::input::{HookAnswer, ToolStatus};
use machine_spec::limits::Limits;
use machine_spec::message::{Entry, Outcome};
use machine_spec::model::{ErrorClass, Safety};
use machine_spec::{Terminal, TerminalKind};
use replay::chooser::Chooser;
use replay::code::Code;
use replay::divergence::Divergence;
use replay::format::address;
use replay::reader::{Bodies, Recording};
use replay::replayer::{Options, replay};
use replay::scenario::{
    After, Afterwards, Answer, BodyPlan, Chunks, EndOfBody, HookPlan, Library, Output, Scenario,
    ToolPlan, ToolRun, UserAct,
};
use replay::sink::MemorySink;
use replay::world::{Playing, Run, Trouble, World, play};
use serde_json::Value;
use wire::Dialect;

use crate::support::{contents, sealed};

pub(crate) fn library() -> Library {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wire/cases");
    Library::load(&folder).expect("our own wire files are sound")
}

fn candidate(name: &str) -> Candidate {
    let model = format!("claude-test-{name}");
    Candidate {
        name: name.into(),
        model,
        context_window: 200_000,
        max_output: 8_000,
        ..Candidate::default()
    }
}

fn tool(name: &str, read_only: bool) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("does {name}"),
        input_schema: "{\"type\":\"object\"}".into(),
        read_only,
        ..ToolSpec::default()
    }
}

/// A scenario on the Anthropic wire that answers with these files.
pub(crate) fn scenario(tools: &[&str], files: &[&str]) -> Scenario {
    let config = RunConfig {
        candidates: vec![candidate("1")],
        tools: tools.iter().map(|name| tool(name, false)).collect(),
        ..RunConfig::default()
    };
    let mut scenario = Scenario::new(config, Dialect::Anthropic, "please");
    scenario.answers = files.iter().map(|file| Answer::file(file)).collect();
    scenario
}

/// Plays, and proves that the recording replays identically, with every request and every response
/// compared, and that playing it again gives the same bytes.
fn played(scenario: &Scenario) -> Run {
    played_so(scenario, Playing { judge: true, ..Playing::default() })
}

fn played_so(scenario: &Scenario, playing: Playing) -> Run {
    let library = library();
    let run = World::new(scenario, &library, playing.clone(), MemorySink::default()).play();
    assert_eq!(run.trouble, None, "{}", run.trouble.clone().expect("there is some"));
    assert!(run.failures.is_empty());
    let recording = run.recording().expect("readable");
    let report = replay(&recording, Options::default());
    assert!(report.is_identical(), "{}", report.divergence().expect("a difference"));
    assert_eq!(report.terminal.as_ref(), run.terminal());
    assert_eq!(report.requests.compared, run.requests.len() as u64);
    assert_eq!(report.requests.skipped, 0);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    let again = World::new(scenario, &library, playing, MemorySink::default()).play();
    assert_eq!(again.sink, run.sink, "the same scenario is the same recording, to the byte");
    run
}

fn ended(run: &Run) -> TerminalKind {
    run.terminal().expect("it is over").kind()
}

fn body(run: &Run, request: usize) -> Value {
    serde_json::from_slice(&run.requests[request].body).expect("requests are JSON")
}

fn outcomes(run: &Run) -> Vec<Outcome> {
    let entries = run.state.frame().transcript().entries();
    let results = entries.into_iter().filter_map(|entry| match entry {
        Entry::Results(results) => Some(results),
        _ => None,
    });
    results.flatten().map(|result| result.outcome.clone()).collect()
}

#[test]
fn b001_a_stop_hook_that_always_blocks_meets_its_cap() {
    let mut always = scenario(&[], &["B001-1.sse"]);
    always.afterwards = Afterwards::LastAgain;
    always.config.limits.stop_hook_blocks = 3;
    always.config.stop_hooks = vec![HookSpec::new("tests")];
    let blocked = HookAnswer::Blocked { reason: "tests were not run".into() };
    always.hooks = vec![HookPlan { answers: vec![blocked], delay_ms: 5, ..HookPlan::default() }];
    let run = played(&always);
    assert_eq!(run.requests.len(), 4);
    assert_eq!(run.questions.len(), 4);
    assert!(matches!(
        run.terminal(),
        Some(Terminal::StopHookLimit { limit: 3, last_feedback, .. })
            if last_feedback == "tests were not run"
    ));
    let mut silent = always.clone();
    silent.hooks = vec![];
    assert_eq!(
        (played(&silent).requests.len(), ended(&played(&silent))),
        (1, TerminalKind::Answered)
    );
    let mut broken = always;
    let failed = HookAnswer::Failed { problem: "no such program".into() };
    broken.hooks = vec![HookPlan { answers: vec![failed], delay_ms: 0, ..HookPlan::default() }];
    let run = played(&broken);
    assert_eq!((run.requests.len(), ended(&run)), (1, TerminalKind::Answered));
    assert!(run.notices.iter().any(|(_, notice)| matches!(notice, Notice::HookFailed { .. })));
}

#[test]
fn b002_an_interrupt_ends_a_stream_that_stays_open() {
    let mut cancelled = scenario(&[], &["B002-1.sse"]);
    cancelled.config.stop_hooks = vec![HookSpec::new("h")];
    cancelled.user.push(UserAct::interrupts(After::Pieces(1)));
    let run = played(&cancelled);
    assert_eq!((run.requests.len(), run.questions.len()), (1, 0), "no hook is asked");
    assert_eq!(ended(&run), TerminalKind::Interrupted);
    let report = replay(&run.recording().expect("readable"), Options::default());
    assert_eq!(report.responses.compared, 1, "as far as it was heard");
}

#[test]
fn b003_three_truths_after_an_interrupt() {
    let mut three = scenario(&["read_file", "run_cmd"], &["B003-1.sse"]);
    let slow = ToolRun { delay_ms: 10_000, ..ToolRun::says("never said") };
    let quick = ToolRun { delay_ms: 10, ..ToolRun::says("text of the file") };
    let plan = ToolPlan { safety: Safety::Concurrent, runs: vec![quick], ..ToolPlan::default() };
    three.tools.insert("read_file".into(), plan);
    three.tools.insert("run_cmd".into(), ToolPlan { runs: vec![slow], ..ToolPlan::default() });
    three.user.push(UserAct::interrupts(After::Start).after(After::Start, 50));
    let run = played(&three);
    assert_eq!(ended(&run), TerminalKind::Interrupted);
    let truths = outcomes(&run);
    assert!(
        matches!(
            &truths[..],
            [Outcome::Succeeded { .. }, Outcome::Unknown { .. }, Outcome::NotStarted { .. }]
        ),
        "{truths:?}"
    );
    assert_eq!(run.executions.len(), 2);

    // The next run of the session begins with that history.
    let mut next = scenario(&["read_file", "run_cmd"], &["B003-2.sse"]);
    next.config.history = run.state.frame().transcript().settled();
    next.user = vec![UserAct::says("use the other branch")];
    let second = played(&next);
    assert_eq!(ended(&second), TerminalKind::Answered);
    let sent = body(&second, 0);
    let last = sent["messages"].as_array().and_then(|all| all.last()).expect("messages");
    let kinds: Vec<&str> = last["content"]
        .as_array()
        .expect("blocks")
        .iter()
        .filter_map(|b| b["type"].as_str())
        .collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "tool_result", "text"]);
}

#[test]
fn b005_a_failed_later_request_repeats_no_tool() {
    let files = ["B005-1.sse", "B005-2.http", "B005-3.http", "B005-4.sse"];
    let mut paid = scenario(&["post_payment"], &files);
    paid.config.limits.http_retries = 3;
    paid.tools.insert("post_payment".into(), ToolPlan::says("ok"));
    let run = played(&paid);
    assert_eq!(ended(&run), TerminalKind::Answered);
    assert_eq!(run.executions.len(), 1, "the ledger has one entry");
    assert_eq!(run.requests[1].body, run.requests[2].body);
    assert_eq!(run.requests[2].body, run.requests[3].body);
    let waits = run.requests.windows(2).map(|pair| pair[1].at_ms - pair[0].at_ms);
    assert_eq!(waits.collect::<Vec<_>>(), [0, 500, 1000]);
    paid.config.limits = Limits { http_retries: 1, ..Limits::default() };
    let run = played(&paid);
    assert_eq!(ended(&run), TerminalKind::ProviderFailed);
    assert_eq!(outcomes(&run).len(), 1, "the history still holds the result");
}

#[test]
fn b024_a_server_says_how_long_to_wait() {
    for (file, wait) in [
        ("B024a-1.http", 30_000),
        ("B024c-1.http", 45_000),
        ("B024d-1.http", 1_500),
        ("B024e-1.http", 500),
    ] {
        let run = played(&scenario(&[], &[file, "B024-2.sse"]));
        assert_eq!(ended(&run), TerminalKind::Answered, "{file}");
        assert_eq!(run.requests[1].at_ms, wait, "{file}");
    }
    let run = played(&scenario(&[], &["B024b-1.http"]));
    assert_eq!((ended(&run), run.at_ms), (TerminalKind::RateLimited, 0), "it is not slept");
}

#[test]
fn b028_fallback_in_mid_turn_leaves_private_parts_behind() {
    let files = ["B028a-1.sse", "B028a-2.http", "B028a-2.http", "B028a-3.sse"];
    let mut chain = scenario(&[], &files);
    chain.config.tools = vec![tool("deploy", false)];
    chain.config.candidates.push(candidate("2"));
    let second = chain.providers[0].clone();
    chain.providers.push(second);
    chain.config.limits.http_retries = 1;
    let run = played(&chain);
    assert_eq!(ended(&run), TerminalKind::Answered);
    assert_eq!(run.executions.len(), 1);
    let sent = String::from_utf8_lossy(&run.requests[3].body).into_owned();
    assert_eq!(run.requests[3].candidate.0, 1);
    assert!(!sent.contains("signature") && !sent.contains("\"thinking\":"), "{sent}");
    assert!(sent.contains("tool_result"));
    assert!(run.notices.iter().any(|(_, notice)| matches!(notice, Notice::Switched { .. })));
}

#[test]
fn b029_order_and_barriers_hold_for_a_hundred_durations() {
    let mut edits = scenario(&["edit", "grep", "read_file"], &["B029-1.sse", "B029-2.sse"]);
    let shared = |status, output, delay_ms| ToolPlan {
        safety: Safety::Concurrent,
        runs: vec![ToolRun { status, delay_ms, ..ToolRun::says(output) }],
        ..ToolPlan::default()
    };
    edits.tools.insert("read_file".into(), shared(ToolStatus::Succeeded, "text", 300));
    edits.tools.insert("grep".into(), shared(ToolStatus::Failed, "no match", 10));
    let edit = ToolRun { delay_ms: 20, ..ToolRun::says("edited") };
    edits.tools.insert("edit".into(), ToolPlan { runs: vec![edit], ..ToolPlan::default() });
    let first = played(&edits);
    assert_eq!(ended(&first), TerminalKind::Answered);
    for seed in 0..100 {
        let playing = Playing { judge: true, tool_times: Some(seed), ..Playing::default() };
        let run = played_so(&edits, playing);
        assert_eq!(run.requests[1].body, first.requests[1].body, "seed {seed}");
        let span = |n: usize| {
            let (at, _) = run.executions[n].ended.expect("it ended");
            (run.executions[n].started_ms, at)
        };
        assert_eq!(run.executions.len(), 5);
        let reads_end = span(0).1.max(span(1).1);
        assert_eq!(span(1).0, span(0).0, "the reads overlap");
        assert!(span(2).0 >= reads_end && span(3).0 >= span(2).1 && span(4).0 >= span(3).1);
    }
}

#[test]
fn b030_a_stream_that_dies_after_a_call_started_is_sealed() {
    let mut dies = scenario(&["append_log", "read_file"], &["B030-1.sse", "B030-2.sse"]);
    let log = ToolRun { delay_ms: 200, ..ToolRun::says("appended") };
    let plan = ToolPlan { safety: Safety::Concurrent, runs: vec![log], ..ToolPlan::default() };
    dies.tools.insert("append_log".into(), plan.clone());
    dies.tools.insert("read_file".into(), plan);
    let run = played(&dies);
    assert_eq!(ended(&run), TerminalKind::Answered);
    assert_eq!(run.executions.len(), 1);
    assert!(run.notices.iter().any(|(_, notice)| matches!(notice, Notice::Sealed { .. })));
    assert_ne!(run.requests[0].body, run.requests[1].body, "it is no repeat");
    let report = replay(&run.recording().expect("readable"), Options::default());
    assert_eq!(report.responses.compared, 2, "broken streams are kept and compared as well");
}

/// Three requests, the first two with equal bodies, and a tool that tells the time.
fn b039() -> Scenario {
    let mut twice = scenario(&[], &["B039-1.sse", "B039-2.sse", "B039-3.sse"]);
    twice.config.limits.stop_hook_blocks = 4;
    twice
}

#[test]
fn b039_the_nth_answer_is_the_nth_and_a_fourth_request_is_exhausted() {
    let mut run = b039();
    run.config.stop_hooks = vec![HookSpec::new("again")];
    let again = HookAnswer::Continued { context: "ask again".into() };
    let answers = vec![again.clone(), again, HookAnswer::Allowed];
    run.hooks = vec![HookPlan { answers, delay_ms: 0, ..HookPlan::default() }];
    let whole = played(&run);
    assert_eq!(whole.requests.len(), 3);
    assert!(matches!(whole.terminal(), Some(Terminal::Answered { text, .. }) if text == "end"));
    run.hooks[0].answers.pop();
    let exhausted = play(&run, &library());
    assert_eq!(exhausted.trouble, Some(Trouble::Exhausted { request: 4, answers: 3 }));
    let told = exhausted.trouble.as_ref().expect("there is some").to_string();
    assert!(told.starts_with("LW1302: replay exhausted: the run sends request 4"), "{told}");
    // What was recorded until then is sound.
    assert!(replay(&exhausted.recording().expect("readable"), Options::default()).is_identical());
}

#[test]
fn equal_requests_get_different_answers_and_the_clock_is_the_worlds() {
    let mut retried = scenario(&["now"], &["B005-2.http", "B005-3.http", "B039-3.sse"]);
    retried.tools.insert(
        "now".into(),
        ToolPlan {
            runs: vec![ToolRun { output: Output::Clock, ..ToolRun::default() }],
            ..ToolPlan::default()
        },
    );
    let run = played(&retried);
    assert_eq!(run.requests[0].body, run.requests[1].body);
    assert_eq!(run.requests[1].body, run.requests[2].body);
    assert_eq!(ended(&run), TerminalKind::Answered);
}

#[test]
fn silence_is_watched_and_bytes_may_come_one_by_one() {
    let mut silent = scenario(&[], &["B039-1.sse", "B039-1.sse"]);
    silent.answers[0].body = Some(BodyPlan {
        chunks: Chunks::At(vec![300]),
        pauses_ms: [(300, 90_000)].into(),
        ..BodyPlan::default()
    });
    silent.answers[1].body = Some(BodyPlan { chunks: Chunks::EveryByte, ..BodyPlan::default() });
    let run = played(&silent);
    assert_eq!(ended(&run), TerminalKind::Answered);
    assert!(run.notices.iter().any(|(at, notice)| matches!(
        notice,
        Notice::AttemptFailed { failure, .. } if failure.class == ErrorClass::IdleTimeout && *at == 60_000
    )));
    let hang = BodyPlan { end: EndOfBody::Hang, ..BodyPlan::default() };
    let mut hanging = scenario(&[], &["B039-1.sse"]);
    hanging.answers[0].body = Some(hang);
    let run = played(&hanging);
    assert_eq!(ended(&run), TerminalKind::Answered, "the wire's own end is enough");
}

#[test]
fn a_way_that_fails_and_a_refused_configuration_end_as_designed() {
    let mut far = scenario(&[], &[]);
    far.answers = vec![Answer::fault(ErrorClass::Transport)];
    far.afterwards = Afterwards::LastAgain;
    let run = played(&far);
    assert_eq!(ended(&run), TerminalKind::ProviderFailed);
    assert_eq!(run.requests.len(), 5, "four retries");
    let mut none = scenario(&[], &[]);
    none.config.candidates.clear();
    let run = played(&none);
    assert_eq!((ended(&run), run.requests.len()), (TerminalKind::ConfigRefused, 0));
}

#[test]
fn a_run_that_waits_for_ever_and_a_run_that_never_ends_are_told() {
    let mut stuck = scenario(&[], &[]);
    stuck.user.clear();
    let run = play(&stuck, &library());
    assert_eq!(run.trouble, Some(Trouble::Stuck { room: RoomKind::Idle }));
    let mut endless = scenario(&[], &["B001-1.sse"]);
    endless.most_inputs = 3;
    let run = play(&endless, &library());
    assert_eq!(run.trouble, Some(Trouble::Endless { inputs: 3 }));
    let lost = play(&scenario(&[], &["none.sse"]), &library());
    assert_eq!(lost.trouble, Some(Trouble::NoSuchFile { name: "none.sse".into() }));
}

#[test]
fn a_scenario_is_readable_data() {
    let mut plan = b039();
    plan.tools.insert("t".into(), ToolPlan::says("x"));
    plan.user.push(UserAct::interrupts(After::ToolStarts(2)));
    let json = serde_json::to_string_pretty(&plan).expect("serialisable");
    assert_eq!(serde_json::from_str::<Scenario>(&json).expect("it reads back"), plan);
    let wrong = json.replacen("\"answers\"", "\"anwsers\"", 1);
    let error = serde_json::from_str::<Scenario>(&wrong).expect_err("an unknown word").to_string();
    assert!(error.contains("unknown field `anwsers`") && error.contains("line"), "{error}");
}

#[test]
fn secrets_of_a_world_stay_in_it() {
    let mut leaky = scenario(&["append_log"], &["B030-1.sse", "B030-2.sse"]);
    leaky.user = vec![UserAct::says("my key is sk-test-0123456789")];
    leaky.tools.insert("append_log".into(), ToolPlan::says("sk-test-0123456789"));
    let secrets = vec!["sk-test-0123456789".to_owned()];
    let playing = Playing { judge: true, keep_requests: true, secrets, ..Playing::default() };
    let run = played_so(&leaky, playing);
    let all = [run.sink.recording.clone()].into_iter().chain(run.sink.bodies.into_values());
    for bytes in all {
        assert!(memchr::memmem::find(&bytes, b"sk-test-0123456789").is_none());
    }
    assert!(run.requests.iter().all(|sent| memchr::memmem::find(&sent.body, b"sk-test").is_none()));
}

/// B038: killed after any frame, and again before anything else comes; the same end, and no call
/// runs twice.
#[test]
fn b038_killed_anywhere_and_killed_again_no_call_runs_twice() {
    let files = ["B029-1.sse", "B029-2.sse"];
    let mut edits = scenario(&["edit", "grep", "read_file"], &files);
    edits.afterwards = Afterwards::LastAgain;
    for (name, delay_ms) in [("edit", 20), ("grep", 10), ("read_file", 300)] {
        let run = ToolRun { delay_ms, ..ToolRun::says(name) };
        edits.tools.insert(name.into(), ToolPlan { runs: vec![run], ..ToolPlan::default() });
    }
    let library = library();
    let whole = played(&edits);
    let frames = whole.recording().expect("readable").frames.len() as u64;
    for killed in 1..frames {
        let kill = |frames| Playing { judge: true, kill_after: Some(frames), ..Playing::default() };
        let first = World::new(&edits, &library, kill(killed), MemorySink::default()).play();
        assert_eq!(first.trouble, Some(Trouble::Killed));
        let mut executions = first.executions;
        // It dies again after one more frame, and is taken up once more.
        let acts = if killed == 1 { edits.user.clone() } else { vec![] };
        let second = World::resume(&edits, &library, kill(killed + 1), first.sink, acts.clone())
            .expect("it is sound")
            .play();
        executions.extend(second.executions);
        let acts = if second.trouble == Some(Trouble::Killed) { vec![] } else { acts };
        let last = Playing { judge: true, ..Playing::default() };
        let third =
            World::resume(&edits, &library, last, second.sink, acts).expect("it is sound").play();
        executions.extend(third.executions.clone());
        assert_eq!(third.trouble, None, "killed after {killed}");
        assert_eq!(ended(&third), TerminalKind::Answered, "killed after {killed}");
        let mut calls: Vec<u32> = executions.iter().map(|execution| execution.call.0).collect();
        let before = calls.len();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), before, "killed after {killed}: {executions:?}");
        assert_eq!(third.state.frame().transcript().first_unpaired(), None);
        let report = replay(&third.recording().expect("readable"), Options::default());
        assert!(report.is_identical(), "{}", report.divergence().expect("a difference"));
    }
}

/// A recording with its bodies, some lines of which are edited and sealed again.
fn edited(run: &Run, edit: impl Fn(&str) -> String) -> Recording {
    let lines: Vec<String> = contents(&run.sink).iter().map(|line| edit(line)).collect();
    let sink = MemorySink { recording: sealed(&lines), ..run.sink.clone() };
    Recording::from_memory(&sink).expect("the header is sound")
}

fn paid() -> Run {
    let mut paid = scenario(&["post_payment"], &["B005-1.sse", "B005-4.sse"]);
    paid.tools.insert("post_payment".into(), ToolPlan::says("paid 10.00 at noon"));
    played_so(&paid, Playing { judge: true, keep_requests: true, ..Playing::default() })
}

fn found(recording: &Recording) -> Divergence {
    let report = replay(recording, Options::default());
    report.divergence().unwrap_or_else(|| panic!("{:?}", report.verdict)).clone()
}

/// B039 (b): a tool that returns one byte more.
#[test]
fn another_result_is_told_by_the_first_request_that_differs() {
    let run = paid();
    let said = "\"output\":\"paid 10.00 at noon";
    let altered = edited(&run, |line| line.replace(said, &format!("{said}!")));
    let divergence = found(&altered);
    assert_eq!(divergence.code, Code::EffectsDiffer, "{divergence}");
    let path = "request.messages[2].content[0].content";
    assert!(divergence.path.starts_with(path), "{divergence}");
    assert!(divergence.recorded.contains("noon\"") && divergence.replayed.contains("noon!\""));
    // Without the bodies the place is only a digest.
    let mut bare = altered;
    bare.bodies = Bodies::none();
    assert!(found(&bare).path.ends_with(".view.digest"), "{}", found(&bare));
}

#[test]
fn an_encoder_that_writes_other_bytes_is_found() {
    let run = paid();
    let warm =
        |line: &str| line.replace("\"dialect\":\"anthropic\"", "\"dialect\":\"openai-chat\"");
    let divergence = found(&edited(&run, warm));
    assert_eq!(divergence.code, Code::RequestDiffers, "{divergence}");
    assert!(divergence.path.starts_with("request."), "{divergence}");
    let warm = |line: &str| {
        let model = "\"model\":\"claude-test-1\"}]";
        let options = "\"model\":\"claude-test-1\",\"options\":{\"temperature\":0.5}}]";
        line.replace(&format!("anthropic\",{model}"), &format!("anthropic\",{options}"))
    };
    let divergence = found(&edited(&run, warm));
    assert_eq!(divergence.code, Code::RequestDiffers, "{divergence}");
    assert_eq!((&*divergence.path, &*divergence.replayed), ("request.temperature", "0.5"));
}

#[test]
fn a_decoder_that_reads_the_same_bytes_differently_is_found() {
    let run = paid();
    // The same frames beside other bytes look like another decoder beside the same bytes.
    let first = run.recording().expect("readable").responses().next().expect("one").digest.clone();
    let mut sink = run.sink.clone();
    let bytes = sink.bodies.remove(&first).expect("it was kept");
    let text = String::from_utf8(bytes).expect("text").replace("post_payment", "post_payments");
    let other = address(text.as_bytes());
    sink.bodies.insert(other.clone(), text.into_bytes());
    let lines: Vec<String> =
        contents(&sink).iter().map(|line| line.replace(&first, &other)).collect();
    sink.recording = sealed(&lines);
    let divergence = found(&Recording::from_memory(&sink).expect("readable"));
    assert_eq!(divergence.code, Code::StreamDiffers, "{divergence}");
    assert!(divergence.path.starts_with("response.events["), "{divergence}");
    assert!(divergence.replayed.contains("post_payments"), "{divergence}");
    let frame = &run.recording().expect("readable").frames[divergence.at as usize];
    assert!(format!("{:?}", frame.input).contains("post_payment"), "{divergence}");
}

#[test]
fn a_stored_body_that_was_changed_or_lost_is_told() {
    let run = paid();
    let first = run.recording().expect("readable").responses().next().expect("one").digest.clone();
    let mut sink = run.sink.clone();
    sink.bodies.get_mut(&first).expect("it was kept")[10] ^= 1;
    let divergence = found(&Recording::from_memory(&sink).expect("readable"));
    assert_eq!(divergence.code, Code::BodyAltered, "{divergence}");
    sink.bodies.remove(&first);
    let report = replay(&Recording::from_memory(&sink).expect("readable"), Options::default());
    assert!(report.is_identical());
    assert!(report.warnings[0].to_string().starts_with("LW1202: the body "));
    assert_eq!((report.responses.compared, report.responses.skipped), (1, 1));
}

/// B039 (c): parallel tools that finish in another order lead to the same requests.
#[test]
fn another_order_of_completion_sends_the_same_bytes() {
    let mut edits = scenario(&["edit", "grep", "read_file"], &["B029-1.sse", "B029-2.sse"]);
    let mut bodies = Vec::new();
    for (read, grep) in [(300, 10), (10, 300)] {
        for (name, delay_ms) in [("read_file", read), ("grep", grep)] {
            let runs = vec![ToolRun { delay_ms, ..ToolRun::says(name) }];
            edits.tools.insert(
                name.into(),
                ToolPlan { safety: Safety::Concurrent, runs, ..ToolPlan::default() },
            );
        }
        let run = played(&edits);
        bodies.push(run.requests.into_iter().map(|sent| sent.body).collect::<Vec<_>>());
    }
    assert_eq!(bodies[0], bodies[1]);
}

fn chat(tools: &[&str], files: &[&str]) -> Scenario {
    let mut scenario = scenario(tools, files);
    scenario.providers[0].dialect = Dialect::OpenAiChat;
    scenario
}

#[test]
fn b006_the_text_of_a_dead_attempt_is_retracted() {
    let run = played(&chat(&[], &["B006-1.sse", "B006-2.sse"]));
    assert_eq!(ended(&run), TerminalKind::Answered);
    assert_eq!(run.requests[0].body, run.requests[1].body, "the request is repeated as it was");
    assert!(run.notices.iter().any(|(_, notice)| matches!(notice, Notice::Retracted { .. })));
    let Some(Terminal::Answered { text, .. }) = run.terminal() else { panic!("it answered") };
    assert_eq!(text.matches("scan").count(), 1, "{text}");
}

#[test]
fn b017_calls_count_whatever_the_model_says_about_its_end() {
    let mut says_stop = chat(&["list"], &["B017-1.sse", "B017-2.sse"]);
    says_stop.tools.insert("list".into(), ToolPlan::says("fine"));
    let run = played(&says_stop);
    assert_eq!(ended(&run), TerminalKind::Answered);
    assert_eq!((run.requests.len(), run.executions.len()), (2, 3));
    assert!(run.notices.iter().any(|(_, notice)| matches!(notice, Notice::Contradiction { .. })));
}

/// However the bytes come and wherever they end: no rule is broken, no call runs twice, and the
/// recording replays identically, down to the decoded bytes.
#[test]
fn any_delivery_keeps_the_rules_and_replays_identically() {
    let library = library();
    let files = ["B029-1.sse", "B003-1.sse", "B030-1.sse", "B001-1.sse", "B010-1.sse"];
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..300 {
        let mut chooser = Chooser::seeded(seed);
        let tools = ["append_log", "edit", "grep", "read_file", "run_cmd"];
        let mut wild = scenario(&tools, &[]);
        for tool in tools {
            let safety = [Safety::Concurrent, Safety::Exclusive][chooser.pick(2) as usize];
            let status = *chooser.one_of(ToolStatus::ALL).expect("there are some");
            let delay_ms = u64::from(chooser.pick(400));
            let runs = vec![ToolRun { status, delay_ms, ..ToolRun::says(tool) }];
            wild.tools.insert(tool.into(), ToolPlan { safety, runs, ..ToolPlan::default() });
        }
        for spec in &mut wild.config.tools {
            spec.read_only = chooser.chance(1, 3);
        }
        for _ in 0..6 {
            let file = chooser.one_of(&files).expect("there are some");
            let length = library.get(file).expect("ours").body.len() as u32;
            let mut body = BodyPlan {
                chunks: Chunks::At(
                    (0..chooser.pick(5)).map(|_| u64::from(chooser.pick(length))).collect(),
                ),
                ..BodyPlan::default()
            };
            if chooser.chance(1, 2) {
                let at = u64::from(chooser.pick(length));
                body.pauses_ms.insert(at, u64::from(chooser.pick(80_000)));
            }
            body.end =
                [EndOfBody::Eof, EndOfBody::Reset, EndOfBody::Hang][chooser.pick(3) as usize];
            let answer = match chooser.pick(8) {
                0 => Answer::fault(ErrorClass::Transport),
                1 => Answer::file("B005-2.http"),
                2 => {
                    let bytes = &library.get(file).expect("ours").body;
                    let cut = chooser.pick(length) as usize;
                    Answer::stream(String::from_utf8_lossy(&bytes[..cut]))
                }
                _ => Answer::file(file),
            };
            wild.answers.push(Answer { body: Some(body), ..answer });
        }
        wild.afterwards = Afterwards::LastAgain;
        wild.answers.push(Answer::file("B001-1.sse"));
        if chooser.chance(1, 3) {
            wild.user.push(UserAct::interrupts(After::Inputs(u64::from(chooser.pick(120)))));
        }
        if chooser.chance(1, 3) {
            let after = After::Pieces(u64::from(chooser.pick(60)));
            wild.user.push(UserAct::says("and this").after(after, 0));
        }
        let run = played(&wild);
        kinds.insert(ended(&run));
        let mut calls: Vec<u32> = run.executions.iter().map(|done| done.call.0).collect();
        calls.sort_unstable();
        calls.dedup();
        assert_eq!(calls.len(), run.executions.len(), "seed {seed}: a call ran twice");
    }
    assert!(kinds.len() >= 3, "only {kinds:?} were seen");
}
