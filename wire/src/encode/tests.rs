//! What a round costs: only what is new is encoded, whatever the conversation did in between.

use std::sync::Arc;

use machine_spec::because::Owner;
use machine_spec::effect::{ToolChoice, Transport};
use machine_spec::ids::{AttemptId, CandidateId};
use machine_spec::message::{Block, Boundary, BoundaryKind, Entry, Origin, Reply, Said, Wholeness};
use machine_spec::model::Usage;
use machine_spec::view::View;
use machine_spec::{RunConfig, Transcript};

use super::*;

fn said(text: &str) -> Entry {
    Entry::Said(Said::words(Origin::User, text))
}

fn reply(text: &str) -> Entry {
    Entry::Reply(Reply {
        by: Arc::from("a/m"),
        attempt: AttemptId(0),
        blocks: vec![Block::Text(text.to_owned())],
        wholeness: Wholeness::Whole,
        stop: None,
        usage: Usage::default(),
    })
}

fn boundary(kept: u32) -> Entry {
    let said = Said::words(Origin::Summary, "the summary");
    Entry::Boundary(Boundary { said, kind: BoundaryKind::Summarised, kept, dropped: 7 })
}

/// The body, and how many entries were encoded for it.
fn encode(encoder: &mut Encoder, transcript: &Transcript) -> (String, u64) {
    let before: u64 = encoder.lanes.values().map(Lane::written).sum();
    let request = SealedRequest {
        attempt: AttemptId(0),
        candidate: CandidateId(0),
        owner: Owner::Step,
        view: View::of(transcript),
        tools: ToolChoice::Auto,
        transport: Transport::Stream,
        max_output: None,
        left_out: Vec::new(),
    };
    let body = encoder.encode(&RunConfig::default(), &request).body;
    let after: u64 = encoder.lanes.values().map(Lane::written).sum();
    (String::from_utf8(body).expect("UTF-8"), after - before)
}

fn fresh(transcript: &Transcript) -> String {
    encode(&mut Encoder::new(Dialect::Anthropic, EncodeOptions::default()), transcript).0
}

#[test]
fn a_round_costs_what_is_new_in_it() {
    let mut encoder = Encoder::new(Dialect::Anthropic, EncodeOptions::default());
    let mut transcript = Transcript::new();
    for round in 0..100 {
        transcript.append(said(&format!("question {round}")));
        let (body, written) = encode(&mut encoder, &transcript);
        assert_eq!(body, fresh(&transcript));
        assert!(written <= 2, "round {round} encoded {written} entries");
        assert_eq!(encode(&mut encoder, &transcript).1, 0, "a repetition encodes nothing");
        transcript.append(reply("answer"));
    }
}

#[test]
fn another_course_is_followed_from_where_it_parts() {
    let mut encoder = Encoder::new(Dialect::Anthropic, EncodeOptions::default());
    let mut trunk = Transcript::new();
    for round in 0..10 {
        trunk.append(said(&format!("question {round}")));
        trunk.append(reply("answer"));
    }
    let (mut left, mut right) = (trunk.clone(), trunk);
    left.append(said("left"));
    right.append(said("right"));
    encode(&mut encoder, &left);
    let (body, written) = encode(&mut encoder, &right);
    assert_eq!((body, written), (fresh(&right), 1));
}

#[test]
fn after_a_boundary_only_the_summary_and_the_kept_tail_are_said() {
    let mut encoder = Encoder::new(Dialect::Anthropic, EncodeOptions::default());
    let mut transcript = Transcript::new();
    for text in ["one", "two", "three"] {
        transcript.append(said(text));
        transcript.append(reply(&format!("re {text}")));
    }
    encode(&mut encoder, &transcript);
    transcript.append(boundary(1));
    transcript.append(said("four"));
    let (body, written) = encode(&mut encoder, &transcript);
    assert_eq!((&body, written), (&fresh(&transcript), 3));
    let place = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text} in {body}"));
    assert!(place("the summary") < place("re three") && place("re three") < place("four"));
    assert!(!body.contains("two"), "{body}");
    transcript.append(reply("re four"));
    transcript.append(said("five"));
    let (body, written) = encode(&mut encoder, &transcript);
    assert_eq!((body, written), (fresh(&transcript), 2));
}
