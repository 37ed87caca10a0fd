//! Error bodies of real providers, and our own cases about them.

use std::collections::BTreeMap;

use machine_spec::model::{ErrorClass, Failure};
use serde_json::Value;
use wire::Dialect;
use wire::error_body::classify;

use crate::support;

/// Tue, 14 Nov 2023 22:13:20 GMT.
const NOW: Option<u64> = Some(1_700_000_000_000);

fn case(dialect: Dialect, name: &str) -> Failure {
    let answer = support::case(name);
    classify(dialect, answer.status, &answer.headers, &answer.body, NOW)
}

fn of_body(dialect: Dialect, status: u16, body: &str) -> Failure {
    classify(dialect, status, &[], body.as_bytes(), NOW)
}

/// Where our class is finer than the one the official SDK derives from the status, and why.
/// Everything that is not listed must be what the SDK's error type says.
const FINER: &[(&str, ErrorClass, &str)] = &[
    ("400-anthropic-ruby_llm-chat-real-error-scenarios", ErrorClass::ContextOverflow, "prompt"),
    ("400-deepseek-ruby_llm-chat-real-error-scenarios", ErrorClass::ContextOverflow, "prompt"),
    ("400-google-vertex-ruby_llm-chat-real-error", ErrorClass::ContextOverflow, "prompt"),
    ("400-llamacpp-rig-context-overflow", ErrorClass::ContextOverflow, "prompt"),
    ("400-ollama-cloud-ruby_llm-chat-real-error", ErrorClass::ContextOverflow, "prompt"),
    ("400-openrouter-ruby_llm-chat-real-error", ErrorClass::ContextOverflow, "prompt"),
    ("400-perplexity-ruby_llm-chat-real-error", ErrorClass::ContextOverflow, "prompt"),
    ("400-deepseek-rig-chat-completion-rejects-an-unknown", ErrorClass::ModelNotFound, "model"),
    ("400-mistral-rig-blocking-error-carries", ErrorClass::ModelNotFound, "model"),
    ("400-openai-ddpy-response-create-error", ErrorClass::ModelNotFound, "model"),
    ("400-openai-otel-test-responses-create-api-error", ErrorClass::ModelNotFound, "model"),
    ("400-openai-pai-test-model-name-suggestion", ErrorClass::ModelNotFound, "model"),
    ("400-openrouter-rig-routed-failure", ErrorClass::ModelNotFound, "model"),
    ("400-deepseek-rig-forced-tool-choice", ErrorClass::ParamRejected, "tool_choice"),
    ("400-openai-pai-test-openai-web-search-tool", ErrorClass::ParamRejected, "web_search_options"),
    ("400-groq-pai-test-tool-use-failed", ErrorClass::Garbled, "the model wrote an unusable call"),
    ("400-xai-ruby_llm-chat-error-handling", ErrorClass::Auth, "the key, told as a 400"),
    ("404-azure-openai-ddjs", ErrorClass::BadRequest, "a wrong address, not a wrong model"),
    ("404-google-vertex-fbvx-unary-failure-context-cache", ErrorClass::BadRequest, "a cache"),
    ("429-openai-ai-openai-error-1", ErrorClass::QuotaExhausted, "insufficient_quota"),
];

/// What the official SDK makes of it, in our words.
fn by_sdk(error: &Value) -> ErrorClass {
    let status = error["status"].as_u64();
    match (error["class"].as_str().unwrap_or_default(), status) {
        ("BadRequestError", _) | ("ClientError", Some(400)) => ErrorClass::BadRequest,
        ("AuthenticationError" | "PermissionDeniedError", _) | ("ClientError", Some(403)) => {
            ErrorClass::Auth
        }
        ("NotFoundError", _) | ("ClientError", Some(404)) => ErrorClass::ModelNotFound,
        ("RateLimitError", _) | ("ClientError", Some(429)) => ErrorClass::Throttled,
        ("InternalServerError", _) => ErrorClass::ServerError,
        (class, status) => panic!("no word for {class} {status:?}"),
    }
}

