//! Bodies that nobody sane would send: bytes of lawful ones, cut, repeated and overwritten.

use proptest::prelude::*;
use serde_json::Value;
use wire::read::read;
use wire::{Dialect, Encoder, classify};

use crate::talk;

/// Lawful bodies to start from: errors and requests of every dialect.
const SEEDS: &[&str] = &[
    r#"{"type":"error","error":{"type":"rate_limit_error","message":"try again in 1m2.5s"}}"#,
    r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"48s"}]}}]"#,
    r#"{"error":{"message":"{\"error\":{\"message\":\"prompt is too long: 204,812 tokens > 200000 maximum\"}}","code":400,"metadata":{"raw":"{}","headers":{"X-RateLimit-Reset":"1754667660000"}}}}"#,
    r#"{"detail":[{"loc":["body",0],"msg":"exceeds 188240 + 21333 > 200000"}]}"#,
    r#"<!doctype html><html><head><title>502 é</title></head></html>"#,
    r#"{"model":"m","max_tokens":9,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"1","name":"n","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}],"is_error":true}]}],"tools":[{"name":"n","input_schema":{}}],"tool_choice":{"type":"tool","name":"n"}}"#,
    r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"assistant","content":null,"reasoning_content":"t","tool_calls":[{"id":"1","function":{"name":"n","arguments":"{\"a\":1}"},"extra_content":{"g":1}}]},{"role":"tool","tool_call_id":"1","content":"error: r"}],"tools":[{"type":"function","function":{"name":"n","parameters":{}}}]}"#,
    r#"{"model":"m","instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"reasoning","id":"r","summary":[{"text":"t"}],"encrypted_content":"e"},{"type":"function_call","call_id":"1","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"r"}]}"#,
    r#"{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"model","parts":[{"text":"t","thought":true},{"functionCall":{"name":"n","args":{}},"thoughtSignature":"s"}]},{"role":"user","parts":[{"functionResponse":{"name":"n","response":{"error":"r"}}}]}],"generationConfig":{"temperature":0.5},"tools":[{"functionDeclarations":[{"name":"n","parameters":{"type":"OBJECT"}}]}]}"#,
    r#"{"model":"m","messages":[{"role":"user","content":"x","images":["i"]},{"role":"assistant","content":"","thinking":"t","tool_calls":[{"function":{"name":"n","arguments":{"a":1}}}]},{"role":"tool","tool_name":"n","content":"r"}],"options":{"num_predict":1,"temperature":0}}"#,
];

/// What happens to the bytes of a seed.
#[derive(Clone, Debug)]
enum Blow {
    Cut(prop::sample::Index),
    Overwrite(prop::sample::Index, u8),
    Repeat(prop::sample::Index, prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
}

fn blow() -> impl Strategy<Value = Blow> {
    let bits: &[&[u8]] = &[b"{", b"[", b"\"", b"null", b"\\u0000", b"\xff", b"1e999", b"]}", b","];
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Blow::Cut),
        (any::<prop::sample::Index>(), any::<u8>())
            .prop_map(|(at, byte)| Blow::Overwrite(at, byte)),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(from, to)| Blow::Repeat(from, to)),
        (any::<prop::sample::Index>(), prop::sample::select(bits.to_vec()))
            .prop_map(|(at, bit)| Blow::Insert(at, bit.to_vec())),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let blows = prop::collection::vec(blow(), 0..6);
    (prop::sample::select(SEEDS.to_vec()), blows).prop_map(|(seed, blows)| {
        let mut bytes = seed.as_bytes().to_vec();
        for blow in blows {
            if bytes.is_empty() {
                break;
            }
            match blow {
                Blow::Cut(at) => bytes.truncate(at.index(bytes.len())),
                Blow::Overwrite(at, byte) => {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                Blow::Repeat(from, to) => {
                    let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
                    let piece = bytes[from.min(to)..from.max(to)].to_vec();
                    bytes.splice(from..from, piece);
                }
                Blow::Insert(at, bit) => {
                    let at = at.index(bytes.len());
                    bytes.splice(at..at, bit);
                }
            }
        }
        bytes
    })
}

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let names = ["retry-after", "Retry-After-Ms", "x-ratelimit-reset-tokens", "content-type"];
    let value = prop_oneof![
        "[0-9.]{1,30}",
        "[0-9]{1,20}(ms|s|m|h|d)",
        Just("Tue, 14 Nov 2023 22:14:05 GMT".to_owned()),
        any::<String>(),
    ];
    prop::collection::vec((prop::sample::select(names.to_vec()), value), 0..4)
        .prop_map(|pairs| pairs.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_gets_a_class(
        body in body(),
        headers in headers(),
        status in any::<u16>(),
        now in any::<Option<u64>>(),
    ) {
        for dialect in Dialect::ALL {
            let failure = classify(*dialect, status, &headers, &body, now);
            prop_assert!(!failure.message.is_empty());
            prop_assert!(failure.message.len() < 3_000);
            let year = 366 * 86_400_000;
            prop_assert!(failure.retry_after_ms.is_none_or(|wait| wait <= year));
            let known = wire::Degradation::of_word(&failure.remedy);
            prop_assert_eq!(known.is_none(), failure.remedy.is_empty());
        }
    }

    #[test]
    fn what_can_be_read_can_be_written(body in body()) {
        for dialect in Dialect::ALL {
            let Ok(request) = read(*dialect, &body, "a", None) else { continue };
            let sealed = talk::request(&request.history, request.choice.clone());
            let mut encoder = Encoder::new(*dialect, request.options.clone());
            let again = encoder.encode(&request.config("a"), &sealed).body;
            let value: Value = serde_json::from_slice(&again).expect("a body is JSON");
            prop_assert!(value.is_object());
            prop_assert!(read(*dialect, &again, "a", None).is_ok());
        }
    }
}
