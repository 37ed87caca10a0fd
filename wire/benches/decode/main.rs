//! How fast bytes become events, against what else could be done with the same bytes in the same
//! run. Every decoding row is checked: the accumulated message must be the one that was written.
//!
//! Limits: copying, framing by `memchr`, skipping the JSON, only parsing it into structs. Rivals:
//! the maintained parsers of event streams that cost nothing to build, with structs as client
//! libraries have them (`owned`) and with the fastest ones (`flat`); the workspace `rivals` beside
//! this one has those that do cost something. All of them stand without what ours does beside it:
//! completion proofs, argument verdicts, usage, errors, bounds.
//!
//! What the decoder must reach is said below each table, and missing it fails the run.

mod bodies;
mod course;
mod length;
mod race;
mod rivals;

use std::process::ExitCode;

use self::bodies::{Bodies, Spelling};
use self::course::{Course, Wire};
use self::race::Race;

/// Rounds of every table.
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    // Without this word somebody only wants to know whether it runs.
    let in_earnest = std::env::args().any(|argument| argument == "--bench");
    let (rounds, responses) = if in_earnest { (ROUNDS, 12) } else { (1, 1) };
    let mut met = true;
    for wire in [Wire::Anthropic, Wire::Chat] {
        for spelling in [Spelling::Plain, Spelling::Adverse] {
            met &= decode(wire, spelling, responses, rounds);
        }
        met &= one_event(wire, rounds);
        met &= length::linear(wire, if in_earnest { &[2, 20, 200] } else { &[2] });
    }
    if met || !in_earnest { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn decode(wire: Wire, spelling: Spelling, responses: usize, rounds: usize) -> bool {
    let bodies = wire.bodies(responses, spelling);
    let course = Course::new(wire, spelling, &bodies);
    let payloads = bodies.payloads();
    let mut race = Race::new(format!("{wire}, {spelling}"), bodies.bytes());
    course.ours(&mut race);
    course.cheap_rivals(&mut race);
    limits(&mut race, &bodies);
    course.parsing(&mut race, &payloads);
    let table = race.run(rounds);
    match spelling {
        Spelling::Plain => {
            table.demand("ours, 16 KB", 0.8, "only serde_json, flat structs")
                & table.demand("ours, 16 KB", 0.6, "only serde_json, RawValue")
                & table.demand("ours, 16 KB", 4.0, "eventsource-stream + serde_json, owned, 16 KB")
        }
        // Nothing is recognised, so every event costs its parsing.
        Spelling::Adverse => {
            table.demand("ours, 16 KB", 0.8, "sse-stream + serde_json, flat, 16 KB")
                & table.demand("ours, 1 byte", 0.8, "sse-stream + serde_json, flat, 1 byte")
        }
    }
}

/// What the machine gives.
fn limits<'a>(race: &mut Race<'a>, bodies: &'a Bodies) {
    let largest = bodies.responses.iter().map(Vec::len).max().unwrap_or_default();
    let mut copy = vec![0; largest];
    race.row("limit: memcpy", move || {
        for body in &bodies.responses {
            copy[..body.len()].copy_from_slice(std::hint::black_box(body));
            std::hint::black_box(&mut copy);
        }
    });
    race.row("limit: framing by memchr", || {
        for body in &bodies.responses {
            std::hint::black_box(rivals::payloads(body).map(<[u8]>::len).sum::<usize>());
        }
    });
}

/// A text of 1 MB in one event.
fn one_event(wire: Wire, rounds: usize) -> bool {
    let bodies = bodies::single(wire == Wire::Chat, 1 << 20);
    let course = Course::new(wire, Spelling::Plain, &bodies);
    let mut race = Race::new(format!("{wire}, 1 MB in one event"), bodies.bytes());
    course.ours(&mut race);
    course.cheap_rivals(&mut race);
    race.run(rounds).demand("ours, 16 KB", 0.8, "sse-stream + serde_json, flat, 16 KB")
}
