//! Lines out of bytes that are cut anywhere: LF, CRLF and CR alone, with a BOM or without.
//!
//! A line that lies whole in the piece at hand is handed out as a range of it; only a line that
//! was cut is copied.

use std::ops::Range;

use memchr::memchr2;

/// The mark that some put in front of UTF-8.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Splits pieces of bytes into lines.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// The last line handed out as [`Found::Carried`].
    carried: Vec<u8>,
    /// The last line ended with CR: an LF right after it belongs to it.
    after_cr: bool,
    /// How many bytes of a BOM were seen at the very start; past its length once that is over.
    bom: usize,
    limit: usize,
}

/// Where a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// In the piece at hand.
    Here(Range<usize>),
    /// In [`Lines::carried`]: it was cut.
    Carried,
    /// Nowhere: it is longer than the limit.
    TooLong,
}

impl Lines {
    pub(crate) fn new(limit: usize) -> Lines {
        Lines { partial: Vec::new(), carried: Vec::new(), after_cr: false, bom: 0, limit }
    }

    pub(crate) fn carried(&self) -> &[u8] {
        &self.carried
    }

    /// The next line of `input` from `pos` on; `None` when more bytes are needed, in which case
    /// all of `input` was taken.
    pub(crate) fn next(&mut self, input: &[u8], pos: &mut usize) -> Option<Found> {
        self.skip_marks(input, pos);
        let rest = &input[*pos..];
        let Some(length) = memchr2(b'\n', b'\r', rest) else {
            if self.partial.len() + rest.len() > self.limit {
                *pos = input.len();
                return Some(Found::TooLong);
            }
            self.partial.extend_from_slice(rest);
            *pos = input.len();
            return None;
        };
        let start = *pos;
        self.after_cr = rest[length] == b'\r';
        *pos += length + 1;
        if self.partial.len() + length > self.limit {
            return Some(Found::TooLong);
        }
        if self.partial.is_empty() {
            return Some(Found::Here(start..start + length));
        }
        self.partial.extend_from_slice(&rest[..length]);
        std::mem::swap(&mut self.partial, &mut self.carried);
        self.partial.clear();
        Some(Found::Carried)
    }

    /// Whether the line after the last one is known to be blank; if so, it is taken.
    pub(crate) fn take_blank(&mut self, input: &[u8], pos: &mut usize) -> bool {
        if self.after_cr && input.get(*pos) == Some(&b'\n') {
            self.after_cr = false;
            *pos += 1;
        }
        match input.get(*pos) {
            Some(b'\n') if !self.after_cr => *pos += 1,
            Some(b'\r') => {
                self.after_cr = true;
                *pos += 1;
            }
            Some(_) | None => return false,
        }
        true
    }

    /// The last line, if it has no end.
    pub(crate) fn finish(&mut self) -> Option<Found> {
        if self.partial.is_empty() {
            return None;
        }
        std::mem::swap(&mut self.partial, &mut self.carried);
        self.partial.clear();
        Some(Found::Carried)
    }

    fn skip_marks(&mut self, input: &[u8], pos: &mut usize) {
        while self.bom < BOM.len() && *pos < input.len() {
            if input[*pos] == BOM[self.bom] {
                self.bom += 1;
                *pos += 1;
            } else {
                // What looked like a BOM was text.
                self.partial.extend_from_slice(&BOM[..self.bom]);
                self.bom = BOM.len();
            }
        }
        if self.after_cr && *pos < input.len() {
            self.after_cr = false;
            if input[*pos] == b'\n' {
                *pos += 1;
            }
        }
    }
}
