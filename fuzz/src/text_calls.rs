//! Calls written as text: text is never lost, and the events stay in order.

use machine_spec::config::ToolSpec;
use machine_spec::model::{BlockEnd, BlockKind, ModelEvent, Proof, StopReason};
use wire::TextCalls;

use super::order::in_order;

/// The first byte of the input is the size of the pieces and, if it is odd, chooses an answer that
/// was cut: nothing of that may become a call. Where calls are refused, they are those that would be
/// recovered, and no text is lost.
pub(crate) fn check(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let size = usize::from(first / 2).max(1);
    for look in [TextCalls::new, TextCalls::refusing] {
        if first % 2 == 0 {
            let whole = sift(look, &text, usize::MAX, StopReason::EndOfTurn);
            let pieces = sift(look, &text, size, StopReason::EndOfTurn);
            assert!(whole == pieces, "a cut changed something");
        } else {
            let cut = sift(look, &text, size, StopReason::OutputLimit);
            assert_eq!(cut.concat(), text, "text was lost");
        }
    }
    let recovered = sift(TextCalls::new, &text, size, StopReason::EndOfTurn);
    let refused = sift(TextCalls::refusing, &text, size, StopReason::EndOfTurn);
    assert_eq!(recovered.len() > 1, refused.len() > 1, "what is refused is what is recovered");
    assert_eq!(refused.concat(), text, "text was lost");
}

/// The text and the arguments of the calls that come of a text said in pieces.
fn sift(
    look: fn(&[ToolSpec]) -> TextCalls,
    text: &str,
    size: usize,
    reason: StopReason,
) -> Vec<String> {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: "{\"properties\":{\"n\":{\"type\":\"integer\"}}}".to_owned(),
        read_only: false,
        ..ToolSpec::default()
    };
    let mut calls = look(&[tool("now"), tool("read")]);
    let mut events = vec![ModelEvent::BlockBegan { block: 0, kind: BlockKind::Text }];
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        events.push(ModelEvent::Delta { block: 0, text: piece.to_owned() });
        rest = after;
    }
    let proof = Proof::FinishReason;
    events.push(ModelEvent::BlockDone { block: 0, proof, done: BlockEnd::Text });
    events.push(ModelEvent::finished(reason, "stop"));
    calls.sift(&mut events);
    calls.finish(&mut events);
    in_order(&events);
    let mut said = vec![String::new()];
    for event in events {
        match event {
            ModelEvent::Delta { block: 0, text } => said[0].push_str(&text),
            ModelEvent::Delta { text, .. } => said.push(text),
            ModelEvent::Began { .. }
            | ModelEvent::BlockBegan { .. }
            | ModelEvent::BlockDone { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Finished { .. }
            | ModelEvent::Failed(_) => {}
        }
    }
    said
}
