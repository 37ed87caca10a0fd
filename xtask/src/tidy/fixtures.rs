//! Fixtures are named after their ending, tell why they exist, and cover every ending.

use std::collections::BTreeSet;
use std::path::Path;

use machine_spec::TerminalKind;

use super::Report;

pub(super) fn check(root: &Path, report: &mut Report) {
    let runs = Path::new("fixtures/runs");
    // There is nothing to cover before the first run is recorded.
    let Ok(entries) = std::fs::read_dir(root.join(runs)) else { return };
    let mut covered = BTreeSet::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = runs.join(&name);
        match ending_of(&name) {
            Some(kind) => {
                covered.insert(kind);
            }
            None => {
                let says = "expected <ending>--<what-happens> with the word of a terminal".into();
                report.note(&path, 0, says);
            }
        }
        for file in ["run.jsonl", "story.md"] {
            let length = std::fs::metadata(root.join(&path).join(file)).map_or(0, |m| m.len());
            if length == 0 {
                report.note(&path, 0, format!("{file} is missing or empty"));
            }
        }
    }
    check_index(root, report);
    for kind in TerminalKind::ALL.iter().filter(|kind| !covered.contains(kind)) {
        report.note(runs, 0, format!("no fixture ends as {kind}"));
    }
}

fn check_index(root: &Path, report: &mut Report) {
    let path = Path::new("fixtures/README.md");
    let stored = std::fs::read_to_string(root.join(path)).unwrap_or_default();
    match crate::fixtures::index(root) {
        Ok(fresh) if fresh == stored => {}
        Ok(_) => report.note(path, 0, "stale; run `cargo xtask record-fixtures`".into()),
        Err(problem) => report.note(path, 0, problem),
    }
}

/// The ending that a fixture is named after.
pub(crate) fn ending_of(name: &str) -> Option<TerminalKind> {
    let (ending, rest) = name.split_once("--")?;
    let plain = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let word = ending.replace('-', "_");
    let kind = TerminalKind::ALL.iter().find(|kind| kind.word() == word)?;
    (plain(ending) && plain(rest)).then_some(*kind)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use machine_spec::TerminalKind;

    use super::super::Report;
    use super::{check, ending_of};

    #[test]
    fn a_name_begins_with_an_ending() {
        let kind = Some(TerminalKind::ProviderFailed);
        assert_eq!(ending_of("provider-failed--stream-cut"), kind);
        for name in ["provider-failed", "answered--", "won--x", "answered--X", "max_turns--x"] {
            assert_eq!(ending_of(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_told() {
        let root = tempfile::tempdir().expect("a folder");
        let told = |root: &Path| {
            let mut report = Report::default();
            check(root, &mut report);
            report.findings.len()
        };
        assert_eq!(told(root.path()), 0, "nothing is recorded yet");
        for kind in TerminalKind::ALL {
            let run = root
                .path()
                .join("fixtures/runs")
                .join(format!("{}--x", kind.word().replace('_', "-")));
            std::fs::create_dir_all(&run).expect("a folder");
            for file in ["run.jsonl", "story.md"] {
                std::fs::write(run.join(file), "x").expect("a file");
            }
        }
        assert_eq!(told(root.path()), 1, "no index yet");
        let index = crate::fixtures::index(root.path()).expect("an index");
        std::fs::write(root.path().join("fixtures/README.md"), index).expect("a file");
        assert_eq!(told(root.path()), 0);
        let runs = root.path().join("fixtures/runs");
        std::fs::write(runs.join("answered--x/story.md"), "").expect("a file");
        assert_eq!(told(root.path()), 2, "an empty story, and so a stale index");
        std::fs::rename(runs.join("max-turns--x"), runs.join("tired--x")).expect("a new name");
        assert_eq!(told(root.path()), 4, "and a wrong name, and an ending without a run");
    }
}
