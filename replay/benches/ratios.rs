//! What is demanded of the machine's speed, as ratios within one run; fails where one is not met.
//!
//! * Stepping a text chunk costs at most 0.3 of decoding it from its SSE bytes.
//! * A round of a session of 400 costs at most 1.2 of a round of one of 15: no copy of the
//!   conversation, nothing quadratic.
//! * Cloning a state after 400 rounds costs what it costs after 15 (at most 1.5, for noise).
//!
//! Both sides of a ratio are measured in turns, and the best of each counts.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use machine_spec::ids::EffectId;
use machine_spec::model::ModelEvent;
use machine_spec::{Effect, Input, State, start, step};
use replay::arena::{How, Script, play};
use replay::scenario::Library;
use said::scenario;
use wire::{DecodeLimits, Decoder, Dialect};
use workload::config;

#[path = "workload/said.rs"]
mod said;
mod workload;

/// Text chunks of the response that is decoded and stepped.
const CHUNKS: usize = 2_000;

/// How often each side is measured.
const TURNS: usize = 60;

/// The best time of each of two works, measured in turns. A work gets what was made ready for it,
/// and only its own part is timed.
fn in_turns(works: [&mut dyn FnMut() -> Duration; 2]) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    let [one, two] = works;
    for _ in 0..TURNS {
        best[0] = best[0].min(one());
        best[1] = best[1].min(two());
    }
    best
}

#[expect(clippy::disallowed_methods, reason = "what it measures is time")]
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    let made = black_box(work());
    let took = begun.elapsed();
    drop(made);
    took
}

fn body() -> Vec<u8> {
    let mut body = String::new();
    let mut event = |kind: &str, rest: &str| {
        body += &format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    };
    event("message_start", ",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"content\":[]}");
    event(
        "content_block_start",
        ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}",
    );
    for n in 0..CHUNKS {
        let text = format!("\"text\":\"chunk number {n:04} \"");
        let delta = format!(",\"index\":0,\"delta\":{{\"type\":\"text_delta\",{text}}}");
        event("content_block_delta", &delta);
    }
    body.into_bytes()
}

/// A machine that waits for the first response, and the request it waits for.
fn asking() -> (State, EffectId) {
    let said = Input::UserSaid { text: "go".into(), images: vec![], rules: vec![] };
    let asked = step(start(config(1)).state, said);
    let id = asked.effects.iter().find_map(|effect| match effect {
        Effect::CallModel { id, .. } => Some(*id),
        _ => None,
    });
    (asked.state, id.expect("a request is open"))
}

/// Decodes the body in the pieces of a socket and gives every event to a consumer.
fn decode_into(body: &[u8], mut consumer: impl FnMut(ModelEvent)) {
    let mut decoder = Decoder::new(Dialect::Anthropic, DecodeLimits::default());
    let mut events = Vec::new();
    for piece in body.chunks(16 << 10) {
        decoder.push(black_box(piece), &mut events);
        events.drain(..).for_each(&mut consumer);
    }
}

/// What stepping adds where events are decoded and stepped, to what decoding them costs a consumer
/// that looks at each and drops it.
fn chunk() -> f64 {
    let body = body();
    let (state, id) = asking();
    let [decoded, both] = in_turns([
        &mut || timed(|| decode_into(&body, |event| drop(black_box(event)))),
        &mut || {
            let mut held = Some(state.clone());
            let step_on = |event| {
                let state = held.take().unwrap_or_else(|| unreachable!("it is put back"));
                held = Some(step(state, Input::ModelSaid { id, event }).state);
            };
            timed(|| decode_into(&body, step_on))
        },
    ]);
    let each = |time: Duration| time.as_nanos() as f64 / CHUNKS as f64;
    let stepped = both.saturating_sub(decoded);
    println!(
        "a text chunk: decoded in {:.0} ns, stepped in {:.0} ns",
        each(decoded),
        each(stepped)
    );
    stepped.as_secs_f64() / decoded.as_secs_f64()
}

/// A whole session: the state it begins with, its inputs, and the state it ends in.
fn session(rounds: u32) -> (State, Vec<Input>, State) {
    let mut scenario = scenario(rounds, 50, 1);
    scenario.most_inputs = u64::from(rounds + 1) * 100;
    let script = Script::compile(&scenario, &Library::new()).expect("a sound plan");
    let outcome = play(&script, &[], How { full: false, tape: true });
    assert_eq!((&outcome.breach, &outcome.trouble), (&None, &None));
    assert_eq!(outcome.requests, u64::from(rounds) + 1, "the session is whole");
    let inputs = outcome.tape.into_iter().map(|told| told.input).collect();
    (start(scenario.config.clone()).state, inputs, outcome.state)
}

fn rounds() -> (f64, f64) {
    const FEW: u32 = 15;
    const MANY: u32 = 400;
    let (few, many) = (session(FEW), session(MANY));
    let run = |(begun, inputs, _): &(State, Vec<Input>, State)| {
        let (begun, inputs) = (begun.clone(), inputs.clone());
        timed(|| inputs.into_iter().fold(begun, |state, input| step(state, input).state))
    };
    let [short, long] = in_turns([&mut || run(&few), &mut || run(&many)]);
    let each = |time: Duration, rounds: u32| time.as_nanos() as f64 / f64::from(rounds);
    let (short, long) = (each(short, FEW), each(long, MANY));
    println!("a round: {short:.0} ns in a session of {FEW}, {long:.0} ns in one of {MANY}");
    let clones = |state: &State| timed(|| (0..1_000).map(|_| state.clone()).collect::<Vec<_>>());
    let [after_few, after_many] = in_turns([&mut || clones(&few.2), &mut || clones(&many.2)]);
    let (one, other) = (after_few.as_nanos() / 1_000, after_many.as_nanos() / 1_000);
    println!("a clone: {one} ns after {FEW} rounds, {other} ns after {MANY}");
    (long / short, after_many.as_secs_f64() / after_few.as_secs_f64())
}

fn main() -> ExitCode {
    let chunk = chunk();
    let (round, clone) = rounds();
    let demands = [
        ("stepping a text chunk, of decoding it", chunk, 0.3),
        ("a round of 400, of a round of 15", round, 1.2),
        ("a clone after 400 rounds, of one after 15", clone, 1.5),
    ];
    let mut failed = false;
    for (what, ratio, most) in demands {
        let met = ratio <= most;
        failed |= !met;
        let word = if met { "met" } else { "NOT MET" };
        println!("{word}: {what}: {ratio:.2}, at most {most} is demanded");
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
