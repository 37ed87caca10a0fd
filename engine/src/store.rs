//! What is too large for a conversation, or has left it, kept whole in files named by their content.
//!
//! A model reads such a file with its own tools, so a reference is a path as a tool would write it.
//! Nothing is kept twice, and no secret is kept at all. A disk that is full is told and fails nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use machine_spec::message::Entry;
use machine_spec::rooms::Room;
use machine_spec::view::{self, View};
use machine_spec::{State, wording};
use replay::format::address;
use replay::redact::Redactor;

/// Keeps what does not stand in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    cwd: PathBuf,
    redactor: Redactor,
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The whole output of a tool.
    Result,
    /// The head of a conversation that became a summary, one entry a line.
    Archive,
}

impl Kept {
    const fn folder(self) -> &'static str {
        match self {
            Kept::Result => "results",
            Kept::Archive => "archive",
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            Kept::Result => "txt",
            Kept::Archive => "jsonl",
        }
    }
}

impl Store {
    /// A store in this folder, which is made when it is needed. References start from `cwd`.
    pub(crate) fn new(folder: PathBuf, cwd: PathBuf, redactor: Redactor) -> Store {
        Store { folder, cwd, redactor }
    }

    /// Where files of a running process may lie.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// From here on this is a secret too.
    pub(crate) fn learn(&mut self, secret: &str) {
        self.redactor.learn(secret);
    }

    /// Keeps a text and gives its reference, or what went wrong.
    pub(crate) fn keep(&self, what: Kept, text: &str) -> Result<String, String> {
        let clean = self.redactor.text(text);
        let folder = self.folder.join(what.folder());
        let path = folder.join(format!("{}.{}", address(clean.as_bytes()), what.extension()));
        match write(&folder, &path, clean.as_bytes()) {
            Ok(()) => Ok(self.reference(&path)),
            Err(error) => Err(format!("{}: {error}", self.reference(&folder))),
        }
    }

    /// The output as it may stand in a conversation: whole, or its head and tail with a reference
    /// to the whole. For what the machine itself does not put aside: the reports of tasks.
    pub(crate) fn shorten(&self, output: String, inline: u64) -> String {
        if output.len() as u64 <= inline {
            return output;
        }
        let clean = self.redactor.text(&output);
        let kept = self.keep(Kept::Result, &clean);
        let whole = kept.as_ref().map(String::as_str).map_err(String::as_str);
        wording::cut_in_the_middle(&clean, inline, whole)
    }

    fn reference(&self, path: &Path) -> String {
        let shown = path.strip_prefix(&self.cwd).unwrap_or(path);
        shown.display().to_string()
    }
}

/// Writes a file whole or not at all: another run may be writing the same content.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|known| known.len() == bytes.len() as u64) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let unfinished = path.with_extension(format!("{}.part", std::process::id()));
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // What is left of it is of no use to anybody.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// The entries that a compaction takes out of the view, one a line. The head that is summed up is a
/// shortened copy of them; these are the originals.
pub(crate) fn archive(head: &View, state: &State) -> String {
    let transcript = state.frame().transcript();
    let entries = if let Room::Compacting(room) = state.room_data() {
        let mut entries = view::visible(transcript);
        let kept = room.order.kept as usize;
        entries.truncate(entries.len().saturating_sub(kept));
        entries
    } else {
        // Compactions are ordered nowhere else; the copy is better than nothing.
        view::visible(head.transcript())
    };
    let mut lines = String::new();
    for line in entries.into_iter().filter_map(line_of) {
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

fn line_of(entry: &Entry) -> Option<String> {
    serde_json::to_string(entry).ok()
}

#[cfg(test)]
mod tests {
    use replay::redact::Redactor;

    use super::{Kept, Store};

    const KEY: &str = "key-of-the-house";

    fn store(folder: &std::path::Path) -> Store {
        Store::new(folder.join("runs"), folder.to_owned(), Redactor::new([KEY]))
    }

    #[test]
    fn the_same_content_has_the_same_file_and_no_secret_is_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path());
        let text = format!("a long text with {KEY} in it");
        let first = store.keep(Kept::Result, &text).expect("a reference");
        assert_eq!(store.keep(Kept::Result, &text), Ok(first.clone()));
        assert!(first.starts_with("runs/results/") && first.ends_with(".txt"), "{first}");
        let kept = std::fs::read_to_string(folder.path().join(&first)).expect("a file");
        assert_eq!(kept, "a long text with [redacted] in it");
        let files = std::fs::read_dir(folder.path().join("runs/results")).expect("a folder");
        assert_eq!(files.count(), 1);
    }

    #[test]
    fn a_new_secret_is_learnt() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = store(folder.path());
        store.learn("another-key-of-it");
        let kept = store.keep(Kept::Archive, "another-key-of-it").expect("a reference");
        let kept = std::fs::read_to_string(folder.path().join(kept)).expect("a file");
        assert_eq!(kept, "[redacted]");
    }

    #[test]
    fn what_cannot_be_kept_says_why() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("runs"), "in the way").expect("a file");
        let problem = store(folder.path()).keep(Kept::Result, "x").expect_err("no folder");
        assert!(problem.starts_with("runs/results: "), "{problem}");
    }

    #[test]
    fn a_report_that_is_too_long_is_shortened_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path());
        assert_eq!(store.shorten("short".into(), 5), "short");
        let short = store.shorten("é".repeat(1_000), 100);
        assert!(short.contains("of 2000 bytes left out here; the whole is kept at runs/results/"));
        assert!(short.len() < 300, "{short}");
    }
}
