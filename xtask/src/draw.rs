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

const BEGIN: &str = "<!-- drawing: begin -->\n";
const END: &str = "<!-- drawing: end -->";

/// The README with today's picture between its two marks; as it was where the marks are missing.
#[must_use]
pub fn readme(text: &str) -> String {
    let picture = draw(Format::Mermaid, &Walk::default());
    let marked = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    match marked {
        Some((before, after)) => format!("{before}{BEGIN}```mermaid\n{picture}```\n{END}{after}"),
        None => text.to_owned(),
    }
}

/// Writes every drawing that is stale.
///
/// # Errors
/// When a file cannot be written.
pub fn refresh(root: &Path) -> io::Result<()> {
    let mut all = drawings();
    if let Ok(text) = std::fs::read_to_string(root.join("README.md")) {
        all.push((PathBuf::from("README.md"), readme(&text)));
    }
    for (path, text) in all {
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
