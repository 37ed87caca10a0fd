//! Bytes that mean harm, or nothing. Memory stays bounded and the failure says where.

use machine_spec::model::{ErrorClass, ModelEvent};
use proptest::prelude::*;
use wire::{BadUtf8, DecodeLimits, Decoder, Dialect};

use crate::told::{lines, told, told_with};

fn limits() -> DecodeLimits {
    DecodeLimits {
        event_bytes: 4096,
        total_bytes: 1 << 20,
        blocks: 16,
        block_bytes: 8192,
        depth: 32,
        bad_utf8: BadUtf8::Fail,
    }
}

/// The one failure of a body, which must be its last event.
#[track_caller]
fn fault(dialect: Dialect, body: &[u8]) -> String {
    let said = told_with(dialect, limits(), body);
    let last = said.last().cloned().unwrap_or_default();
    assert!(last.starts_with("failed garbled"), "{said:?}");
    assert_eq!(said.iter().filter(|line| line.starts_with("failed")).count(), 1);
    last
}

fn anthropic(event: &str) -> String {
    format!("data: {event}\n\n")
}

#[test]
fn an_endless_line_ends_the_response_before_it_fills_the_memory() {
    for dialect in Dialect::ALL {
        let mut decoder = Decoder::new(*dialect, limits());
        let mut events = Vec::new();
        let mut pushed = 0u64;
        while !decoder.is_over() {
            decoder.push(b"data: xxxxxxxxxxxxxxxxxxxxxxxxxx"[..16].as_ref(), &mut events);
            pushed += 16;
            assert!(pushed < 10_000, "{dialect} goes on reading");
        }
        assert!(matches!(&events[..], [ModelEvent::Failed(failure)]
            if failure.class == ErrorClass::Garbled && failure.message.contains("4096 bytes")));
    }
}

/// Found by fuzzing: the place in the message depended on the pieces.
#[test]
fn a_failure_names_the_same_place_however_the_bytes_are_cut() {
    for dialect in Dialect::ALL {
        let line = format!("{{\"x\":\"{}\"}}", "y".repeat(5_000));
        let body = match dialect {
            Dialect::Ollama => format!("{{}}\n{line}\n"),
            Dialect::Anthropic
            | Dialect::OpenAiChat
            | Dialect::OpenAiResponses
            | Dialect::Gemini => format!("data: {{}}\r\n\r\n: x\r\ndata: {line}\r\n\r\n"),
        };
        let whole = fault(*dialect, body.as_bytes());
        for size in [1, 7, 4095, 4096, 4097] {
            let mut decoder = Decoder::new(*dialect, limits());
            let mut events = Vec::new();
            body.as_bytes().chunks(size).for_each(|piece| decoder.push(piece, &mut events));
            assert_eq!(lines(&events).last(), Some(&whole), "{dialect} in pieces of {size}");
        }
    }
}

#[test]
fn a_response_without_end_is_cut_off() {
    let chunk = b"data: {\"choices\":[{\"delta\":{\"content\":\"more\"}}]}\n\n";
    let mut decoder = Decoder::new(Dialect::OpenAiChat, limits());
    let mut events = Vec::new();
    for _ in 0..100_000 {
        decoder.push(chunk, &mut events);
        if decoder.is_over() {
            break;
        }
    }
    assert!(matches!(events.last(), Some(ModelEvent::Failed(failure))
        if failure.message.contains("1048576 bytes")));
}

#[test]
fn a_million_blocks_are_refused_at_the_limit() {
    let mut body = String::new();
    for at in 0..20 {
        body += &anthropic(&format!(
            r#"{{"type":"content_block_start","index":{at},"content_block":{{"type":"text"}}}}"#
        ));
    }
    assert!(fault(Dialect::Anthropic, body.as_bytes()).contains("16 blocks"));
    let mut body = String::new();
    for at in 0..20 {
        body += &format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{at}}}]}}}}]}}\n\n"
        );
    }
    assert!(fault(Dialect::OpenAiChat, body.as_bytes()).contains("16 calls"));
}

#[test]
fn a_block_that_must_be_held_is_bounded() {
    let mut body = anthropic(
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"t"}}"#,
    );
    let piece = "x".repeat(1000);
    for _ in 0..9 {
        body += &anthropic(&format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{piece}"}}}}"#
        ));
    }
    assert!(fault(Dialect::Anthropic, body.as_bytes()).contains("8192 bytes"));
}

