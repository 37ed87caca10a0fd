//! Request bodies of other clients, read and written again.

use std::collections::BTreeMap;
use std::path::Path;

use machine_spec::estimate::fixed_tokens;
use machine_spec::message::{Entry, Outcome};
use serde_json::{Value, json};
use wire::neutral::{Counts, Message};
use wire::read::{ReadError, ReadRequest, read};
use wire::{DecodeLimits, Decoder, Dialect, Encoder};

use crate::{support, talk, walk};

/// Recorded bodies that are no conversation with their endpoint, by what is wrong with them.
const NOT_READABLE: &[(&str, &str)] = &[
    ("errors/400-anthropic-ddpy-anthropic-completion-error", "a message of the user or"),
    ("errors/400-google-vertex-otel-test-generate-content-invalid-role", "a content of the user"),
    ("ollama/", "a list at /messages, got nothing"),
];

fn recorded() -> Vec<(String, Dialect, Vec<u8>)> {
    let Some(streams) = support::shared("streams") else { return Vec::new() };
    let manifest = std::fs::read_to_string(streams.join("MANIFEST.jsonl")).expect("a manifest");
    let mut found = Vec::new();
    for line in manifest.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let Some(file) = line["request_file"].as_str() else { continue };
        let body = std::fs::read(streams.join(Path::new(file))).expect(file);
        let dialect = support::dialect_of(line["wire"].as_str().expect("a wire"));
        found.push((line["id"].as_str().expect("an id").to_owned(), dialect, body));
    }
    found
}

/// The body that our encoder makes of a request that was read.
fn written(dialect: Dialect, request: &ReadRequest, name: &str) -> Vec<u8> {
    let mut config = request.config(name);
    // As the machine does when a run starts.
    config.tools.sort_by(|a, b| a.name.cmp(&b.name));
    let sealed = talk::request(&request.history, request.choice.clone());
    let mut encoder = Encoder::new(dialect, request.options.clone());
    encoder.hold(&request.images);
    encoder.encode(&config, &sealed).body
}

/// A request without the parameters that our encoder adds where none are given.
fn bare(mut request: ReadRequest) -> ReadRequest {
    for key in ["stream_options", "include", "store"] {
        request.options.extra.remove(key);
    }
    request.left_out.clear();
    request
}

#[test]
fn what_other_clients_sent_keeps_its_meaning() {
    let (mut readable, mut refused) = (0, BTreeMap::new());
    for (id, dialect, body) in recorded() {
        let request = match read(dialect, &body, "a", Some("m")) {
            Ok(request) => request,
            Err(error) => {
                let known = NOT_READABLE.iter().find(|(prefix, why)| {
                    id.starts_with(prefix) && error.to_string().contains(why)
                });
                let (prefix, _) = known.unwrap_or_else(|| panic!("{id}: {error}"));
                *refused.entry(*prefix).or_insert(0) += 1;
                continue;
            }
        };
        readable += 1;
        let again = written(dialect, &request, "a");
        let (before, after): (Value, Value) = (
            serde_json::from_slice(&body).expect("JSON"),
            serde_json::from_slice(&again).expect(&id),
        );
        let (before, after) = (walk::spoken(dialect, &before), walk::spoken(dialect, &after));
        assert_eq!(walk::words(&before), walk::words(&after), "{id}");
        let paired = walk::unpaired(&before).is_none();
        assert_eq!(walk::unpaired(&after).is_none(), paired, "{id}");
        assert_eq!(request.history.first_unpaired().is_none(), paired, "{id}");
        let second = bare(read(dialect, &again, "a", Some("m")).expect(&id));
        let third =
            bare(read(dialect, &written(dialect, &second, "a"), "a", Some("m")).expect(&id));
        assert_eq!(second, third, "{id}");
        assert_eq!(second.system, request.system, "{id}");
        assert_eq!(second.choice, request.choice, "{id}");
        assert_eq!(second.options, bare(request).options, "{id}");
    }
    if readable > 0 {
        assert_eq!((readable, refused.values().sum::<i32>()), (446, 6), "{refused:?}");
    }
}

