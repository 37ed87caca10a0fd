//! No snapshot outlives its test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Report;

/// `seen` has a path a line, relative to the root or to nothing.
pub(super) fn check(root: &Path, tracked: &[PathBuf], seen: &str, report: &mut Report) {
    let resolved = |path: &Path| std::fs::canonicalize(path).ok();
    let seen: BTreeSet<PathBuf> =
        seen.lines().filter_map(|line| resolved(&root.join(line))).collect();
    let snapshots =
        tracked.iter().filter(|path| path.extension().is_some_and(|word| word == "snap"));
    for path in snapshots {
        let file = resolved(&root.join(path));
        if file.is_some_and(|file| !seen.contains(&file)) {
            report.note(path, 0, "no test looks at this snapshot".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::Report;
    use super::check;

    #[test]
    fn a_snapshot_without_a_test_is_told() {
        let root = tempfile::tempdir().expect("a folder");
        let tracked = ["a.snap", "b.snap", "c.rs", "gone.snap"].map(PathBuf::from);
        for path in &tracked[..3] {
            std::fs::write(root.path().join(path), "x").expect("a file");
        }
        let mut report = Report::default();
        let seen = format!("{}\nelsewhere.snap\n", root.path().join("a.snap").display());
        check(root.path(), &tracked, &seen, &mut report);
        let told: Vec<_> = report.findings.iter().map(|finding| &finding.path).collect();
        assert_eq!(told, [&tracked[1]]);
    }
}
