//! Where the recorded streams lie, and how they are read. They are not part of this repository;
//! without them the tests that use them say so and pass.

use std::path::{Path, PathBuf};

use serde_json::Value;
use wire::Dialect;

/// One recorded body.
pub(crate) struct Recorded {
    pub(crate) id: String,
    pub(crate) dialect: Dialect,
    pub(crate) fidelity: String,
    pub(crate) body: Vec<u8>,
    pub(crate) expected: Value,
}

impl Recorded {
    /// Whether the body is what a provider sent, so that the official reading of it counts.
    pub(crate) fn is_genuine(&self) -> bool {
        self.fidelity == "raw" || self.fidelity == "normalised"
    }
}

/// The folder of recorded streams, if it is there.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/streams");
    let found = folder.join("MANIFEST.jsonl").exists();
    if !found {
        println!("SKIPPED: no recorded streams beside the workspace (../shared/streams)");
    }
    found.then_some(folder)
}

/// Every recorded stream of the dialects, by id; `None` when there are none.
pub(crate) fn streams(dialects: &[Dialect]) -> Option<Vec<Recorded>> {
    let folder = folder()?;
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.jsonl")).expect("a manifest");
    let mut recorded = Vec::new();
    for line in manifest.lines() {
        let row: Value = serde_json::from_str(line).expect("a row of JSON");
        let (id, file) = (text(&row, "id"), text(&row, "file"));
        let dialect = dialect(&text(&row, "wire"));
        if file.starts_with("errors/") || !dialects.contains(&dialect) {
            continue;
        }
        let expected = std::fs::read(folder.join(format!("expected/{id}.json"))).expect("expected");
        recorded.push(Recorded {
            dialect,
            fidelity: text(&row, "fidelity"),
            body: std::fs::read(folder.join(file)).expect("a body"),
            expected: serde_json::from_slice(&expected).expect("JSON"),
            id,
        });
    }
    assert!(!recorded.is_empty(), "the manifest lists no stream of {dialects:?}");
    Some(recorded)
}

/// Whether the long lane runs: every offset of every body instead of a sample.
pub(crate) fn full() -> bool {
    std::env::var_os("LOOPWRIGHT_FULL").is_some_and(|value| value != "0")
}

fn text(row: &Value, member: &str) -> String {
    row[member].as_str().unwrap_or_else(|| panic!("no {member} in {row}")).to_owned()
}

fn dialect(wire: &str) -> Dialect {
    match wire {
        "anthropic-messages" => Dialect::Anthropic,
        other => other.parse().expect("a known wire"),
    }
}
