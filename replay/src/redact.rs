//! Keeps secrets out of recordings.
//!
//! What the machine hears is what is recorded, so a secret is taken out *before* an input is
//! stepped: the run goes on without it, and a replay from the recording sees the same texts and
//! comes to the same digests. A secret that a model says piece by piece is caught as well: the end
//! of a piece that might be the beginning of a secret is held back until the next piece shows
//! whether it is one.
//!
//! This is no filter for what a model should not see, only for the strings it is given.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use machine_spec::Input;
use machine_spec::ids::EffectId;
use machine_spec::model::ModelEvent;
use memchr::memmem::Finder;

/// What stands where a secret stood.
pub const REPLACEMENT: &str = "[redacted]";

/// Shortest secret that can be told from ordinary text, in bytes. Shorter ones are not looked for:
/// replacing every `test` of a run would change its meaning.
pub const SHORTEST_SECRET: usize = 8;

/// How deep a secret may be nested in JSON text that is itself a JSON string.
const ESCAPES: RangeInclusive<u32> = 0..=2;

/// Takes secrets out of bytes, texts and inputs.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    finders: Vec<Finder<'static>>,
    held: BTreeMap<(EffectId, u32), String>,
    /// Effects whose events came out changed or in other pieces, with the secrets found in them.
    touched: BTreeMap<EffectId, usize>,
}

impl Redactor {
    /// A redactor for these secrets. Those shorter than [`SHORTEST_SECRET`] are not looked for.
    #[must_use]
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Redactor {
        let mut redactor = Redactor::default();
        for secret in secrets {
            redactor.learn(secret.as_ref());
        }
        redactor
    }

    /// Takes out this secret too, from here on.
    pub fn learn(&mut self, secret: &str) {
        let secret = secret.trim();
        // A part of the replacement itself could never be taken out.
        if secret.len() < SHORTEST_SECRET || REPLACEMENT.contains(secret) {
            return;
        }
        let mut form = secret.to_owned();
        for _ in ESCAPES {
            self.finders.push(Finder::new(form.as_bytes()).into_owned());
            form = escaped(&form);
        }
        // The longest first: a secret that contains another is replaced whole.
        self.finders.sort_by(|a, b| {
            let (a, b) = (a.needle(), b.needle());
            b.len().cmp(&a.len()).then_with(|| a.cmp(b))
        });
        self.finders.dedup_by(|a, b| a.needle() == b.needle());
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.finders.is_empty()
    }

    /// Whether a secret stands in these bytes.
    #[must_use]
    pub fn finds(&self, bytes: &[u8]) -> bool {
        self.finders.iter().any(|finder| finder.find(bytes).is_some())
    }

    /// Replaces every secret in these bytes; tells how many there were.
    pub fn scrub(&self, bytes: &mut Vec<u8>) -> usize {
        let mut found = 0;
        for finder in &self.finders {
            let mut hits = finder.find_iter(bytes).peekable();
            if hits.peek().is_none() {
                continue;
            }
            let mut clean = Vec::with_capacity(bytes.len());
            let mut from = 0;
            for at in hits {
                clean.extend_from_slice(&bytes[from..at]);
                clean.extend_from_slice(REPLACEMENT.as_bytes());
                from = at + finder.needle().len();
                found += 1;
            }
            clean.extend_from_slice(&bytes[from..]);
            *bytes = clean;
        }
        found
    }

