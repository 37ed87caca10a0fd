//! The drawings are fresh, and what a program reads back from them is the table.

use std::collections::BTreeSet;
use std::path::Path;

use machine_spec::draw::{Format, Walk, draw};
use machine_spec::table::EDGES;
use machine_spec::{EffectKind, RoomKind, Trigger};

fn drawn(format: Format) -> String {
    draw(format, &Walk::default())
}

#[test]
fn the_drawings_in_spec_are_fresh() {
    for format in Format::ALL {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec").join(format.file_name());
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        let fresh = stored == drawn(*format);
        assert!(fresh, "spec/{} is stale: run `cargo xtask draw`", format.file_name());
    }
}

/// From, input (empty for none), cause, to, effects.
type Read = (String, String, String, String, String);

fn declared() -> BTreeSet<Read> {
    let read = |edge: &machine_spec::table::Edge| {
        let on = match edge.on {
            Trigger::On(input) => input.word(),
            Trigger::Onward => "",
        };
        let emits: Vec<&str> = edge.emits.iter().map(|kind: &EffectKind| kind.word()).collect();
        let words = [edge.from.word(), on, edge.because.word(), edge.to.word()].map(String::from);
        let [from, on, because, to] = words;
        (from, on, because, to, emits.join(" "))
    };
    EDGES.iter().map(read).collect()
}

#[test]
fn no_door_is_declared_twice() {
    assert_eq!(declared().len(), EDGES.len());
}

#[test]
fn scxml_reads_back_as_the_table() {
    let text = drawn(Format::Scxml);
    let document = roxmltree::Document::parse(&text).expect("the drawing is XML");
    let ours = "urn:loopwright:loop";
    let transitions = document.descendants().filter(|node| node.has_tag_name("transition"));
    let read = transitions.map(|node| {
        let from = node.parent().and_then(|state| state.attribute("id")).unwrap_or_default();
        let get = |name: &str| node.attribute(name).unwrap_or_default().to_owned();
        let own = |name: &str| node.attribute((ours, name)).unwrap_or_default().to_owned();
        (from.to_owned(), get("event"), own("because"), get("target"), own("emits"))
    });
    assert_eq!(read.collect::<BTreeSet<_>>(), declared());
    let states =
        document.descendants().filter(|n| n.has_tag_name("state") || n.has_tag_name("final"));
    assert_eq!(states.count(), RoomKind::ALL.len());
}

#[test]
fn xstate_reads_back_as_the_table() {
    let machine: serde_json::Value =
        serde_json::from_str(&drawn(Format::Xstate)).expect("the drawing is JSON");
    let mut read = BTreeSet::new();
    let states = machine["states"].as_object().expect("states");
    for (from, state) in states {
        let always = state["always"].as_array().into_iter().flatten().map(|door| ("", door));
        let on = state["on"].as_object().into_iter().flatten();
        let on = on.flat_map(|(input, doors)| {
            doors.as_array().into_iter().flatten().map(|door| (input.as_str(), door))
        });
        for (input, door) in always.chain(on) {
            let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let emits: Vec<String> =
                door["actions"].as_array().into_iter().flatten().map(word).collect();
            let (because, to) = (word(&door["guard"]), word(&door["target"]));
            read.insert((from.clone(), input.to_owned(), because, to, emits.join(" ")));
        }
    }
    assert_eq!(read, declared());
    assert_eq!(states.len(), RoomKind::ALL.len());
}

#[test]
fn a_walk_stands_out() {
    let mut walk = Walk::default();
    let edge = EDGES[0];
    walk.note(&machine_spec::Passage {
        from: edge.from,
        on: edge.on,
        because: edge.because,
        to: edge.to,
        emitted: 0,
    });
    for format in Format::ALL {
        assert_ne!(draw(*format, &walk), drawn(*format), "{format} shows a walk");
    }
    assert!(draw(Format::Mermaid, &walk).contains("linkStyle 0 stroke:#c0392b"));
}
