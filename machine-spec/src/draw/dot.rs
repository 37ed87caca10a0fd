//! Graphviz: the same picture for people with `dot`.

use alloc::format;
use alloc::string::String;

use super::{Walk, bundles, label, walked};
use crate::rooms::RoomKind;

pub(super) fn draw(walk: &Walk) -> String {
    let mut out =
        String::from("digraph loop {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n");
    for room in RoomKind::ALL {
        let shape = match (room, room.waits()) {
            (RoomKind::Done, _) => "doublecircle",
            (_, true) => "ellipse",
            (_, false) => "box",
        };
        out += &format!("  {room} [shape={shape}];\n");
    }
    for ((from, to), edges) in bundles() {
        let style = match walked(&edges, walk) {
            Some(true) => ", color=\"#c0392b\", penwidth=3",
            Some(false) => ", color=\"#bbbbbb\"",
            None => "",
        };
        out += &format!("  {from} -> {to} [label=\"{}\"{style}];\n", label(&edges, walk, "\\n"));
    }
    out += "}\n";
    out
}
