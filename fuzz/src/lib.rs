//! What must hold for every body, whoever made it. The targets only choose the dialect.

use machine_spec::model::{BlockEnd, BlockKind, ModelEvent};
use wire::{BadUtf8, DecodeLimits, Decoder, Dialect};

/// Bounds small enough for a fuzzer to reach.
fn limits() -> DecodeLimits {
    DecodeLimits {
        event_bytes: 2 << 10,
        total_bytes: 64 << 10,
        blocks: 8,
        block_bytes: 1 << 10,
        depth: 16,
        bad_utf8: BadUtf8::Fail,
    }
}

/// A body is read whole, in pieces, and without recognising events: all say the same, and what
/// they say is in order. The first byte of the input is the size of the pieces.
pub fn decode(dialect: Dialect, input: &[u8]) {
    let Some((size, body)) = input.split_first() else { return };
    let whole = events(Decoder::new(dialect, limits()), body, body.len().max(1));
    let size = usize::from(*size).max(1);
    assert!(
        whole == events(Decoder::new(dialect, limits()), body, size),
        "a cut changed something"
    );
    let slow = Decoder::new(dialect, limits()).parsing_everything();
    assert!(whole == events(slow, body, body.len().max(1)), "parsing said something else");
    in_order(&whole);
}

fn events(mut decoder: Decoder, body: &[u8], size: usize) -> Vec<ModelEvent> {
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

struct Block {
    kind: BlockKind,
    done: bool,
}

/// Blocks are numbered without gaps, begun before they grow, done at most once; nothing but usage
/// follows the end of a message, and nothing at all a failure.
pub fn in_order(events: &[ModelEvent]) {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut finished, mut failed, mut began) = (false, false, false);
    for event in events {
        assert!(!failed, "something follows a failure");
        match event {
            ModelEvent::Failed(_) => failed = true,
            ModelEvent::Usage(_) => {}
            _ => assert!(!finished, "something but usage follows the end of the message"),
        }
        match event {
            ModelEvent::Began { .. } => {
                assert!(!began, "the response began twice");
                began = true;
            }
            ModelEvent::BlockBegan { block, kind } => {
                assert_eq!(*block as usize, blocks.len(), "blocks are numbered with gaps");
                blocks.push(Block { kind: kind.clone(), done: false });
            }
            ModelEvent::Delta { block, text } => {
                let open = &blocks[*block as usize];
                assert!(!open.done, "a block grows after its end");
                assert!(!text.is_empty(), "a piece of text is empty");
                assert!(open.kind != BlockKind::Opaque, "an opaque block grows");
            }
            ModelEvent::BlockDone { block, done, .. } => {
                let open = &mut blocks[*block as usize];
                assert!(!open.done, "a block is done twice");
                open.done = true;
                assert!(fits(&open.kind, done), "a block ends as something else");
            }
            ModelEvent::Finished { .. } => finished = true,
            ModelEvent::Usage(_) | ModelEvent::Failed(_) => {}
        }
    }
}

fn fits(kind: &BlockKind, end: &BlockEnd) -> bool {
    match (kind, end) {
        (BlockKind::Text, BlockEnd::Text) | (BlockKind::Call { .. }, BlockEnd::Call(_)) => true,
        (BlockKind::Thinking, BlockEnd::Thinking { seal }) => seal.is_empty() || is_object(seal),
        (BlockKind::Opaque, BlockEnd::Opaque { payload }) => is_json(payload),
        (
            BlockKind::Text | BlockKind::Call { .. } | BlockKind::Thinking | BlockKind::Opaque,
            BlockEnd::Text
            | BlockEnd::Call(_)
            | BlockEnd::Thinking { .. }
            | BlockEnd::Opaque { .. },
        ) => false,
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok()
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object())
}
