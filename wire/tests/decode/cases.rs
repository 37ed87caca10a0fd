//! Cases from the field, as far as they concern a decoder. The files are ours.
//!
//! What each says lies beside it as a snapshot, one event a line, and is reviewed as text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use machine_spec::model::{BlockKind, ModelEvent};
use proptest::prelude::*;
use wire::neutral::Message;
use wire::{DecodeLimits, Decoder, Dialect};

use crate::told::told;

/// Each case with the sentence its snapshot shows.
const CASES: &[(Dialect, &str, &str)] = &[
    (Dialect::OpenAiChat, "B007a-1", "fragments of two calls come interleaved"),
    (Dialect::OpenAiChat, "B007b-1", "one index serves two calls"),
    (Dialect::OpenAiResponses, "B007c-1", "items interleaved, routed by index"),
    (Dialect::OpenAiChat, "B008a-1", "empty strings mean absent"),
    (Dialect::Anthropic, "B008b-1", "a call without arguments"),
    (Dialect::OpenAiChat, "B008c-1", "a call with an empty argument string"),
    (Dialect::OpenAiChat, "B009a-1", "calls without ids"),
    (Dialect::Anthropic, "B012-1", "thinking goes back byte for byte, empty or redacted too"),
    (Dialect::Anthropic, "B014-1", "a closed block may be cut"),
    (Dialect::Anthropic, "B014b-1", "a block that is never closed is never done"),
    (Dialect::Anthropic, "B016-1", "a server tool keeps its streamed input"),
    (Dialect::OpenAiChat, "B017-1", "calls count whatever the finish reason says"),
    (Dialect::OpenAiChat, "B017b-1", "a finish reason that promises calls, and none"),
    (Dialect::Anthropic, "B018a-1", "a refusal without content"),
    (Dialect::Anthropic, "B018b-1", "a refusal after thinking"),
    (Dialect::Anthropic, "B018c-1", "the window is full"),
    (Dialect::Anthropic, "B018d-1", "a stop reason nobody has seen"),
    (Dialect::OpenAiResponses, "B018e-1", "a filter struck"),
    (Dialect::OpenAiChat, "B019a-1", "a call that looks complete, and the stream ends"),
    (Dialect::OpenAiChat, "B019a-2", "the same call with a finish reason"),
    (Dialect::OpenAiChat, "B019b-1", "the stream ends after the name of a tool"),
    (Dialect::Anthropic, "B019c-1", "all blocks closed, the message not"),
    (Dialect::OpenAiChat, "B019d-1", "a finish reason is enough, `[DONE]` is not needed"),
    (Dialect::Anthropic, "B020a-1", "the first event is an error"),
    (Dialect::Anthropic, "B020b-1", "an error after some text"),
    (Dialect::Anthropic, "B020c-1", "an error that is our fault"),
    (Dialect::OpenAiResponses, "B021a-1", "the response failed"),
    (Dialect::OpenAiResponses, "B021c-1", "an error event"),
    (Dialect::Anthropic, "B022a-1", "characters of two, three and four bytes"),
    (Dialect::OpenAiChat, "B022b-1", "CRLF, comments, fields of no interest, no blank after data:"),
    (Dialect::OpenAiChat, "B022c-1", "a comment between two data lines of one event"),
    (Dialect::OpenAiChat, "B023a-1", "usage in a chunk of its own, after the finish reason"),
    (Dialect::Anthropic, "B023b-1", "totals, not increments; null says nothing"),
    (Dialect::Gemini, "B023c-1", "usage in each chunk, growing"),
    (Dialect::OpenAiResponses, "B025-8", "the prompt is too long, said inside a stream"),
];

/// Spellings of vendors, each proved by recorded streams, written down so that they can stand in
/// this repository.
const SPELLINGS: &[(Dialect, &str, &str)] = &[
    (Dialect::Anthropic, "anthropic/unknown-block.sse", "blocks nobody knows keep their JSON"),
    (Dialect::OpenAiChat, "openai-chat/reasoning-details.sse", "details are joined and go back"),
    (Dialect::OpenAiChat, "openai-chat/odd-calls.sse", "no index, one index, late ids, no ids"),
    (Dialect::OpenAiChat, "openai-chat/cut-call.sse", "a cut call is not done, even if it parses"),
    (Dialect::OpenAiResponses, "openai-responses/phases-and-ids.sse", "ids rotate, a call is cut"),
    (Dialect::OpenAiResponses, "openai-responses/whole-in-the-end.sse", "items without deltas"),
    (Dialect::Gemini, "gemini/signatures.sse", "signatures stay with their parts"),
    (Dialect::Gemini, "gemini/partial-arguments.sse", "arguments arrive by path"),
    (Dialect::Gemini, "gemini/array.json", "one JSON array instead of events"),
    (Dialect::Gemini, "gemini/error-behind-the-stream.sse", "a bare error after events"),
    (Dialect::Gemini, "gemini/prompt-blocked.sse", "the prompt was refused"),
    (Dialect::Ollama, "ollama/thinking-and-calls.jsonl", "one object a line"),
    (Dialect::Ollama, "ollama/error.jsonl", "an error in a line of its own"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wire")
}

pub(crate) fn case(name: &str) -> Vec<u8> {
    file(&format!("cases/{name}.sse"))
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).expect("a fixture")
}

