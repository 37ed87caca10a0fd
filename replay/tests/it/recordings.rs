//! What is written is what is read, to the byte, and every change of a byte is found where it is.

use std::ops::Range;

use machine_spec::explore::profiles;
use machine_spec::{State, start, step};
use proptest::prelude::*;
use replay::code::Code;
use replay::format::ReadLimits;
use replay::reader::{Bodies, Recording, Tail};
use replay::recorder::NotResumable;
use replay::redact::Redactor;
use replay::replayer::{Options, Report, Verdict, replay, replay_bytes};
use replay::sink::MemorySink;
use replay::{Note, ReadError, Recorder};

fn read(bytes: &[u8]) -> Result<Recording, Box<ReadError>> {
    Recording::from_bytes(bytes, ReadLimits::default(), Bodies::none())
}

fn drive(bytes: &[u8]) -> Result<Report, Box<ReadError>> {
    replay_bytes(bytes, ReadLimits::default(), None, Bodies::none(), Options::default())
}

/// The lines of a recording, without their newlines.
fn lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut from = 0;
    for at in memchr::memchr_iter(b'\n', bytes) {
        lines.push(from..at);
        from = at + 1;
    }
    lines
}

fn worlds(most: usize) -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_recording_reads_back_and_replays_identically(profile in 0usize..16, world in worlds(200)) {
        let all = profiles::all();
        let profile = &all[profile % all.len()];
        let (sink, end) = crate::support::record_into(MemorySink::default(), profile, &world);
        let recording = read(&sink.recording).expect("it was just written");
        prop_assert_eq!(&recording.tail, &Tail::Clean);
        prop_assert_eq!(&recording.header.config, &profile.config);
        let mut state: Option<State> = None;
        for (n, frame) in recording.frames.iter().enumerate() {
            prop_assert_eq!(frame.seq, n as u64);
            let after = match (state.take(), frame.input.clone()) {
                (Some(state), Some(input)) => step(state, input),
                (_, _) => start(profile.config.clone()),
            };
            prop_assert_eq!(&after.effects, &frame.effects);
            prop_assert_eq!(&after.trail, &frame.trail);
            if let Some(digest) = frame.digest {
                prop_assert_eq!(digest, after.state.digest());
            }
            state = Some(after.state);
        }
        prop_assert_eq!(state.as_ref(), Some(&end));
        let (whole, streamed) = (replay(&recording, Options::default()), drive(&sink.recording).expect("readable"));
        prop_assert_eq!(&whole, &streamed);
        prop_assert!(whole.is_identical(), "{:?}", whole.verdict);
        prop_assert_eq!(whole.terminal.as_ref(), end.terminal());
        prop_assert_eq!(whole.frames, recording.frames.len() as u64);
    }

    #[test]
    fn every_prefix_replays_and_gives_its_state(profile in 0usize..16, world in worlds(60)) {
        let sink = crate::support::recorded(profile, &world);
        let recording = read(&sink.recording).expect("it was just written");
        for n in 0..recording.frames.len() {
            let end = lines(&sink.recording)[n + 1].end;
            let report = drive(&sink.recording[..=end]).expect("a prefix is a recording");
            prop_assert!(report.is_identical(), "{:?}", report.verdict);
            prop_assert_eq!(report.frames, n as u64 + 1);
        }
    }

    #[test]
    fn a_tail_torn_anywhere_keeps_everything_before_it_and_its_input_once_whole(profile in 0usize..16, world in worlds(40)) {
        let sink = crate::support::recorded(profile, &world);
        let whole = read(&sink.recording).expect("it was just written");
        let last = lines(&sink.recording).pop().expect("there is a line");
        let line = &sink.recording[last.clone()];
        let input = whole.frames.last().expect("there is a frame").input.clone();
        let input_end = input.as_ref().map(|input| {
            let json = serde_json::to_vec(input).expect("inputs are serialisable");
            let at = memchr::memmem::find(line, &json).expect("it stands in the line");
            at + json.len()
        });
        for cut in 0..=line.len() {
            let torn = read(&sink.recording[..last.start + cut]).expect("the header is whole");
            if cut == line.len() {
                prop_assert_eq!(&torn.tail, &Tail::Clean);
                prop_assert_eq!(&torn.frames, &whole.frames);
                continue;
            }
            prop_assert_eq!(&torn.frames, &whole.frames[..whole.frames.len() - 1]);
            match &torn.tail {
                Tail::Clean => prop_assert_eq!(cut, 0),
                Tail::Torn(tail) => {
                    prop_assert_eq!((tail.byte, tail.length), (last.start as u64, cut as u64));
                    let expected = input.clone().filter(|_| input_end.is_some_and(|end| cut >= end));
                    prop_assert_eq!(&tail.input, &expected, "cut at {}", cut);
                }
                Tail::Damaged { error, .. } => prop_assert!(false, "{}", error),
            }
            let report = drive(&sink.recording[..last.start + cut]).expect("readable");
            prop_assert!(report.is_identical(), "{:?}", report.verdict);
            prop_assert_eq!(report.warnings.len(), usize::from(cut > 0));
        }
    }

    #[test]
    fn bytes_from_anywhere_never_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), profile in 0usize..16, at in any::<prop::sample::Index>()) {
        drop(drive(&bytes));
        let mut sink = crate::support::recorded(profile, &[]).recording;
        let at = at.index(sink.len());
        sink.splice(at..at, bytes);
        drop(drive(&sink));
        drop(read(&sink));
    }
}

