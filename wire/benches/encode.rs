//! What a request costs: a conversation of R rounds, encoded round by round.
//!
//! Workload: R rounds of a text, one call with 200 bytes of arguments and a result of 1 KB, as in the
//! bench of the machine. `grown` is one encoder that sees the conversation grow, `fresh` a new one
//! for every request, which encodes the whole conversation again. What counts is the ratio, and
//! that `last round` hardly grows with R: what is left there is one copy of the body.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use machine_spec::because::Owner;
use machine_spec::config::Candidate;
use machine_spec::effect::{SealedRequest, ToolChoice, Transport};
use machine_spec::ids::{AttemptId, CallId, CandidateId};
use machine_spec::message::{
    Block, Call, CallResult, Entry, Origin, Outcome, Reply, Said, Wholeness,
};
use machine_spec::model::{ArgsVerdict, CallFacts, Safety, Usage};
use machine_spec::view::View;
use machine_spec::{RunConfig, Transcript};
use wire::{Dialect, EncodeOptions, Encoder};

fn config() -> RunConfig {
    let candidate = Candidate {
        name: "a".to_owned(),
        model: "m".to_owned(),
        context_window: 0,
        max_output: 0,
        ..Candidate::default()
    };
    let system = "You are careful. ".repeat(100);
    RunConfig { candidates: vec![candidate], system, ..RunConfig::default() }
}

/// The requests of a session, one per round.
fn requests(rounds: u32) -> Vec<SealedRequest> {
    let mut transcript = Transcript::new();
    transcript.append(Entry::Said(Said::words(Origin::User, "Go.")));
    let mut requests = vec![request(&transcript)];
    for round in 0..rounds {
        let call = Call {
            id: CallId(round),
            wire_id: Arc::from(format!("call_{round}")),
            name: Arc::from("lookup"),
            args: Arc::from(format!("{{\"query\":\"{}\"}}", "x".repeat(188))),
            facts: CallFacts::new(ArgsVerdict::Valid { canonical: 0 }, Safety::Exclusive),
        };
        let result = CallResult {
            call: call.id,
            wire_id: call.wire_id.clone(),
            name: call.name.clone(),
            outcome: Outcome::Succeeded { output: "a line of output\n".repeat(60) },
            edited: None,
            images: Vec::new(),
        };
        transcript.append(Entry::Reply(Reply {
            by: Arc::from("a/m"),
            attempt: AttemptId(round),
            blocks: vec![Block::Text("chunk number 00 ".repeat(50)), Block::Call(call)],
            wholeness: Wholeness::Whole,
            stop: None,
            usage: Usage::default(),
        }));
        transcript.append(Entry::Results(vec![result]));
        requests.push(request(&transcript));
    }
    requests
}

fn request(transcript: &Transcript) -> SealedRequest {
    SealedRequest {
        attempt: AttemptId(0),
        candidate: CandidateId(0),
        owner: Owner::Step,
        view: View::of(transcript),
        tools: ToolChoice::Auto,
        transport: Transport::Stream,
        max_output: None,
        left_out: Vec::new(),
    }
}

fn encoder(dialect: Dialect) -> Encoder {
    Encoder::new(dialect, EncodeOptions::default())
}

fn sessions(c: &mut Criterion) {
    let config = config();
    for rounds in [20, 200] {
        let requests = requests(rounds);
        for dialect in [Dialect::Anthropic, Dialect::OpenAiChat] {
            let mut group = c.benchmark_group(format!("encode/{dialect}/{rounds} rounds"));
            group.sample_size(20);
            let mut whole = encoder(dialect);
            let bytes: usize =
                requests.iter().map(|request| whole.encode(&config, request).body.len()).sum();
            group.throughput(Throughput::Bytes(bytes as u64));
            group.bench_function(BenchmarkId::from_parameter("grown"), |b| {
                b.iter(|| {
                    let mut encoder = encoder(dialect);
                    for request in &requests {
                        black_box(encoder.encode(&config, request));
                    }
                });
            });
            group.bench_function(BenchmarkId::from_parameter("fresh"), |b| {
                b.iter(|| {
                    for request in &requests {
                        black_box(encoder(dialect).encode(&config, request));
                    }
                });
            });
            let (last, before) = (&requests[requests.len() - 1], &requests[requests.len() - 2]);
            group.throughput(Throughput::Elements(1));
            group.bench_function(BenchmarkId::from_parameter("last round"), |b| {
                b.iter_batched_ref(
                    || {
                        let mut encoder = encoder(dialect);
                        encoder.encode(&config, before);
                        encoder
                    },
                    |encoder| encoder.encode(&config, last),
                    BatchSize::LargeInput,
                );
            });
            group.finish();
        }
    }
}

criterion_group!(benches, sessions);
criterion_main!(benches);
