//! Smaller responses: without a block, without an event, with shorter texts.

use super::{BlockEnd, BlockKind, ModelEvent, Placed, Scenario, Seam, What, changed, said};

/// Every plan in which one response is one change smaller.
pub(super) fn smaller_responses(plan: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    for n in 0..plan.answers.len() {
        let Some(events) = said(&plan.answers[n]) else { continue };
        let blocks = events.iter().filter(|event| matches!(event, ModelEvent::BlockBegan { .. }));
        for block in 0..blocks.count() as u32 {
            let (kept, gone) = without_block(events, block);
            all.push(with_events(plan, n, kept, &gone));
        }
        for at in 0..events.len() {
            let mut kept = events.to_vec();
            kept.remove(at);
            if is_lawful(&kept) || !is_lawful(events) {
                all.push(with_events(plan, n, kept, &[at]));
            }
        }
        for at in 0..events.len() {
            if let Some(shorter) = shorter(&events[at]) {
                let mut kept = events.to_vec();
                kept[at] = shorter;
                all.push(with_events(plan, n, kept, &[]));
            }
        }
    }
    all
}

/// The plan with these events in an answer; the events at the places `gone` were left out.
fn with_events(plan: &Scenario, n: usize, events: Vec<ModelEvent>, gone: &[usize]) -> Scenario {
    changed(plan, |plan| {
        plan.answers[n].what = What::Said(events);
        plan.answers[n].body = None;
        for Placed { at, .. } in &mut plan.faults {
            if let Seam::Event { answer, event } = at
                && *answer == n as u32 + 1
            {
                let before = gone.iter().filter(|gone| (**gone as u32) + 1 < *event).count();
                *event = event.saturating_sub(before as u32).max(1);
            }
        }
    })
}

/// The events without a block, later ones renumbered, and the places that are gone.
fn without_block(events: &[ModelEvent], block: u32) -> (Vec<ModelEvent>, Vec<usize>) {
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for (at, event) in events.iter().enumerate() {
        let mut event = event.clone();
        let number = match &mut event {
            ModelEvent::BlockBegan { block, .. }
            | ModelEvent::Delta { block, .. }
            | ModelEvent::BlockDone { block, .. } => Some(block),
            ModelEvent::Began { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Finished { .. }
            | ModelEvent::Failed(_) => None,
        };
        match number {
            Some(number) if *number == block => {
                gone.push(at);
                continue;
            }
            Some(number) if *number > block => *number -= 1,
            Some(_) | None => {}
        }
        kept.push(event);
    }
    (kept, gone)
}

/// The event with a shorter text, if it has one to shorten.
fn shorter(event: &ModelEvent) -> Option<ModelEvent> {
    match event {
        ModelEvent::Delta { block, text } if text.len() > 1 => {
            let text: String = text.chars().take(1).collect();
            Some(ModelEvent::Delta { block: *block, text })
        }
        ModelEvent::Delta { .. }
        | ModelEvent::Began { .. }
        | ModelEvent::BlockBegan { .. }
        | ModelEvent::BlockDone { .. }
        | ModelEvent::Usage(_)
        | ModelEvent::Finished { .. }
        | ModelEvent::Failed(_) => None,
    }
}

/// Whether a decoder could have said this: blocks in order, pieces of open blocks, and nothing but
/// usage behind the end.
pub(super) fn is_lawful(events: &[ModelEvent]) -> bool {
    let mut open: Vec<Option<&BlockKind>> = Vec::new();
    let mut finished = false;
    events.iter().all(|event| match event {
        ModelEvent::Usage(_) => true,
        _ if finished => false,
        ModelEvent::Began { .. } | ModelEvent::Failed(_) => true,
        ModelEvent::BlockBegan { block, kind } => {
            open.push(Some(kind));
            *block as usize + 1 == open.len()
        }
        ModelEvent::Delta { block, .. } => open.get(*block as usize).is_some_and(Option::is_some),
        ModelEvent::BlockDone { block, done, .. } => {
            let kind = open.get_mut(*block as usize).and_then(Option::take);
            kind.is_some_and(|kind| ends(kind, done))
        }
        ModelEvent::Finished { .. } => {
            finished = true;
            true
        }
    })
}

const fn ends(kind: &BlockKind, done: &BlockEnd) -> bool {
    matches!(
        (kind, done),
        (BlockKind::Text, BlockEnd::Text)
            | (BlockKind::Thinking, BlockEnd::Thinking { .. })
            | (BlockKind::Opaque, BlockEnd::Opaque { .. })
            | (BlockKind::Call { .. }, BlockEnd::Call(_))
    )
}
