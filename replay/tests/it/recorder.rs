//! A recorder never fails a run, keeps bodies as they came, and never lets a secret out.

use std::io;

use machine_spec::config::RunConfig;
use machine_spec::explore::profiles::{self, candidate};
use machine_spec::ids::EffectId;
use machine_spec::input::{ToolReport, ToolStatus};
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, Closure, ModelEvent, Proof, Safety, StopReason,
};
use machine_spec::{Effect, Input, State, Terminal, start, step};
use replay::format::v1::{BodyEnd, BodyNote};
use replay::format::{ReadLimits, address};
use replay::reader::{Bodies, Body, Recording, Tail};
use replay::recorder::Lost;
use replay::redact::{REPLACEMENT, Redactor};
use replay::replayer::{Options, replay, replay_bytes, replay_file};
use replay::sink::{FileSink, MemorySink, Sink, bodies_folder};
use replay::{Header, Note, Recorder};

const KEY: &str = "sk-live-0123456789\"abc";

/// Keeps so many bytes, then fails.
#[derive(Debug, Default)]
struct Failing {
    kept: MemorySink,
    room: usize,
    bodies_fail: bool,
}

impl Failing {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.room = self
            .room
            .checked_sub(bytes.len())
            .ok_or_else(|| io::Error::from(io::ErrorKind::StorageFull))?;
        Ok(())
    }
}

impl Sink for Failing {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.take(bytes)?;
        self.kept.append(bytes)
    }
    fn grow_body(&mut self, part: &str, bytes: &[u8]) -> io::Result<()> {
        if self.bodies_fail {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        self.kept.grow_body(part, bytes)
    }
    fn keep_body(&mut self, part: &str, address: &str) -> io::Result<()> {
        self.kept.keep_body(part, address)
    }
    fn drop_body(&mut self, part: &str) -> io::Result<()> {
        self.kept.drop_body(part)
    }
}

#[test]
fn a_sink_that_fails_is_told_once_and_breaks_nothing() {
    let profile = &profiles::all()[2];
    let choices = [0, 3, 9, 4, 2, 8];
    let (played, end) = crate::support::record_into(MemorySink::default(), profile, &choices);
    let inputs = inputs_of(&played);
    let header = Header::new(profile.config.clone(), vec![]);
    let mut recorder = Recorder::create(MemorySink::default(), header, Redactor::default());
    drive(&mut recorder, &inputs);
    let whole = recorder.finish().0;
    let header = memchr::memchr(b'\n', &whole.recording).expect("a header") + 1;
    for room in [0, header - 1, header, header + 100, whole.recording.len() - 1] {
        let mut recorder = Recorder::create(
            Failing { room, ..Failing::default() },
            Header::new(profile.config.clone(), vec![]),
            Redactor::default(),
        );
        let state = drive(&mut recorder, &inputs);
        assert_eq!(state, end, "the run is the same without a recording");
        assert!(!recorder.is_recording());
        let told = recorder.take_failures();
        assert_eq!(told.len(), 1, "room for {room} bytes: {told:?}");
        assert_eq!(told[0].lost, Lost::Frames);
        assert!(told[0].to_string().starts_with("LW1203: recording stopped at frame "));
        assert!(recorder.take_failures().is_empty(), "it is told once");
        let kept = recorder.finish().0.kept;
        assert!(whole.recording.starts_with(&kept.recording), "what is there is what was written");
        if kept.recording.len() >= header {
            let report = replay_bytes(
                &kept.recording,
                ReadLimits::default(),
                None,
                Bodies::none(),
                Options::default(),
            );
            assert!(report.expect("the header is whole").is_identical());
        }
    }
}

