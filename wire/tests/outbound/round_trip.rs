//! Every recorded response, through the decoder and the machine, into the request behind it.

use std::collections::BTreeMap;

use machine_spec::config::ToolSpec;
use machine_spec::effect::SealedRequest;
use machine_spec::input::{ToolReport, ToolStatus};
use machine_spec::message::{Block, Entry};
use machine_spec::model::{BlockKind, Closure, ModelEvent};
use machine_spec::{Effect, Input, RunConfig, State, start, step};
use serde_json::Value;
use wire::{DecodeLimits, Decoder, Dialect, EncodeOptions, Encoder};

use crate::{support, talk, walk};

/// Responses that never said that they were complete: the machine asks again instead.
const UNFINISHED: &[&str] = &[
    "google-vertex/fbvx-streaming-failure-empty-content",
    "google-vertex/fbvx-streaming-success-quotes-escaped",
    "gpustack/ruby_llm-chat-with-extended-thinking-gpustack-qwen3-streams-think",
    "groq/pai-test-tool-use-failed-error-streaming",
    "openrouter/llm-test-tools-streaming-variant-a",
    "openrouter/llm-test-tools-streaming-variant-b",
];

fn decoded(dialect: Dialect, body: &[u8]) -> Vec<ModelEvent> {
    let mut decoder = Decoder::new(dialect, DecodeLimits::default());
    let mut events = Vec::new();
    decoder.push(body, &mut events);
    decoder.finish(&mut events);
    events
}

/// A configuration that declares every tool the response calls.
fn config_for(events: &[ModelEvent]) -> RunConfig {
    let names = events.iter().filter_map(|event| match event {
        ModelEvent::BlockBegan { kind: BlockKind::Call { name, .. }, .. } => Some(name.clone()),
        _ => None,
    });
    let tools: BTreeMap<String, ToolSpec> = names
        .filter(|name| !name.is_empty())
        .map(|name| {
            let tool = ToolSpec {
                name: name.clone(),
                description: String::new(),
                input_schema: "{}".to_owned(),
                read_only: false,
                ..ToolSpec::default()
            };
            (name, tool)
        })
        .collect();
    RunConfig { tools: tools.into_values().collect(), ..talk::config() }
}

/// Takes steps until the machine asks a model, answering every tool; `None` if it does something
/// else first.
fn next_request(state: State, input: Input) -> (State, Option<SealedRequest>) {
    let mut state = state;
    let mut inputs = vec![input];
    let mut request = None;
    while let Some(input) = inputs.pop() {
        let taken = step(state, input);
        state = taken.state;
        for effect in taken.effects {
            match effect {
                Effect::CallModel { request: sealed, .. } => request = Some(*sealed),
                Effect::RunTool { id, .. } => inputs.push(Input::ToolReturned {
                    id,
                    report: ToolReport::new(ToolStatus::Succeeded, "done"),
                }),
                _ => {}
            }
        }
    }
    (state, request)
}

/// The request that follows a response, as the machine seals it.
fn following(events: Vec<ModelEvent>) -> Option<(RunConfig, SealedRequest)> {
    let config = config_for(&events);
    let asked = |config: &RunConfig| {
        let begun = start(config.clone()).state;
        let said =
            Input::UserSaid { text: "go on".to_owned(), images: Vec::new(), rules: Vec::new() };
        next_request(begun, said)
    };
    let (mut state, first) = asked(&config);
    let id = state.frame().ledger().iter().next().expect("a request is open").0;
    first.expect("the first request");
    let mut request = None;
    for event in events {
        let (after, sealed) = next_request(state, Input::ModelSaid { id, event });
        state = after;
        request = request.or(sealed);
    }
    let (state, sealed) = next_request(state, Input::ModelClosed { id, closure: Closure::Ended });
    if let Some(request) = request.or(sealed) {
        return Some((config, request));
    }
    // The run is over; the next one of the session begins with what was said.
    state.terminal()?;
    let history = state.frame().transcript().settled();
    let next = RunConfig { history, ..config };
    let (_, request) = asked(&next);
    Some((next, request?))
}

/// Seals that must be in the body: those of thinking behind which something of the same reply was
/// kept.
fn seals(request: &SealedRequest) -> Vec<String> {
    let mut seals = Vec::new();
    for entry in request.view.transcript().entries() {
        let Entry::Reply(reply) = entry else { continue };
        let says = |block: &Block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            Block::Call(_) => true,
            Block::Thinking(_) | Block::Opaque(_) => false,
        };
        let last = reply.blocks.iter().rposition(says).unwrap_or(0);
        for block in &reply.blocks[..last] {
            if let Block::Thinking(thinking) = block {
                seals.push(thinking.seal.clone());
            }
        }
    }
    seals
}

fn thinks(block: &Block) -> bool {
    matches!(block, Block::Thinking(_))
}

#[test]
fn every_recorded_response_goes_back_lawfully() {
    let Some(streams) = support::shared("streams") else { return };
    let manifest = std::fs::read_to_string(streams.join("MANIFEST.jsonl")).expect("a manifest");
    let (mut asked, mut silent, mut sealed) = (0, Vec::new(), 0);
    for line in manifest.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let id = line["id"].as_str().expect("an id");
        if id.starts_with("errors/") {
            continue;
        }
        let body = std::fs::read(streams.join(line["file"].as_str().expect("a file"))).expect(id);
        let dialect = support::dialect_of(line["wire"].as_str().expect("a wire"));
        let Some((config, request)) = following(decoded(dialect, &body)) else {
            silent.push(id.to_owned());
            continue;
        };
        asked += 1;
        let mut encoder = Encoder::new(dialect, EncodeOptions::default());
        let text = String::from_utf8(encoder.encode(&config, &request).body).expect("UTF-8");
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{id}: {e}"));
        let spoken = walk::spoken(dialect, &value);
        assert_eq!(walk::unpaired(&spoken), None, "{id}: {value:#}");
        assert_eq!(walk::blank(&value), None, "{id}");
        assert_eq!(walk::words(&spoken), walk::expected_words(request.view.transcript()), "{id}");
        let seals = seals(&request);
        let alone = request.view.transcript().entries().iter().all(|entry| match entry {
            Entry::Reply(reply) => reply.blocks.iter().filter(|block| thinks(block)).count() <= 1,
            _ => true,
        });
        for seal in seals {
            // What is not encrypted cannot go back where nothing is stored.
            let sent =
                dialect != Dialect::OpenAiResponses || seal.contains("\"encrypted_content\":\"");
            if sent && !seal.is_empty() {
                sealed += 1;
                // On chat a seal is not an object of its own but members of the message, and those
                // of several blocks are joined.
                let members = matches!(dialect, Dialect::OpenAiChat | Dialect::Ollama);
                if members && !alone {
                    continue;
                }
                let bytes = if members { &seal[1..seal.len() - 1] } else { &seal[..] };
                assert!(text.contains(bytes), "{id}: {seal}");
            }
        }
    }
    assert_eq!(silent, UNFINISHED);
    assert!(asked >= 445 && sealed >= 80, "{asked} requests, {sealed} seals");
}
