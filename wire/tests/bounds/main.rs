//! What a response may cost, counted by the allocator: a stranger's bytes must not fill the memory,
//! and text must not cost more than the text.

use std::alloc::System;
use std::sync::{Mutex, MutexGuard};

use machine_spec::model::{ErrorClass, Failure, ModelEvent};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use wire::{DecodeLimits, Decoder, Dialect};

#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The counters are those of the process, so one test counts at a time.
static COUNTING: Mutex<()> = Mutex::new(());

const MIB: usize = 1 << 20;

fn count() -> MutexGuard<'static, ()> {
    COUNTING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

/// Pushes pieces until the response is over or they are used up; gives the failure and the most
/// memory that was held.
fn most_held(dialect: Dialect, pieces: impl Iterator<Item = Vec<u8>>) -> (Option<Failure>, usize) {
    let region = Region::new(MEMORY);
    let mut decoder = Decoder::new(dialect, DecodeLimits::default());
    let (mut events, mut failure, mut most) = (Vec::new(), None, 0);
    for piece in pieces {
        decoder.push(&piece, &mut events);
        most = most.max(held(&region));
        failure = events.drain(..).fold(failure, last_failure);
        if decoder.is_over() {
            return (failure, most);
        }
    }
    decoder.finish(&mut events);
    (events.into_iter().fold(failure, last_failure), most)
}

fn last_failure(before: Option<Failure>, event: ModelEvent) -> Option<Failure> {
    match event {
        ModelEvent::Failed(failure) => Some(failure),
        ModelEvent::Began { .. }
        | ModelEvent::BlockBegan { .. }
        | ModelEvent::Delta { .. }
        | ModelEvent::BlockDone { .. }
        | ModelEvent::Usage(_)
        | ModelEvent::Finished { .. } => before,
    }
}

#[track_caller]
fn assert_garbled(failure: Option<Failure>, words: &[&str]) {
    let failure = failure.expect("a failure");
    assert_eq!(failure.class, ErrorClass::Garbled, "{failure:?}");
    for word in words {
        assert!(failure.message.contains(word), "{failure:?}");
    }
}

/// A gigabyte in one line, an event before it: the line is given up at 32 MiB.
#[test]
fn a_line_of_a_gigabyte_is_given_up_before_it_fills_the_memory() {
    let _counting = count();
    for dialect in Dialect::ALL {
        let lines = *dialect == Dialect::Ollama;
        let (first, begin) =
            if lines { ("{}\n", "{\"x\":\"") } else { ("data: {}\n\n", "data: {\"x\":\"") };
        let head = format!("{first}{begin}").into_bytes();
        let gigabyte = std::iter::repeat_with(|| vec![b'x'; MIB / 4]).take(4 * 1024);
        let (failure, most) = most_held(*dialect, std::iter::once(head).chain(gigabyte));
        assert_garbled(failure, &["33554432 bytes", &format!("after byte {}", first.len())]);
        assert!(most < 100 * MIB, "{dialect} held {most} bytes");
    }
}

#[test]
fn an_object_of_a_gigabyte_in_an_array_is_given_up_too() {
    let _counting = count();
    let gigabyte = std::iter::repeat_with(|| vec![b'x'; MIB / 4]).take(4 * 1024);
    let head = b"[{\"x\":\"".to_vec();
    let (failure, most) = most_held(Dialect::Gemini, std::iter::once(head).chain(gigabyte));
    assert_garbled(failure, &["33554432 bytes", "after byte 0"]);
    assert!(most < 100 * MIB, "held {most} bytes");
}

/// The bodies of a million blocks, by dialect, made piece by piece.
fn blocks(dialect: Dialect) -> Box<dyn Iterator<Item = Vec<u8>>> {
    let piece = move |at: usize| {
        match dialect {
            Dialect::Anthropic => format!(
                "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":{at},\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n"
            ),
            Dialect::OpenAiChat => format!(
                "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{at},\"id\":\"c{at}\",\"function\":{{\"name\":\"t\"}}}}]}}}}]}}\n\n"
            ),
            Dialect::OpenAiResponses => format!(
                "data: {{\"type\":\"response.output_item.added\",\"output_index\":{at},\"item\":{{\"type\":\"message\",\"id\":\"m{at}\"}}}}\n\n"
            ),
            Dialect::Gemini => {
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"t\"}}]}}]}\n\n"
                    .to_owned()
            }
            Dialect::Ollama => {
                "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"t\",\"arguments\":{}}}]}}\n"
                    .to_owned()
            }
        }
        .into_bytes()
    };
    Box::new((0..1_000_000).map(piece))
}

#[test]
fn a_million_blocks_are_given_up_at_the_limit() {
    let _counting = count();
    for dialect in Dialect::ALL {
        let (failure, most) = most_held(*dialect, blocks(*dialect));
        assert_garbled(failure, &["4096"]);
        assert!(most < 16 * MIB, "{dialect} held {most} bytes");
    }
}

