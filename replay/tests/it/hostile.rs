//! Recordings come from anywhere. What cannot be read is refused with its place and a reason.

use replay::code::Code;
use replay::format::ReadLimits;
use replay::reader::{Bodies, Recording, Tail};
use replay::replayer::{Options, Verdict, replay_bytes};
use replay::{ReadError, Recorder};

use crate::support::{contents, recorded, sealed};

fn refused(bytes: &[u8], limits: ReadLimits) -> Box<ReadError> {
    match Recording::from_bytes(bytes, limits, Bodies::none()) {
        Err(error) => error,
        Ok(recording) => match recording.tail {
            Tail::Damaged { error, .. } => error,
            Tail::Clean | Tail::Torn(_) => panic!("it was accepted"),
        },
    }
}

/// One edit of a sound recording, sealed again so that only its meaning is wrong.
fn edited(line: usize, edit: impl Fn(&str) -> String) -> Vec<u8> {
    let mut lines = contents(&recorded(0, &[]));
    lines[line] = edit(&lines[line]);
    sealed(&lines)
}

fn told(bytes: &[u8], code: Code, line: u64, words: &str) {
    let error = refused(bytes, ReadLimits::default());
    let text = error.to_string();
    assert_eq!((error.code, error.line), (code, line), "{text}");
    assert!(text.contains(words), "`{text}` does not say `{words}`");
    assert!(text.starts_with(code.as_str()), "{text}");
    assert_eq!(error.exit_code(), 3, "{text}");
}

#[test]
fn what_is_no_recording_is_told_from_what_is_a_newer_one() {
    told(b"", Code::NotARecording, 1, "the first line is empty");
    told(b"\n\n", Code::NotARecording, 1, "the first line is empty");
    told(b"hello\n", Code::NotARecording, 1, "expected the header of a recording");
    told(b"{\"seq\":0}\n", Code::NotARecording, 1, "missing field `format`");
    told(b"{\"format\":7}\n", Code::NotARecording, 1, "expected a string");
    told(b"{\"format\":\"loopwright/one\"}\n", Code::NotARecording, 1, "found `loopwright/one`");
    told(b"\xff\xfe{}\n", Code::NotARecording, 1, "found bytes that are not UTF-8");
    let newer = edited(0, |line| line.replace("loopwright/1.0", "loopwright/2.0"));
    told(
        &newer,
        Code::NewerFormat,
        1,
        "format `loopwright/2.0`, this release reads `loopwright/1.x`",
    );
}

#[test]
fn a_header_that_cannot_be_used_says_which_field() {
    let flags = edited(0, |line| line.replacen("\"flags\":0", "\"flags\":4", 1));
    told(&flags, Code::UnknownFlags, 1, "behaviour flags 0x4");
    let unlike = edited(0, |line| {
        let at = line.rfind("\"flags\":0").expect("flags of the configuration");
        format!("{}\"flags\":8{}", &line[..at], &line[at + 9..])
    });
    told(&unlike, Code::BadHeader, 1, "flags that are not those of its configuration");
    let extra = edited(0, |line| line.replace("\"limits\":{", "\"limits\":{\"wishes\":3,"));
    told(&extra, Code::BadHeader, 1, "unknown field `wishes`");
    let wrong = edited(0, |line| line.replace("\"candidates\":[", "\"candidates\":[7,"));
    told(&wrong, Code::BadHeader, 1, "expected struct Candidate");
}

#[test]
fn frames_that_are_none_are_refused_with_place_and_expectation() {
    let wrong = edited(2, |line| line.replace("\"seq\":1", "\"seq\":\"1\""));
    told(&wrong, Code::BadFrame, 3, "expected a frame (`seq`) or an aside (`aside`)");
    let kind = edited(2, |line| line.replace("user_said", "user_sung"));
    told(&kind, Code::BadFrame, 3, "unknown variant `user_sung`");
    let gap = edited(2, |line| line.replace("\"seq\":1", "\"seq\":2"));
    told(&gap, Code::BadSequence, 3, "expected frame 1, found frame 2");
    let twice = edited(2, |line| line.replace("\"seq\":1", "\"seq\":0"));
    told(&twice, Code::BadSequence, 3, "expected frame 1, found frame 0");
    let none = edited(2, |_| "{\"seq\":1,\"input\":null".into());
    told(&none, Code::BadFrame, 3, "expected an input: found none");
    let early = edited(1, |line| line.replace("null", "{\"timer_fired\":{\"id\":0}}"));
    told(&early, Code::BadFrame, 2, "expected frame 0 without an input");
    let neither = edited(2, |_| "{\"note\":{}".into());
    told(&neither, Code::BadFrame, 3, "found neither");
    let both = edited(2, |line| format!("{line},\"aside\":{{}}"));
    told(&both, Code::BadFrame, 3, "found both in one line");
    let long = edited(2, |line| line.replace("\"seq\":1", "\"seq\":99999999999999999999"));
    told(&long, Code::BadFrame, 3, "invalid type: floating point");
}