fn recorded() -> Vec<(String, Value, Failure)> {
    let Some(streams) = support::shared("streams") else { return Vec::new() };
    let manifest = std::fs::read_to_string(streams.join("MANIFEST.jsonl")).expect("a manifest");
    let lines = manifest.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let errors =
        lines.filter(|line| line["id"].as_str().is_some_and(|id| id.starts_with("errors/")));
    let mut found = Vec::new();
    for line in errors {
        let id = line["id"].as_str().expect("an id");
        let body = std::fs::read(streams.join(line["file"].as_str().expect("a file"))).expect(id);
        let expected = std::fs::read(streams.join(format!("expected/{id}.json"))).expect(id);
        let expected: Value = serde_json::from_slice(&expected).expect(id);
        let headers: BTreeMap<String, String> =
            serde_json::from_value(line["headers"].clone()).expect("headers");
        let headers: Vec<(String, String)> = headers.into_iter().collect();
        let status = line["http_status"].as_u64().and_then(|s| u16::try_from(s).ok()).expect(id);
        let dialect = support::dialect_of(line["wire"].as_str().expect("a wire"));
        let failure = classify(dialect, status, &headers, &body, Some(1_754_667_650_000));
        found.push((id["errors/".len()..].to_owned(), expected["error"].clone(), failure));
    }
    found
}

#[test]
fn recorded_errors_have_the_class_of_the_sdk_or_a_finer_one() {
    let mut used = BTreeMap::new();
    for (id, sdk, failure) in recorded() {
        let finer = FINER.iter().find(|(prefix, ..)| id.starts_with(prefix));
        let expected = finer.map_or_else(|| by_sdk(&sdk), |(_, class, _)| *class);
        assert_eq!(failure.class, expected, "{id}: {failure:?}");
        assert_ne!(
            finer.map(|(_, class, _)| *class),
            Some(by_sdk(&sdk)),
            "{id} is listed though the SDK says the same"
        );
        if let Some((prefix, ..)) = finer {
            *used.entry(*prefix).or_insert(0) += 1;
        }
        assert_eq!(failure.status.map(u64::from), sdk["status"].as_u64(), "{id}");
    }
    let unused = FINER.iter().filter(|(prefix, ..)| !used.contains_key(prefix)).count();
    assert!(used.is_empty() || unused == 0, "exceptions without a body: {used:?}");
}

#[test]
fn recorded_errors_keep_the_provider_s_message_and_code() {
    for (id, sdk, failure) in recorded() {
        assert!(!failure.message.is_empty(), "{id}");
        let code = sdk["code"].as_str().filter(|code| code.parse::<u16>().is_err());
        if let Some(code) = code.filter(|code| *code != "invalid_request_error") {
            assert_eq!(failure.code, code, "{id}");
        }
    }
}

/// Wait, limit and actual size.
type Numbers = (Option<u64>, Option<u64>, Option<u64>);

#[test]
fn recorded_errors_tell_waits_and_sizes() {
    let mut told = BTreeMap::new();
    for (id, _, failure) in recorded() {
        let numbers = (failure.retry_after_ms, failure.limit, failure.actual);
        if numbers != (None, None, None) {
            told.insert(id, numbers);
        }
    }
    let expected: &[(&str, Numbers)] = &[
        ("400-anthropic-ruby_llm", (None, Some(200_000), Some(3_333_404))),
        ("400-deepseek-ruby_llm", (None, Some(1_048_565), Some(1_250_025))),
        ("400-google-vertex-ruby_llm", (None, Some(1_048_576), Some(1_250_074))),
        ("400-llamacpp-rig", (None, Some(512), Some(2_009))),
        ("400-openrouter-ruby_llm", (None, Some(200_000), Some(2_500_021))),
        ("429-azure-ai-ruby_llm", (Some(1_000), None, None)),
        ("429-google-gemini-ruby_llm", (Some(48_940), None, None)),
        ("429-openrouter-langchaingo", (Some(10_000), None, None)),
    ];
    let told: Vec<(&str, _)> = told.iter().map(|(id, numbers)| (id.as_str(), *numbers)).collect();
    for ((id, numbers), (prefix, wanted)) in told.iter().zip(expected) {
        assert!(id.starts_with(prefix), "{id} tells {numbers:?}, expected {prefix}");
        assert_eq!(numbers, wanted, "{id}");
    }
    assert!(told.is_empty() || told.len() == expected.len(), "{told:?}");
}

#[test]
fn b024_the_server_says_how_long_to_wait() {
    let waits = [
        ("B024a-1", Some(30_000)),
        ("B024b-1", Some(7_200_000)),
        ("B024c-1", Some(45_000)),
        ("B024d-1", Some(1_500)),
        ("B024e-1", None),
    ];
    for (name, wait) in waits {
        let failure = case(Dialect::Anthropic, name);
        assert_eq!(
            (failure.class, failure.retry_after_ms),
            (ErrorClass::Throttled, wait),
            "{name}"
        );
    }
}