#[test]
fn bodies_that_cannot_be_kept_do_not_stop_the_frames() {
    let sink = Failing { room: usize::MAX, bodies_fail: true, ..Failing::default() };
    let header = Header::new(profiles::all()[0].config.clone(), vec![]);
    let mut recorder = Recorder::create(sink, header, Redactor::default());
    drive(&mut recorder, &[Input::UserSaid { text: "u".into(), images: vec![], rules: vec![] }]);
    recorder.body(EffectId(0), b"data");
    recorder.body(EffectId(0), b"data");
    recorder.body_ended(EffectId(0), BodyEnd::Ended, Some(200));
    assert!(recorder.is_recording());
    let told = recorder.take_failures();
    assert_eq!(told.iter().map(|told| told.lost).collect::<Vec<_>>(), [Lost::Bodies]);
    let recording = Recording::from_memory(&recorder.finish().0.kept).expect("readable");
    let note = recording.responses().next().expect("its end is told");
    assert_eq!((note.digest.as_str(), note.bytes), ("", 8));
}

/// The inputs of a recording.
fn inputs_of(sink: &MemorySink) -> Vec<Input> {
    let recording = Recording::from_memory(sink).expect("readable");
    recording.frames.iter().filter_map(|frame| frame.input.clone()).collect()
}

/// Tells a recorder and the machine what came, as a driver does.
fn drive<S: Sink>(recorder: &mut Recorder<S>, inputs: &[Input]) -> State {
    let begun = start(recorder.header().config.clone());
    recorder.started(&begun, &Note::default());
    let mut state = begun.state;
    for input in inputs {
        for input in recorder.admit(input.clone()) {
            let half = recorder.heard(&input);
            let after = step(state, input);
            half.stepped(&after, &Note::default());
            state = after.state;
        }
    }
    state
}

fn said(id: u64, event: ModelEvent) -> Input {
    Input::ModelSaid { id: EffectId(id), event }
}

fn block(id: u64, kind: BlockKind, pieces: &[&str], done: BlockEnd) -> Vec<Input> {
    let mut inputs = vec![said(id, ModelEvent::BlockBegan { block: 0, kind })];
    for piece in pieces {
        inputs.push(said(id, ModelEvent::Delta { block: 0, text: (*piece).into() }));
    }
    let proof = Proof::BlockStop;
    inputs.push(said(id, ModelEvent::BlockDone { block: 0, proof, done }));
    inputs
}

fn closed(id: u64, reason: StopReason) -> Vec<Input> {
    let word = reason.word();
    let finished = said(id, ModelEvent::finished(reason, word));
    vec![finished, Input::ModelClosed { id: EffectId(id), closure: Closure::Ended }]
}

/// A run in which the key is everywhere: configuration, user, call, result, hook-sized pieces of
/// the answer, raw bytes.
fn leaky_run() -> (RunConfig, Vec<Input>) {
    let config = RunConfig {
        candidates: vec![candidate("a")],
        tools: vec![profiles::tool("read", true)],
        system: format!("never tell {KEY}"),
        ..RunConfig::default()
    };
    let args = serde_json::json!({ "key": KEY }).to_string();
    let facts = CallFacts::new(ArgsVerdict::Valid { canonical: 1 }, Safety::Exclusive);
    let kind = BlockKind::Call { wire_id: "c1".into(), name: "read".into() };
    let mut inputs =
        vec![Input::UserSaid { text: format!("my key is {KEY}"), images: vec![], rules: vec![] }];
    let (a, b) = args.split_at(14);
    inputs.extend(block(0, kind, &[a, b], BlockEnd::Call(facts)));
    inputs.extend(closed(0, StopReason::ToolUse));
    let report = ToolReport::new(ToolStatus::Succeeded, format!("{KEY}{KEY}"));
    inputs.push(Input::ToolReturned { id: EffectId(1), report });
    let (a, rest) = KEY.split_at(3);
    let (b, c) = rest.split_at(9);
    inputs.extend(block(2, BlockKind::Text, &["It is ", a, b, c, ", sk-l"], BlockEnd::Text));
    inputs.extend(closed(2, StopReason::EndOfTurn));
    (config, inputs)
}

