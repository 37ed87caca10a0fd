//! The recorded runs of the house.

use std::path::{Path, PathBuf};

use replay::Recording;

/// The folder of fixtures.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// Every recorded run, by name, in the order of names.
pub(crate) fn runs() -> Vec<(String, Recording)> {
    let entries = std::fs::read_dir(folder().join("runs")).expect("there are fixtures");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, Recording::read(&path.join("run.jsonl")).expect("a sound fixture"))
    };
    paths.into_iter().map(read).collect()
}
