//! Nobody edits a drawing, and none is stale.

use std::path::Path;

use super::Report;
use crate::draw::{drawings, readme};

pub(super) fn check(root: &Path, report: &mut Report) {
    for (path, text) in drawings() {
        let stored = std::fs::read_to_string(root.join(&path)).unwrap_or_default();
        if stored != text {
            report.note(&path, 0, "stale; run `cargo xtask draw`".into());
        }
    }
    let file = Path::new("README.md");
    let stored = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    if readme(&stored) != stored {
        report.note(file, 0, "its drawing is stale; run `cargo xtask draw`".into());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Report;
    use super::check;

    #[test]
    fn the_picture_in_a_readme_is_replaced_between_its_marks() {
        let stale = "a\n<!-- drawing: begin -->\nold\n<!-- drawing: end -->\nb";
        let fresh = crate::draw::readme(stale);
        assert!(fresh.starts_with("a\n<!-- drawing: begin -->\n```mermaid\nflowchart"), "{fresh}");
        assert!(fresh.ends_with("```\n<!-- drawing: end -->\nb") && !fresh.contains("old"));
        assert_eq!(crate::draw::readme("no marks"), "no marks");
    }

    #[test]
    fn a_missing_drawing_is_told() {
        let mut report = Report::default();
        check(Path::new("no such folder"), &mut report);
        assert_eq!(report.findings.len(), crate::draw::drawings().len());
    }
}