#[test]
fn deep_json_is_skipped_where_it_is_not_kept_and_refused_where_it_is() {
    let deep = format!("{}{}", "[".repeat(1500), "]".repeat(1500));
    let skipped = anthropic(&format!(r#"{{"type":"ping","x":{deep}}}"#));
    assert_eq!(told_with(Dialect::Anthropic, limits(), skipped.as_bytes()), [""; 0]);
    let start = format!(
        r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"new","x":{deep}}}}}"#
    );
    let kept = anthropic(&start) + &anthropic(r#"{"type":"content_block_stop","index":0}"#);
    assert!(fault(Dialect::Anthropic, kept.as_bytes()).contains("32 levels"));
    let chunk = format!("data: {{\"choices\":[],\"x\":{deep}}}\n\n");
    assert_eq!(told_with(Dialect::OpenAiChat, limits(), chunk.as_bytes()), [""; 0]);
}

#[test]
fn odd_indexes_and_counts_cost_nothing() {
    let body = r#"data: {"choices":[{"index":-1,"delta":{"tool_calls":[{"index":-7,"id":"a","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":-3,"completion_tokens":1e400}}

data: {"choices":[],"usage":{"prompt_tokens":"7","completion_tokens":2.5,"prompt_tokens_details":{"cached_tokens":{}}}}

"#;
    for count in ["1e400", "1e40", "-0", "0.5"] {
        let said = told(Dialect::OpenAiChat, body.replace("1e400", count).as_bytes());
        let zero = said.iter().filter(|line| *line == "usage out 0").count();
        let others: Vec<&String> = said.iter().filter(|line| *line != "usage out 0").collect();
        assert_eq!(
            others,
            [
                "0 call a t",
                "0 + {}",
                "0 done by FinishReason, valid",
                "finished end_of_turn `stop`"
            ]
        );
        assert_eq!(zero, usize::from(count == "-0"));
    }
}

#[test]
fn what_is_not_json_is_named_with_its_place() {
    let nan = "data: {}\n\ndata: {\"usage\":NaN}\n\n";
    let said = fault(Dialect::OpenAiChat, nan.as_bytes());
    assert!(said.contains("after byte 10"), "{said}");
    let half = "event: content_block_delta\ndata: {\"type\":\"\\ud83d\"}\n\n";
    let said = fault(Dialect::Anthropic, half.as_bytes());
    assert!(said.contains("event `content_block_delta`") && said.contains("hex escape"), "{said}");
}

/// Found by fuzzing: skipping JSON does not look into its strings, and what was skipped was kept.
#[test]
fn half_a_letter_in_json_that_is_kept_is_named_with_its_place() {
    for (dialect, body) in [
        (
            Dialect::Anthropic,
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"new\",\"x\":\"\\udead\"}}\n\n\
             data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        ),
        (
            Dialect::OpenAiResponses,
            "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"new\",\"x\":\"\\udead\"}}\n\n",
        ),
        (
            Dialect::OpenAiResponses,
            "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"reasoning\",\"x\":\"\\udead\"}}\n\n",
        ),
        (
            Dialect::Gemini,
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"new\":{\"a\\udead\":1e999}}]}}]}\n\n",
        ),
    ] {
        let said = fault(dialect, body.as_bytes());
        assert!(said.contains("after byte") && said.contains("surrogate"), "{said}");
    }
}

#[test]
fn bad_utf8_fails_or_is_replaced() {
    let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\"},\"finish_reason\":\"stop\"}]}\n\n";
    assert!(fault(Dialect::OpenAiChat, body).contains("expected UTF-8"));
    let limits = DecodeLimits { bad_utf8: BadUtf8::Replace, ..limits() };
    let said = told_with(Dialect::OpenAiChat, limits, body);
    assert_eq!(said[1], "0 + a\u{fffd}b");
}

#[test]
fn blank_data_and_empty_bodies_say_nothing() {
    for dialect in Dialect::ALL {
        let is_sse = *dialect != Dialect::Ollama;
        let sse = ["data:\n\n", "data: \n\n", ": only\n\n"];
        for body in ["", "\n\n", "\u{feff}"].iter().chain(sse.iter().filter(|_| is_sse)) {
            assert_eq!(told(*dialect, body.as_bytes()), [""; 0], "{dialect} {body:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever comes, there is no panic, at most one failure, and nothing after it.
    #[test]
    fn noise_is_survived(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "(data: |event: error\n|\\{\"type\":\"|error\":\\{|\\}|\\[|\\]|\"|,|:|\n|\r|null|[a-z_]{1,12}|-?[0-9]{1,3}){0,30}"
                    .prop_map(String::into_bytes),
            ],
            0..12,
        ),
    ) {
        for dialect in Dialect::ALL {
            let mut decoder = Decoder::new(*dialect, limits());
            let mut events = Vec::new();
            for piece in &pieces {
                decoder.push(piece, &mut events);
            }
            decoder.finish(&mut events);
            decoder.push(b"data: {}\n\n", &mut events);
            let failed = events.iter().position(|event| matches!(event, ModelEvent::Failed(_)));
            if let Some(at) = failed {
                prop_assert_eq!(at + 1, events.len());
            }
        }
    }
}
