//! The order that events keep, whatever a body says.

use machine_spec::model::{BlockEnd, BlockKind, ModelEvent};

struct Block {
    kind: BlockKind,
    done: bool,
}

/// Blocks are numbered without gaps, begun before they grow, done at most once; nothing but usage
/// follows the end of a message, and nothing at all a failure.
pub(crate) fn in_order(events: &[ModelEvent]) {
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
