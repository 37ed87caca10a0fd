//! Draws what the provider says.

use std::collections::BTreeMap;
use std::fmt::Write;

use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, ErrorClass, ModelEvent, Proof, Safety, StopReason,
    Usage,
};

use super::Size;
use super::configuration::TOOLS;
use crate::chooser::Chooser;
use crate::scenario::{Afterwards, Answer, Scenario, ToolPlan};

/// Draws the answers of a scenario.
pub(super) fn draw(chooser: &mut Chooser, size: Size, scenario: &mut Scenario) {
    let count = 1 + chooser.pick(size.answers);
    let answers = (0..count).map(|n| answer(chooser, size, n, &scenario.tools)).collect();
    scenario.answers = answers;
    if size.configuration {
        scenario.keep_ids = chooser.chance(1, 3);
        // Somebody who says the same for ever: only the bounds of the machine end that.
        if chooser.chance(1, 10) {
            scenario.afterwards = Afterwards::LastAgain;
        }
    }
}

/// What the tools are planned to be, by name.
type Plans = BTreeMap<String, ToolPlan>;

fn answer(chooser: &mut Chooser, size: Size, n: u32, plans: &Plans) -> Answer {
    if !size.configuration {
        return Answer::said(calls(chooser, size, n, plans));
    }
    match chooser.pick(12) {
        0..=4 => Answer::said(calls(chooser, size, n, plans)),
        5 | 6 => Answer::said(text(chooser, size, StopReason::EndOfTurn)),
        7 => Answer::said(text(chooser, size, StopReason::OutputLimit)),
        8 => {
            let reason = *chooser.one_of(StopReason::ALL).unwrap_or(&StopReason::Other);
            Answer::said(text(chooser, size, reason))
        }
        9 => Answer::said(blank(chooser)),
        10 => Answer::stream(body(n)),
        _ => Answer::fault(*chooser.one_of(ErrorClass::ALL).unwrap_or(&ErrorClass::Unknown)),
    }
}

fn ended(events: &mut Vec<ModelEvent>, reason: StopReason) {
    events.push(ModelEvent::Usage(Usage { output: Some(3), ..Usage::default() }));
    events.push(ModelEvent::finished(reason, reason.word()));
}

fn text_block(chooser: &mut Chooser, size: Size, block: u32, events: &mut Vec<ModelEvent>) {
    events.push(ModelEvent::BlockBegan { block, kind: BlockKind::Text });
    for n in 0..1 + chooser.pick(size.pieces) {
        events.push(ModelEvent::Delta { block, text: format!("word {n} ") });
    }
    events.push(ModelEvent::BlockDone { block, proof: Proof::BlockStop, done: BlockEnd::Text });
}

fn text(chooser: &mut Chooser, size: Size, reason: StopReason) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    text_block(chooser, size, 0, &mut events);
    ended(&mut events, reason);
    events
}

/// Nothing to show, or only thinking.
fn blank(chooser: &mut Chooser) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    if chooser.chance(1, 2) {
        events.push(ModelEvent::BlockBegan { block: 0, kind: BlockKind::Thinking });
        events.push(ModelEvent::Delta { block: 0, text: "hm".into() });
        let done = BlockEnd::Thinking { seal: String::new() };
        events.push(ModelEvent::BlockDone { block: 0, proof: Proof::BlockStop, done });
    }
    ended(&mut events, StopReason::EndOfTurn);
    events
}

fn calls(chooser: &mut Chooser, size: Size, n: u32, plans: &Plans) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let mut block = 0;
    if size.configuration && chooser.chance(1, 3) {
        text_block(chooser, size, 0, &mut events);
        block = 1;
    }
    for k in 0..1 + chooser.pick(size.calls) {
        let (name, args, facts) = call(chooser, size, (n, k), plans);
        let kind = BlockKind::Call { wire_id: format!("w{n}{k}"), name: name.into() };
        events.push(ModelEvent::BlockBegan { block, kind });
        events.push(ModelEvent::Delta { block, text: args });
        let done = BlockEnd::Call(facts);
        events.push(ModelEvent::BlockDone { block, proof: Proof::BlockStop, done });
        block += 1;
    }
    let reason = match size.configuration && chooser.chance(1, 8) {
        true => *chooser.one_of(StopReason::ALL).unwrap_or(&StopReason::ToolUse),
        false => StopReason::ToolUse,
    };
    ended(&mut events, reason);
    events
}

/// A call: its tool, its arguments, and what is known about it.
fn call(
    chooser: &mut Chooser,
    size: Size,
    (n, k): (u32, u32),
    plans: &Plans,
) -> (&'static str, String, CallFacts) {
    let (mut name, ..) = TOOLS[chooser.pick(TOOLS.len() as u32) as usize];
    let mut args = format!("{{\"n\":{n},\"k\":{k}}}");
    let mut verdict = ArgsVerdict::Valid { canonical: u64::from(n * 16 + k + 1) };
    if size.configuration {
        match chooser.pick(16) {
            0 => name = "nobody",
            1 => {
                verdict = ArgsVerdict::Malformed { at: 1, problem: "not JSON".into() };
                args = "{".into();
            }
            2 => {
                verdict = ArgsVerdict::Invalid { path: String::new(), problem: "no".into() };
            }
            // The same call again and again: a doom loop.
            3..=5 => {
                verdict = ArgsVerdict::Valid { canonical: 7 };
                args = "{}".into();
            }
            _ => {}
        }
    }
    let facts = match plans.get(name) {
        Some(plan) => {
            let permission = plan.permission.clone();
            CallFacts { permission, ..CallFacts::new(verdict, plan.safety) }
        }
        None => CallFacts::new(verdict, Safety::Exclusive),
    };
    (name, args, facts)
}

/// A small body on the Anthropic wire, for faults that strike at bytes.
fn body(n: u32) -> String {
    let mut body = String::new();
    let mut event = |kind: &str, rest: &str| {
        let _ = write!(body, "event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    };
    let message = format!(
        ",\"message\":{{\"id\":\"msg_{n}\",\"type\":\"message\",\"role\":\"assistant\",\
         \"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\
         \"usage\":{{\"input_tokens\":4,\"output_tokens\":1}}}}"
    );
    event("message_start", &message);
    let block = format!(
        ",\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"toolu_{n}\",\
         \"name\":\"log\",\"input\":{{}}}}"
    );
    event("content_block_start", &block);
    let delta = format!(
        ",\"index\":0,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{{\\\"n\\\":{n}}}\"}}"
    );
    event("content_block_delta", &delta);
    event("content_block_stop", ",\"index\":0");
    let delta = ",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\
                 \"usage\":{\"output_tokens\":9}";
    event("message_delta", delta);
    event("message_stop", "");
    body
}
