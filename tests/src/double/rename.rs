//! New ids for an answer that is served again, so that repetition does not become a collision.
//!
//! It works on the text: every non-empty string value of an id key gets a suffix. Keys inside of
//! argument strings are escaped and therefore never match.

const ID_KEYS: [&str; 5] =
    [r#""id":""#, r#""call_id":""#, r#""item_id":""#, r#""responseId":""#, r#""tool_use_id":""#];

/// An answer with new ids, and where bytes were inserted.
pub(super) struct Renamed {
    pub(super) bytes: Vec<u8>,
    /// Offsets in the original before which the suffix stands now.
    inserted: Vec<usize>,
    suffix: usize,
}

impl Renamed {
    /// Where a byte of the original stands now.
    pub(super) fn shift(&self, offset: usize) -> usize {
        offset + self.inserted.iter().filter(|at| **at <= offset).count() * self.suffix
    }
}

/// Gives every id the suffix `_n`.
pub(super) fn rename(bytes: &[u8], n: usize) -> Renamed {
    let suffix = format!("_{n}");
    let mut renamed = Vec::with_capacity(bytes.len() + 64);
    let mut inserted = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let key = ID_KEYS.iter().find(|key| bytes[at..].starts_with(key.as_bytes()));
        let Some(key) = key else {
            renamed.push(bytes[at]);
            at += 1;
            continue;
        };
        let value = at + key.len();
        let length = bytes[value..].iter().position(|byte| *byte == b'"').unwrap_or(0);
        renamed.extend_from_slice(&bytes[at..value + length]);
        at = value + length;
        if length > 0 {
            renamed.extend_from_slice(suffix.as_bytes());
            inserted.push(at);
        }
    }
    Renamed { bytes: renamed, inserted, suffix: suffix.len() }
}

#[cfg(test)]
mod tests {
    use super::rename;

    #[test]
    fn ids_get_the_suffix_and_nothing_else_does() {
        let body = br#"{"id":"m","x":[{"id":""},{"call_id":"c"}],"text":"{\"id\":\"no\"}"}"#;
        let renamed = rename(body, 3);
        let expected = r#"{"id":"m_3","x":[{"id":""},{"call_id":"c_3"}],"text":"{\"id\":\"no\"}"}"#;
        assert_eq!(String::from_utf8_lossy(&renamed.bytes), expected);
        for (from, byte) in body.iter().enumerate() {
            assert_eq!(renamed.bytes[renamed.shift(from)], *byte, "byte {from}");
        }
    }
}