    /// Replaces every secret in a text.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.scrub(&mut bytes);
        // Both the secrets and the replacement are whole characters.
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Replaces every secret in a value, by way of its JSON text.
    #[must_use]
    pub fn value<T>(&self, value: T) -> T
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        self.count_in_value(value).0
    }

    fn count_in_value<T>(&self, value: T) -> (T, usize)
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        if self.is_idle() {
            return (value, 0);
        }
        let Ok(mut json) = serde_json::to_vec(&value) else { return (value, 0) };
        let found = self.scrub(&mut json);
        if found == 0 {
            return (value, 0);
        }
        (serde_json::from_slice(&json).unwrap_or(value), found)
    }

    /// The inputs to step instead of this one: nearly always the input itself. One whose whole
    /// text might be the beginning of a secret gives none until more is known.
    pub fn admit(&mut self, input: Input) -> Admitted {
        if self.is_idle() {
            return Admitted::One(input);
        }
        match input {
            Input::ModelSaid { id, event: ModelEvent::Delta { block, text } } => {
                self.admit_piece(id, block, text)
            }
            Input::ModelSaid { id, event } => {
                let closing = match &event {
                    ModelEvent::BlockDone { block, .. } => *block..=*block,
                    ModelEvent::Finished { .. } | ModelEvent::Failed(_) => 0..=u32::MAX,
                    ModelEvent::Began { .. }
                    | ModelEvent::BlockBegan { .. }
                    | ModelEvent::Usage(_)
                    | ModelEvent::Delta { .. } => {
                        return self.whole(Input::ModelSaid { id, event });
                    }
                };
                self.released(id, closing, Input::ModelSaid { id, event })
            }
            Input::ModelClosed { id, closure } => {
                self.released(id, 0..=u32::MAX, Input::ModelClosed { id, closure })
            }
            Input::UserSaid { .. }
            | Input::Interrupted { .. }
            | Input::ToolReturned { .. }
            | Input::Compacted { .. }
            | Input::MemoryRecalled { .. }
            | Input::MemoryFlushed { .. }
            | Input::CredentialRefreshed { .. }
            | Input::ApprovalGiven { .. }
            | Input::ResultStored { .. }
            | Input::TaskEnded { .. }
            | Input::OutputChecked { .. }
            | Input::HookAnswered { .. }
            | Input::TimerFired { .. } => self.whole(input),
        }
    }

    /// How many secrets were found in the events of this response, if any of them came out changed
    /// or cut into other pieces.
    #[must_use]
    pub fn touched(&self, id: EffectId) -> Option<usize> {
        self.touched.get(&id).copied()
    }

    /// Forgets a response that is over.
    pub(crate) fn forget(&mut self, id: EffectId) {
        self.touched.remove(&id);
        self.held.retain(|(effect, _), _| *effect != id);
    }

    fn admit_piece(&mut self, id: EffectId, block: u32, text: String) -> Admitted {
        let held = self.held.remove(&(id, block));
        let had_held = held.is_some();
        let mut bytes = held.map_or_else(Vec::new, String::into_bytes);
        bytes.extend_from_slice(text.as_bytes());
        let found = self.scrub(&mut bytes);
        let keep = self.suspicious_end(&bytes);
        let rest = bytes.split_off(bytes.len() - keep);
        if found > 0 || had_held || keep > 0 {
            *self.touched.entry(id).or_default() += found;
        }
        if keep > 0 {
            let rest = String::from_utf8(rest).unwrap_or_default();
            self.held.insert((id, block), rest);
        }
        if bytes.is_empty() && keep > 0 {
            return Admitted::None;
        }
        let text = String::from_utf8(bytes).unwrap_or_default();
        Admitted::One(Input::ModelSaid { id, event: ModelEvent::Delta { block, text } })
    }

    /// What is held back of these blocks comes first: it was no secret after all.
    fn released(&mut self, id: EffectId, blocks: RangeInclusive<u32>, input: Input) -> Admitted {
        let range = (id, *blocks.start())..=(id, *blocks.end());
        let keys: Vec<(EffectId, u32)> = self.held.range(range).map(|(key, _)| *key).collect();
        let last = self.whole(input);
        if keys.is_empty() {
            return last;
        }
        let mut inputs = Vec::with_capacity(keys.len() + 1);
        for key in keys {
            if let Some(text) = self.held.remove(&key) {
                let event = ModelEvent::Delta { block: key.1, text };
                inputs.push(Input::ModelSaid { id, event });
            }
        }
        inputs.extend(last);
        Admitted::Many(inputs.into_iter())
    }

    fn whole(&mut self, input: Input) -> Admitted {
        let answers = input.answers();
        let (input, found) = self.count_in_value(input);
        if found > 0
            && let Some(id) = answers
        {
            *self.touched.entry(id).or_default() += found;
        }
        Admitted::One(input)
    }

    /// How many bytes at the end might be the beginning of a secret.
    pub(crate) fn suspicious_end(&self, bytes: &[u8]) -> usize {
        let longest = |finder: &Finder<'static>| {
            let needle = finder.needle();
            let most = (needle.len() - 1).min(bytes.len());
            (1..=most).rev().find(|n| bytes.ends_with(&needle[..*n])).unwrap_or(0)
        };
        self.finders.iter().map(longest).max().unwrap_or(0)
    }
}

