//! The recording on disk: JSON Lines, versioned, chained by checks.
//!
//! The first line is a header, every further line a frame or an aside. A line ends with its check,
//! which is computed from the check before it and from every byte of the line, so no byte of a
//! recording can change unnoticed. What the lines hold is in [`v1`]; this module knows what all
//! versions share: the version word, the chain, and the limits of a reader.
//!
//! A new *major* version refuses old readers, a new *minor* version only adds: readers skip fields
//! they do not know. Behaviour never hides in a minor version; it gets a number in
//! [`machine_spec::flags`], which an old reader refuses.

use std::fmt;

use serde::{Deserialize, Serialize};

pub mod v1;

/// The word before the version.
pub const NAME: &str = "loopwright";

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Readers of another major version refuse the file.
    pub major: u32,
    /// Higher minor versions only add.
    pub minor: u32,
}

impl Version {
    /// The version this release writes.
    pub const CURRENT: Version = Version { major: 1, minor: 0 };

    /// Reads the word of a header, `loopwright/1.0`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Version> {
        let (major, minor) = word.strip_prefix(NAME)?.strip_prefix('/')?.split_once('.')?;
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            if plain { text.parse().ok() } else { None }
        };
        Some(Version { major: number(major)?, minor: number(minor)? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}/{}.{}", self.major, self.minor)
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
        let word = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Version::parse(&word).ok_or_else(|| {
            serde::de::Error::custom(format_args!(
                "expected a version such as `{}`, found `{word}`",
                Version::CURRENT
            ))
        })
    }
}

/// The check of a line: sixteen hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Check([u8; 16]);

impl Check {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Only digits are ever put in.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    fn of(hash: &blake3::Hash) -> Check {
        let mut digits = [0; 16];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(hash.as_bytes()) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        Check(digits)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What stands between the content of a line and its check.
const BEFORE: &[u8] = b",\"check\":\"";
/// What stands after the check.
const AFTER: &[u8] = b"\"}";
/// The length of the end of a line: the check and what stands round it.
const SUFFIX: usize = BEFORE.len() + 16 + AFTER.len();

/// The chain of checks.
///
/// It finds accidents and careless edits at exactly the line they are in. It is no signature:
/// whoever rewrites all lines after the change can compute it anew.
#[derive(Clone, Debug)]
pub struct Chain {
    last: Check,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain::new()
    }
}

impl Chain {
    /// The chain before the first line.
    #[must_use]
    pub const fn new() -> Chain {
        Chain { last: Check(*b"loopwright/chain") }
    }

    /// The chain behind a line with this check; `None` if it is no check.
    #[must_use]
    pub fn after(check: &str) -> Option<Chain> {
        Some(Chain { last: Check(check.as_bytes().try_into().ok()?) })
    }

    /// The check of the line whose content is this, in pieces: everything from its `{` to the byte
    /// before `,"check"`.
    pub fn close(&mut self, content: &[&[u8]]) -> Check {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.last.0);
        for piece in content {
            hasher.update(piece);
        }
        self.last = Check::of(&hasher.finalize());
        self.last
    }

    /// Appends the end of a line to its content.
    pub fn seal(&mut self, line: &mut Vec<u8>) {
        let check = self.close(&[line]);
        write_suffix(check, line);
    }

    /// Judges a line, without its newline, and moves on if it is what was written. Gives its content
    /// without the check.
    ///
    /// # Errors
    ///
    /// What is wrong with its end.
    pub fn verify<'a>(&mut self, line: &'a [u8]) -> Result<&'a [u8], CheckFault> {
        let Some((content, written)) = split_suffix(line) else { return Err(CheckFault::Missing) };
        let before = self.last;
        let computed = self.close(&[content]);
        if computed == written {
            return Ok(content);
        }
        self.last = before;
        Err(CheckFault::Differs { written, computed })
    }
}

/// What can be wrong with the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckFault {
    /// It does not end with a check.
    Missing,
    /// Its check is not that of its content.
    Differs {
        /// The check that stands there.
        written: Check,
        /// The check of what stands before it.
        computed: Check,
    },
}

/// Appends the end of a line.
pub(crate) fn write_suffix(check: Check, line: &mut Vec<u8>) {
    line.extend_from_slice(BEFORE);
    line.extend_from_slice(&check.0);
    line.extend_from_slice(AFTER);
    line.push(b'\n');
}

/// Splits a line into its content and its check.
fn split_suffix(line: &[u8]) -> Option<(&[u8], Check)> {
    let (content, end) = line.split_at_checked(line.len().checked_sub(SUFFIX)?)?;
    let digits = end.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
    Some((content, Check(digits.try_into().ok()?)))
}

/// What a reader accepts. Recordings come from anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Bytes of one line.
    pub line_bytes: usize,
    /// Bytes of the whole file.
    pub file_bytes: u64,
    /// Bytes of one stored body.
    pub body_bytes: u64,
}

impl Default for ReadLimits {
    fn default() -> ReadLimits {
        ReadLimits { line_bytes: 64 << 20, file_bytes: 4 << 30, body_bytes: 1 << 30 }
    }
}

/// The content address of bytes: BLAKE3, 64 hexadecimal digits.
#[must_use]
pub fn address(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::{Chain, CheckFault, Version};

    #[test]
    fn versions_are_read_strictly() {
        assert_eq!(Version::parse("loopwright/1.0"), Some(Version::CURRENT));
        assert_eq!(Version::parse("loopwright/12.34"), Some(Version { major: 12, minor: 34 }));
        for word in ["", "loopwright", "loopwright/1", "loopwright/1.", "loopwright/+1.0", "x/1.0"]
        {
            assert_eq!(Version::parse(word), None, "{word}");
        }
    }

    #[test]
    fn a_chain_accepts_what_it_sealed_and_nothing_else() {
        let (mut writer, mut reader) = (Chain::new(), Chain::new());
        let mut lines = Vec::new();
        for content in ["{\"a\":1", "{\"b\":2", "{\"b\":2"] {
            let mut line = content.as_bytes().to_vec();
            writer.seal(&mut line);
            lines.push(line);
        }
        assert_ne!(lines[1], lines[2], "equal contents have different checks");
        for line in &lines {
            let whole = line.strip_suffix(b"\n").expect("sealed lines end with a newline");
            for at in 0..whole.len() {
                let mut altered = whole.to_vec();
                altered[at] ^= 1;
                assert!(reader.clone().verify(&altered).is_err(), "byte {at} changed unnoticed");
            }
            assert!(reader.clone().verify(&whole[1..]).is_err(), "a byte is missing");
            reader.verify(whole).expect("a sealed line is accepted");
        }
        assert_eq!(reader.verify(b"{}"), Err(CheckFault::Missing));
    }
}
