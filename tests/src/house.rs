//! Where our files are, seen from the workspace alone.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The root of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("a member lies in the workspace").to_path_buf()
}

/// A file of `fixtures/wire`.
#[must_use]
pub fn wire_file(name: impl AsRef<Path>) -> PathBuf {
    root().join("fixtures/wire").join(name)
}

/// A file or folder of the material that lies beside the workspace and is never committed.
///
/// A clone without it still passes: the caller returns early, and the reader of the output sees a
/// `SKIPPED` line that names what was not checked.
#[must_use]
pub fn beside(name: &str, what_is_skipped: &str) -> Option<PathBuf> {
    let path = root().join("../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    // Written past the capture of the test runner, so that it is seen in a green run too.
    let line = format!("SKIPPED: {what_is_skipped} (no ../shared/{name} beside this clone)\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    None
}
