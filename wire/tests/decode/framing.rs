//! Our framing against a maintained parser of server-sent events, event by event.
//!
//! That parser wants to be polled; ours is called. They must agree on every stream, however it is
//! cut. Two differences are known and taken out here: theirs hands out blocks without data, which
//! the standard drops, and drops an unterminated last event, which we leave to our caller.

use futures_util::{FutureExt, StreamExt, stream};
use proptest::prelude::*;
use sse_stream::SseByteStream;
use wire::sse::{Frame, Framer};

type Events = Vec<(Vec<u8>, Vec<u8>)>;

fn ours(pieces: &[&[u8]]) -> (Events, usize) {
    let mut framer = Framer::new(1 << 20);
    let (mut events, mut stray) = (Vec::new(), 0);
    for piece in pieces {
        let mut at = 0;
        while let Some(frame) = framer.next(piece, &mut at) {
            match frame {
                Frame::Event { name, data } => events.push((name.to_vec(), data.to_vec())),
                Frame::Stray(_) => stray += 1,
                Frame::TooLong => panic!("nothing here is long"),
            }
        }
        assert_eq!(at, piece.len(), "a piece is taken whole");
    }
    (events, stray)
}

fn theirs(pieces: &[&[u8]]) -> Events {
    let owned: Vec<Result<bytes::Bytes, std::io::Error>> =
        pieces.iter().map(|piece| Ok(bytes::Bytes::copy_from_slice(piece))).collect();
    let parser = SseByteStream::new(stream::iter(owned));
    let read = parser.collect::<Vec<_>>().now_or_never().expect("nothing to wait for");
    let event = |event: sse_stream::Sse| {
        let data = event.data?.into_bytes();
        Some((event.event.unwrap_or_default().into_bytes(), data))
    };
    read.into_iter().filter_map(|read| event(read.expect("UTF-8"))).collect()
}

#[test]
fn recorded_streams_are_framed_alike() {
    let Some(recorded) = crate::recorded::streams(wire::Dialect::ALL) else { return };
    for stream in recorded {
        for size in [1, 7, 1021, usize::MAX] {
            let pieces: Vec<&[u8]> =
                stream.body.chunks(size.min(stream.body.len().max(1))).collect();
            assert!(ours(&pieces).0 == theirs(&pieces), "{} in pieces of {size}", stream.id);
        }
    }
}

#[test]
fn a_block_without_data_is_no_event() {
    assert_eq!(ours(&[b"event: ping\n\ndata: x\n\n"]).0, [(b"".to_vec(), b"x".to_vec())]);
}

#[test]
fn an_unterminated_event_is_handed_out_at_the_end() {
    for body in ["event: e\ndata: x", "event: e\ndata: x\n", "event: e\r\ndata: x\r\n"] {
        let mut framer = Framer::new(100);
        assert_eq!(framer.next(body.as_bytes(), &mut 0), None, "{body:?}");
        let last = Frame::Event { name: b"e", data: b"x" };
        assert_eq!(framer.finish(), Some(last), "{body:?}");
        assert_eq!(framer.finish(), None, "{body:?}");
    }
}

#[test]
fn lines_and_events_are_bounded() {
    for body in ["data: 12345678901234567890\n\n", "data: 123456789\ndata: 123456789\n\n"] {
        for size in [1, 100] {
            let mut framer = Framer::new(16);
            let too_long = body.as_bytes().chunks(size).any(|piece| {
                let mut at = 0;
                std::iter::from_fn(|| framer.next(piece, &mut at).map(|f| f == Frame::TooLong))
                    .any(|too_long| too_long)
            });
            assert!(too_long, "{body:?} in pieces of {size}");
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let text = "[ a:{}é\u{1F980}]{0,12}";
    prop_oneof![
        4 => text.prop_map(|text| format!("data:{text}")),
        4 => text.prop_map(|text| format!("data: {text}")),
        2 => text.prop_map(|text| format!("event: {text}")),
        1 => text.prop_map(|text| format!("event:{text}")),
        1 => text.prop_map(|text| format!(":{text}")),
        1 => text.prop_map(|text| format!("id: {text}")),
        1 => Just("retry: 3000".to_owned()),
        1 => Just("data".to_owned()),
        1 => Just("event".to_owned()),
        6 => Just(String::new()),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let lines = prop::collection::vec((line(), end), 0..30);
    (any::<bool>(), lines).prop_map(|(bom, lines)| {
        let mut body = if bom { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        for (line, end) in lines {
            body.extend_from_slice(line.as_bytes());
            body.extend_from_slice(end.as_bytes());
        }
        body
    })
}

proptest! {
    #[test]
    fn any_stream_is_framed_alike(body in body(), cuts in prop::collection::vec(0usize..400, 0..6)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(body.len())).collect();
        cuts.sort_unstable();
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut from = 0;
        for at in cuts {
            pieces.push(&body[from..at]);
            from = at;
        }
        pieces.push(&body[from..]);
        let expected = theirs(&[&body]);
        prop_assert_eq!(&ours(&[&body]).0, &expected);
        prop_assert_eq!(&ours(&pieces).0, &expected);
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        prop_assert_eq!(&ours(&bytes).0, &expected);
    }
}
