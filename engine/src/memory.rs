//! Memory: what was said in earlier sessions, asked with the user's own words.
//!
//! What remembers is behind a trait; the store that comes with the engine is one file in a folder
//! and finds by common words. It needs no model and gives the same answer on every machine.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use machine_spec::view::{Seen, View};
use machine_spec::wording::clipped;
use serde::{Deserialize, Serialize};

/// How many memories are told at most.
const HITS: usize = 8;

/// The longest piece of one memory that is told, in characters.
const PIECE: usize = 200;

/// The most that is told in all, in characters.
const TOLD: usize = 1_200;

/// The newest part of a store that is searched, in bytes.
const SEARCHED: u64 = 8 << 20;

/// The longest text that is remembered, in characters.
const REMEMBERED: usize = 2_000;

/// The shortest word that counts, in characters: shorter ones stand in every text.
const SHORTEST_WORD: usize = 3;

/// What remembers. It is asked and told on a thread where it may block.
pub trait Memory: fmt::Debug + Send + Sync {
    /// What is known for these words, as the model may read it; nothing if nothing fits.
    ///
    /// # Errors
    ///
    /// What went wrong, for people.
    fn recall(&self, query: &str) -> Result<Option<String>, String>;

    /// Takes down what is about to leave a conversation, and tells where.
    ///
    /// # Errors
    ///
    /// What went wrong, for people.
    fn remember(&self, texts: &[String]) -> Result<String, String>;
}

/// The texts of a conversation that are worth remembering: what the user and the model said.
#[must_use]
pub fn worth_remembering(head: &View) -> Vec<String> {
    let text = |seen: Seen<'_>| match seen {
        Seen::Said(said) if said.origin.is_user() => Some(said.text.clone()),
        Seen::Reply(reply) => Some(reply.text()),
        Seen::Said(_) | Seen::Results(_) => None,
    };
    let texts = head.messages().into_iter().filter_map(text);
    texts.map(|text| clipped(text.trim(), REMEMBERED)).filter(|text| !text.is_empty()).collect()
}

/// Memory as lines of JSON in a file.
#[derive(Clone, Debug)]
pub struct FileMemory {
    path: PathBuf,
}

/// A line of the file.
#[derive(Deserialize, Serialize)]
struct Line {
    text: String,
}

impl FileMemory {
    /// Memory in this folder, which is made when there is something to remember.
    #[must_use]
    pub fn in_folder(folder: &Path) -> FileMemory {
        FileMemory { path: folder.join("memory.jsonl") }
    }

    /// The newest part of what is known, oldest first. A line that is none is skipped: a process
    /// may have died while it wrote.
    fn known(&self) -> io::Result<Vec<String>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SEARCHED)))?;
        let mut bytes = Vec::new();
        file.take(SEARCHED).read_to_end(&mut bytes)?;
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| Some(serde_json::from_slice::<Line>(line).ok()?.text)).collect())
    }

    fn append(&self, texts: &[String]) -> io::Result<()> {
        let known: BTreeSet<String> = self.known()?.into_iter().collect();
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut lines = Vec::new();
        for text in texts.iter().filter(|text| !known.contains(*text)) {
            serde_json::to_writer(&mut lines, &Line { text: text.clone() })?;
            lines.push(b'\n');
        }
        // One write: lines of two runs do not mix.
        File::options().create(true).append(true).open(&self.path)?.write_all(&lines)
    }
}

impl Memory for FileMemory {
    fn recall(&self, query: &str) -> Result<Option<String>, String> {
        let known = self.known().map_err(|error| told(&self.path, &error))?;
        Ok(best(&known, query))
    }

    fn remember(&self, texts: &[String]) -> Result<String, String> {
        self.append(texts).map_err(|error| told(&self.path, &error))?;
        Ok(self.path.display().to_string())
    }
}

fn told(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// The texts with the most words of the query, the newest first among equals.
fn best(known: &[String], query: &str) -> Option<String> {
    let wanted = words(query);
    let score = |text: &String| wanted.intersection(&words(text)).count();
    let mut hits: Vec<(usize, usize)> =
        known.iter().enumerate().map(|(at, text)| (score(text), at)).collect();
    hits.retain(|(score, _)| *score > 0);
    hits.sort_by(|a, b| b.cmp(a));
    let mut answer = String::new();
    for (_, at) in hits.into_iter().take(HITS) {
        let one_line = known[at].split_whitespace().collect::<Vec<_>>().join(" ");
        let line = format!("- {}\n", clipped(&one_line, PIECE));
        if answer.chars().count() + line.chars().count() > TOLD {
            break;
        }
        answer.push_str(&line);
    }
    (!answer.is_empty()).then(|| answer.trim_end().to_owned())
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().nth(SHORTEST_WORD - 1).is_some());
    long.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use machine_spec::Transcript;
    use machine_spec::message::{Entry, Origin, Said};
    use machine_spec::view::View;

    use super::{FileMemory, Memory, TOLD, worth_remembering};

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_shares_most_words_is_told_first_and_the_newest_of_equals() {
        let folder = tempfile::tempdir().expect("a folder");
        let memory = FileMemory::in_folder(folder.path());
        assert_eq!(memory.recall("anything"), Ok(None), "nothing was ever remembered");
        memory
            .remember(&texts(&["The linter is set up.", "The port is 9000.", "Rename the linter"]))
            .expect("a folder");
        memory.remember(&texts(&["The port is 9000."])).expect("a folder");
        let found = memory.recall("which PORT does the linter use, linter?").expect("readable");
        let expected = "- Rename the linter\n- The port is 9000.\n- The linter is set up.";
        assert_eq!(found.as_deref(), Some(expected), "`the` and `is` count alike for all");
        assert_eq!(memory.recall("is it so?"), Ok(None), "short words find nothing");
        let lines = std::fs::read_to_string(folder.path().join("memory.jsonl")).expect("a file");
        assert_eq!(lines.lines().count(), 3, "nothing is remembered twice");
    }

    #[test]
    fn what_is_told_is_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let memory = FileMemory::in_folder(folder.path());
        let long: Vec<String> =
            (0..40).map(|n| format!("note {n} {}", "\u{e9}".repeat(400))).collect();
        memory.remember(&long).expect("a folder");
        let found = memory.recall("note").expect("readable").expect("a hit");
        assert!(found.chars().count() <= TOLD, "{}", found.chars().count());
        assert_eq!(found.lines().count(), 5);
        assert!(found.starts_with("- note 39 "), "{found}");
    }

    #[test]
    fn a_torn_line_is_skipped_and_a_folder_in_the_way_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("memory.jsonl");
        std::fs::write(&file, "{\"text\":\"the whole line\"}\n{\"te").expect("a file");
        let memory = FileMemory::in_folder(folder.path());
        assert_eq!(memory.recall("whole"), Ok(Some("- the whole line".into())));
        let blocked = FileMemory::in_folder(&file);
        assert!(blocked.remember(&texts(&["x"])).is_err());
    }

    #[test]
    fn only_what_people_and_models_said_is_worth_remembering() {
        let said = |origin, text: &str| Entry::Said(Said::words(origin, text));
        let transcript: Transcript = [
            said(Origin::User, " set up the linter "),
            said(Origin::Guard, "call it now"),
            said(Origin::Steer, "\n"),
        ]
        .into_iter()
        .collect();
        assert_eq!(worth_remembering(&View::of(&transcript)), ["set up the linter"]);
    }
}
