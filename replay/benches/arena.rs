//! Whole simulated sessions per second and core: three rounds of 50 pieces of text and one call, then
//! an answer; every law judged from outside.
//!
//! The figure is per second of processor time of this process, because the machines that run it are
//! shared. `cargo bench -p replay --bench arena`.

use std::hint::black_box;
use std::time::Duration;

use machine_spec::{Input, start, step};
use replay::arena::{How, Script, play};
use replay::scenario::Library;
use replay::swarm::fly;
use said::scenario;

#[path = "workload/said.rs"]
mod said;
mod workload;

const ROUNDS: u32 = 3;

/// Processor time of this process; where the system does not tell it, nothing is measured.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Runs it until two seconds of processor time are used; gives runs per second, the best of five.
fn rate(mut run: impl FnMut()) -> f64 {
    let mut best: f64 = 0.0;
    for _ in 0..5 {
        let (begun, mut runs) = (cpu(), 0_u32);
        loop {
            for _ in 0..200 {
                run();
            }
            runs += 200;
            let used = (cpu() - begun).as_secs_f64();
            if used >= 0.4 {
                best = best.max(f64::from(runs) / used);
                break;
            }
            assert!(used > 0.0 || runs < 1_000_000, "the system tells no processor time");
        }
    }
    best
}

fn session(name: &str, last: u32, args: usize) {
    let scenario = scenario(ROUNDS, last, args);
    let script = Script::compile(&scenario, &Library::new()).expect("a sound plan");
    let outcome = play(&script, &[], How::FULL);
    assert_eq!((&outcome.breach, &outcome.trouble), (&None, &None));
    assert_eq!((outcome.executions, outcome.requests), (3, 4), "the session is whole");
    let inputs: Vec<Input> = outcome.tape.into_iter().map(|told| told.input).collect();
    let begun = start(scenario.config.clone()).state;
    let count = inputs.len();
    let steps = rate(|| {
        let end =
            inputs.iter().fold(begun.clone(), |state, input| step(state, input.clone()).state);
        assert!(black_box(end).is_done());
    });
    let judged = rate(|| {
        let outcome = play(black_box(&script), &[], How::FAST);
        assert!(outcome.breach.is_none() && outcome.state.is_done());
    });
    let full = rate(|| {
        let outcome = play(black_box(&script), &[], How { full: true, tape: false });
        assert!(outcome.breach.is_none());
    });
    let nanos = |rate: f64| 1e9 / rate / count as f64;
    println!("{name}: {count} inputs");
    println!(
        "  the machine alone       {steps:>9.0} sessions/s  {:>5.0} ns an input",
        nanos(steps)
    );
    println!(
        "  the arena, laws judged  {judged:>9.0} sessions/s  {:>5.0} ns an input",
        nanos(judged)
    );
    println!("  and invariants of steps {full:>9.0} sessions/s  {:>5.0} ns an input", nanos(full));
}

fn main() {
    session("3 rounds of 50 pieces, a short answer", 1, 1);
    session("3 rounds of 50 pieces and 10 of arguments, 50 of answer", 50, 10);
    let mut seed = 0;
    let seeds = rate(|| {
        assert!(fly(seed..seed + 1).findings.is_empty(), "seed {seed}");
        seed += 1;
    });
    println!("the swarm, drawing included: {seeds:.0} runs/s");
}
