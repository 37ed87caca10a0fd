//! Transcripts and views: what is kept, what a model sees, and what the next run begins with.

use machine_spec::Transcript;
use machine_spec::ids::TaskId;
use machine_spec::message::{
    Aside, Block, Boundary, BoundaryKind, CallResult, Entry, Fate, Image, ImagePlace, Origin,
    Orphan, Outcome, Reply, Said,
};
use machine_spec::view::{Seen, View, visible};

use crate::made;

fn said(origin: Origin, text: &str) -> Entry {
    Entry::Said(Said::words(origin, text))
}

fn reply(text: &str, calls: &[u32]) -> Reply {
    let calls = calls.iter().map(|id| Block::Call(made::call(*id)));
    made::reply([Block::Text(text.into())].into_iter().chain(calls).collect())
}

fn results(calls: &[u32]) -> Entry {
    let succeeded = || Outcome::Succeeded { output: "out".into() };
    Entry::Results(calls.iter().map(|id| made::result(*id, succeeded())).collect())
}

fn boundary(kept: u32) -> Entry {
    let said = Said::words(Origin::Summary, "so far");
    Entry::Boundary(Boundary { said, kind: BoundaryKind::Summarised, kept, dropped: 2 })
}

fn of(entries: Vec<Entry>) -> Transcript {
    entries.into_iter().collect()
}

fn talk() -> Transcript {
    of(vec![
        said(Origin::User, "go"),
        Entry::Reply(reply("look", &[1, 2])),
        results(&[1, 2]),
        Entry::Reply(reply("done", &[])),
    ])
}

#[test]
fn a_transcript_tells_its_entries_from_both_ends() {
    let talk = talk();
    assert_eq!((talk.len(), talk.is_empty()), (4, false));
    assert_eq!((Transcript::new().len(), Transcript::new().is_empty()), (0, true));
    let entries: Vec<Entry> = talk.entries().into_iter().cloned().collect();
    assert_eq!(entries[0], said(Origin::User, "go"));
    assert_eq!(talk.last(), entries.last());
    let mut back: Vec<Entry> = talk.newest_first().cloned().collect();
    back.reverse();
    assert_eq!(back, entries);
    assert_eq!(of(entries.clone()), talk);
    assert_eq!(talk.at(2), &of(entries[..2].to_vec()));
    assert_eq!(talk.at(9), &talk);
    assert_eq!(talk.before_last(), Some(&of(entries[..3].to_vec())));
    assert_eq!(format!("{:?}", Transcript::new()), "[]");
}

#[test]
fn transcripts_are_equal_when_all_of_their_entries_are() {
    assert_eq!(talk(), talk());
    assert_ne!(talk(), of(vec![]));
    let other = [said(Origin::User, "go"), said(Origin::User, "go on")];
    assert_ne!(of(other.to_vec()), of(vec![other[1].clone(), other[0].clone()]));
    assert_ne!(of(other.to_vec()).digest(), of(vec![other[1].clone(), other[0].clone()]).digest());
    let written = serde_json::to_string(&talk()).expect("it is JSON");
    assert_eq!(serde_json::from_str::<Transcript>(&written).expect("it reads back"), talk());
}

#[test]
fn a_call_is_answered_exactly_once_and_in_order() {
    let asks = || Entry::Reply(reply("", &[1, 2]));
    let words = || said(Origin::User, "w");
    for (entries, broken) in [
        (vec![asks(), results(&[1, 2])], None),
        (vec![asks(), Entry::Aside(Aside::BlankReply(reply("", &[]))), results(&[1, 2])], None),
        (vec![asks()], Some(0)),
        (vec![words(), asks(), results(&[2, 1])], Some(1)),
        (vec![words(), asks(), results(&[1])], Some(1)),
        (vec![words(), asks(), results(&[1, 2, 3])], Some(1)),
        (vec![words(), asks(), words(), results(&[1, 2])], Some(1)),
        (vec![words(), asks(), boundary(0), results(&[1, 2])], Some(1)),
        (vec![words(), asks(), results(&[1, 2]), results(&[1, 2])], Some(3)),
        (vec![words(), Entry::Reply(reply("", &[])), words()], None),
    ] {
        assert_eq!(of(entries.clone()).first_unpaired(), broken, "{entries:?}");
    }
}

