//! The comparison of `wire/benches/decode` against rivals that cost something to build: the same
//! bodies, the same checks, more rows. It stands outside of the workspace so that nobody who builds
//! Loopwright builds them.

#[path = "../../wire/benches/decode/bodies.rs"]
mod bodies;
mod costly;
#[path = "../../wire/benches/decode/course.rs"]
mod course;
#[path = "../../wire/benches/decode/race.rs"]
mod race;
#[path = "../../wire/benches/decode/rivals.rs"]
mod rivals;

use std::process::ExitCode;

use self::bodies::Spelling;
use self::course::{Course, Wire};
use self::race::{Race, Table};

/// Rounds of every table.
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    let mut met = true;
    for wire in [Wire::Anthropic, Wire::Chat] {
        for spelling in [Spelling::Plain, Spelling::Adverse] {
            let bodies = wire.bodies(12, spelling);
            let course = Course::new(wire, spelling, &bodies);
            let payloads = bodies.payloads();
            let mut race = Race::new(format!("{wire}, {spelling}"), bodies.bytes());
            course.ours(&mut race);
            course.cheap_rivals(&mut race);
            costly::rivals(&course, &mut race);
            course.parsing(&mut race, &payloads);
            costly::parsing(wire, &mut race, &payloads);
            let table = race.run(ROUNDS);
            met &= match spelling {
                Spelling::Plain => plain(&table),
                Spelling::Adverse => adverse(&table),
            };
        }
        met &= one_event(wire);
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What must hold of streams as they come.
fn plain(table: &Table) -> bool {
    let mut met = table.demand("ours, 16 KB", 0.8, "only serde_json, flat structs");
    for rival in costly::COMBINATIONS {
        met &= table.demand("ours, 16 KB", 1.5, rival);
    }
    met & table.demand("ours, 16 KB", 4.0, "eventsource-stream + serde_json, owned, 16 KB")
}

/// What must hold where nothing can be recognised.
fn adverse(table: &Table) -> bool {
    table.demand("ours, 16 KB", 0.8, "sseer + serde_json, flat, 16 KB")
        & table.demand("ours, per event", 0.8, "sseer + serde_json, flat, per event")
        & table.demand("ours, 1 byte", 0.8, "sseer + serde_json, flat, 1 byte")
}

/// A text of 1 MB in one event.
fn one_event(wire: Wire) -> bool {
    let bodies = bodies::single(wire == Wire::Chat, 1 << 20);
    let course = Course::new(wire, Spelling::Plain, &bodies);
    let mut race = Race::new(format!("{wire}, 1 MB in one event"), bodies.bytes());
    course.ours(&mut race);
    course.cheap_rivals(&mut race);
    costly::rivals(&course, &mut race);
    let table = race.run(2 * ROUNDS);
    table.demand("ours, 16 KB", 0.8, "sseer + serde_json, flat, 16 KB")
}