#[test]
fn b025_one_condition_has_many_spellings() {
    let overflow = ErrorClass::ContextOverflow;
    let cases = [
        ("B025-1", Dialect::Anthropic, overflow, Some(200_000), Some(204_812)),
        ("B025-2", Dialect::OpenAiChat, overflow, Some(128_000), Some(131_211)),
        ("B025-3", Dialect::OpenAiChat, overflow, Some(512_000), Some(530_211)),
        ("B025-4", Dialect::Anthropic, ErrorClass::PayloadTooLarge, None, None),
        ("B025-5", Dialect::Ollama, overflow, Some(262_144), Some(301_442)),
        ("B025-6", Dialect::Gemini, overflow, Some(1_048_576), Some(1_200_000)),
        ("B025-7", Dialect::Anthropic, ErrorClass::BadRequest, Some(64_000), Some(999_999)),
    ];
    for (name, dialect, class, limit, actual) in cases {
        let failure = case(dialect, name);
        assert_eq!(
            (failure.class, failure.limit, failure.actual),
            (class, limit, actual),
            "{name}"
        );
    }
    // B025-8 comes inside a stream.
    let failed = r#"{"type":"response.failed","sequence_number":2,"response":{"id":"resp_t1","object":"response","status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}"#;
    let failure = of_body(Dialect::OpenAiResponses, 200, failed);
    assert_eq!((failure.class, failure.status), (overflow, None));
    assert_eq!(failure.code, "context_length_exceeded");
}

#[test]
fn b028_and_b040_name_overload_and_parameters() {
    let cases = [
        ("B028a-2", Dialect::Anthropic, ErrorClass::Overloaded),
        ("B028b-1", Dialect::Anthropic, ErrorClass::ContextOverflow),
        ("B028b-2", Dialect::OpenAiChat, ErrorClass::ParamRejected),
        ("B028b-3", Dialect::OpenAiChat, ErrorClass::Overloaded),
        ("B040a-1", Dialect::OpenAiChat, ErrorClass::ParamRejected),
        ("B040b-1", Dialect::OpenAiChat, ErrorClass::ParamRejected),
        ("B040c-1", Dialect::OpenAiChat, ErrorClass::ParamRejected),
        ("B005-2", Dialect::Anthropic, ErrorClass::ServerError),
        ("B005-3", Dialect::Anthropic, ErrorClass::Overloaded),
        ("B026b-1", Dialect::Anthropic, ErrorClass::ContextOverflow),
    ];
    for (name, dialect, class) in cases {
        let failure = case(dialect, name);
        assert_eq!(failure.class, class, "{name}: {failure:?}");
    }
}

#[test]
fn a_spend_limit_is_not_a_throttle() {
    let anthropic = Dialect::Anthropic;
    let chat = Dialect::OpenAiChat;
    let cases = [
        (
            chat,
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            ErrorClass::Throttled,
        ),
        (
            chat,
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ErrorClass::QuotaExhausted,
        ),
        (
            chat,
            400,
            r#"{"error":{"message":"Billing hard limit has been reached","type":"invalid_request_error","code":"billing_hard_limit_reached"}}"#,
            ErrorClass::Billing,
        ),
        (
            chat,
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            ErrorClass::Billing,
        ),
        (
            chat,
            429,
            r#"{"error":{"message":"Rate limit exceeded: free-models-per-day","code":429}}"#,
            ErrorClass::QuotaExhausted,
        ),
        (
            anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#,
            ErrorClass::Billing,
        ),
        (
            anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#,
            ErrorClass::QuotaExhausted,
        ),
        (
            anthropic,
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute."}}"#,
            ErrorClass::Throttled,
        ),
        (
            chat,
            413,
            r#"{"error":{"message":"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 6512, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ErrorClass::ContextOverflow,
        ),
        (
            Dialect::Gemini,
            429,
            r#"{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}"#,
            ErrorClass::Throttled,
        ),
    ];
    for (dialect, status, body, class) in cases {
        let failure = of_body(dialect, status, body);
        assert_eq!(failure.class, class, "{body}: {failure:?}");
    }
}

