//! Mermaid flowchart: rooms as nodes, causes as labels; waiting rooms are round.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Walk, bundles, label, walked};
use crate::rooms::RoomKind;

pub(super) fn draw(walk: &Walk) -> String {
    let mut out = String::from("flowchart TD\n");
    for room in RoomKind::ALL {
        let (open, close) = if room.waits() { ("([", "])") } else { ("[", "]") };
        out += &format!("  {room}{open}{room}{close}\n");
    }
    let (mut bold, mut faint) = (Vec::new(), Vec::new());
    for (n, ((from, to), edges)) in bundles().iter().enumerate() {
        out += &format!("  {from} -->|\"{}\"| {to}\n", label(edges, walk, "<br>"));
        match walked(edges, walk) {
            Some(true) => bold.push(format!("{n}")),
            Some(false) => faint.push(format!("{n}")),
            None => {}
        }
    }
    if !bold.is_empty() {
        out += &format!("  linkStyle {} stroke:#c0392b,stroke-width:3px\n", bold.join(","));
    }
    if !faint.is_empty() {
        out += &format!("  linkStyle {} stroke:#bbbbbb\n", faint.join(","));
    }
    out
}
