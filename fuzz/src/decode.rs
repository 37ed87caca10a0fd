//! Bodies of responses.

use machine_spec::model::ModelEvent;
use wire::{BadUtf8, DecodeLimits, Decoder, Dialect};

use super::order::in_order;

/// Bounds small enough for a fuzzer to reach.
fn limits() -> DecodeLimits {
    DecodeLimits {
        event_bytes: 300,
        total_bytes: 1 << 10,
        blocks: 8,
        block_bytes: 100,
        depth: 16,
        bad_utf8: BadUtf8::Fail,
    }
}

/// A body is read whole, in pieces, and without recognising events: all say the same, and what
/// they say is in order. The first byte of the input is the size of the pieces and, if it is odd,
/// chooses the bounds of a real response.
pub(crate) fn check(dialect: Dialect, input: &[u8]) {
    let Some((first, body)) = input.split_first() else { return };
    let limits = if first % 2 == 0 { limits() } else { DecodeLimits::default() };
    let mut whole = Decoder::new(dialect, limits);
    let said = events(&mut whole, body, body.len().max(1));
    let size = usize::from(first / 2).max(1);
    let cut = events(&mut Decoder::new(dialect, limits), body, size);
    assert!(said == cut, "a cut changed something");
    // Where nothing was recognised there is nothing to compare.
    if whole.recognised() > 0 {
        let mut slow = Decoder::new(dialect, limits).parsing_everything();
        assert!(said == events(&mut slow, body, body.len()), "parsing said something else");
    }
    in_order(&said);
}

fn events(decoder: &mut Decoder, body: &[u8], size: usize) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    for piece in body.chunks(size) {
        decoder.push(piece, &mut events);
    }
    decoder.finish(&mut events);
    let said = events.len();
    decoder.finish(&mut events);
    if decoder.is_over() {
        decoder.push(b"data: {}\n\n", &mut events);
    }
    assert_eq!(events.len(), said, "something was said after the end");
    events
}
