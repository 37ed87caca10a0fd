//! Ids and names in the shape an endpoint accepts.
//!
//! What fits goes out unchanged. What does not is replaced by a function of the text alone, so
//! that a call and its result, and the same call in the next request, always agree.

use std::borrow::Cow;

use machine_spec::Digest;

/// Longest name that any provider accepts for a tool.
const NAME_CHARS: usize = 128;

/// The shape of a call id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdShape {
    /// Anything, up to this many bytes.
    Any(usize),
    /// Letters, digits, `_` and `-`, up to this many bytes.
    Word(usize),
    /// Exactly nine letters or digits (Mistral).
    Nine,
}

impl IdShape {
    fn accepts(self, id: &str) -> bool {
        match self {
            IdShape::Any(most) => !id.is_empty() && id.len() <= most,
            IdShape::Word(most) => !id.is_empty() && id.len() <= most && id.bytes().all(is_word),
            IdShape::Nine => id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
        }
    }
}

/// A call id in this shape; different ids stay different.
pub(crate) fn fit_id(shape: IdShape, id: &str) -> Cow<'_, str> {
    if shape.accepts(id) {
        return Cow::Borrowed(id);
    }
    let digest = Digest::of(id);
    Cow::Owned(match shape {
        IdShape::Any(_) | IdShape::Word(_) => format!("lw_{digest}"),
        IdShape::Nine => nine(digest.0),
    })
}

fn nine(mut digest: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut id = String::with_capacity(9);
    for _ in 0..9 {
        id.push(char::from(DIGITS[(digest % 36) as usize]));
        digest /= 36;
    }
    id
}

/// A tool name that every provider accepts. A declared name is one; what a model invented may not
/// be, and its call stands in the history all the same (B010).
pub(crate) fn fit_name(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= NAME_CHARS && name.bytes().all(is_word) {
        return Cow::Borrowed(name);
    }
    let fitted: String = name
        .chars()
        .map(|c| if c.is_ascii() && is_word(c as u8) { c } else { '_' })
        .take(NAME_CHARS)
        .collect();
    Cow::Owned(if fitted.is_empty() { "unnamed".to_owned() } else { fitted })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_unchanged() {
        for (shape, id) in [
            (IdShape::Word(64), "toolu_01A09q90qw90lq917835lq9"),
            (IdShape::Any(40), "exec:0"),
            (IdShape::Nine, "D681PevKs"),
        ] {
            assert_eq!(fit_id(shape, id), id);
        }
        assert_eq!(fit_name("read_file"), "read_file");
    }

    #[test]
    fn what_does_not_fit_is_replaced_and_stays_apart() {
        for shape in [IdShape::Word(64), IdShape::Any(40), IdShape::Nine] {
            let long = "x".repeat(300);
            let ids = ["", &long, &long[..299], "exec:0", "exec 0", "é"];
            let fitted: Vec<_> = ids.iter().map(|id| fit_id(shape, id).into_owned()).collect();
            for (index, id) in fitted.iter().enumerate() {
                assert!(shape.accepts(id), "{shape:?} {id}");
                assert!(!fitted[..index].contains(id), "{shape:?} {id}");
            }
        }
        for (name, fitted) in [("", "unnamed"), ("read file", "read_file"), ("é.ls", "__ls")] {
            assert_eq!(fit_name(name), fitted);
        }
        assert_eq!(fit_name(&"x".repeat(300)).len(), NAME_CHARS);
    }
}
