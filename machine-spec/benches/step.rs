//! What a step costs: a text chunk, a whole session of R rounds, a clone of a state.
//!
//! Workload: R tool rounds, each 50 text chunks, one call with 200 bytes of arguments in ten pieces
//! and a result of 1 KB; then 50 chunks of final text. Ratios within one run are what counts.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use machine_spec::config::RunConfig;
use machine_spec::explore::profiles::{candidate, tool};
use machine_spec::ids::EffectId;
use machine_spec::input::{ToolReport, ToolStatus};
use machine_spec::limits::Limits;
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, Closure, ModelEvent, Proof, Safety, StopReason,
};
use machine_spec::{Effect, Input, State, start, step};

const CHUNKS: usize = 50;

fn config(rounds: usize) -> RunConfig {
    RunConfig {
        candidates: vec![candidate("a")],
        tools: vec![tool("lookup", true)],
        limits: Limits { tool_rounds: rounds as u32 + 1, ..Limits::default() },
        ..RunConfig::default()
    }
}

/// The events of one response, the same as a decoder would give.
fn response(with_call: bool) -> Vec<ModelEvent> {
    let mut events = vec![ModelEvent::BlockBegan { block: 0, kind: BlockKind::Text }];
    for n in 0..CHUNKS {
        events.push(ModelEvent::Delta { block: 0, text: format!("chunk number {n:02} ") });
    }
    let proof = Proof::BlockStop;
    events.push(ModelEvent::BlockDone { block: 0, proof, done: BlockEnd::Text });
    if with_call {
        let kind = BlockKind::Call { wire_id: String::new(), name: "lookup".into() };
        events.push(ModelEvent::BlockBegan { block: 1, kind });
        for _ in 0..10 {
            events.push(ModelEvent::Delta { block: 1, text: "\"twenty-byte-piece\",".into() });
        }
        let args = ArgsVerdict::Valid { canonical: 7 };
        let facts = CallFacts::new(args, Safety::Concurrent);
        events.push(ModelEvent::BlockDone { block: 1, proof, done: BlockEnd::Call(facts) });
    }
    let reason = if with_call { StopReason::ToolUse } else { StopReason::EndOfTurn };
    events.push(ModelEvent::finished(reason, "end"));
    events
}

fn opened(effects: &[Effect]) -> Option<EffectId> {
    effects.iter().find_map(machine_spec::ledger::awaited_id)
}

/// Plays a session and gives the number of steps it took.
fn session(rounds: usize) -> (State, usize) {
    let (call, last) = (response(true), response(false));
    let said = Input::UserSaid { text: "go".into(), images: vec![], rules: vec![] };
    let mut taken = step(start(config(rounds)).state, said);
    let mut steps = 1;
    for round in 0..=rounds {
        let model = opened(&taken.effects).expect("a request is open");
        let mut tool = None;
        for event in if round < rounds { &call } else { &last } {
            taken = step(taken.state, Input::ModelSaid { id: model, event: event.clone() });
            tool = tool.or(opened(&taken.effects));
            steps += 1;
        }
        taken = step(taken.state, Input::ModelClosed { id: model, closure: Closure::Ended });
        steps += 1;
        if let Some(id) = tool {
            let report = ToolReport::new(ToolStatus::Succeeded, "r".repeat(1024));
            taken = step(taken.state, Input::ToolReturned { id, report });
            steps += 1;
        }
    }
    assert!(taken.state.is_done(), "the session ends");
    (taken.state, steps)
}

fn in_the_middle_of_a_text() -> (State, EffectId) {
    let said = Input::UserSaid { text: "go".into(), images: vec![], rules: vec![] };
    let taken = step(start(config(1)).state, said);
    let id = opened(&taken.effects).expect("a request is open");
    let event = ModelEvent::BlockBegan { block: 0, kind: BlockKind::Text };
    (step(taken.state, Input::ModelSaid { id, event }).state, id)
}

fn benches(c: &mut Criterion) {
    let (state, id) = in_the_middle_of_a_text();
    c.bench_function("step/text-chunk", |b| {
        let mut held = Some(state.clone());
        b.iter_batched(
            || ModelEvent::Delta { block: 0, text: "chunk number 01 ".into() },
            |event| {
                if let Some(state) = held.take() {
                    held = Some(step(state, Input::ModelSaid { id, event }).state);
                }
            },
            BatchSize::SmallInput,
        );
    });
    for rounds in [3, 15, 100, 400] {
        let (end, steps) = session(rounds);
        let mut group = c.benchmark_group("session");
        group.throughput(Throughput::Elements(steps as u64));
        group.bench_function(format!("R={rounds}"), |b| b.iter(|| session(rounds)));
        group.finish();
        c.bench_function(&format!("clone/R={rounds}"), |b| b.iter(|| end.clone()));
        c.bench_function(&format!("digest/R={rounds}"), |b| b.iter(|| end.digest()));
    }
}

criterion_group!(step_benches, benches);
criterion_main!(step_benches);