/// A response of a gigabyte in small events is cut off at the limit, and nothing piles up before.
/// The limit is lowered, so that a plain test can reach it.
#[test]
fn a_response_without_end_is_cut_off_and_nothing_piles_up() {
    let _counting = count();
    let limits = DecodeLimits { total_bytes: 8 << 20, ..DecodeLimits::default() };
    for dialect in Dialect::ALL {
        let text = text_event(*dialect);
        let region = Region::new(MEMORY);
        let mut decoder = Decoder::new(*dialect, limits);
        let (mut events, mut failure, mut most) = (Vec::new(), None, 0);
        if *dialect == Dialect::Anthropic {
            decoder.push(START.as_bytes(), &mut events);
        }
        while !decoder.is_over() {
            decoder.push(&text, &mut events);
            failure = events.drain(..).fold(failure, last_failure);
            most = most.max(held(&region));
        }
        assert_garbled(failure, &["8388608 bytes"]);
        assert!(most < MIB, "{dialect} held {most} bytes");
    }
}

#[test]
fn json_ten_thousand_levels_deep_is_skipped_or_refused() {
    let _counting = count();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let bodies = [
        (
            Dialect::Anthropic,
            format!(
                "event: new\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"new\",\"x\":{deep}}}}}\n\nevent: stop\ndata: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n"
            ),
        ),
        (
            Dialect::OpenAiResponses,
            format!(
                "data: {{\"type\":\"response.output_item.done\",\"item\":{{\"type\":\"new\",\"x\":{deep}}}}}\n\n"
            ),
        ),
        (
            Dialect::Gemini,
            format!(
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"new\":{deep}}}]}}}}]}}\n\n"
            ),
        ),
    ];
    for (dialect, body) in bodies {
        let (failure, most) = most_held(dialect, std::iter::once(body.into_bytes()));
        assert_garbled(failure, &["128 levels"]);
        assert!(most < MIB, "{dialect} held {most} bytes");
    }
    // Where nothing is kept of it, it says nothing.
    for dialect in Dialect::ALL {
        let end = if *dialect == Dialect::Ollama { "\n" } else { "\n\n" };
        let begin = if *dialect == Dialect::Ollama { "" } else { "data: " };
        let body = format!("{begin}{{\"x\":{deep}}}{end}");
        let (failure, _) = most_held(*dialect, std::iter::once(body.into_bytes()));
        assert_eq!(failure, None, "{dialect}");
    }
}

/// What opens the block that the text below belongs to, on the wire that demands it.
const START: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";

/// An event that adds text to a block that is open, or opens the only one.
fn text_event(dialect: Dialect) -> Vec<u8> {
    match dialect {
        Dialect::Anthropic => "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"some more words\"}}\n\n",
        Dialect::OpenAiChat => "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some more words\"},\"finish_reason\":null}]}\n\n",
        Dialect::OpenAiResponses => "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"item_id\":\"m\",\"delta\":\"some more words\",\"sequence_number\":4}\n\n",
        Dialect::Gemini => "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"some more words\"}]},\"index\":0}]}\n\n",
        Dialect::Ollama => "{\"model\":\"m\",\"created_at\":\"2026-11-30T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"some more words\"},\"done\":false}\n",
    }
    .as_bytes()
    .to_vec()
}

/// At most one allocation an event: the text that is handed out. So it is for events that are
/// recognised, and however the bytes are cut.
#[test]
fn a_text_event_costs_one_allocation() {
    let _counting = count();
    const EVENTS: usize = 2_000;
    for dialect in Dialect::ALL {
        let body = text_event(*dialect).repeat(EVENTS);
        for size in [body.len(), 16 << 10, 1_000, 7] {
            let mut decoder = Decoder::new(*dialect, DecodeLimits::default());
            let mut events = Vec::with_capacity(2 * EVENTS);
            if *dialect == Dialect::Anthropic {
                decoder.push(START.as_bytes(), &mut events);
            }
            // The buffers of the decoder have their size from here on.
            decoder.push(&text_event(*dialect), &mut events);
            decoder.push(&text_event(*dialect), &mut events);
            events.clear();
            let region = Region::new(MEMORY);
            for piece in body.chunks(size) {
                decoder.push(piece, &mut events);
            }
            let change = region.change();
            let cost = change.allocations + change.reallocations;
            let texts = events.iter().filter(|event| matches!(event, ModelEvent::Delta { .. }));
            assert_eq!(texts.count(), EVENTS, "{dialect} in pieces of {size}");
            assert!(cost <= EVENTS + 40, "{dialect} in pieces of {size}: {cost} allocations");
        }
    }
}