/// Tokens that a provider may add to a request itself, as the machine keeps them free of the window.
const PREAMBLE: u64 = 500;

/// Requests that weigh more by their provider's count than we can see, by what makes them heavy.
const HEAVIER: &[(&str, &str)] = &[
    ("google-gemini/rig-cached-content-matrix-use-streaming-i1", "content cached before"),
    ("doubleword/rig-streaming-probe", "the recorded body leaves its system prompt out"),
    ("groq/pai-test-groq-model-web-search-tool-stream", "a model that searches by itself"),
    ("openrouter/langchaingo-testopenrouterstreaming", "a preamble of 558 tokens"),
    ("openrouter/pai-test-openrouter-stream-with-native-options", "a preamble of 675 tokens"),
    ("venice/rig-stream-raw-round-trips-terminal-type", "a preamble of 1,553 tokens"),
    ("venice/rig-streaming-probe-i1", "the recorded body leaves its system prompt out"),
    ("venice/rig-streaming-tools-smoke", "a preamble of 778 tokens"),
];

/// T12: what the machine estimates a recorded request to weigh, with what it keeps free for what
/// providers add, is not less than what its provider counted. Where a provider runs tools of its own
/// or reads what we have no words for, its count says nothing about our text.
#[test]
fn an_estimate_is_not_under_what_providers_count() {
    let Some(streams) = support::shared("streams") else { return };
    let manifest = std::fs::read_to_string(streams.join("MANIFEST.jsonl")).expect("a manifest");
    let (mut judged, mut under) = (0, Vec::new());
    for line in manifest.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| line[key].as_str().unwrap_or_default();
        let dialect = support::dialect_of(text("wire"));
        let Ok(body) = std::fs::read(streams.join(text("request_file"))) else { continue };
        let Ok(request) = read(dialect, &body, "a", Some("m")) else { continue };
        if !request.left_out.is_empty() || !request.options.server_tools.is_empty() {
            continue;
        }
        let stream = std::fs::read(streams.join(text("file"))).expect("a stream");
        let mut decoder = Decoder::new(dialect, DecodeLimits::default());
        let mut events = Vec::new();
        decoder.push(&stream, &mut events);
        decoder.finish(&mut events);
        let Counts { input, cache_read, cache_write, .. } = Message::of(&events).usage;
        let counted: u64 = [input, cache_read, cache_write].iter().flatten().sum();
        let estimate = request.history.tokens() + fixed_tokens(&request.config("a"));
        judged += u32::from(counted > 0);
        if estimate + PREAMBLE < counted {
            under.push(format!("{} {estimate} {counted}", text("id")));
        }
    }
    let known: Vec<&str> = HEAVIER.iter().map(|(id, _)| *id).collect();
    let ids: Vec<&str> = under.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids, known, "{under:#?}");
    assert!(judged >= 300, "{judged} requests were judged");
}

/// What is lost of the recorded requests, and how often: reviewed, so that nothing gets lost
/// unnoticed.
#[test]
fn what_is_left_out_is_listed() {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for (_, dialect, body) in recorded() {
        for lost in read(dialect, &body, "a", None).map_or_else(|_| Vec::new(), |r| r.left_out) {
            *kinds.entry(format!("{dialect}: {}", lost.what)).or_default() += 1;
        }
    }
    if !kinds.is_empty() {
        let table: String = kinds.iter().map(|(kind, n)| format!("{n:3} {kind}\n")).collect();
        insta::assert_snapshot!("left_out", table);
    }
}

