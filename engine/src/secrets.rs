//! Secrets and how they stay out of everything that is kept or shown.
//!
//! A key is read from the environment, travels in one header, and is never given to a tool or a
//! hook. Should it come back all the same — echoed by an endpoint, printed by a tool — it is taken
//! out before anything is decoded, recorded or told.

use std::borrow::Cow;

use memchr::memmem;
use secrecy::{ExposeSecret, SecretString};

/// What stands where a secret was.
const MARK: &str = "[secret removed]";

/// Shorter values are not looked for: they would be found in innocent text.
const SHORTEST: usize = 6;

/// Takes known secrets out of text and bytes.
#[derive(Clone, Debug, Default)]
pub struct Scrubber {
    secrets: Vec<SecretString>,
}

impl Scrubber {
    /// Takes out these secrets from now on.
    pub(crate) fn add(&mut self, secret: &SecretString) {
        if secret.expose_secret().len() >= SHORTEST {
            self.secrets.push(secret.clone());
            // A secret that contains another goes first, or a part of it would stay.
            self.secrets.sort_by_key(|secret| usize::MAX - secret.expose_secret().len());
        }
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.secrets.iter().map(ExposeSecret::expose_secret) {
            if text.contains(secret) {
                text = Cow::Owned(text.replace(secret, MARK));
            }
        }
        text
    }

    /// The text without secrets.
    #[must_use]
    pub fn owned(&self, text: String) -> String {
        match self.text(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        }
    }

    /// A scrubber for one stream of bytes, whatever its pieces.
    #[must_use]
    pub fn stream(&self) -> StreamScrubber {
        StreamScrubber { scrubber: self.clone(), held: Vec::new(), redacted: false }
    }
}

/// Takes secrets out of a stream of bytes. What may be the beginning of a secret is held back until
/// it is known.
#[derive(Clone, Debug)]
pub struct StreamScrubber {
    scrubber: Scrubber,
    held: Vec<u8>,
    redacted: bool,
}

impl StreamScrubber {
    /// Takes a piece and gives what is known to be clean.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        self.clean(&mut bytes);
        let longest = self.scrubber.secrets.iter().map(|secret| secret.expose_secret().as_bytes());
        let hold = longest.map(|secret| begun(&bytes, secret)).max().unwrap_or(0);
        self.held = bytes.split_off(bytes.len() - hold);
        bytes
    }

    /// The stream is over: gives what was held back.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Whether anything was taken out.
    #[must_use]
    pub fn redacted(&self) -> bool {
        self.redacted
    }

    fn clean(&mut self, bytes: &mut Vec<u8>) {
        for secret in self.scrubber.secrets.iter().map(|s| s.expose_secret().as_bytes()) {
            let places: Vec<usize> = memmem::find_iter(bytes, secret).collect();
            for at in places.into_iter().rev() {
                bytes.splice(at..at + secret.len(), MARK.bytes());
                self.redacted = true;
            }
        }
    }
}

/// How many bytes at the end may be the beginning of the secret.
fn begun(bytes: &[u8], secret: &[u8]) -> usize {
    let most = bytes.len().min(secret.len() - 1);
    (1..=most).rev().find(|n| bytes.ends_with(&secret[..*n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use secrecy::SecretString;

    use super::Scrubber;

    fn scrubber(secrets: &[&str]) -> Scrubber {
        let mut scrubber = Scrubber::default();
        for secret in secrets {
            scrubber.add(&SecretString::from(*secret));
        }
        scrubber
    }

    #[test]
    fn secrets_leave_text() {
        let scrubber = scrubber(&["sk-1234", "sk-1234567", "ab"]);
        assert_eq!(scrubber.text("key sk-1234567, ab"), "key [secret removed], ab");
        assert_eq!(scrubber.owned("nothing".into()), "nothing");
    }

    #[test]
    fn a_debug_print_tells_nothing() {
        assert!(!format!("{:?}", scrubber(&["sk-1234567"])).contains("1234"));
    }

    proptest! {
        #[test]
        fn secrets_leave_a_stream_wherever_it_is_cut(
            before in "[a-s-]{0,12}", after in "[a-s-]{0,12}", cut in 0usize..60, second in 0usize..60,
        ) {
            let secret = "sk-a-sk-a-key";
            let text = format!("{before}{secret}{after}");
            let (first, rest) = text.as_bytes().split_at(cut.min(text.len()));
            let (middle, last) = rest.split_at(second.min(rest.len()));
            let mut stream = scrubber(&[secret]).stream();
            let mut clean = Vec::new();
            for piece in [first, middle, last] {
                clean.extend(stream.push(piece));
            }
            clean.extend(stream.finish());
            let clean = String::from_utf8(clean).expect("text stays text");
            assert!(!clean.contains(secret), "{clean}");
            assert!(stream.redacted());
            assert_eq!(clean, text.replace(secret, "[secret removed]"));
        }
    }
}
