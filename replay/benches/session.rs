//! Whole sessions of the W1 shape, on the Anthropic wire: R rounds of 50 pieces of text, one call
//! with 200 bytes of arguments in ten pieces, a result of 1 KB; then 50 pieces of the answer.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use machine_spec::{Input, start, step};
use replay::format::ReadLimits;
use replay::reader::{Bodies, Recording};
use replay::redact::Redactor;
use replay::replayer::{Options, replay_bytes};
use replay::scenario::{Answer, Library, Scenario};
use replay::sink::MemorySink;
use replay::world::play;
use replay::{Header, Note, Recorder};
use workload::{config, plan};

mod workload;

const ROUNDS: [u32; 4] = [3, 15, 100, 400];
const PIECES: usize = 50;

fn event(body: &mut String, kind: &str, rest: &str) {
    let _ = write!(body, "event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
}

/// One response. No two rounds are alike: they would be a doom loop.
fn response(round: u32, with_call: bool) -> String {
    let mut body = String::new();
    let usage = "\"usage\":{\"input_tokens\":40,\"output_tokens\":1}";
    let message = format!(
        ",\"message\":{{\"id\":\"msg_{round}\",\"type\":\"message\",\"role\":\"assistant\",\
         \"model\":\"claude-test-1\",\"content\":[],\"stop_reason\":null,\
         \"stop_sequence\":null,{usage}}}"
    );
    event(&mut body, "message_start", &message);
    let text = ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}";
    event(&mut body, "content_block_start", text);
    for n in 0..PIECES {
        let delta = format!(
            ",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"fifteen bytes{n:02}\"}}"
        );
        event(&mut body, "content_block_delta", &delta);
    }
    event(&mut body, "content_block_stop", ",\"index\":0");
    if with_call {
        let call = format!(
            ",\"index\":1,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"toolu_{round}\",\
             \"name\":\"search\",\"input\":{{}}}}"
        );
        event(&mut body, "content_block_start", &call);
        let args = format!("{{\"query\":\"{round:04}{}\"}}", "q".repeat(184));
        for piece in args.as_bytes().chunks(20) {
            let piece = serde_json::Value::from(String::from_utf8_lossy(piece));
            let delta = format!(
                ",\"index\":1,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":{piece}}}"
            );
            event(&mut body, "content_block_delta", &delta);
        }
        event(&mut body, "content_block_stop", ",\"index\":1");
    }
    let stop = if with_call { "tool_use" } else { "end_turn" };
    let delta = format!(
        ",\"delta\":{{\"stop_reason\":\"{stop}\",\"stop_sequence\":null}},\
         \"usage\":{{\"output_tokens\":90}}"
    );
    event(&mut body, "message_delta", &delta);
    event(&mut body, "message_stop", "");
    body
}

fn scenario(rounds: u32) -> Scenario {
    let mut scenario = plan(rounds);
    scenario.answers = (1..=rounds + 1).map(|n| Answer::stream(response(n, n <= rounds))).collect();
    scenario
}

fn record(rounds: u32, inputs: &[Input]) -> MemorySink {
    let header = Header::new(config(rounds), vec![]);
    let mut recorder = Recorder::create(MemorySink::default(), header, Redactor::default());
    let begun = start(recorder.header().config.clone());
    recorder.started(&begun, &Note::default());
    let mut state = begun.state;
    for input in inputs {
        let half = recorder.heard(input);
        let after = step(state, input.clone());
        half.stepped(&after, &Note::default());
        state = after.state;
    }
    recorder.finish().0
}

/// Replays and insists on what came of it.
fn replayed(sink: &MemorySink, bodies: &Bodies, options: Options, requests: u64) {
    let limits = ReadLimits::default();
    let report = replay_bytes(black_box(&sink.recording), limits, None, bodies.clone(), options)
        .expect("readable");
    assert!(report.is_identical() && report.terminal.is_some());
    if options.requests {
        assert_eq!((report.requests.compared, report.responses.compared), (requests, requests));
    }
}

fn sessions(c: &mut Criterion) {
    let frames_only = Options { requests: false, responses: false, invariants: false };
    let judged = Options { invariants: true, ..frames_only };
    let library = Library::new();
    for rounds in ROUNDS {
        let scenario = scenario(rounds);
        let run = play(&scenario, &library);
        assert_eq!(run.trouble, None);
        assert_eq!(run.state.frame().counters().tool_rounds, rounds, "the session is whole");
        let recording = run.recording().expect("readable");
        let inputs: Vec<Input> =
            recording.frames.iter().filter_map(|frame| frame.input.clone()).collect();
        let bodies = Bodies::memory(run.sink.bodies.clone());
        let raw: usize = run.sink.bodies.values().map(Vec::len).sum();
        println!(
            "R={rounds}: {} inputs, {raw} bytes of responses, {} of recording ({:.0} a frame)",
            inputs.len(),
            run.sink.recording.len(),
            run.sink.recording.len() as f64 / inputs.len() as f64
        );
        let mut group = c.benchmark_group("session");
        group.throughput(Throughput::Elements(inputs.len() as u64));
        group.bench_function(BenchmarkId::new("steps_only", rounds), |b| {
            b.iter_batched(
                || inputs.clone(),
                |inputs| {
                    let begun = start(config(rounds)).state;
                    inputs.into_iter().fold(begun, |state, input| step(state, input).state)
                },
                BatchSize::LargeInput,
            );
        });
        group.bench_function(BenchmarkId::new("play", rounds), |b| {
            b.iter(|| play(black_box(&scenario), &library));
        });
        group.bench_function(BenchmarkId::new("record", rounds), |b| {
            b.iter(|| record(rounds, black_box(&inputs)));
        });
        group.bench_function(BenchmarkId::new("read", rounds), |b| {
            b.iter(|| Recording::from_memory(black_box(&run.sink)).expect("readable"));
        });
        let requests = u64::from(rounds) + 1;
        for (name, options) in [
            ("replay", frames_only),
            ("replay_judged", judged),
            ("replay_everything", Options::default()),
        ] {
            group.bench_function(BenchmarkId::new(name, rounds), |b| {
                b.iter(|| replayed(&run.sink, &bodies, options, requests));
            });
        }
        group.finish();
    }
    negative_control(&library);
}

/// A bench that cannot fail proves nothing: a changed byte must be found.
fn negative_control(library: &Library) {
    let mut sink = play(&scenario(3), library).sink;
    let middle = sink.recording.len() / 2;
    sink.recording[middle] ^= 1;
    let limits = ReadLimits::default();
    let report = replay_bytes(&sink.recording, limits, None, Bodies::none(), Options::default());
    assert!(!report.expect("the header is sound").is_identical());
}

criterion_group!(benches, sessions);
criterion_main!(benches);
