//! Events as lines for people: one a line, adjacent deltas of a block joined.

use machine_spec::model::{ArgsVerdict, BlockEnd, BlockKind, ModelEvent, Usage};
use wire::{DecodeLimits, Decoder, Dialect};

/// What a body says, decoded whole.
pub(crate) fn told(dialect: Dialect, body: &[u8]) -> Vec<String> {
    told_with(dialect, DecodeLimits::default(), body)
}

pub(crate) fn told_with(dialect: Dialect, limits: DecodeLimits, body: &[u8]) -> Vec<String> {
    let mut decoder = Decoder::new(dialect, limits);
    let mut events = Vec::new();
    decoder.push(body, &mut events);
    decoder.finish(&mut events);
    lines(&events)
}

/// Events as lines.
pub(crate) fn lines(events: &[ModelEvent]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut open: Option<u32> = None;
    for event in events {
        let ModelEvent::Delta { block, text } = event else {
            open = None;
            lines.push(line(event));
            continue;
        };
        match lines.last_mut().filter(|_| open == Some(*block)) {
            Some(last) => last.push_str(text),
            None => lines.push(format!("{block} + {text}")),
        }
        open = Some(*block);
    }
    lines
}

fn line(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Began { model, response } => format!("began {model} {response}"),
        ModelEvent::BlockBegan { block, kind } => match kind {
            BlockKind::Text => format!("{block} text"),
            BlockKind::Thinking => format!("{block} thinking"),
            BlockKind::Call { wire_id, name } => format!("{block} call {wire_id} {name}"),
            BlockKind::Opaque => format!("{block} opaque"),
        },
        ModelEvent::Delta { block, text } => format!("{block} + {text}"),
        ModelEvent::BlockDone { block, proof, done } => {
            format!("{block} done by {proof:?}{}", end(done))
        }
        ModelEvent::Usage(usage) => format!("usage {}", counts(usage)),
        ModelEvent::Finished { reason, word, details } => {
            let more = details.as_deref().map_or_else(String::new, |said| format!(" {said:?}"));
            format!("finished {reason} `{word}`{more}")
        }
        ModelEvent::Failed(failure) => {
            format!("failed {} `{}`: {}", failure.class, failure.code, failure.message)
        }
    }
}

fn end(done: &BlockEnd) -> String {
    match done {
        BlockEnd::Text => String::new(),
        BlockEnd::Thinking { seal } => format!(", seal {seal}"),
        BlockEnd::Call(facts) => match &facts.args {
            ArgsVerdict::Valid { .. } => ", valid".into(),
            ArgsVerdict::Malformed { at, problem } => format!(", malformed at {at}: {problem}"),
            ArgsVerdict::Invalid { path, problem } => format!(", invalid at {path}: {problem}"),
        },
        BlockEnd::Opaque { payload } => format!(", {payload}"),
    }
}

fn counts(usage: &Usage) -> String {
    let named = [
        ("in", usage.input),
        ("out", usage.output),
        ("read", usage.cache_read),
        ("written", usage.cache_write),
        ("reasoned", usage.reasoning),
    ];
    let known =
        named.iter().filter_map(|(name, count)| count.map(|count| format!("{name} {count}")));
    known.collect::<Vec<_>>().join(", ")
}
