//! The view: what the model sees, as a pure projection of the transcript (I07).

use core::hash::{Hash, Hasher};

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::message::{CallResult, Entry, Reply, Said};
use crate::transcript::Transcript;

/// What the model sees. It shares the transcript, so taking one costs the same in any round.
///
/// It serialises as length, digest and estimate; one that was read back from a recording has no
/// messages, but compares equal to the one that was sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct View {
    /// Entries of the transcript it was taken from.
    pub entries: u32,
    /// Digest of that transcript.
    pub digest: Digest,
    /// Estimated tokens of the messages.
    pub tokens: u64,
    #[serde(skip)]
    transcript: Transcript,
}

/// One message of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen<'a> {
    /// Words in the user's role.
    Said(&'a Said),
    /// A response of a model.
    Reply(&'a Reply),
    /// The results of the calls of the reply before it.
    Results(&'a [CallResult]),
}

impl View {
    /// Projects a transcript.
    #[must_use]
    pub fn of(transcript: &Transcript) -> View {
        View {
            entries: transcript.len(),
            digest: transcript.digest(),
            tokens: transcript.tokens(),
            transcript: transcript.clone(),
        }
    }

    /// The messages, oldest first. Adjacent ones of the same role are still apart: how they are
    /// joined is the dialect's affair.
    #[must_use]
    pub fn messages(&self) -> Vec<Seen<'_>> {
        visible(&self.transcript).into_iter().filter_map(seen).collect()
    }

    /// The transcript it was taken from, for encoders that keep what they encoded before.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }
}

/// The entries that count, oldest first: from the last boundary on, which stands before the entries
/// it kept. A transcript without a boundary is visible whole.
#[must_use]
pub fn visible(transcript: &Transcript) -> Vec<&Entry> {
    let mut entries = Vec::new();
    let mut older = transcript.newest_first();
    for entry in older.by_ref() {
        if let Entry::Boundary(boundary) = entry {
            entries.extend(older.take(boundary.kept as usize));
            entries.push(entry);
            break;
        }
        entries.push(entry);
    }
    entries.reverse();
    entries
}

/// An entry as a model sees it; `None` for what is kept for people only.
#[must_use]
pub fn seen(entry: &Entry) -> Option<Seen<'_>> {
    match entry {
        Entry::Said(said) => Some(Seen::Said(said)),
        Entry::Reply(reply) => Some(Seen::Reply(reply)),
        Entry::Results(results) => Some(Seen::Results(results)),
        Entry::Boundary(boundary) => Some(Seen::Said(&boundary.said)),
        Entry::Aside(_) => None,
    }
}

impl PartialEq for View {
    fn eq(&self, other: &View) -> bool {
        (self.entries, self.digest, self.tokens) == (other.entries, other.digest, other.tokens)
    }
}

impl Eq for View {}

impl Hash for View {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}