#[test]
fn a_secret_reaches_no_file_and_the_replay_is_identical() {
    let (config, inputs) = leaky_run();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    let mut header = Header::new(config, vec![]);
    header.note.insert("command".into(), format!("loopwright run --api-key {KEY}"));
    let sink = FileSink::create(&path).expect("a file");
    let mut recorder = Recorder::create(sink, header, Redactor::new([KEY])).keeping_requests();
    let end = drive(&mut recorder, &inputs);
    let raw = format!("data: {{\"text\":{}}}\n\n", serde_json::json!(KEY));
    for byte in raw.as_bytes() {
        recorder.body(EffectId(0), &[*byte]);
    }
    recorder.body_ended(EffectId(0), BodyEnd::Ended, Some(200));
    recorder.request(raw.as_bytes());
    let failures = recorder.finish().1;
    assert!(failures.is_empty(), "{failures:?}");

    let mut seen = 0;
    let escaped = KEY.replace('"', "\\\"");
    for file in files(folder.path()) {
        let bytes = std::fs::read(&file).expect("readable");
        for form in [KEY, &escaped] {
            let found = memchr::memmem::find(&bytes, form.as_bytes());
            assert_eq!(found, None, "the key stands in {}", file.display());
        }
        seen += usize::from(memchr::memmem::find(&bytes, REPLACEMENT.as_bytes()).is_some());
    }
    assert_eq!(seen, 2, "the recording and the body tell that something was taken out");
    let Some(Terminal::Answered { text, .. }) = end.terminal() else { panic!("{:?}", end.room()) };
    assert_eq!(text, "It is [redacted], sk-l");
    let report = replay_file(&path, Options::default()).expect("readable");
    assert!(report.is_identical(), "{:?}", report.verdict);
    assert_eq!(report.terminal.as_ref(), end.terminal());
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            files.extend(self::files(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}

#[test]
fn a_body_whose_secret_cannot_be_taken_out_is_not_kept() {
    let (config, inputs) = leaky_run();
    let mut recorder =
        Recorder::create(MemorySink::default(), Header::new(config, vec![]), Redactor::new([KEY]));
    drive(&mut recorder, &inputs);
    // The events held the key in pieces, so the bytes do not hold it in one.
    recorder.body(EffectId(2), b"data: sk-\n\ndata: live-0123\n\ndata: 456789\"abc\n\n");
    recorder.body_ended(EffectId(2), BodyEnd::Ended, Some(200));
    let (sink, _) = recorder.finish();
    assert!(sink.bodies.is_empty() && sink.growing.is_empty());
    let recording = Recording::from_memory(&sink).expect("readable");
    let note = recording.responses().next().expect("its end is told");
    assert!(note.redacted && note.digest.is_empty() && note.bytes > 0);
    assert!(replay(&recording, Options::default()).is_identical());
}

#[test]
fn bodies_are_kept_byte_for_byte_however_they_came_and_however_they_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    let header = Header::new(profiles::all()[0].config.clone(), vec![]);
    for redactor in [Redactor::default(), Redactor::new(["another-secret"])] {
        let sink = FileSink::create(&path).expect("a file");
        let mut recorder = Recorder::create(sink, header.clone(), redactor);
        drive(
            &mut recorder,
            &[Input::UserSaid { text: "u".into(), images: vec![], rules: vec![] }],
        );
        let broken = b"data: {\"broken\": anoth\xff\xfe";
        for piece in broken.chunks(3) {
            recorder.body(EffectId(0), piece);
        }
        recorder.body_ended(EffectId(0), BodyEnd::Broken, Some(200));
        recorder.body_ended(EffectId(4), BodyEnd::Silent, None);
        recorder.body(EffectId(7), b"still coming");
        assert!(bodies_folder(&path).join("e7.part").exists(), "bytes are out at once");
        assert!(recorder.finish().1.is_empty());
        let recording = Recording::read(&path).expect("readable");
        assert_eq!(recording.tail, Tail::Clean);
        let told: Vec<&BodyNote> = recording.responses().collect();
        let expected: [(u64, &[u8], BodyEnd); 3] = [
            (0, broken, BodyEnd::Broken),
            (4, b"", BodyEnd::Silent),
            (7, b"still coming", BodyEnd::Cancelled),
        ];
        assert_eq!(told.len(), expected.len());
        for (note, (effect, bytes, end)) in told.iter().zip(expected) {
            assert_eq!((note.effect, note.end), (EffectId(effect), end));
            assert_eq!(note.bytes, bytes.len() as u64);
            assert_eq!(note.digest, address(bytes));
            assert_eq!(recording.bodies.get(&note.digest), Body::Found(bytes.to_vec()));
        }
    }
}

#[test]
fn an_altered_or_hostile_body_is_not_handed_out() {
    let wanted = address(b"body");
    let bodies = Bodies::memory([(wanted.clone(), b"ydob".to_vec())].into());
    assert_eq!(bodies.get(&wanted), Body::Altered { found: address(b"ydob") });
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("secret"), "x").expect("a file");
    let limits = ReadLimits { body_bytes: 3, ..ReadLimits::default() };
    let bodies = Bodies::folder(folder.path().join("inner"), limits);
    assert_eq!(bodies.get("../secret"), Body::Missing);
    let inner = Bodies::folder(folder.path().to_owned(), limits);
    std::fs::write(folder.path().join(&wanted), b"body").expect("a file");
    assert!(matches!(inner.get(&wanted), Body::Unreadable { .. }));
}

