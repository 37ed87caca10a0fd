//! Conversations, put together in a few words.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine_spec::because::Owner;
use machine_spec::config::{Candidate, ToolSpec};
use machine_spec::effect::{SealedRequest, ToolChoice, Transport};
use machine_spec::ids::{AttemptId, CallId, CandidateId};
use machine_spec::message::{
    Block, Call, CallResult, Entry, Origin, Outcome, Reply, Said, Thinking, Wholeness,
};
use machine_spec::model::{ArgsVerdict, CallFacts, Safety, StopReason, Usage};
use machine_spec::view::View;
use machine_spec::{RunConfig, Transcript};
use serde_json::Value;
use wire::{Dialect, EncodeOptions, Encoder};

/// The candidate that is asked.
pub(crate) const OWN: &str = "a/test-1";
/// Another one.
pub(crate) const FOREIGN: &str = "b/test-2";

/// A configuration with two candidates and two tools.
pub(crate) fn config() -> RunConfig {
    let candidate = |name: &str, model: &str| Candidate {
        name: name.to_owned(),
        model: model.to_owned(),
        context_window: 200_000,
        max_output: 4_096,
        ..Candidate::default()
    };
    let tool = |name: &str, description: &str, schema: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: schema.to_owned(),
        read_only: false,
        ..ToolSpec::default()
    };
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    RunConfig {
        candidates: vec![candidate("a", "test-1"), candidate("b", "test-2")],
        tools: vec![tool("grep", "", "{}"), tool("read_file", "Reads a file.", schema)],
        system: "You are careful.".to_owned(),
        ..RunConfig::default()
    }
}

/// A request of the first candidate over these entries.
pub(crate) fn request(transcript: &Transcript, tools: ToolChoice) -> SealedRequest {
    SealedRequest {
        attempt: AttemptId(0),
        candidate: CandidateId(0),
        owner: Owner::ALL[0],
        view: View::of(transcript),
        tools,
        transport: Transport::Stream,
        max_output: None,
        left_out: Vec::new(),
    }
}

/// The body of a request over these entries.
pub(crate) fn body(dialect: Dialect, entries: &[Entry]) -> Value {
    body_with(dialect, EncodeOptions::default(), entries, ToolChoice::Auto)
}

/// The same with options and a choice.
pub(crate) fn body_with(
    dialect: Dialect,
    options: EncodeOptions,
    entries: &[Entry],
    choice: ToolChoice,
) -> Value {
    let transcript: Transcript = entries.iter().cloned().collect();
    let encoded = Encoder::new(dialect, options).encode(&config(), &request(&transcript, choice));
    serde_json::from_slice(&encoded.body).expect("a body is JSON")
}

pub(crate) fn user(text: &str) -> Entry {
    said(Origin::User, text)
}

pub(crate) fn said(origin: Origin, text: &str) -> Entry {
    Entry::Said(Said::words(origin, text))
}

pub(crate) fn reply(by: &str, blocks: Vec<Block>) -> Entry {
    Entry::Reply(Reply {
        by: Arc::from(by),
        attempt: AttemptId(0),
        blocks,
        wholeness: Wholeness::Whole,
        stop: Some(StopReason::EndOfTurn),
        usage: Usage::default(),
    })
}

pub(crate) fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

pub(crate) fn thinking(text: &str, seal: &str) -> Block {
    Block::Thinking(Thinking { text: text.to_owned(), seal: seal.to_owned() })
}

pub(crate) fn opaque(payload: &str) -> Block {
    Block::Opaque(payload.to_owned())
}

pub(crate) fn call(id: u32, wire_id: &str, name: &str, args: &str) -> Block {
    let valid = serde_json::from_str::<BTreeMap<String, Value>>(args).is_ok();
    let args_verdict = if valid {
        ArgsVerdict::Valid { canonical: 0 }
    } else {
        ArgsVerdict::Malformed { at: 0, problem: "expected an object".to_owned() }
    };
    Block::Call(Call {
        id: CallId(id),
        wire_id: Arc::from(wire_id),
        name: Arc::from(name),
        args: Arc::from(args),
        facts: CallFacts::new(args_verdict, Safety::Exclusive),
    })
}

/// The results of a reply's calls, one outcome each.
pub(crate) fn results(reply: &Entry, outcomes: Vec<Outcome>) -> Entry {
    let Entry::Reply(reply) = reply else { panic!("results answer a reply") };
    let results = reply.calls().zip(outcomes).map(|(call, outcome)| CallResult {
        call: call.id,
        wire_id: call.wire_id.clone(),
        name: call.name.clone(),
        outcome,
        edited: None,
        images: Vec::new(),
    });
    Entry::Results(results.collect())
}

pub(crate) fn succeeded(output: &str) -> Outcome {
    Outcome::Succeeded { output: output.to_owned() }
}

pub(crate) fn failed(output: &str) -> Outcome {
    Outcome::Failed { output: output.to_owned() }
}
