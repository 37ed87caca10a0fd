//! Whole sessions of the W1 shape: R rounds of 50 pieces of text, one call with 200 bytes of
//! arguments in ten pieces, a result of 1 KB; then 50 pieces of the answer.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use machine_spec::config::{Candidate, RunConfig, ToolSpec};
use machine_spec::input::{ToolReport, ToolStatus};
use machine_spec::limits::Limits;
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, Closure, ModelEvent, Proof, Safety, StopReason,
};
use machine_spec::{Effect, Input, start, step};
use replay::format::ReadLimits;
use replay::reader::{Bodies, Recording};
use replay::redact::Redactor;
use replay::replayer::{Options, replay_bytes};
use replay::sink::MemorySink;
use replay::{Header, Note, Recorder};

const ROUNDS: [u32; 4] = [3, 15, 100, 400];
const PIECES: usize = 50;

fn config(rounds: u32) -> RunConfig {
    RunConfig {
        candidates: vec![Candidate {
            name: "a".into(),
            model: "m".into(),
            context_window: 0,
            max_output: 0,
        }],
        tools: vec![ToolSpec {
            name: "search".into(),
            description: "searches".into(),
            input_schema: "{\"type\":\"object\"}".into(),
            read_only: true,
        }],
        limits: Limits { tool_rounds: rounds + 1, ..Limits::default() },
        ..RunConfig::default()
    }
}

/// One response, as events. No two rounds are alike: they would be a doom loop.
fn response(round: u32, with_call: bool) -> Vec<ModelEvent> {
    let mut events = vec![ModelEvent::Began { model: "m".into(), response: "r".into() }];
    let mut block = |number: u32, kind: BlockKind, pieces: Vec<String>, done: BlockEnd| {
        events.push(ModelEvent::BlockBegan { block: number, kind });
        for text in pieces {
            events.push(ModelEvent::Delta { block: number, text });
        }
        events.push(ModelEvent::BlockDone { block: number, proof: Proof::BlockStop, done });
    };
    let text = (0..PIECES).map(|n| format!("fifteen bytes{n:02}")).collect();
    block(0, BlockKind::Text, text, BlockEnd::Text);
    if with_call {
        let args = format!("{{\"query\":\"{round:04}{}\"}}", "q".repeat(184));
        let pieces = args.as_bytes().chunks(20);
        let pieces = pieces.map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
        let kind = BlockKind::Call { wire_id: String::new(), name: "search".into() };
        let args = ArgsVerdict::Valid { canonical: u64::from(round) };
        let facts = CallFacts { args, safety: Safety::Exclusive };
        block(1, kind, pieces, BlockEnd::Call(facts));
    }
    let reason = if with_call { StopReason::ToolUse } else { StopReason::EndOfTurn };
    events.push(ModelEvent::Finished { reason, word: reason.word().into() });
    events
}

/// All inputs of a session.
fn session(rounds: u32) -> Vec<Input> {
    let mut inputs = vec![Input::UserSaid { text: "find it".into(), rules: vec![] }];
    let mut state = start(config(rounds)).state;
    let mut told = 0;
    let mut awaited: Vec<Input> = Vec::new();
    loop {
        while told < inputs.len() {
            let after = step(state, inputs[told].clone());
            told += 1;
            state = after.state;
            awaited.extend(after.effects.iter().flat_map(|effect| answers(effect, rounds)));
        }
        if awaited.is_empty() {
            assert_eq!(state.frame().counters().tool_rounds, rounds, "the session is whole");
            return inputs;
        }
        inputs.append(&mut awaited);
    }
}

fn answers(effect: &Effect, rounds: u32) -> Vec<Input> {
    match effect {
        Effect::CallModel { id, request } => {
            let said = |event| Input::ModelSaid { id: *id, event };
            let round = request.attempt.0;
            let events = response(round, round <= rounds).into_iter().map(said);
            let closed = Input::ModelClosed { id: *id, closure: Closure::Ended };
            events.chain([closed]).collect()
        }
        Effect::RunTool { id, .. } => {
            let report = ToolReport {
                status: ToolStatus::Succeeded,
                output: format!("{id}{}", "r".repeat(1020)),
            };
            vec![Input::ToolReturned { id: *id, report }]
        }
        _ => vec![],
    }
}

fn record(rounds: u32, inputs: &[Input], note: &Note) -> MemorySink {
    let header = Header::new(config(rounds), vec![]);
    let mut recorder = Recorder::create(MemorySink::default(), header, Redactor::default());
    let begun = start(recorder.header().config.clone());
    recorder.started(&begun, note);
    let mut state = begun.state;
    for input in inputs {
        let half = recorder.heard(input);
        let after = step(state, input.clone());
        half.stepped(&after, note);
        state = after.state;
    }
    recorder.finish().0
}

fn sessions(c: &mut Criterion) {
    let fast = Options { requests: false, responses: false, invariants: false };
    let judged = Options { invariants: true, ..fast };
    for rounds in ROUNDS {
        let inputs = session(rounds);
        let sink = record(rounds, &inputs, &Note::default());
        println!(
            "R={rounds}: {} inputs, {} bytes of recording, {:.0} a frame",
            inputs.len(),
            sink.recording.len(),
            sink.recording.len() as f64 / inputs.len() as f64
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
        group.bench_function(BenchmarkId::new("record_in_memory", rounds), |b| {
            b.iter(|| record(rounds, black_box(&inputs), &Note::default()));
        });
        group.bench_function(BenchmarkId::new("read", rounds), |b| {
            b.iter(|| Recording::from_memory(black_box(&sink)).expect("readable"));
        });
        for (name, options) in [("replay", fast), ("replay_judged", judged)] {
            group.bench_function(BenchmarkId::new(name, rounds), |b| {
                b.iter(|| {
                    let bytes = black_box(&sink.recording);
                    let limits = ReadLimits::default();
                    let report = replay_bytes(bytes, limits, None, Bodies::none(), options)
                        .expect("readable");
                    assert!(report.is_identical() && report.terminal.is_some());
                });
            });
        }
        group.finish();
    }
    negative_control();
}

/// A bench that cannot fail proves nothing: a changed byte must be found.
fn negative_control() {
    let mut sink = record(3, &session(3), &Note::default());
    let middle = sink.recording.len() / 2;
    sink.recording[middle] ^= 1;
    let report = replay_bytes(
        &sink.recording,
        ReadLimits::default(),
        None,
        Bodies::none(),
        Options::default(),
    );
    assert!(!report.expect("the header is sound").is_identical());
}

criterion_group!(benches, sessions);
criterion_main!(benches);
