//! Code fences: what stands between them is an example, not a call.

/// Follows a text line by line.
#[derive(Clone, Debug, Default)]
pub(super) struct Fence {
    /// The letter and length of the fence that is open.
    open: Option<(char, usize)>,
    /// The current line so far, without the blanks it begins with, up to [`LINE`] bytes.
    line: String,
    /// Whether more than blanks came behind those.
    longer: bool,
}

/// A line that opens or closes a fence is decided within so many bytes.
const LINE: usize = 200;

impl Fence {
    /// Reads on.
    pub(super) fn read(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            self.take(piece.trim_end_matches('\n'));
            if piece.ends_with('\n') {
                self.open = self.after_line();
                self.line.clear();
                self.longer = false;
            }
        }
    }

    /// Takes more of the line. However it is cut, the same is kept of it.
    fn take(&mut self, text: &str) {
        let text = if self.line.is_empty() { text.trim_start() } else { text };
        if self.line.len() + text.len() <= LINE {
            return self.line.push_str(text);
        }
        for c in text.chars() {
            if self.line.len() + c.len_utf8() <= LINE {
                self.line.push(c);
            } else {
                self.longer |= !c.is_whitespace();
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
        self.line.is_empty()
    }

    fn after_line(&self) -> Option<(char, usize)> {
        match (self.open, fence(&self.line)) {
            (None, Some((letter, length, _))) => Some((letter, length)),
            (Some((open, at_least)), Some((letter, length, bare)))
                if bare && !self.longer && letter == open && length >= at_least =>
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

    #[test]
    fn a_long_line_is_the_same_however_it_is_cut() {
        let blanks = " ".repeat(300);
        for (text, open, starts) in [
            (format!("{blanks}x"), false, false),
            (format!("x{blanks}"), false, false),
            (blanks.clone(), false, true),
            (format!("{blanks}```"), true, false),
            (format!("```\n```{blanks}\n"), false, true),
            (format!("```\n```{blanks}x\n"), true, true),
        ] {
            for size in [1, 7, 199, 1_000] {
                let mut fence = Fence::default();
                let bytes = text.as_bytes().chunks(size);
                bytes.for_each(|piece| fence.read(std::str::from_utf8(piece).expect("ASCII")));
                assert_eq!(
                    (fence.is_open(), fence.is_line_start()),
                    (open, starts),
                    "{text:?} {size}"
                );
            }
        }
    }
}
