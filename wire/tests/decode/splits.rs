//! A stream cut anywhere says the same: in two pieces at every offset, and byte by byte.
//!
//! A plain run cuts short streams at every offset and the others at a sample. `LOOPWRIGHT_FULL=1`
//! cuts all of them at every offset. For a long stream that is done in windows: the decoder is
//! copied at the beginning of a window, and what it says up to two windows later must not depend on
//! where the window was cut; so the cost grows with the length of a stream, not with its square.

use machine_spec::model::ModelEvent;
use wire::{DecodeLimits, Decoder, Dialect};

use crate::recorded::{Recorded, full, streams};

/// Bytes up to which a stream is cut at every offset in a plain run.
const SHORT: usize = 1_200;

/// Bytes up to which a stream is cut at every offset, and read to its end, in a full run.
const MEDIUM: usize = 10_000;

/// Bytes of a window.
const WINDOW: usize = 1_500;

#[test]
fn a_cut_changes_nothing() {
    let Some(recorded) = streams(Dialect::ALL) else { return };
    let mut cuts = 0u64;
    for stream in &recorded {
        let length = stream.body.len();
        let whole = decode(stream.dialect, &[&stream.body]);
        let every = length <= if full() { MEDIUM } else { SHORT };
        // Odd, so that the sample does not fall into step with the length of events.
        let step = if every { 1 } else { length / 60 * 2 + 1 };
        for at in (0..length).step_by(step) {
            let (head, tail) = stream.body.split_at(at);
            let cut = decode(stream.dialect, &[head, tail]);
            assert!(cut == whole, "{} cut at {at} says something else", stream.id);
            cuts += 1;
        }
    }
    println!("{cuts} cuts in {} streams", recorded.len());
}

#[test]
fn a_cut_within_a_window_changes_nothing() {
    let Some(recorded) = streams(Dialect::ALL) else { return };
    let mut cuts = 0u64;
    for stream in recorded.iter().filter(|stream| full() || stream.body.len() <= SHORT) {
        cuts += cut_windows(stream);
    }
    println!("{cuts} cuts in windows of {WINDOW} bytes");
}

fn cut_windows(stream: &Recorded) -> u64 {
    let body = &stream.body;
    let mut decoder = Decoder::new(stream.dialect, DecodeLimits::default());
    let mut cuts = 0;
    for start in (0..body.len()).step_by(WINDOW) {
        let settled = (start + 2 * WINDOW).min(body.len());
        let rest = body[settled..].iter().position(|byte| *byte == b'\n');
        let end = rest.map_or(body.len(), |length| settled + length + 1);
        let at_end = end == body.len();
        let expected = read_on(&decoder, &[&body[start..end]], at_end);
        for at in start..(start + WINDOW).min(body.len()) {
            let pieces = [&body[start..at], &body[at..end]];
            let cut = read_on(&decoder, &pieces, at_end);
            assert!(cut == expected, "{} cut at {at} says something else", stream.id);
            cuts += 1;
        }
        decoder.push(&body[start..(start + WINDOW).min(body.len())], &mut Vec::new());
    }
    cuts
}

#[test]
fn byte_by_byte_changes_nothing() {
    let Some(recorded) = streams(Dialect::ALL) else { return };
    for stream in &recorded {
        if !full() && stream.body.len() > 40 * SHORT {
            continue;
        }
        let whole = decode(stream.dialect, &[&stream.body]);
        let bytes: Vec<&[u8]> = stream.body.chunks(1).collect();
        assert!(decode(stream.dialect, &bytes) == whole, "{} byte by byte", stream.id);
    }
}

#[test]
fn recognising_events_changes_nothing() {
    let Some(recorded) = streams(Dialect::ALL) else { return };
    let (mut recognised, mut events) = (0, 0);
    for stream in &recorded {
        let mut fast = Decoder::new(stream.dialect, DecodeLimits::default());
        let mut said = Vec::new();
        fast.push(&stream.body, &mut said);
        fast.finish(&mut said);
        let slow = Decoder::new(stream.dialect, DecodeLimits::default()).parsing_everything();
        let parsed = read_on(&slow, &[&stream.body], true);
        assert!(said == parsed, "{} says something else when it is parsed", stream.id);
        recognised += fast.recognised();
        events += said.iter().filter(|event| matches!(event, ModelEvent::Delta { .. })).count();
    }
    println!("{recognised} of {events} pieces of text recognised without parsing");
    assert!(recognised > 0, "nothing was recognised");
}

fn decode(dialect: Dialect, pieces: &[&[u8]]) -> Vec<ModelEvent> {
    read_on(&Decoder::new(dialect, DecodeLimits::default()), pieces, true)
}

fn read_on(decoder: &Decoder, pieces: &[&[u8]], to_the_end: bool) -> Vec<ModelEvent> {
    let mut decoder = decoder.clone();
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
    }
    if to_the_end {
        decoder.finish(&mut events);
    }
    events
}
