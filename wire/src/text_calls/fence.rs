//! Code fences: what stands between them is an example, not a call.

/// Follows a text line by line.
#[derive(Clone, Debug, Default)]
pub(super) struct Fence {
    /// The letter and length of the fence that is open.
    open: Option<(char, usize)>,
    /// The current line so far, as much of it as can matter.
    line: String,
}

/// A line that opens or closes a fence is decided within so many bytes.
const LINE: usize = 200;

impl Fence {
    /// Reads on.
    pub(super) fn read(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            if self.line.len() < LINE {
                self.line.push_str(piece.trim_end_matches('\n'));
            }
            if piece.ends_with('\n') {
                self.open = self.after_line();
                self.line.clear();
            }
        }
    }

    /// Whether what follows is code.
    pub(super) fn is_open(&self) -> bool {
        // The rest of the line that opens a fence is not text either.
        self.open.is_some() || fence(&self.line).is_some()
    }

    /// Whether nothing but blanks stands before what follows, on its line.
    pub(super) fn is_line_start(&self) -> bool {
        self.line.trim().is_empty()
    }

    fn after_line(&self) -> Option<(char, usize)> {
        match (self.open, fence(&self.line)) {
            (None, Some((letter, length, _))) => Some((letter, length)),
            (Some((open, at_least)), Some((letter, length, bare)))
                if bare && letter == open && length >= at_least =>
            {
                None
            }
            (open, _) => open,
        }
    }
}

/// The fence a line is: its letter, its length, and whether nothing follows it.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let line = line.trim();
    let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let rest = line.trim_start_matches(letter);
    let length = line.len() - rest.len();
    (length >= 3).then_some((letter, length, rest.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_open_and_close_by_line() {
        for (text, open) in [
            ("a ``` b", false),
            ("```", true),
            ("```rust", true),
            ("```\ncode", true),
            ("```\ncode\n```", true),
            ("```\ncode\n```\n", false),
            ("````\n```\n", true),
            ("~~~\n```\n", true),
            ("```\n``` x\n", true),
            ("  ```\n  ```\ntext", false),
        ] {
            let mut fence = Fence::default();
            fence.read(text);
            assert_eq!(fence.is_open(), open, "{text:?}");
            let mut pieces = Fence::default();
            text.split_inclusive(|_| true).for_each(|piece| pieces.read(piece));
            assert_eq!(pieces.is_open(), open, "{text:?} letter by letter");
        }
    }
}
