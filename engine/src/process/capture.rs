//! What a process prints, kept in bounded memory: the head and the tail, and how much there was.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// The head and the tail of a stream of bytes.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_room: usize,
    tail_room: usize,
    total: u64,
}

impl Capture {
    /// Keeps at most this many bytes, half of them from each end.
    pub(crate) fn halves(room: usize) -> Capture {
        Capture::new(room.div_ceil(2), room / 2)
    }

    /// Keeps at most this many bytes of the end: errors are told last.
    pub(crate) fn tail(room: usize) -> Capture {
        Capture::new(0, room)
    }

    fn new(head_room: usize, tail_room: usize) -> Capture {
        let (head, tail) = (Vec::new(), VecDeque::new());
        Capture { head, tail, head_room, tail_room, total: 0 }
    }

    /// Takes more bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let fits = (self.head_room - self.head.len()).min(bytes.len());
        let (to_head, rest) = bytes.split_at(fits);
        self.head.extend_from_slice(to_head);
        let rest = &rest[rest.len().saturating_sub(self.tail_room)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_room);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Whether nothing came.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// How many bytes came in all.
    #[cfg(test)]
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// What is kept, as text. Bytes that are not UTF-8 are replaced; a cut falls between
    /// characters, and where something is left out the text says how much.
    pub(crate) fn text(&self) -> String {
        let (a, b) = self.tail.as_slices();
        let kept = (self.head.len() + self.tail.len()) as u64;
        if self.total == kept {
            let whole = [&self.head, a, b].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let head = without_cut_end(&self.head);
        let tail = [a, b].concat();
        let tail = without_cut_start(&tail);
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let mut text = String::from_utf8_lossy(head).into_owned();
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{left_out} of {} bytes left out]", self.total);
        text.push_str(&String::from_utf8_lossy(tail));
        text
    }
}

/// The bytes without a character at the end that was cut in the middle.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    let from = bytes.len().saturating_sub(3);
    let lead = bytes[from..].iter().rposition(|byte| *byte >= 0xc0);
    let Some(at) = lead.map(|at| at + from) else { return bytes };
    let length = match bytes[at] {
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    };
    if at + length > bytes.len() { &bytes[..at] } else { bytes }
}

/// The bytes without the rest of a character at the start that was cut in the middle.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &bytes[rest..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::Capture;

    #[test]
    fn what_fits_is_kept_whole() {
        let mut capture = Capture::halves(10);
        for piece in ["ab", "cdé", "fgh"] {
            capture.push(piece.as_bytes());
        }
        assert_eq!(capture.text(), "abcdéfgh");
        assert_eq!(capture.total(), 9);
    }

    #[test]
    fn a_cut_falls_between_characters_and_says_what_is_missing() {
        let mut capture = Capture::halves(9);
        capture.push("é".repeat(100).as_bytes());
        assert_eq!(capture.text(), "éé\n[192 of 200 bytes left out]\néé");
    }

    #[test]
    fn a_tail_keeps_the_end() {
        let mut capture = Capture::tail(5);
        capture.push(b"warning: nothing\nerror: all");
        assert_eq!(capture.text(), "[22 of 27 bytes left out]\n: all");
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        let mut capture = Capture::halves(64);
        capture.push(b"ok \xff\xfe end");
        assert_eq!(capture.text(), "ok \u{fffd}\u{fffd} end");
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            text in any::<String>(),
            cuts in proptest::collection::vec(1usize..9, 1..40),
            room in 0usize..40,
        ) {
            let mut whole = Capture::halves(room);
            whole.push(text.as_bytes());
            let mut pieces = Capture::halves(room);
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                let (piece, after) = rest.split_at(rest.len().min(*cut));
                pieces.push(piece);
                rest = after;
                if rest.is_empty() { break }
            }
            assert_eq!(whole.text(), pieces.text());
            assert!(pieces.head.len() + pieces.tail.len() <= room, "memory is bounded");
            assert!(!whole.text().contains('\u{fffd}') || text.contains('\u{fffd}'),
                "whole characters stay whole");
        }
    }
}
