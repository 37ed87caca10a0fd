//! The estimate of tokens, pinned. That it is not under what providers count is shown on recorded
//! requests, in the tests of `wire`.

use std::fmt::Write as _;
use std::sync::Arc;

use machine_spec::config::RunConfig;
use machine_spec::estimate::{entry_tokens, fixed_tokens, text_tokens};
use machine_spec::explore::profiles::tool;
use machine_spec::ids::TaskId;
use machine_spec::message::{
    Aside, Block, Boundary, BoundaryKind, Call, CallResult, Entry, GateRefusal, Image, ImagePlace,
    NotApproved, NotStarted, Origin, Outcome, Said, Thinking,
};
use proptest::prelude::*;

use crate::made::{self, reply};

/// With an id of four letters, whose weight is pinned below.
fn result(outcome: Outcome) -> CallResult {
    CallResult { wire_id: "id_1".into(), ..made::result(1, outcome) }
}

fn image() -> Image {
    Image { media: "image/png".into(), place: ImagePlace::Held("h".into()) }
}

#[test]
fn texts_are_weighed_by_what_they_are_written_in() {
    let told: Vec<(&str, u64)> = [
        "",
        "a",
        "ab",
        "abc",
        "0123456789",
        "é",
        "éé",
        "ééé",
        "请",
        "请帮我把这个",
        "a请é",
        "🚀",
        "שלום עולם",
    ]
    .into_iter()
    .map(|text| (text, text_tokens(text)))
    .collect();
    insta::assert_debug_snapshot!(told);
}

#[test]
fn entries_are_weighed_with_their_envelopes() {
    let mut told = String::new();
    let mut tell = |what: &str, entry: Entry| {
        writeln!(told, "{what:<14} {}", entry_tokens(&entry)).expect("text");
    };
    tell("said", Entry::Said(Said::words(Origin::User, "0123456789")));
    let seen = Said { images: vec![image(), image()], ..Said::words(Origin::User, "0123456789") };
    tell("two images", Entry::Said(seen.clone()));
    tell("empty reply", Entry::Reply(reply(vec![])));
    let seal = Thinking { text: "0123".into(), seal: "0123456789".into() };
    let open = Thinking { text: "0123456789".into(), seal: "0123".into() };
    tell("text", Entry::Reply(reply(vec![Block::Text("0123456789".into())])));
    tell("sealed", Entry::Reply(reply(vec![Block::Thinking(seal)])));
    tell("thinking", Entry::Reply(reply(vec![Block::Thinking(open)])));
    tell("opaque", Entry::Reply(reply(vec![Block::Opaque("0123456789".into())])));
    let call =
        Block::Call(Call { wire_id: "id_1".into(), args: "{\"a\":1}".into(), ..made::call(1) });
    tell("call", Entry::Reply(reply(vec![call.clone()])));
    tell("two blocks", Entry::Reply(reply(vec![Block::Text("0123456789".into()), call])));
    let text = || String::from("0123456789");
    for outcome in [
        Outcome::Succeeded { output: text() },
        Outcome::Failed { output: text() },
        Outcome::TimedOut { output: text() },
        Outcome::Unknown { output: text() },
        Outcome::Partial { output: text() },
        Outcome::Acknowledged { task: TaskId(1) },
        Outcome::NotStarted { why: NotStarted::Halted },
        Outcome::NotApproved { how: NotApproved::Denied { reason: text() } },
        Outcome::NotApproved { how: NotApproved::TimedOut },
        Outcome::Refused { why: GateRefusal::Denied { reason: text() } },
        Outcome::Refused { why: GateRefusal::OutOfScope },
    ] {
        let word = format!("{outcome:?}");
        let word = word.split([' ', '{']).next().unwrap_or_default().to_owned();
        tell(&word, Entry::Results(vec![result(outcome)]));
    }
    let edited = Some(Arc::from("0123456789"));
    let both = CallResult {
        edited,
        images: vec![image()],
        ..result(Outcome::Succeeded { output: text() })
    };
    tell("edited, image", Entry::Results(vec![both.clone()]));
    tell("two results", Entry::Results(vec![both, result(Outcome::Failed { output: text() })]));
    tell("blank", Entry::Aside(Aside::BlankReply(reply(vec![Block::Text(text())]))));
    let boundary = Boundary { kind: BoundaryKind::Summarised, said: seen, kept: 1, dropped: 2 };
    tell("boundary", Entry::Boundary(boundary));
    insta::assert_snapshot!(told);
}

#[test]
fn what_stands_in_every_request_is_weighed_once() {
    let plain = RunConfig::default();
    let spoken = RunConfig { system: "0123456789".into(), ..RunConfig::default() };
    let tooled =
        RunConfig { tools: vec![tool("read", true), tool("write", false)], ..spoken.clone() };
    let weights = [&plain, &spoken, &tooled].map(fixed_tokens);
    insta::assert_debug_snapshot!(weights);
}

proptest! {
    /// More text never weighs less, and parts never weigh less than the whole.
    #[test]
    fn an_estimate_grows_with_its_text(one in "\\PC{0,40}", two in "\\PC{0,40}") {
        let whole = text_tokens(&format!("{one}{two}"));
        prop_assert!(whole >= text_tokens(&one).max(text_tokens(&two)));
        prop_assert!(whole <= text_tokens(&one) + text_tokens(&two) + 1);
    }
}