#[test]
fn a_boundary_hides_what_came_before_it_except_what_it_kept() {
    let mut talk = talk();
    let before = talk.tokens();
    talk.append(boundary(1));
    talk.append(said(Origin::User, "more"));
    let seen: Vec<Entry> = visible(&talk).into_iter().cloned().collect();
    let kept = Entry::Reply(reply("done", &[]));
    assert_eq!(seen, [boundary(1), kept.clone(), said(Origin::User, "more")]);
    let all = of(vec![kept]).tokens() + of(vec![boundary(0)]).tokens();
    assert_eq!(talk.tokens(), all + of(vec![said(Origin::User, "more")]).tokens());
    assert!(talk.tokens() < before);
    let view = View::of(&talk);
    let roles: Vec<&str> = view
        .messages()
        .into_iter()
        .map(|message| match message {
            Seen::Said(said) => said.text.as_str(),
            Seen::Reply(_) => "reply",
            Seen::Results(_) => "results",
        })
        .collect();
    assert_eq!(roles, ["so far", "reply", "more"]);
    assert_eq!(view, View::of(&talk));
    assert_ne!(view, View::of(&of(vec![said(Origin::User, "go")])));
    assert_eq!(view.transcript(), &talk);
}

#[test]
fn the_next_run_begins_without_scaffolding() {
    let orphan = Orphan { task: TaskId(7), tool: "watch".into(), fate: Fate::Cancelled };
    let settled = of(vec![
        said(Origin::User, "old"),
        Entry::Reply(reply("old answer", &[])),
        boundary(0),
        said(Origin::User, "go"),
        Entry::Reply(reply("rejected", &[])),
        said(Origin::Guard, "call it"),
        Entry::Reply(reply("look", &[1])),
        results(&[1]),
        said(Origin::Repair, "mend it"),
        said(Origin::Continuation, "go on"),
        said(Origin::Memory, "remember"),
        Entry::Aside(Aside::BlankReply(reply("", &[]))),
        Entry::Aside(Aside::RefusedReply(reply("no", &[]))),
        Entry::Reply(reply("done", &[])),
        Entry::Aside(Aside::Orphans(vec![orphan])),
    ])
    .settled();
    let told: Vec<String> = settled
        .entries()
        .into_iter()
        .map(|entry| match entry {
            Entry::Said(said) => format!("{}: {}", said.origin, said.text),
            Entry::Reply(reply) => format!("reply: {}", reply.text()),
            Entry::Results(results) => format!("results: {}", results.len()),
            Entry::Aside(_) => "aside".into(),
            Entry::Boundary(_) => "boundary".into(),
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
    // A guard's rejection of an answer that called something keeps it: its calls ran.
    let called = of(vec![Entry::Reply(reply("", &[1])), results(&[1]), said(Origin::Guard, "g")]);
    assert_eq!(called.settled().len(), 2);
}

#[test]
fn words_are_written_with_what_they_carry() {
    let image = Image { media: String::new(), place: ImagePlace::Held("h".into()) };
    let plain = Said::words(Origin::User, "go");
    let full = Said { images: vec![image.clone()], marked: true, ..plain.clone() };
    for said in [&plain, &full] {
        let written = serde_json::to_value(said).expect("it is JSON");
        assert_eq!(serde_json::from_value::<Said>(written).expect("it reads back"), *said);
    }
    let written = |said: &Said| serde_json::to_string(said).expect("it is JSON");
    assert_eq!(written(&plain), r#"{"origin":"user","text":"go"}"#);
    assert!(written(&full).ends_with(r#","marked":true}"#), "{}", written(&full));
    assert!(!plain.is_blank() && !full.is_blank());
    assert!(Said::words(Origin::User, " \n").is_blank());
    assert!(!Said { text: String::new(), ..full }.is_blank(), "an image says something");
    let result = match results(&[1]) {
        Entry::Results(mut results) => results.remove(0),
        other => panic!("{other:?}"),
    };
    let full = CallResult { edited: Some("{}".into()), images: vec![image], ..result.clone() };
    for result in [result, full] {
        let written = serde_json::to_value(&result).expect("it is JSON");
        assert_eq!(serde_json::from_value::<CallResult>(written).expect("it reads back"), result);
    }
    let people: Vec<&str> =
        Origin::ALL.iter().filter(|origin| origin.is_user()).map(|origin| origin.word()).collect();
    assert_eq!(people, ["user", "steer"]);
}