/// Whatever the machine would send can be taken over again.
#[test]
fn our_own_requests_read_back() {
    for dialect in Dialect::ALL {
        let body = json!({
            "model": "m",
            "max_tokens": 9,
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": "Go."},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "so", "signature": "s", "later": 1},
                    {"type": "text", "text": "Hm."},
                    {"type": "tool_use", "id": "id_1", "name": "grep", "input": {"a": 1}},
                    {"type": "tool_use", "id": "id_2", "name": "grep", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "id_2", "is_error": true, "content": "two"},
                    {"type": "tool_result", "tool_use_id": "id_1", "content": [
                        {"type": "text", "text": "one"},
                        {"type": "image", "source": {}},
                    ]},
                    {"type": "text", "text": "Also."},
                ]},
            ],
        });
        let anthropic = Dialect::Anthropic;
        let first = read(anthropic, body.to_string().as_bytes(), "a", None).expect("a request");
        assert_eq!(first.history.first_unpaired(), None);
        let lost: Vec<&str> = first.left_out.iter().map(|lost| lost.at.as_str()).collect();
        assert_eq!(lost, ["/messages/2/content/1/content/1"]);
        let Some(Entry::Results(results)) = first.history.entries().get(2).copied() else {
            panic!("{:?}", first.history)
        };
        let outcomes: Vec<&Outcome> = results.iter().map(|result| &result.outcome).collect();
        assert_eq!(outcomes, [&talk::succeeded("one"), &talk::failed("two")]);
        // Over every other wire and back: what is said stays, what is private stays behind.
        let second =
            read(*dialect, &written(*dialect, &first, "b"), "b", Some("m")).expect("a request");
        let (sent, heard) =
            (walk::expected_words(&first.history), walk::expected_words(&second.history));
        assert_eq!(sent, heard, "{dialect}");
        assert_eq!(second.system, "Be brief.", "{dialect}");
        assert_eq!(second.options.max_tokens, Some(9), "{dialect}");
    }
}

#[test]
fn a_seal_survives_the_reading_byte_for_byte() {
    let seal = r#"{"signature":"c2ln",  "thinking":"a\u00e9\n", "type":"thinking"}"#;
    let body = format!(
        r#"{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":"x"}},{{"role":"assistant","content":[{seal},{{"type":"text","text":"y"}}]}}]}}"#
    );
    let request = read(Dialect::Anthropic, body.as_bytes(), "a", None).expect("a request");
    let again = String::from_utf8(written(Dialect::Anthropic, &request, "a")).expect("UTF-8");
    assert!(again.contains(seal), "{again}");
}

#[test]
fn what_is_no_request_is_refused_with_its_place() {
    let cases = [
        (Dialect::Anthropic, "", "expected a JSON object at the body, got EOF"),
        (Dialect::Anthropic, "[1]", "expected a JSON object at the body, got [1]"),
        (Dialect::Anthropic, "{}", "expected a list at /messages, got nothing"),
        (Dialect::OpenAiChat, r#"{"messages":{}}"#, "expected a list at /messages, got {}"),
        (
            Dialect::OpenAiChat,
            r#"{"messages":[{"role":"robot"}]}"#,
            r#"expected a message with a known role at /messages/0, got {"role":"robot"}"#,
        ),
        (Dialect::OpenAiResponses, r#"{"input":7}"#, "expected a text or a list at /input, got 7"),
        (
            Dialect::OpenAiResponses,
            r#"{"model":"m"}"#,
            r#"expected a request with `input` at the body, got {"model":"m"}"#,
        ),
    ];
    for (dialect, body, message) in cases {
        let error: ReadError = read(dialect, body.as_bytes(), "a", None).expect_err(body);
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

#[test]
fn hostile_bodies_are_refused_or_read() {
    let deep = format!("{{\"messages\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies = [
        deep.as_str(),
        r#"{"messages":[1,null,"x",[],{}],"contents":[1],"input":[1,null,[]]}"#,
        r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use"}],"tool_calls":[{}]}]}"#,
        r#"{"messages":[{"role":"tool","content":"x"},{"role":"tool","content":"y"}]}"#,
        r#"{"contents":[{"parts":[{"functionCall":1},{"functionResponse":[]}]}],"tools":[7]}"#,
        r#"{"input":[{"type":"function_call"},{"type":"reasoning","summary":[1]}],"tools":{}}"#,
        "{\"messages\":\"\u{fffd}\"}",
    ];
    for body in bodies {
        for dialect in Dialect::ALL {
            if let Ok(request) = read(*dialect, body.as_bytes(), "a", None) {
                let again = written(*dialect, &request, "a");
                serde_json::from_slice::<Value>(&again).expect("a body is JSON");
            }
        }
    }
}
