//! How the time grows with the length of one response.

use machine_spec::model::ModelEvent;
use wire::{DecodeLimits, Decoder};

use crate::course::Wire;
use crate::race::Race;

/// How the time grows with the length of one response.
pub(crate) fn linear(wire: Wire, megabytes: &[usize]) -> bool {
    let mut rates = Vec::new();
    for megabytes in megabytes {
        let title = format!("{wire}, one response of {megabytes} MB");
        let mut race = Race::new(title, *megabytes * 1_000_000);
        race.row("ours", || decode(wire, *megabytes));
        rates.push(race.run(5).first().as_secs_f64() / *megabytes as f64);
    }
    let growth = rates.iter().fold(0.0_f64, |most, rate| most.max(*rate)) / rates[0];
    let met = growth <= 1.5;
    let verdict = if met { "met" } else { "MISSED" };
    println!(
        "{verdict}: a byte of the longest costs at most 1.5 of one of the shortest: {growth:.2}"
    );
    met
}

/// Decodes one response of so many megabytes, whose text is counted and not kept.
fn decode(wire: Wire, megabytes: usize) {
    let (start, event): (&str, &str) = match wire {
        Wire::Anthropic => (
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
             \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{\"type\":\"text_delta\",\"text\":\"some more words\"}}\n\n",
        ),
        Wire::Chat => (
            "",
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{\"index\":0,\"delta\":{\"content\":\"some more words\"},\
             \"finish_reason\":null}]}\n\n",
        ),
    };
    let piece = event.repeat(500);
    let times = (megabytes * 1_000_000).div_ceil(piece.len());
    let mut decoder = Decoder::new(wire.dialect(), DecodeLimits::default());
    let (mut events, mut length) = (Vec::new(), 0);
    decoder.push(start.as_bytes(), &mut events);
    for _ in 0..times {
        decoder.push(piece.as_bytes(), &mut events);
        for event in events.drain(..) {
            if let ModelEvent::Delta { text, .. } = event {
                length += text.len();
            }
        }
    }
    assert_eq!(length, times * 500 * "some more words".len());
}
