//! A machine for XState 5, as JSON. Each cause is the name of a guard, as the machine decides with
//! data that a drawing does not have; a door without a trigger stands under `always`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Walk;
use crate::because::Trigger;
use crate::input::InputKind;
use crate::rooms::RoomKind;
use crate::table::{EDGES, Edge};

pub(super) fn draw(walk: &Walk) -> String {
    let states: Vec<String> = RoomKind::ALL.iter().map(|room| state(*room, walk)).collect();
    format!(
        "{{\n  \"id\": \"loop\",\n  \"initial\": \"idle\",\n  \"states\": {{\n{}\n  }}\n}}\n",
        states.join(",\n")
    )
}

fn state(room: RoomKind, walk: &Walk) -> String {
    if room == RoomKind::Done {
        return format!("    \"{room}\": {{ \"type\": \"final\" }}");
    }
    let of = |on: Trigger| {
        let edges = EDGES.iter().filter(move |edge| edge.from == room && edge.on == on);
        edges.map(|edge| transition(edge, walk)).collect::<Vec<_>>()
    };
    let mut parts = Vec::new();
    let always = of(Trigger::Onward);
    if !always.is_empty() {
        parts.push(format!("      \"always\": [\n{}\n      ]", always.join(",\n")));
    }
    let on = InputKind::ALL.iter().filter_map(|input| {
        let doors = of(Trigger::On(*input));
        let list = format!("        \"{input}\": [\n{}\n        ]", doors.join(",\n"));
        (!doors.is_empty()).then_some(list)
    });
    let on: Vec<String> = on.collect();
    if !on.is_empty() {
        parts.push(format!("      \"on\": {{\n{}\n      }}", on.join(",\n")));
    }
    format!("    \"{room}\": {{\n{}\n    }}", parts.join(",\n"))
}

fn transition(edge: &Edge, walk: &Walk) -> String {
    let emits: Vec<String> = edge.emits.iter().map(|kind| format!("\"{kind}\"")).collect();
    let times = match walk.times(edge) {
        Some(times) => format!(", \"meta\": {{ \"walked\": {times} }}"),
        None => String::new(),
    };
    format!(
        "          {{ \"target\": \"{}\", \"guard\": \"{}\", \"actions\": [{}]{times} }}",
        edge.to,
        edge.because,
        emits.join(", ")
    )
}
