//! The workspace is tidy.

use std::path::Path;

#[test]
fn the_workspace_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let findings = xtask::tidy::findings(&root).expect("the workspace can be read");
    let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{} findings:\n{}", told.len(), told.join("\n"));
}