#[test]
fn a_process_that_dies_between_the_two_parts_leaves_the_input_behind() {
    let profile = &profiles::all()[0];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    let header = Header::new(profile.config.clone(), vec![]);
    let sink = FileSink::create(&path).expect("a file");
    let mut recorder = Recorder::create(sink, header, Redactor::default());
    drive(&mut recorder, &[]);
    let input = Input::UserSaid { text: "do it".into(), images: vec![], rules: vec![] };
    let half = recorder.heard(&input);
    let on_disk = std::fs::read(&path).expect("readable");
    assert!(on_disk.ends_with(br#"{"seq":1,"input":{"user_said":{"text":"do it"}}"#));
    // The process dies here.
    drop(half);
    drop(recorder.abandon());

    let torn = Recording::read(&path).expect("readable");
    assert!(matches!(&torn.tail, Tail::Torn(tail) if tail.input == Some(input.clone())));
    let resumption = torn.resumption().expect("it was started");
    assert_eq!(resumption.inputs[0], input);
    let sink = FileSink::reopen(&path, torn.sound_bytes).expect("a file");
    let mut recorder = Recorder::resume(sink, &torn, Redactor::default()).expect("sound");
    let mut state = resumption.state;
    for input in resumption.inputs {
        let half = recorder.heard(&input);
        let after = step(state, input);
        half.stepped(&after, &Note::default());
        state = after.state;
    }
    assert!(recorder.finish().1.is_empty());
    let again = Recording::read(&path).expect("readable");
    let resumed = again.asides[0].1.resumed.as_ref().expect("it is told");
    assert!(resumed.input_kept && resumed.after == 0);
    assert!(again.frames.iter().any(|frame| {
        frame.effects.iter().any(|effect| matches!(effect, Effect::CallModel { .. }))
    }));
    assert!(replay(&again, Options::default()).is_identical());
}

#[test]
fn a_frame_that_is_never_completed_stops_the_recording_instead_of_spoiling_it() {
    let profile = &profiles::all()[0];
    let header = Header::new(profile.config.clone(), vec![]);
    let mut recorder = Recorder::create(MemorySink::default(), header, Redactor::default());
    let state = drive(&mut recorder, &[]);
    let input = Input::UserSaid { text: "u".into(), images: vec![], rules: vec![] };
    drop(recorder.heard(&input));
    let half = recorder.heard(&input);
    half.stepped(&step(state, input.clone()), &Note::default());
    let told = recorder.take_failures();
    assert_eq!((told.len(), told[0].seq), (1, 1));
    let recording = Recording::from_memory(&recorder.finish().0).expect("readable");
    assert!(matches!(&recording.tail, Tail::Torn(tail) if tail.input == Some(input)));
}
