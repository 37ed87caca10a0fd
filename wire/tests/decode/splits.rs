//! A stream cut anywhere says the same: in two pieces at every offset, and byte by byte.
//!
//! A plain run takes short streams whole and a sample of offsets of the others;
//! `LOOPWRIGHT_FULL=1` takes every offset of every stream.

use machine_spec::model::ModelEvent;
use wire::{DecodeLimits, Decoder, Dialect};

/// Bytes up to which a stream is cut at every offset in a plain run.
const SHORT: usize = 1_200;

#[test]
fn a_cut_changes_nothing() {
    let Some(recorded) = crate::recorded::streams(Dialect::ALL) else { return };
    let mut cuts = 0u64;
    for stream in &recorded {
        let whole = decode(stream.dialect, &[&stream.body]);
        let step = if crate::recorded::full() || stream.body.len() <= SHORT {
            1
        } else {
            // A prime, so that the offsets fall on every kind of place.
            stream.body.len() / 40 * 2 + 1
        };
        for at in (0..stream.body.len()).step_by(step) {
            let (head, tail) = stream.body.split_at(at);
            let cut = decode(stream.dialect, &[head, tail]);
            assert!(cut == whole, "{} cut at {at} says something else", stream.id);
            cuts += 1;
        }
    }
    println!("{cuts} cuts in {} streams", recorded.len());
}

#[test]
fn byte_by_byte_changes_nothing() {
    let Some(recorded) = crate::recorded::streams(Dialect::ALL) else { return };
    for stream in &recorded {
        if !crate::recorded::full() && stream.body.len() > 40 * SHORT {
            continue;
        }
        let whole = decode(stream.dialect, &[&stream.body]);
        let bytes: Vec<&[u8]> = stream.body.chunks(1).collect();
        assert!(decode(stream.dialect, &bytes) == whole, "{} byte by byte", stream.id);
    }
}

fn decode(dialect: Dialect, pieces: &[&[u8]]) -> Vec<ModelEvent> {
    let mut decoder = Decoder::new(dialect, DecodeLimits::default());
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
    }
    decoder.finish(&mut events);
    events
}