/// Every fixture: its dialect, its file, and the sentence its snapshot shows.
fn fixtures() -> impl Iterator<Item = (Dialect, String, &'static str)> {
    let cases =
        CASES.iter().map(|(dialect, name, what)| (*dialect, format!("cases/{name}.sse"), *what));
    cases.chain(SPELLINGS.iter().map(|(dialect, name, what)| (*dialect, (*name).to_owned(), *what)))
}

#[test]
fn fixtures_say_what_their_snapshots_show() {
    for (dialect, name, what) in fixtures() {
        let path = folder().join(&name);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(path.parent().expect("a folder"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_description(format!("{dialect}: {what}"));
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let told = told(dialect, &file(&name)).join("\n");
        settings.bind(|| insta::assert_snapshot!(stem, told));
    }
}

/// The folders are shared with other tests; a snapshot is ours, and none may outlive its fixture.
#[test]
fn every_snapshot_has_its_fixture() {
    let listed: BTreeSet<PathBuf> =
        fixtures().map(|(_, name, _)| folder().join(name).with_extension("snap")).collect();
    let folders = Dialect::ALL.iter().map(|dialect| dialect.word()).chain(["cases"]);
    for entry in folders.flat_map(|name| std::fs::read_dir(folder().join(name)).expect("a folder"))
    {
        let path = entry.expect("an entry").path();
        let is_snapshot = path.extension().is_some_and(|ending| ending == "snap");
        assert!(!is_snapshot || listed.contains(&path), "{} is in no table", path.display());
    }
}

#[test]
fn fixtures_cut_anywhere_say_the_same() {
    for (dialect, name, _) in fixtures() {
        let body = file(&name);
        let whole = events(dialect, &[&body]);
        for at in 0..body.len() {
            assert!(events(dialect, &[&body[..at], &body[at..]]) == whole, "{name} cut at {at}");
        }
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert!(events(dialect, &bytes) == whole, "{name} byte by byte");
    }
}

#[test]
fn bodies_of_one_dialect_do_not_upset_the_others() {
    for (_, name, _) in fixtures() {
        for dialect in Dialect::ALL {
            events(*dialect, &[&file(&name)]);
        }
    }
}

fn events(dialect: Dialect, pieces: &[&[u8]]) -> Vec<ModelEvent> {
    let mut decoder = Decoder::new(dialect, DecodeLimits::default());
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
    }
    decoder.finish(&mut events);
    events
}

/// A chunk with one fragment of a call.
fn fragment(index: usize, head: Option<&str>, args: &str) -> String {
    let mut call = serde_json::json!({"index": index, "function": {"arguments": args}});
    if let Some(name) = head {
        call["id"] = format!("call_{name}").into();
        call["function"]["name"] = name.into();
    }
    let delta = serde_json::json!({"tool_calls": [call]});
    let chunk = serde_json::json!({"choices": [{"index": 0, "delta": delta}]});
    format!("data: {chunk}\n\n")
}

proptest! {
    /// B007: no fragment is lost, none lands in the wrong call, for every interleaving that keeps
    /// the order within a call.
    #[test]
    fn interleaved_fragments_find_their_calls(
        texts in prop::collection::vec("[a-z\"\\\\é\u{1F980}]{0,40}", 1..5),
        cuts in prop::collection::vec(0usize..12, 1..5),
        order in prop::collection::vec(0usize..5, 0..80),
    ) {
        let args: Vec<String> =
            texts.iter().map(|text| serde_json::json!({"text": text}).to_string()).collect();
        let mut queues: Vec<Vec<String>> = args
            .iter()
            .enumerate()
            .map(|(at, args)| {
                let size = cuts[at % cuts.len()] + 1;
                let letters: Vec<char> = args.chars().collect();
                letters.chunks(size).rev().map(|piece| piece.iter().collect()).collect()
            })
            .collect();
        let name = |at: usize| format!("tool{at}");
        let mut body: String =
            (0..args.len()).map(|at| fragment(at, Some(&name(at)), "")).collect();
        let rest = (0..args.len()).flat_map(|at| std::iter::repeat_n(at, 200));
        for at in order.into_iter().map(|at| at % args.len()).chain(rest) {
            if let Some(piece) = queues[at].pop() {
                body.push_str(&fragment(at, None, &piece));
            }
        }
        body.push_str("data: {\"choices\":[{\"index\":0,\"finish_reason\":\"tool_calls\"}]}\n\n");
        let message =
            Message::read(Dialect::OpenAiChat, DecodeLimits::default(), body.as_bytes());
        prop_assert_eq!(message.tool_calls.len(), args.len());
        for (at, call) in message.tool_calls.iter().enumerate() {
            prop_assert!(call.complete);
            prop_assert_eq!(&call.name, &name(at));
            prop_assert_eq!(&call.args, &serde_json::from_str(&args[at]).ok());
        }
    }
}

#[test]
fn an_unfinished_call_is_announced_and_not_done() {
    let said = events(Dialect::OpenAiChat, &[&case("B019a-1")]);
    let began = |event: &&ModelEvent| {
        matches!(event, ModelEvent::BlockBegan { kind: BlockKind::Call { .. }, .. })
    };
    assert_eq!(said.iter().filter(began).count(), 1);
    assert!(!said.iter().any(|event| matches!(
        event,
        ModelEvent::BlockDone { .. } | ModelEvent::Finished { .. } | ModelEvent::Failed(_)
    )));
}
