//! What was said, and what of it a model sees: a numbered line an entry.

use std::fmt::Write;

use machine_spec::Transcript;
use machine_spec::message::{
    Aside, Block, Boundary, Call, CallResult, Entry, Image, ImagePlace, Orphan, Outcome, Reply,
    Said,
};
use machine_spec::view::{Seen, View};

use super::Mode;
use super::words::{cut, facts, quoted, word};

pub(super) fn transcript(transcript: &Transcript, mode: Mode) -> String {
    let lines = transcript.entries().into_iter().map(|entry| match entry {
        Entry::Said(said) => said_line(said, mode),
        Entry::Reply(reply) => reply_lines("reply", reply, mode),
        Entry::Results(results) => result_lines(results, mode),
        Entry::Aside(Aside::BlankReply(reply)) => reply_lines("aside: blank reply", reply, mode),
        Entry::Aside(Aside::RefusedReply(reply)) => {
            reply_lines("aside: refused reply", reply, mode)
        }
        Entry::Aside(Aside::Orphans(orphans)) => orphan_lines(orphans, mode),
        Entry::Boundary(boundary) => boundary_line(boundary, mode),
    });
    numbered(lines)
}

pub(super) fn view(view: &View, mode: Mode) -> String {
    let messages = view.messages();
    let lines = messages.into_iter().map(|message| match message {
        Seen::Said(said) => said_line(said, mode),
        Seen::Reply(reply) => reply_lines("reply", reply, mode),
        Seen::Results(results) => result_lines(results, mode),
    });
    let mut text = numbered(lines);
    if mode != Mode::Kinds {
        let _ = writeln!(text, "about {} tokens", view.tokens);
    }
    text
}

/// Numbers the entries; the further lines of one are indented.
fn numbered(entries: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for (n, entry) in (1..).zip(entries) {
        for (at, line) in entry.lines().enumerate() {
            let _ = match at {
                0 => writeln!(text, "{n:>4}  {line}"),
                _ => writeln!(text, "        {line}"),
            };
        }
    }
    text
}

fn said_line(said: &Said, mode: Mode) -> String {
    match mode {
        Mode::Kinds => said.origin.to_string(),
        Mode::Short | Mode::Full => {
            let images: String = said.images.iter().map(image).collect();
            format!("{}: {}{images}", said.origin, quoted(&said.text, mode))
        }
    }
}

pub(super) fn image(image: &Image) -> String {
    let (ImagePlace::Held(place) | ImagePlace::Linked(place)) = &image.place;
    format!(" [image {} {place}]", image.media)
}

fn boundary_line(boundary: &Boundary, mode: Mode) -> String {
    let Boundary { said, kind, kept, dropped } = boundary;
    match mode {
        Mode::Kinds => format!("boundary: {kind}"),
        Mode::Short | Mode::Full => {
            let words = quoted(&said.text, mode);
            format!("boundary: {kind}, {kept} kept, {dropped} dropped: {words}")
        }
    }
}

fn reply_lines(what: &str, reply: &Reply, mode: Mode) -> String {
    if mode == Mode::Kinds {
        let blocks: Vec<&str> = reply.blocks.iter().map(block_kind).collect();
        return format!("{what}: {}", blocks.join(" "));
    }
    let stop = reply.stop.map_or("no stop", |stop| stop.word());
    let mut text =
        format!("{what} of {} ({}), {}, {stop}", reply.by, reply.attempt, reply.wholeness);
    for block in &reply.blocks {
        text.push('\n');
        match block {
            Block::Text(said) => text += &format!("text {}", quoted(said, mode)),
            Block::Thinking(thinking) => {
                let seal = if thinking.seal.is_empty() { "" } else { ", sealed" };
                text += &format!("thinking {}{seal}", quoted(&thinking.text, mode));
            }
            Block::Call(call) => text += &call_line(call, mode),
            Block::Opaque(payload) => text += &format!("opaque {}", cut(payload, mode)),
        }
    }
    text
}

const fn block_kind(block: &Block) -> &'static str {
    match block {
        Block::Text(_) => "text",
        Block::Thinking(_) => "thinking",
        Block::Call(_) => "call",
        Block::Opaque(_) => "opaque",
    }
}

fn call_line(call: &Call, mode: Mode) -> String {
    let Call { id, wire_id, name, args, facts } = call;
    format!("{id} {name} {} ({wire_id}, {})", cut(args, mode), word(&facts.safety))
}

fn result_lines(results: &[CallResult], mode: Mode) -> String {
    if mode == Mode::Kinds {
        let outcomes: Vec<String> = results.iter().map(|result| word(&result.outcome)).collect();
        return format!("results: {}", outcomes.join(" "));
    }
    let mut text = String::from("results");
    for result in results {
        let CallResult { call, name, outcome, edited, images, .. } = result;
        text += &format!("\n{call} {name} {}", outcome_words(outcome, mode));
        if let Some(args) = edited {
            text += &format!(" (ran with {})", cut(args, mode));
        }
        text.extend(images.iter().map(image));
    }
    text
}

fn orphan_lines(orphans: &[Orphan], mode: Mode) -> String {
    let mut text = String::from("aside: orphans");
    if mode != Mode::Kinds {
        for Orphan { task, tool, fate } in orphans {
            text += &format!("\n{task} {tool} {fate}");
        }
    }
    text
}

pub(super) fn outcome_words(outcome: &Outcome, mode: Mode) -> String {
    match outcome {
        Outcome::Succeeded { output } => format!("succeeded {}", quoted(output, mode)),
        Outcome::Failed { output } => format!("failed {}", quoted(output, mode)),
        Outcome::TimedOut { output } => format!("timed out {}", quoted(output, mode)),
        Outcome::Unknown { output } => format!("unknown {}", quoted(output, mode)),
        Outcome::Partial { output } => format!("a part {}", quoted(output, mode)),
        Outcome::Acknowledged { task } => format!("acknowledged as {task}"),
        Outcome::NotStarted { .. } | Outcome::NotApproved { .. } | Outcome::Refused { .. } => {
            facts(outcome, mode)
        }
    }
}