#[test]
fn the_place_of_a_fault_is_exact() {
    let bad = edited(2, |line| line.replace("\"text\":", "\"text\":7,\"text\":"));
    let error = refused(&bad, ReadLimits::default());
    let line = bad.split(|b| *b == b'\n').nth(2).expect("a third line");
    let seven = memchr::memmem::find(line, b"7").expect("it stands there");
    assert_eq!(error.column, seven as u64 + 1, "{error}");
    assert_eq!(bad[error.byte as usize], b'7', "{error}");
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = edited(2, |_| format!("{{\"seq\":1,\"input\":{}", "[".repeat(100_000)));
    told(&deep, Code::BadFrame, 3, "expected");
    let nested = "{\"x\":".repeat(1_000) + "1" + &"}".repeat(1_000);
    let deep = edited(2, |_| format!("{{\"seq\":1,\"later\":{nested},\"input\":{nested}"));
    told(&deep, Code::BadFrame, 3, "expected");
    let sink = recorded(0, &[]).recording;
    let limits = ReadLimits { line_bytes: 100, ..ReadLimits::default() };
    let error = refused(&sink, limits);
    assert_eq!((error.code, error.line, error.exit_code()), (Code::TooLarge, 1, 3), "{error}");
    let header = memchr::memchr(b'\n', &sink).expect("a header");
    let long = edited(2, |line| format!("{line},\"pad\":\"{}\"", "x".repeat(2 * header)));
    let error = refused(&long, ReadLimits { line_bytes: header, ..ReadLimits::default() });
    assert_eq!((error.code, error.line), (Code::TooLarge, 3), "{error}");
}

#[test]
fn a_file_that_is_not_there_or_too_large_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none.jsonl");
    let error = Recording::read(&path).expect_err("nothing is there");
    assert_eq!((error.code, error.exit_code()), (Code::Unreadable, 3));
    assert!(error.to_string().contains("none.jsonl"), "{error}");
    std::fs::write(&path, recorded(0, &[]).recording).expect("a file");
    let limits = ReadLimits { file_bytes: 10, ..ReadLimits::default() };
    let error = Recording::read_within(&path, limits).expect_err("it is too large");
    assert_eq!(error.code, Code::TooLarge, "{error}");
}

/// Everything before the first unreadable line was driven and compared.
#[test]
fn what_stands_before_an_unreadable_line_is_still_replayed() {
    let last = contents(&recorded(0, &[])).len() - 1;
    let bytes = edited(last, |_| "{\"seq\":\"x\"".into());
    let report =
        replay_bytes(&bytes, ReadLimits::default(), None, Bodies::none(), Options::default())
            .expect("the header is sound");
    assert!(matches!(&report.verdict, Verdict::Unreadable(error) if error.line == last as u64 + 1));
    assert_eq!((report.frames, report.exit_code()), (last as u64 - 1, 3));
}

/// The three questions on each change of the format.
mod compatibility {
    use super::*;
    use replay::redact::Redactor;
    use replay::replayer::replay;
    use replay::sink::MemorySink;

    fn of_a_newer_minor() -> Vec<u8> {
        let mut lines = contents(&recorded(0, &[]));
        lines[0] = lines[0].replace("loopwright/1.0", "loopwright/1.9");
        lines[0].push_str(",\"weather\":{\"sky\":[1,2,3]}");
        lines[2].push_str(",\"note\":{\"at_ms\":3,\"mood\":\"fine\"},\"weight\":1.5");
        lines.insert(2, "{\"aside\":{\"applause\":{\"by\":\"all\"}}".into());
        sealed(&lines)
    }

    #[test]
    fn an_old_reader_reads_what_a_newer_minor_version_added() {
        let bytes = of_a_newer_minor();
        let recording = Recording::from_bytes(&bytes, ReadLimits::default(), Bodies::none())
            .expect("the major version is the same");
        assert_eq!(recording.tail, Tail::Clean);
        assert_eq!(recording.header.format.minor, 9);
        assert_eq!(recording.frames[1].note.at_ms, Some(3));
        assert!(replay(&recording, Options::default()).is_identical());
    }

    #[test]
    fn a_new_reader_reads_the_least_that_version_1_0_ever_wrote() {
        let old = sealed(&[
            "{\"format\":\"loopwright/1.0\",\"machine\":\"0.1.0\",\"flags\":0,\"config\":{\
             \"candidates\":[{\"name\":\"a\",\"model\":\"m\",\"context_window\":0,\"max_output\":0}]}",
            "{\"seq\":0,\"input\":null,\"digest\":\"0123456789abcdef\"",
            "{\"seq\":1,\"input\":{\"interrupted\":{\"by\":\"user\"}}",
            "{\"aside\":{\"body\":{\"effect\":0,\"bytes\":0,\"end\":\"ended\"}}",
        ]);
        let recording = Recording::from_bytes(&old, ReadLimits::default(), Bodies::none())
            .expect("it is of this version");
        assert_eq!(recording.tail, Tail::Clean);
        assert_eq!((recording.frames.len(), recording.asides.len()), (2, 1));
    }

    #[test]
    fn an_old_writer_does_not_append_to_new_data() {
        let bytes = of_a_newer_minor();
        let recording = Recording::from_bytes(&bytes, ReadLimits::default(), Bodies::none())
            .expect("the major version is the same");
        let resumed = Recorder::resume(MemorySink::default(), &recording, Redactor::default());
        let why = resumed.expect_err("what it holds would not be kept up").to_string();
        assert!(why.starts_with("LW1103: the recording is of version `loopwright/1.9`"), "{why}");
    }
}
