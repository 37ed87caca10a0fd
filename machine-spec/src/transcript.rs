//! The transcript: append-only, shared, and the place where the pairing rule lives.
//!
//! It is a list that grows at its tip. A clone shares everything with its original, so cloning a
//! state, forking a run and keeping a view cost the same after one round as after a thousand; a
//! rolling digest makes comparing them as cheap.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::Digest;
use crate::message::{Aside, Block, CallResult, Entry, Origin, Reply, Said};

/// What was said in a session, oldest first.
#[derive(Clone, Default)]
pub struct Transcript {
    tip: Option<Arc<Node>>,
}

struct Node {
    entry: Entry,
    before: Transcript,
    len: u32,
    digest: Digest,
    tokens: u64,
}

impl Transcript {
    /// A transcript in which nothing was said.
    #[must_use]
    pub const fn new() -> Transcript {
        Transcript { tip: None }
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.tip.as_ref().map_or(0, |node| node.len)
    }

    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tip.is_none()
    }

    /// Digest of all entries, in order.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.tip.as_ref().map_or(Digest(0), |node| node.digest)
    }

    /// Estimated tokens of all entries that a model can see; see [`crate::estimate`].
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tip.as_ref().map_or(0, |node| node.tokens)
    }

    /// The newest entry.
    #[must_use]
    pub fn last(&self) -> Option<&Entry> {
        self.tip.as_ref().map(|node| &node.entry)
    }

    /// The transcript before its newest entry.
    #[must_use]
    pub fn before_last(&self) -> Option<&Transcript> {
        self.tip.as_ref().map(|node| &node.before)
    }

    /// Appends an entry. Nothing that was said before changes (I06).
    pub fn append(&mut self, entry: Entry) {
        let before = core::mem::take(self);
        let node = Node {
            len: before.len() + 1,
            digest: before.digest().chain(&entry),
            tokens: visible_tokens(&before, &entry),
            entry,
            before,
        };
        self.tip = Some(Arc::new(node));
    }

    /// The transcript as it was when it had this many entries.
    #[must_use]
    pub fn at(&self, len: u32) -> &Transcript {
        let mut at = self;
        while let Some(node) = at.tip.as_deref().filter(|node| node.len > len) {
            at = &node.before;
        }
        at
    }

    /// The entries from the newest to the oldest, without an allocation.
    pub fn newest_first(&self) -> impl Iterator<Item = &Entry> {
        let mut at = self;
        core::iter::from_fn(move || {
            let node = at.tip.as_deref()?;
            at = &node.before;
            Some(&node.entry)
        })
    }

    /// The entries from the oldest to the newest.
    #[must_use]
    pub fn entries(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.newest_first().collect();
        entries.reverse();
        entries
    }

    /// The pairing rule (I05, T1): every reply with calls is followed by exactly its results, in
    /// call order, and no results stand anywhere else. Gives the index of the first entry that
    /// breaks it. A reply with calls at the very end is unpaired.
    #[must_use]
    pub fn first_unpaired(&self) -> Option<usize> {
        let entries = self.entries();
        let mut owed: Option<(usize, &Reply)> = None;
        for (at, entry) in entries.iter().enumerate() {
            match (entry, owed) {
                (Entry::Results(results), Some((asked, reply))) => {
                    if !answers(reply, results) {
                        return Some(asked);
                    }
                    owed = None;
                }
                (Entry::Results(_), None) => return Some(at),
                (Entry::Aside(_), _) => {}
                (Entry::Boundary(_), None) => {}
                (Entry::Boundary(_), Some((asked, _))) => return Some(asked),
                (Entry::Said(_) | Entry::Reply(_), Some((asked, _))) => return Some(asked),
                (Entry::Said(_), None) => {}
                (Entry::Reply(reply), None) => {
                    owed = reply.calls().next().map(|_| (at, reply));
                }
            }
        }
        owed.map(|(asked, _)| asked)
    }

    /// The transcript as the next run of the session begins with it: what a model still sees, without
    /// the engine's own scaffolding (repair, guard and continuation prompts, and the replies a guard
    /// rejected; T13).
    #[must_use]
    pub fn settled(&self) -> Transcript {
        let entries = crate::view::visible(self);
        let mut settled = Transcript::new();
        for (at, entry) in entries.iter().enumerate() {
            let kept = match entry {
                Entry::Said(said) => !said.origin.is_scaffolding(),
                Entry::Reply(reply) => {
                    let rejected = match entries.get(at + 1) {
                        Some(Entry::Said(said)) => said.origin == Origin::Guard,
                        Some(
                            Entry::Reply(_)
                            | Entry::Results(_)
                            | Entry::Aside(_)
                            | Entry::Boundary(_),
                        )
                        | None => false,
                    };
                    !(rejected && reply.calls().next().is_none())
                }
                Entry::Results(_) => true,
                Entry::Aside(Aside::BlankReply(_)) => false,
                Entry::Aside(Aside::RefusedReply(_)) => true,
                // A task that was lost is told to the next run, once.
                Entry::Aside(Aside::Orphans(orphans)) => {
                    let (origin, text) = (Origin::Notification, crate::wording::orphans(orphans));
                    settled.append(Entry::Said(Said::words(origin, text)));
                    false
                }
                Entry::Boundary(boundary) => {
                    settled.append(Entry::Said(boundary.said.clone()));
                    false
                }
            };
            if kept {
                settled.append((*entry).clone());
            }
        }
        settled
    }
}

