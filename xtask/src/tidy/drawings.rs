//! Nobody edits a drawing, and none is stale.

use std::path::Path;

use super::Report;
use crate::draw::drawings;

pub(super) fn check(root: &Path, report: &mut Report) {
    for (path, text) in drawings() {
        let stored = std::fs::read_to_string(root.join(&path)).unwrap_or_default();
        if stored != text {
            report.note(&path, 0, "stale; run `cargo xtask draw`".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Report;
    use super::check;

    #[test]
    fn a_missing_drawing_is_told() {
        let mut report = Report::default();
        check(Path::new("no such folder"), &mut report);
        assert_eq!(report.findings.len(), crate::draw::drawings().len());
    }
}
