//! W3C State Chart XML: one transition a door. A door without a trigger is eventless; its cause and
//! its effects stand in attributes of our own namespace.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Walk;
use crate::because::Trigger;
use crate::rooms::RoomKind;
use crate::table::{EDGES, Edge};

pub(super) fn draw(walk: &Walk) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<scxml xmlns=\"http://www.w3.org/2005/07/scxml\" \
         xmlns:lw=\"urn:loopwright:loop\" version=\"1.0\" initial=\"idle\">\n",
    );
    for room in RoomKind::ALL {
        if *room == RoomKind::Done {
            out += &format!("  <final id=\"{room}\"/>\n");
            continue;
        }
        out += &format!("  <state id=\"{room}\">\n");
        for edge in EDGES.iter().filter(|edge| edge.from == *room) {
            out += &transition(edge, walk);
        }
        out += "  </state>\n";
    }
    out += "</scxml>\n";
    out
}

fn transition(edge: &Edge, walk: &Walk) -> String {
    let event = match edge.on {
        Trigger::On(input) => format!("event=\"{input}\" "),
        Trigger::Onward => String::new(),
    };
    let emits: Vec<&str> = edge.emits.iter().map(|kind| kind.word()).collect();
    let times = match walk.times(edge) {
        Some(times) => format!(" lw:walked=\"{times}\""),
        None => String::new(),
    };
    format!(
        "    <transition {event}target=\"{}\" lw:because=\"{}\" lw:emits=\"{}\"{times}/>\n",
        edge.to,
        edge.because,
        emits.join(" ")
    )
}
