//! The most frequent line by far, read without a JSON parser: a piece of a stream, as this release
//! writes it. Whatever looks different in any byte takes the ordinary way and means the same.

use machine_spec::Input;
use machine_spec::ids::EffectId;
use machine_spec::model::ModelEvent;

use crate::format::v1::{Frame, Note};

/// The frame of a line without its check, if it is such a piece.
pub(super) fn read(content: &[u8]) -> Option<Frame> {
    let rest = content.strip_prefix(b"{\"seq\":")?;
    let (seq, rest) = number(rest)?;
    let rest = rest.strip_prefix(b",\"input\":{\"model_said\":{\"id\":")?;
    let (id, rest) = number(rest)?;
    let rest = rest.strip_prefix(b",\"event\":{\"delta\":{\"block\":")?;
    let (block, rest) = number(rest)?;
    let rest = rest.strip_prefix(b",\"text\":\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    let text = std::str::from_utf8(&rest[..end]).ok()?;
    if text.bytes().any(|b| b < 0x20) {
        return None;
    }
    let at_ms = match rest[end..].strip_prefix(b"\"}}}}")? {
        b"" => None,
        note => {
            let (at_ms, end) = number(note.strip_prefix(b",\"note\":{\"at_ms\":")?)?;
            (end == b"}").then_some(at_ms)?.into()
        }
    };
    let event = ModelEvent::Delta { block: u32::try_from(block).ok()?, text: text.to_owned() };
    Some(Frame {
        seq,
        input: Some(Input::ModelSaid { id: EffectId(id), event }),
        effects: Vec::new(),
        trail: Vec::new(),
        digest: None,
        note: Note { at_ms, ..Note::default() },
    })
}

/// A number as JSON writes it, short enough not to overflow, and what follows it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().take(19).take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at(length);
    let leading_zero = digits.len() > 1 && digits[0] == b'0';
    if digits.is_empty() || leading_zero {
        return None;
    }
    Some((digits.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::read;
    use crate::format::v1::{Frame, Line};

    /// What the ordinary way makes of it, if it is a frame.
    fn slowly(content: &[u8]) -> Option<Frame> {
        let mut line = content.to_vec();
        line.push(b'}');
        let Line { seq, input, effects, trail, digest, note, aside: None } =
            serde_json::from_slice(&line).ok()?
        else {
            return None;
        };
        Some(Frame { seq: seq?, input, effects, trail, digest, note })
    }

    fn piece(seq: u64, id: u64, block: u32, text: &str, note: &str) -> String {
        let text = serde_json::Value::from(text);
        format!(
            "{{\"seq\":{seq},\"input\":{{\"model_said\":{{\"id\":{id},\"event\":{{\"delta\":\
             {{\"block\":{block},\"text\":{text}}}}}}}}}{note}"
        )
    }

    #[test]
    fn what_a_recorder_writes_is_read_this_way() {
        for note in ["", ",\"note\":{\"at_ms\":17}"] {
            let content = piece(5, 0, 2, "plain, ä and 字", note);
            assert_eq!(read(content.as_bytes()), slowly(content.as_bytes()));
            assert!(read(content.as_bytes()).is_some(), "{content}");
        }
        for odd in [
            piece(5, 0, 2, "a \"quoted\" word", ""),
            piece(5, 0, 2, "x", ",\"note\":{\"at_ms\":17,\"faults\":[]}"),
            piece(5, 0, 2, "x", ",\"effects\":[]"),
            piece(5, 0, 2, "x", "").replace("\"seq\":5", "\"seq\":05"),
            piece(5, 0, 2, "x", "").replace("\"block\":2", "\"block\":99999999999"),
            piece(5, 0, 2, "x", "").replace('x', "\u{1}"),
        ] {
            assert_eq!(read(odd.as_bytes()), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_mean_the_same(seq in any::<u64>(), id in any::<u64>(), block in any::<u32>(), text in ".*", at in proptest::option::of(any::<u64>()), hit in any::<prop::sample::Index>(), byte in any::<u8>(), spoil in any::<bool>()) {
            let note = at.map_or(String::new(), |at| format!(",\"note\":{{\"at_ms\":{at}}}"));
            let mut content = piece(seq, id, block, &text, &note).into_bytes();
            if spoil {
                let at = hit.index(content.len());
                content[at] = byte;
            }
            if let Some(frame) = read(&content) {
                prop_assert_eq!(Some(frame), slowly(&content));
            }
        }
    }
}
