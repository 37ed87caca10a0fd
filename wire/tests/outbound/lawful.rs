//! What must hold of every request, whatever was said: random conversations, all dialects.

use machine_spec::effect::ToolChoice;
use machine_spec::message::{
    Block, Boundary, BoundaryKind, Entry, Image, ImagePlace, Origin, Outcome, Said,
};
use machine_spec::{RunConfig, Transcript};
use proptest::prelude::*;
use serde_json::Value;
use wire::{Dialect, EncodeOptions, Encoder, Images};

use crate::talk::{self, FOREIGN, OWN};
use crate::walk::{self, Spoken};

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// The words for images that cannot be shown, without their blanks.
const LOST: &str = "(image/pngthatisnotavailableanymore)";
const LINKED: &str = "(image/pngathttps://example.com/a.png)";

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z ]{1,12}",
        1 => Just(String::new()),
        1 => Just(" \n\t".to_owned()),
        2 => any::<String>(),
    ]
}

fn wire_id() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9_]{1,12}", "functions\\.[a-z]{1,8}:[0-9]", "[a-zA-Z]{60,70}", ".{1,8}"]
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Thinking(bool),
    Opaque(bool),
    Call { wire_id: String, name: String, args: String, outcome: u8, output: String },
}

fn part() -> impl Strategy<Value = Part> {
    let name = prop_oneof![Just("read_file".to_owned()), Just("no such".to_owned()), words()];
    let args = prop_oneof![
        Just("{}".to_owned()),
        Just(r#"{"path": "a\"b"}"#.to_owned()),
        Just(r#"{"path":"#.to_owned()),
        Just("[1]".to_owned()),
        words(),
    ];
    prop_oneof![
        words().prop_map(Part::Text),
        any::<bool>().prop_map(Part::Thinking),
        any::<bool>().prop_map(Part::Opaque),
        (wire_id(), name, args, 0..6u8, words()).prop_map(
            |(wire_id, name, args, outcome, output)| Part::Call {
                wire_id,
                name,
                args,
                outcome,
                output
            }
        ),
    ]
}

#[derive(Clone, Debug)]
enum Turn {
    Said(String, bool),
    Shown(String, u8),
    Reply(bool, Vec<Part>),
    Boundary(String),
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        4 => (words(), prop::bool::weighted(0.2)).prop_map(|(text, marked)| Turn::Said(text, marked)),
        1 => (words(), 0..4u8).prop_map(|(text, image)| Turn::Shown(text, image)),
        5 => (any::<bool>(), prop::collection::vec(part(), 0..5))
            .prop_map(|(own, parts)| Turn::Reply(own, parts)),
        1 => words().prop_map(Turn::Boundary),
    ];
    prop::collection::vec(turn, 1..10)
}

/// The entries of a conversation; ids are unique in it, as the machine makes them.
fn entries(turns: &[Turn], dialect: Dialect) -> Vec<Entry> {
    let mut entries = vec![talk::user("begin")];
    let mut calls = 0;
    for turn in turns {
        match turn {
            Turn::Said(text, marked) => {
                let said = Said { marked: *marked, ..Said::words(Origin::Steer, text) };
                entries.push(Entry::Said(said));
            }
            Turn::Shown(text, image) => {
                let said = Said { images: shown(*image), ..Said::words(Origin::User, text) };
                entries.push(Entry::Said(said));
            }
            Turn::Boundary(text) => {
                let said = Said::words(Origin::Summary, format!("summary {text}"));
                let kind = BoundaryKind::Summarised;
                entries.push(Entry::Boundary(Boundary { said, kind, kept: 0, dropped: 1 }));
            }
            Turn::Reply(own, parts) => {
                let by = if *own { OWN } else { FOREIGN };
                let mut outcomes = Vec::new();
                let blocks = parts
                    .iter()
                    .map(|part| block(part, *own, dialect, &mut calls, &mut outcomes))
                    .collect();
                let reply = talk::reply(by, blocks);
                entries.push(reply.clone());
                if !outcomes.is_empty() {
                    entries.push(talk::results(&reply, outcomes));
                }
            }
        }
    }
    entries
}

/// One image or two: held, linked, or lost.
fn shown(image: u8) -> Vec<Image> {
    let held = Images::default().hold("image/png", &[image]);
    let place = ImagePlace::Linked("https://example.com/a.png".to_owned());
    let linked = Image { media: "image/png".to_owned(), place };
    match image {
        0 => vec![held],
        1 => vec![held, linked],
        2 => vec![linked],
        _ => vec![held.clone(), held],
    }
}

/// The bytes of all images but those that are lost.
fn held() -> Images {
    let mut images = Images::default();
    for image in 0..2 {
        images.hold("image/png", &[image]);
    }
    images
}

fn block(
    part: &Part,
    own: bool,
    dialect: Dialect,
    calls: &mut u32,
    outcomes: &mut Vec<Outcome>,
) -> Block {
    let secret = if own { "mine" } else { "theirs" };
    match part {
        Part::Text(text) => talk::text(text),
        Part::Thinking(sealed) => {
            let seal = match dialect {
                Dialect::OpenAiChat => format!(r#"{{"reasoning_content":"{secret}"}}"#),
                Dialect::Ollama => format!(r#"{{"thinking":"{secret}"}}"#),
                Dialect::Gemini => format!(r#"{{"text":"{secret}","thought":true}}"#),
                Dialect::Anthropic => {
                    format!(r#"{{"type":"thinking","thinking":"{secret}","signature":"s"}}"#)
                }
                Dialect::OpenAiResponses => format!(
                    r#"{{"type":"reasoning","id":"{secret}","summary":[],"encrypted_content":"e"}}"#
                ),
            };
            talk::thinking("thought", if *sealed { &seal } else { "" })
        }
        Part::Opaque(adorns) => talk::opaque(&if *adorns {
            format!(r#"{{"adorns_next":{{"extra":"{secret}"}}}}"#)
        } else {
            match dialect {
                Dialect::OpenAiChat | Dialect::Ollama => format!(r#"{{"note":"{secret}"}}"#),
                Dialect::Gemini => format!(r#"{{"executableCode":{{"code":"{secret}"}}}}"#),
                Dialect::Anthropic | Dialect::OpenAiResponses => {
                    format!(r#"{{"type":"server_thing","id":"{secret}"}}"#)
                }
            }
        }),
        Part::Call { wire_id, name, args, outcome, output } => {
            *calls += 1;
            let output = output.clone();
            outcomes.push(match outcome {
                0 => Outcome::Failed { output },
                1 => Outcome::TimedOut { output },
                2 => Outcome::Unknown { output },
                _ => Outcome::Succeeded { output },
            });
            talk::call(*calls, &format!("{wire_id}{calls}"), name, args)
        }
    }
}

/// The bodies of the requests after each entry, by one encoder.
fn bodies(dialect: Dialect, config: &RunConfig, entries: &[Entry]) -> Vec<Vec<u8>> {
    let mut encoder = Encoder::new(dialect, EncodeOptions::default());
    encoder.hold(&held());
    let mut transcript = Transcript::new();
    let mut bodies = Vec::new();
    for entry in entries {
        transcript.append(entry.clone());
        // A reply with calls is never sent without its results.
        if transcript.first_unpaired().is_none() {
            let request = talk::request(&transcript, ToolChoice::Auto);
            bodies.push(encoder.encode(config, &request).body);
        }
    }
    bodies
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_lawful(turns in turns()) {
        let config = talk::config();
        for dialect in Dialect::ALL {
            let entries = entries(&turns, *dialect);
            for body in bodies(*dialect, &config, &entries) {
                let value: Value = serde_json::from_slice(&body).expect("a body is JSON");
                let spoken = walk::spoken(*dialect, &value);
                prop_assert_eq!(walk::unpaired(&spoken), None, "{} {}", dialect, value);
                prop_assert_eq!(walk::blank(&value), None, "{} {}", dialect, value);
                prop_assert!(!value.to_string().contains("theirs"), "{} {}", dialect, value);
                if matches!(dialect, Dialect::Anthropic | Dialect::Gemini) {
                    prop_assert_eq!(walk::same_role_twice(*dialect, &value), None);
                }
            }
        }
    }

    /// Nothing a user said, a model wrote or a tool printed is lost on the way.
    #[test]
    fn every_word_arrives_in_order(turns in turns()) {
        let config = talk::config();
        for dialect in Dialect::ALL {
            let entries = entries(&turns, *dialect);
            let transcript: Transcript = entries.iter().cloned().collect();
            let body = bodies(*dialect, &config, &entries).pop().expect("a body");
            let value: Value = serde_json::from_slice(&body).expect("a body is JSON");
            let mut heard: Vec<Spoken> = walk::spoken(*dialect, &value);
            for said in &mut heard {
                if let Spoken::User(text) = said {
                    // What stands for an image that cannot be shown was said by nobody.
                    let words: String = text.split_whitespace().collect();
                    *text = words.replace(LOST, "").replace(LINKED, "");
                }
            }
            prop_assert_eq!(walk::words(&heard), walk::expected_words(&transcript), "{}", dialect);
        }
    }

    /// A growing conversation is encoded to growing bytes, up to the marks and the closing, and
    /// an encoder that saw it grow gives the same bytes as one that did not.
    #[test]
    fn a_request_begins_like_the_one_before(turns in turns()) {
        let config = talk::config();
        for dialect in Dialect::ALL {
            let entries = entries(&turns, *dialect);
            let grown = bodies(*dialect, &config, &entries);
            let compacts = entries.iter().any(|entry| matches!(entry, Entry::Boundary(_)));
            let transcript: Transcript = entries.iter().cloned().collect();
            let request = talk::request(&transcript, ToolChoice::Auto);
            let mut fresh = Encoder::new(*dialect, EncodeOptions::default());
            fresh.hold(&held());
            prop_assert_eq!(
                grown.last().expect("a body"),
                &fresh.encode(&config, &request).body
            );
            if compacts {
                continue;
            }
            for pair in grown.windows(2) {
                let unmarked = |body: &[u8]| {
                    String::from_utf8(body.to_vec()).expect("UTF-8").replace(MARK, "").into_bytes()
                };
                let (earlier, later) = (unmarked(&pair[0]), unmarked(&pair[1]));
                // The longest closing is `"}]}` and `]}]}`.
                prop_assert!(common(&earlier, &later) + 4 >= earlier.len(), "{}", dialect);
                // With a third mark of the caller's, ours at the head makes room.
                let marked = |entry: &&Entry| matches!(entry, Entry::Said(said) if said.marked);
                if entries.iter().filter(marked).count() > 2 {
                    continue;
                }
                let tail = String::from_utf8_lossy(&pair[0]).rfind(MARK);
                let shared = common(&pair[0], &pair[1]);
                prop_assert!(tail.is_none_or(|tail| shared >= tail), "{}", dialect);
            }
        }
    }

    #[test]
    fn marks_are_few_and_never_on_thinking(turns in turns()) {
        let config = talk::config();
        let entries = entries(&turns, Dialect::Anthropic);
        for body in bodies(Dialect::Anthropic, &config, &entries) {
            let value: Value = serde_json::from_slice(&body).expect("JSON");
            let marked = walk::marked_blocks(&value);
            prop_assert!((2..=wire::cache_marks::MOST).contains(&marked.len()), "{}", value);
            let kinds = ["text", "image", "tool_use", "tool_result"];
            prop_assert!(marked.iter().all(|kind| kinds.contains(&kind.as_str())), "{:?}", marked);
        }
    }
}