/// Tokens that a model sees once this entry stands at the end. A boundary replaces what came before
/// by its summary and the kept tail.
fn visible_tokens(before: &Transcript, entry: &Entry) -> u64 {
    let own = crate::estimate::entry_tokens(entry);
    match entry {
        Entry::Boundary(boundary) => {
            let head = before.at(before.len().saturating_sub(boundary.kept));
            own.saturating_add(before.tokens().saturating_sub(head.tokens()))
        }
        Entry::Said(_) | Entry::Reply(_) | Entry::Results(_) | Entry::Aside(_) => {
            before.tokens().saturating_add(own)
        }
    }
}

fn answers(reply: &Reply, results: &[CallResult]) -> bool {
    let mut calls = reply.blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call.id),
        Block::Text(_) | Block::Thinking(_) | Block::Opaque(_) => None,
    });
    let paired = results.iter().all(|result| calls.next() == Some(result.call));
    paired && calls.next().is_none()
}

/// Frees a long list without recursing once per entry.
impl Drop for Transcript {
    fn drop(&mut self) {
        let mut tip = self.tip.take();
        while let Some(node) = tip {
            tip = match Arc::try_unwrap(node) {
                Ok(mut last_owner) => last_owner.before.tip.take(),
                Err(_) => None,
            };
        }
    }
}

impl PartialEq for Transcript {
    fn eq(&self, other: &Transcript) -> bool {
        match (&self.tip, &other.tip) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.len == b.len
                        && a.digest == b.digest
                        && self.newest_first().eq(other.newest_first()))
            }
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Eq for Transcript {}

impl Hash for Transcript {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest().hash(state);
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

impl FromIterator<Entry> for Transcript {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Transcript {
        let mut transcript = Transcript::new();
        for entry in entries {
            transcript.append(entry);
        }
        transcript
    }
}

/// In full for people, as length and digest for the canonical digest.
impl Serialize for Transcript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return (self.len(), self.digest()).serialize(serializer);
        }
        let mut list = serializer.serialize_seq(Some(self.len() as usize))?;
        for entry in self.entries() {
            list.serialize_element(entry)?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Transcript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Transcript, D::Error> {
        Vec::<Entry>::deserialize(deserializer).map(Transcript::from_iter)
    }
}