/// A text as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    match serde_json::to_string(text) {
        Ok(quoted) => quoted[1..quoted.len() - 1].to_owned(),
        Err(_) => text.to_owned(),
    }
}

/// The inputs to step instead of one that came.
#[derive(Debug)]
pub enum Admitted {
    /// None: it is held back.
    None,
    /// This one.
    One(Input),
    /// These, in order.
    Many(std::vec::IntoIter<Input>),
}

impl Iterator for Admitted {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        match self {
            Admitted::Many(inputs) => inputs.next(),
            Admitted::None => None,
            Admitted::One(_) => match std::mem::replace(self, Admitted::None) {
                Admitted::One(input) => Some(input),
                Admitted::None | Admitted::Many(_) => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{REPLACEMENT, Redactor};
    use machine_spec::Input;
    use machine_spec::ids::EffectId;
    use machine_spec::input::{ToolReport, ToolStatus};
    use machine_spec::model::{BlockEnd, Closure, ModelEvent, Proof};

    const KEY: &str = "sk-test-\"0123\\456";

    fn piece(text: &str) -> Input {
        let event = ModelEvent::Delta { block: 1, text: text.into() };
        Input::ModelSaid { id: EffectId(3), event }
    }

    fn done() -> Input {
        let (proof, done) = (Proof::BlockStop, BlockEnd::Text);
        Input::ModelSaid { id: EffectId(3), event: ModelEvent::BlockDone { block: 1, proof, done } }
    }

    fn text_of(inputs: &[Input]) -> String {
        let mut text = String::new();
        for input in inputs {
            if let Input::ModelSaid { event: ModelEvent::Delta { text: piece, .. }, .. } = input {
                text.push_str(piece);
            }
        }
        text
    }

    #[test]
    fn a_secret_is_caught_however_it_is_cut() {
        let said = format!("before {KEY} after sk-tes");
        for first in 0..said.len() {
            for second in first..said.len() {
                let mut redactor = Redactor::new([KEY]);
                let mut out = Vec::new();
                for part in [&said[..first], &said[first..second], &said[second..]] {
                    out.extend(redactor.admit(piece(part)));
                }
                out.extend(redactor.admit(done()));
                assert_eq!(text_of(&out), format!("before {REPLACEMENT} after sk-tes"));
                assert_eq!(out.last(), Some(&done()));
                let json = serde_json::to_string(&out).expect("inputs are serialisable");
                assert!(!redactor.finds(json.as_bytes()));
                assert!(redactor.touched(EffectId(3)).is_some_and(|found| found >= 1));
            }
        }
    }

    #[test]
    fn what_is_held_back_is_released_when_the_response_ends() {
        let mut redactor = Redactor::new([KEY]);
        assert_eq!(redactor.admit(piece("sk-t")).count(), 0);
        let closed = Input::ModelClosed { id: EffectId(3), closure: Closure::Ended };
        let out: Vec<Input> = redactor.admit(closed.clone()).collect();
        assert_eq!(out, [piece("sk-t"), closed]);
    }

    #[test]
    fn secrets_in_nested_json_are_found_in_every_form() {
        let redactor = Redactor::new([KEY]);
        let inner = serde_json::json!({ "key": KEY }).to_string();
        let report = ToolReport::new(ToolStatus::Succeeded, inner);
        let input = Input::ToolReturned { id: EffectId(1), report };
        let scrubbed = redactor.value(input);
        let json = serde_json::to_string(&scrubbed).expect("inputs are serialisable");
        assert!(json.contains(REPLACEMENT) && !redactor.finds(json.as_bytes()), "{json}");
    }

    #[test]
    fn short_secrets_and_no_secrets_change_nothing() {
        let mut redactor = Redactor::new(["test", "", "redacted"]);
        assert!(redactor.is_idle());
        let input = piece("tests were not redacted");
        assert_eq!(redactor.admit(input.clone()).collect::<Vec<_>>(), [input]);
    }
}