/// Every byte of some whole recordings, changed in several ways: the reader names exactly the line.
#[test]
fn an_altered_byte_is_found_in_exactly_its_line() {
    let mut changed = 0;
    for (profile, world) in [(0, vec![]), (2, vec![0, 3, 9, 4, 2, 8, 8, 1]), (7, vec![1; 12])] {
        let sink = crate::support::recorded(profile, &world);
        let lines = lines(&sink.recording);
        let long = lines.len() - 1;
        for (number, line) in lines.iter().enumerate() {
            for at in line.start..=line.end {
                for new in [sink.recording[at] ^ 1, sink.recording[at] ^ 0x20, b'\n', 0xff] {
                    // The last newline is no part of a frame: without it the file is still whole.
                    if new == sink.recording[at] || (number == long && at == line.end) {
                        continue;
                    }
                    let mut altered = sink.recording.clone();
                    altered[at] = new;
                    changed += 1;
                    judge(&altered, number, at, new);
                }
            }
        }
    }
    assert!(changed > 10_000, "only {changed} changes were tried");
}

fn judge(altered: &[u8], line: usize, at: usize, new: u8) {
    let told = format!("byte {at} of line {} became {new:#x}", line + 1);
    if line == 0 {
        let error = read(altered).expect_err(&told);
        assert_eq!(error.line, 1, "{told}: {error}");
        return;
    }
    let report = drive(altered).unwrap_or_else(|error| panic!("{told}: {error}"));
    let Verdict::Diverged(found) = &report.verdict else { panic!("{told}: {:?}", report.verdict) };
    assert_eq!(found.code, Code::FrameAltered, "{told}: {found}");
    assert_eq!(found.at, line as u64 - 1, "{told}: {found}");
    assert_eq!(found.line, Some(line as u64 + 1), "{told}: {found}");
    assert_eq!(report.frames, line as u64 - 1, "everything before it is sound: {told}");
    assert_eq!(report.exit_code(), 1);
}

#[test]
fn a_recording_that_is_gone_on_with_reads_as_one() {
    let all = profiles::all();
    let (sink, _) =
        crate::support::record_into(MemorySink::default(), &all[2], &[0, 3, 9, 4, 2, 8]);
    let whole = read(&sink.recording).expect("it was just written");
    for (number, line) in lines(&sink.recording).iter().enumerate().skip(2) {
        for cut in [line.start, line.start + 12, line.end - 3, line.end] {
            let torn = read(&sink.recording[..cut]).expect("the header is whole");
            let rest = &whole.frames[torn.frames.len()..];
            let kept = MemorySink {
                recording: sink.recording[..torn.sound_bytes as usize].to_vec(),
                ..MemorySink::default()
            };
            let redactor = Redactor::default();
            let mut recorder = Recorder::resume(kept, &torn, redactor).expect("it is sound");
            let mut state = torn.frames.iter().fold(None, |state: Option<State>, frame| {
                Some(match (state, frame.input.clone()) {
                    (Some(state), Some(input)) => step(state, input).state,
                    (_, _) => start(torn.header.config.clone()).state,
                })
            });
            for frame in rest {
                let input = frame.input.clone().expect("only the start has none");
                let half = recorder.heard(&input);
                let after = step(state.take().expect("it was started"), input);
                half.stepped(&after, &Note::default());
                state = Some(after.state);
            }
            let (sink, failures) = recorder.finish();
            assert!(failures.is_empty());
            let again = read(&sink.recording).expect("readable");
            assert_eq!(again.tail, Tail::Clean, "line {number} cut at {cut}");
            assert_eq!(again.frames.len(), whole.frames.len());
            assert_eq!(again.asides.len(), 1);
            assert!(replay(&again, Options::default()).is_identical());
        }
    }
}

#[test]
fn a_damaged_or_newer_recording_is_not_gone_on_with() {
    let sink = crate::support::recorded(0, &[]);
    let mut recording = read(&sink.recording).expect("it was just written");
    recording.header.format.minor += 1;
    let resumed = Recorder::resume(MemorySink::default(), &recording, Redactor::default());
    assert!(matches!(resumed, Err(NotResumable::NewerMinor { .. })));
    let mut altered = sink.recording.clone();
    let at = lines(&altered)[2].start + 12;
    altered[at] ^= 1;
    let recording = read(&altered).expect("the header is whole");
    let resumed = Recorder::resume(MemorySink::default(), &recording, Redactor::default());
    assert!(matches!(resumed, Err(NotResumable::Damaged)));
}
