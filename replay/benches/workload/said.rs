//! Sessions whose responses are told in events, as a decoder would tell them.

use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Proof, Safety, StopReason, Usage,
};
use replay::scenario::{Answer, Scenario};

use super::workload::plan;

/// One response: pieces of text, then a call with its arguments in so many pieces.
fn response(round: u32, pieces: u32, args: usize, with_call: bool) -> Vec<ModelEvent> {
    let mut events = vec![
        ModelEvent::Began { model: "m".into(), response: format!("msg_{round}") },
        ModelEvent::BlockBegan { block: 0, kind: BlockKind::Text },
    ];
    for n in 0..pieces {
        events.push(ModelEvent::Delta { block: 0, text: format!("fifteen bytes{n:02}") });
    }
    let done = |block, done| ModelEvent::BlockDone { block, proof: Proof::BlockStop, done };
    events.push(done(0, BlockEnd::Text));
    if with_call {
        let (wire_id, name) = (format!("toolu_{round}"), "search".into());
        events.push(ModelEvent::BlockBegan { block: 1, kind: BlockKind::Call { wire_id, name } });
        let text = format!("{{\"query\":\"{round:04}{}\"}}", "q".repeat(184));
        for piece in text.as_bytes().chunks(text.len().div_ceil(args)) {
            let text = String::from_utf8_lossy(piece).into_owned();
            events.push(ModelEvent::Delta { block: 1, text });
        }
        let args = ArgsVerdict::Valid { canonical: u64::from(round) };
        let facts = CallFacts::new(args, Safety::Exclusive);
        events.push(done(1, BlockEnd::Call(facts)));
    }
    events.push(ModelEvent::Usage(Usage { output: Some(90), ..Usage::default() }));
    let reason = if with_call { StopReason::ToolUse } else { StopReason::EndOfTurn };
    events.push(ModelEvent::finished(reason, reason.word()));
    events
}

/// `last` is the length of the final answer in pieces, `args` the pieces of a call's arguments.
pub(crate) fn scenario(rounds: u32, last: u32, args: usize) -> Scenario {
    let mut scenario = plan(rounds);
    scenario.answers = (1..=rounds + 1)
        .map(|n| {
            let with_call = n <= rounds;
            Answer::said(response(n, if with_call { 50 } else { last }, args, with_call))
        })
        .collect();
    scenario.keep_ids = true;
    scenario
}