#[test]
fn errors_inside_a_stream_are_judged_by_their_words() {
    let cases = [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorClass::Overloaded,
            None,
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}"#,
            ErrorClass::BadRequest,
            None,
        ),
        (
            r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
            ErrorClass::ServerError,
            None,
        ),
        (
            r#"{"type":"error","code":"server_is_overloaded","message":"Our servers are overloaded.","param":null,"sequence_number":1}"#,
            ErrorClass::Overloaded,
            None,
        ),
        (
            r#"{"error":{"message":"Provider returned error","code":502}}"#,
            ErrorClass::ServerError,
            Some(502),
        ),
        (
            r#"{"error":{"message":"upstream sent garbage","code":"weird"}}"#,
            ErrorClass::Unknown,
            None,
        ),
        (
            r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#,
            ErrorClass::Throttled,
            Some(429),
        ),
        (
            r#"[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]"#,
            ErrorClass::Overloaded,
            Some(503),
        ),
        (
            r#"{"error":"an error was encountered while running the model: unexpected EOF"}"#,
            ErrorClass::ServerError,
            None,
        ),
    ];
    for (body, class, status) in cases {
        let failure = of_body(Dialect::OpenAiChat, 200, body);
        assert_eq!((failure.class, failure.status), (class, status), "{body}");
    }
}

#[test]
fn bodies_that_are_no_json_are_judged_by_status_and_shown_in_brief() {
    let page = "<!DOCTYPE html><html><head><title>502 Bad\n Gateway</title></head><body>\
                rate limit, api key, context window exceeded</body></html>";
    let cases = [
        (502, page, ErrorClass::ServerError, "502 with an HTML page: 502 Bad Gateway"),
        (403, "<html><head><title>Attention</title></head></html>", ErrorClass::Auth, "Attention"),
        (404, "<html></html>", ErrorClass::BadRequest, "404 with an HTML page"),
        (503, "", ErrorClass::Overloaded, "503 with an empty body"),
        (500, "", ErrorClass::ServerError, "500 with an empty body"),
        (429, "Too Many Requests", ErrorClass::Throttled, "Too Many Requests"),
        (503, "upstream connect error", ErrorClass::Overloaded, "upstream connect error"),
        (400, "{\"error\": {\"message\": \"cut", ErrorClass::BadRequest, "not JSON"),
        (302, "<html><title>Moved</title></html>", ErrorClass::NonApiBody, "Moved"),
        (200, page, ErrorClass::NonApiBody, "expected a openai-chat response, got 200 with"),
        (200, "", ErrorClass::NonApiBody, "an empty body"),
        (200, "{\"choices\":[]}", ErrorClass::NonApiBody, "no error object"),
    ];
    for (status, body, class, part) in cases {
        let failure = of_body(Dialect::OpenAiChat, status, body);
        assert_eq!(failure.class, class, "{status} {body}: {failure:?}");
        assert!(failure.message.contains(part), "{status}: {}", failure.message);
    }
}

#[test]
fn a_gateway_passes_on_what_the_provider_behind_it_said() {
    let inner = r#"{\"error\":{\"message\":\"prompt is too long: 300000 tokens > 200000 maximum\",\"type\":\"invalid_request_error\"}}"#;
    let raw = format!(
        r#"{{"error":{{"message":"Provider returned error","code":400,"metadata":{{"raw":"{inner}"}}}}}}"#
    );
    let message = format!(r#"{{"error":{{"message":"{inner}","code":400}}}}"#);
    for body in [raw, message] {
        let failure = of_body(Dialect::OpenAiChat, 400, &body);
        assert_eq!(failure.class, ErrorClass::ContextOverflow, "{body}: {failure:?}");
    }
    let event = "event: error\ndata: {\"error\":{\"message\":\"slow down\",\"type\":\"rate_limit_error\"}}\n\n";
    assert_eq!(of_body(Dialect::Anthropic, 429, event).message, "slow down");
}

#[test]
fn hostile_bodies_end_in_a_class() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = (0..200).fold(String::from("\"x\""), |inner, _| format!("{{\"error\":{inner}}}"));
    let long = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "é".repeat(1_000_000));
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    for body in [deep.as_bytes(), nested.as_bytes(), long.as_bytes(), &bytes] {
        for status in [0, 199, 200, 302, 400, 429, 500, 599, 999, u16::MAX] {
            let failure = classify(Dialect::Gemini, status, &[], body, NOW);
            assert!(failure.message.len() < 3_000, "{}", failure.message.len());
        }
    }
}
