//! Request bodies, as people read them.

use std::collections::BTreeMap;

use machine_spec::effect::{ToolChoice, Transport};
use machine_spec::message::{Aside, Entry, GateRefusal, NotStarted, Origin, Outcome};
use machine_spec::model::{ErrorClass, Failure};
use serde_json::{Value, json};
use wire::encode::OutputShape;
use wire::{Degradation, Dialect, EncodeOptions};

use crate::talk::{
    FOREIGN, OWN, body, body_with, call, failed, opaque, reply, results, said, succeeded, text,
    thinking, user,
};

/// A turn with two calls in one reply, a failing one, words typed meanwhile, and an answer.
fn two_rounds() -> Vec<Entry> {
    let first = reply(
        OWN,
        vec![
            text("Let me look.\n"),
            call(0, "id_1", "read_file", r#"{"path":"a \"b\".txt"}"#),
            call(1, "id_2", "grep", "{}"),
        ],
    );
    let second = reply(OWN, vec![call(2, "id_3", "read_file", r#"{ "path": "é" }"#)]);
    vec![
        user("What is in a?"),
        first.clone(),
        results(&first, vec![succeeded("line 1\nline 2\t\u{1}"), failed("no match")]),
        said(Origin::Steer, "Look at é too."),
        second.clone(),
        results(&second, vec![succeeded("")]),
        reply(OWN, vec![text("Both "), text("are empty.")]),
        user("Thanks."),
    ]
}

/// Everything that must not reach a provider as it stands.
fn odd_ends() -> Vec<Entry> {
    let bad = reply(
        FOREIGN,
        vec![
            text(" \n"),
            call(
                0,
                "functions.ls:0 with a very long id that no other provider would accept",
                "read files",
                r#"{"path":"#,
            ),
            call(1, "lw_call-1", "", "[1]"),
            call(2, "id_7", "grep", "{}"),
        ],
    );
    let refused = |why| Outcome::Refused { why };
    vec![
        user("\n"),
        user("First."),
        said(Origin::Notification, "Second."),
        Entry::Aside(Aside::BlankReply(match reply(OWN, vec![thinking("hm", "")]) {
            Entry::Reply(reply) => reply,
            _ => unreachable!("a reply"),
        })),
        reply(FOREIGN, vec![thinking("of another", r#"{"type":"thinking","signature":"s"}"#)]),
        said(Origin::Repair, "Third."),
        bad.clone(),
        results(
            &bad,
            vec![
                refused(GateRefusal::UnknownTool { nearest: vec!["read_file".into()] }),
                refused(GateRefusal::MalformedArgs { at: 0, problem: "expected an object".into() }),
                Outcome::NotStarted { why: NotStarted::Interrupted },
            ],
        ),
        user("Fourth."),
    ]
}

/// Private parts as the decoder of each dialect leaves them.
fn private_parts(dialect: Dialect, by: &str) -> Vec<Entry> {
    let blocks = match dialect {
        Dialect::Anthropic => vec![
            thinking(
                "so\n\n",
                r#"{"type":"thinking","thinking":"so\n\n","signature":"c2ln","new":1}"#,
            ),
            thinking("", r#"{"type":"redacted_thinking","data":"cmVk"}"#),
            text("Hm."),
            thinking("", r#"{"type":"thinking","thinking":"","signature":"ZW1wdHk="}"#),
            opaque(
                r#"{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"x"}}"#,
            ),
            call(0, "toolu_1", "grep", "{}"),
        ],
        Dialect::OpenAiChat => vec![
            thinking(
                "so",
                r#"{"reasoning":"so","reasoning_details":[{"type":"reasoning.text","text":"so","signature":"c2ln"}]}"#,
            ),
            text("Hm."),
            opaque(r#"{"adorns_next":{"extra_content":{"google":{"thought_signature":"c2ln"}}}}"#),
            call(0, "call_1", "grep", "{}"),
        ],
        Dialect::OpenAiResponses => vec![
            thinking("not stored", r#"{"type":"reasoning","id":"rs_0","summary":[]}"#),
            thinking(
                "so",
                r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}"#,
            ),
            opaque(r#"{"adorns_next":{"phase":"commentary"}}"#),
            text("Hm."),
            opaque(r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#),
            call(0, "call_1", "grep", "{}"),
        ],
        Dialect::Gemini => vec![
            thinking("so", r#"{"text":"so","thought":true}"#),
            text("Hm."),
            opaque(r#"{"adorns_next":{"thoughtSignature":"c2ln"}}"#),
            call(0, "lw_call-0", "grep", "{}"),
        ],
        Dialect::Ollama => vec![
            thinking("so", r#"{"thinking":"so"}"#),
            text("Hm."),
            call(0, "lw_call-0", "grep", "{}"),
        ],
    };
    let reply = reply(by, blocks);
    vec![user("Go."), reply.clone(), results(&reply, vec![succeeded("found")])]
}

/// The same value with sorted keys, whatever order the JSON crate was built to keep.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(object) => {
            let members: BTreeMap<_, _> =
                object.iter().map(|(k, v)| (k.clone(), sorted(v))).collect();
            Value::Object(members.into_iter().collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn check(name: &str, dialect: Dialect, body: &Value) {
    let shown = serde_json::to_string_pretty(&sorted(body)).expect("JSON");
    insta::assert_snapshot!(format!("{name}--{dialect}"), shown);
}

#[test]
fn rounds_with_tools() {
    for dialect in Dialect::ALL {
        check("two_rounds", *dialect, &body(*dialect, &two_rounds()));
    }
}

#[test]
fn odd_ends_become_a_lawful_request() {
    for dialect in Dialect::ALL {
        check("odd_ends", *dialect, &body(*dialect, &odd_ends()));
    }
}

#[test]
fn b012_private_parts_go_back_to_their_maker() {
    for dialect in Dialect::ALL {
        check("private_own", *dialect, &body(*dialect, &private_parts(*dialect, OWN)));
    }
}

#[test]
fn b028_private_parts_go_to_nobody_else() {
    for dialect in Dialect::ALL {
        check("private_foreign", *dialect, &body(*dialect, &private_parts(*dialect, FOREIGN)));
    }
}

#[test]
fn b012_the_bytes_of_a_seal_are_the_bytes_that_came() {
    let seal = "{\"signature\":\"c2ln\",  \"thinking\":\"a\\u00e9\\n\\n\", \"type\":\"thinking\"}";
    let reply = reply(OWN, vec![thinking("aé\n\n", seal), call(0, "t", "grep", "{}")]);
    let entries = [user("Go."), reply.clone(), results(&reply, vec![succeeded("x")])];
    let transcript = entries.into_iter().collect();
    let request = crate::talk::request(&transcript, ToolChoice::Auto);
    let mut encoder = wire::Encoder::new(Dialect::Anthropic, EncodeOptions::default());
    let encoded = encoder.encode(&crate::talk::config(), &request);
    let text = String::from_utf8(encoded.body).expect("UTF-8");
    assert!(text.contains(seal), "{text}");
}

#[test]
fn a_tool_is_forced_or_barred_in_the_words_of_each_wire() {
    let forced = ToolChoice::Force { tool: "grep".to_owned() };
    let choices = [
        (Dialect::Anthropic, json!({"type":"tool","name":"grep"}), json!({"type":"none"})),
        (Dialect::OpenAiChat, json!({"type":"function","function":{"name":"grep"}}), json!("none")),
        (Dialect::OpenAiResponses, json!({"type":"function","name":"grep"}), json!("none")),
    ];
    for (dialect, force, none) in choices {
        let of = |choice: &ToolChoice| {
            body_with(dialect, EncodeOptions::default(), &[user("Go.")], choice.clone())
        };
        assert_eq!(of(&forced)["tool_choice"], force);
        assert_eq!(of(&ToolChoice::None)["tool_choice"], none);
        assert_eq!(of(&ToolChoice::None)["tools"], of(&forced)["tools"], "{dialect}");
        assert_eq!(of(&ToolChoice::Auto).get("tool_choice"), None, "{dialect}");
    }
    let of = |dialect, choice| body_with(dialect, EncodeOptions::default(), &[user("Go.")], choice);
    let gemini = of(Dialect::Gemini, forced);
    let config = json!({"mode":"ANY","allowedFunctionNames":["grep"]});
    assert_eq!(gemini["toolConfig"]["functionCallingConfig"], config);
    let gemini = of(Dialect::Gemini, ToolChoice::None);
    assert_eq!(gemini["toolConfig"]["functionCallingConfig"], json!({"mode":"NONE"}));
    assert_eq!(of(Dialect::Ollama, ToolChoice::None).get("tools"), None);
}

#[test]
fn parameters_of_the_endpoint_stand_where_each_wire_wants_them() {
    let extra = json!({
        "top_p": 0.5,
        "stream": false,
        "messages": [],
        "options": {"seed": 7, "num_ctx": 4096},
        "generationConfig": {"thinkingConfig": {"includeThoughts": true}},
    });
    let options = EncodeOptions {
        max_tokens: Some(1_000),
        temperature: Some(0.25),
        server_tools: vec![json!({"type": "web_search", "name": "web_search"})],
        extra: extra.as_object().expect("an object").clone(),
        ..EncodeOptions::default()
    };
    assert_eq!(options.reserved_extras(Dialect::OpenAiChat), ["messages", "stream"]);
    for dialect in Dialect::ALL {
        let body = body_with(*dialect, options.clone(), &[user("Go.")], ToolChoice::Auto);
        check("parameters", *dialect, &body);
    }
}

#[test]
fn a_round_after_another_model_s_calls_goes_without_a_thinking_budget() {
    let extra = json!({"thinking": {"type": "enabled", "budget_tokens": 2_000}});
    let extra = extra.as_object().expect("an object").clone();
    let options = EncodeOptions { extra, ..EncodeOptions::default() };
    let of = |entries: &[Entry]| {
        body_with(Dialect::Anthropic, options.clone(), entries, ToolChoice::Auto)
    };
    assert!(of(&[user("Go.")]).get("thinking").is_some());
    assert!(of(&private_parts(Dialect::Anthropic, OWN)).get("thinking").is_some());
    assert_eq!(of(&private_parts(Dialect::Anthropic, FOREIGN)).get("thinking"), None);
    let mut later = private_parts(Dialect::Anthropic, FOREIGN);
    later.push(reply(OWN, vec![text("Done.")]));
    later.push(user("Next."));
    assert!(of(&later).get("thinking").is_some());
}

#[test]
fn foreign_calls_carry_the_documented_stand_in_where_signatures_are_demanded() {
    let entries = private_parts(Dialect::Gemini, FOREIGN);
    let transcript = entries.into_iter().collect();
    let mut config = crate::talk::config();
    for (model, demanded) in [
        ("gemini-3-pro", true),
        ("models/gemini-3.6-flash", true),
        ("gemini-2.5-flash", false),
        ("other", false),
    ] {
        config.candidates[0].model = model.to_owned();
        let request = crate::talk::request(&transcript, ToolChoice::Auto);
        let mut encoder = wire::Encoder::new(Dialect::Gemini, EncodeOptions::default());
        let encoded = encoder.encode(&config, &request);
        let text = String::from_utf8(encoded.body).expect("UTF-8");
        assert_eq!(text.contains("skip_thought_signature_validator"), demanded, "{model}");
        assert!(encoded.path.ends_with(":streamGenerateContent?alt=sse"), "{}", encoded.path);
    }
}

#[test]
fn b040_an_endpoint_is_asked_without_what_it_does_not_know() {
    let cases = [
        ("B040a-1", Degradation::MaxTokensName),
        ("B040b-1", Degradation::StreamOptions),
        ("B040c-1", Degradation::ToolChoice),
    ];
    let options = EncodeOptions { max_tokens: Some(9), ..EncodeOptions::default() };
    let mut encoder = wire::Encoder::new(Dialect::OpenAiChat, options);
    let transcript = [user("Go.")].into_iter().collect();
    let before = encoder
        .encode(&crate::talk::config(), &crate::talk::request(&transcript, ToolChoice::Auto));
    let mut left_out = Vec::new();
    for (name, degradation) in cases {
        let answer = crate::support::case(name);
        let failure =
            wire::classify(Dialect::OpenAiChat, answer.status, &answer.headers, &answer.body, None);
        assert_eq!(failure.remedy, degradation.word(), "{name}");
        assert_eq!(Degradation::of_word(degradation.word()), Some(degradation));
        left_out.push(degradation.word().into());
    }
    let force = ToolChoice::Force { tool: "grep".to_owned() };
    for (choice, tools) in [(force, true), (ToolChoice::None, false)] {
        let mut request = crate::talk::request(&transcript, choice);
        request.left_out.clone_from(&left_out);
        let body = encoder.encode(&crate::talk::config(), &request).body;
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(body["max_completion_tokens"], 9);
        for gone in ["max_tokens", "stream_options", "tool_choice"] {
            assert_eq!(body.get(gone), None, "{gone}");
        }
        assert_eq!(body.get("tools").is_some(), tools);
    }
    let other = crate::support::case("B025-7");
    let failure =
        wire::classify(Dialect::Anthropic, other.status, &other.headers, &other.body, None);
    assert_eq!(failure.remedy, "", "a wrong value is not an unknown parameter");
    // Nothing is remembered here: the request says what it is asked without.
    let request = crate::talk::request(&transcript, ToolChoice::Auto);
    assert_eq!(encoder.encode(&crate::talk::config(), &request), before);
}

#[test]
fn an_answer_in_one_piece_is_asked_for() {
    for dialect in Dialect::ALL {
        let options = EncodeOptions { max_tokens: Some(900), ..EncodeOptions::default() };
        let mut encoder = wire::Encoder::new(*dialect, options);
        let mut request =
            crate::talk::request(&two_rounds().into_iter().collect(), ToolChoice::Auto);
        let streamed = encoder.encode(&crate::talk::config(), &request);
        (request.transport, request.max_output) = (Transport::Whole, Some(400));
        let whole = encoder.encode(&crate::talk::config(), &request);
        let (was, is) = (json(&streamed.body), json(&whole.body));
        assert_eq!(is.get("stream_options"), None, "{dialect}");
        if *dialect == Dialect::Gemini {
            assert!(whole.path.ends_with(":generateContent"), "{}", whole.path);
        } else {
            assert_eq!((&was["stream"], &is["stream"]), (&json(b"true"), &json(b"false")));
        }
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        assert!(text(&streamed.body).contains(":900"), "{dialect}");
        assert!(text(&whole.body).contains(":400"), "{dialect}");
        for part in ["messages", "contents", "input", "tools", "system"] {
            assert_eq!(was.get(part), is.get(part), "{dialect}: {part}");
        }
        (request.transport, request.max_output) = (Transport::Stream, None);
        assert_eq!(encoder.encode(&crate::talk::config(), &request), streamed, "{dialect}");
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn an_id_that_only_one_vendor_accepts_is_fitted_for_it() {
    let refusal = r#"{"object":"error","message":"Tool call id was id_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_request_error","code":"3280"}"#;
    let failure = wire::classify(Dialect::OpenAiChat, 400, &[], refusal.as_bytes(), None);
    assert_eq!(failure.remedy, Degradation::ShortCallIds.word());
    let degraded = [Degradation::ShortCallIds].into();
    let options = EncodeOptions { degraded, ..EncodeOptions::default() };
    let body = body_with(Dialect::OpenAiChat, options, &two_rounds(), ToolChoice::Auto);
    let call = body["messages"][2]["tool_calls"][0]["id"].as_str().expect("an id");
    assert_eq!(call.len(), 9);
    assert_eq!(body["messages"][3]["tool_call_id"], call);
}

/// The order of properties is the order in which a model writes them, so it is kept.
const SCHEMA: &str = r#"{"type":"object","properties":{"why":{"type":"string"},"answer":{"type":"string"}},"required":["why","answer"],"additionalProperties":false}"#;

#[test]
fn an_answer_in_a_shape_is_asked_for_in_the_words_of_each_wire() {
    let shape = OutputShape { name: "verdict".into(), schema: SCHEMA.into(), strict: true };
    let named = json!({"name": "verdict", "schema": schema(), "strict": true});
    let mut flat = named.clone();
    flat["type"] = "json_schema".into();
    for (dialect, at, wanted) in [
        (
            Dialect::Anthropic,
            "/output_config",
            json!({"format": {"type": "json_schema", "schema": schema()}}),
        ),
        (
            Dialect::OpenAiChat,
            "/response_format",
            json!({"type": "json_schema", "json_schema": named}),
        ),
        (Dialect::OpenAiResponses, "/text", json!({"format": flat})),
        (
            Dialect::Gemini,
            "/generationConfig",
            json!({"responseMimeType": "application/json", "responseJsonSchema": schema()}),
        ),
        (Dialect::Ollama, "/format", schema()),
    ] {
        let options = EncodeOptions { output: Some(shape.clone()), ..EncodeOptions::default() };
        let transcript = [user("Go.")].into_iter().collect();
        let request = crate::talk::request(&transcript, ToolChoice::Auto);
        let mut encoder = wire::Encoder::new(dialect, options);
        let mut body = encoder.encode(&crate::talk::config(), &request).body;
        let value: Value = serde_json::from_slice(&body).expect("JSON");
        let got = value.pointer(at).map(|got| {
            let mut got = got.clone();
            // What the wire needs besides is not of the shape.
            if let Some(members) = got.as_object_mut() {
                members.remove("maxOutputTokens");
            }
            got
        });
        assert_eq!(got, Some(wanted), "{dialect}");
        let text = String::from_utf8(body.clone()).expect("UTF-8");
        assert!(text.contains(SCHEMA), "{dialect}: {text}");
        // It is read again as it was meant.
        let again = wire::read(dialect, &body, "a", Some("m")).expect("a request");
        let read = again.options.output.expect("a shape");
        assert_eq!(read.schema, SCHEMA, "{dialect}");
        assert!(read.name.is_empty() || (read.name == "verdict" && read.strict), "{read:?}");
        // An endpoint that does not know it is asked without, once and for the session.
        let complaint = Failure::new(
            ErrorClass::ParamRejected,
            "unknown parameter: response_format, output_config or generationConfig.responseJsonSchema",
        );
        let mends = Degradation::mending(dialect, &complaint);
        assert_eq!(mends, Some(Degradation::OutputShape), "{dialect}");
        let mut without = request.clone();
        without.left_out = vec![Degradation::OutputShape.word().into()];
        body = encoder.encode(&crate::talk::config(), &without).body;
        assert!(!String::from_utf8_lossy(&body).contains("additionalProperties\":false"));
    }
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("a schema")
}

/// What the user gives under the same name stays, and wins.
#[test]
fn a_shape_joins_what_the_user_says_besides() {
    let shape = OutputShape { schema: SCHEMA.into(), ..OutputShape::default() };
    for (dialect, extra, at, wanted) in [
        (
            Dialect::Anthropic,
            json!({"output_config": {"effort": "low"}}),
            "/output_config/effort",
            json!("low"),
        ),
        (
            Dialect::OpenAiResponses,
            json!({"text": {"verbosity": "low"}}),
            "/text/verbosity",
            json!("low"),
        ),
        (
            Dialect::OpenAiChat,
            json!({"response_format": {"type": "json_object"}}),
            "/response_format",
            json!({"type": "json_object"}),
        ),
        (Dialect::Ollama, json!({"format": "json"}), "/format", json!("json")),
        (
            Dialect::Gemini,
            json!({"generationConfig": {"topK": 1}}),
            "/generationConfig/topK",
            json!(1),
        ),
    ] {
        let Value::Object(extra) = extra else { panic!("an object") };
        let output = Some(shape.clone());
        let options = EncodeOptions { output, extra, ..EncodeOptions::default() };
        let body = body_with(dialect, options, &[user("Go.")], ToolChoice::Auto);
        assert_eq!(body.pointer(at), Some(&wanted), "{dialect}");
    }
}
