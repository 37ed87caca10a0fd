//! The drawings of the machine: written here, checked by tidy and by the machine's own tests.

use std::io;
use std::path::{Path, PathBuf};

use machine_spec::draw::{Format, Walk, draw};

/// Every drawing: its path from the root, and its text.
#[must_use]
pub fn drawings() -> Vec<(PathBuf, String)> {
    let spec = Path::new("machine-spec/spec");
    let drawn = Format::ALL.iter().map(|format| {
        let text = draw(*format, &Walk::default());
        (spec.join(format.file_name()), text)
    });
    drawn.collect()
}

/// Writes every drawing that is stale.
///
/// # Errors
/// When a file cannot be written.
pub fn refresh(root: &Path) -> io::Result<()> {
    for (path, text) in drawings() {
        let file = root.join(&path);
        if std::fs::read_to_string(&file).is_ok_and(|stored| stored == text) {
            continue;
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&file, text)?;
        println!("drew {}", path.display());
    }
    Ok(())
}
