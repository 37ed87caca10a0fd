//! `loopwright decode`: what a provider stream says, or what an error body means.

mod refusal;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machine_spec::model::ModelEvent;
use wire::neutral::Message;
use wire::{DecodeLimits, Decoder, Dialect};

use crate::fault::Fault;

/// Arguments of `decode`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The wire: anthropic, openai-chat, openai-responses, gemini or ollama.
    #[arg(long, value_name = "WIRE")]
    wire: Dialect,
    /// A response body as the provider sent it; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The neutral object as JSON.
    #[arg(long)]
    json: bool,
    /// Also decode the body cut in two at every byte, and byte by byte: all must say the same.
    #[arg(long)]
    every_split: bool,
    /// The file is no stream but the body of an error: tell its class, the wait and the sizes.
    #[arg(long, conflicts_with = "every_split")]
    errors: bool,
    #[command(flatten)]
    head: refusal::Head,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let body = read(&args.file)?;
    if args.errors {
        return refusal::run(args.wire, &args.head, &args.file, &body, args.json, out);
    }
    let message = Message::read(args.wire, DecodeLimits::default(), &body);
    if args.json {
        let json = serde_json::to_string_pretty(&message).map_err(Fault::unreadable)?;
        writeln!(out, "{json}")?;
    } else {
        tell(&message, out)?;
    }
    if args.every_split
        && let Some(at) = first_odd_split(args.wire, &body)
    {
        eprintln!("error: LW5005: cut at byte {at}, the stream says something else than whole");
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    let done = if file.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut body).map(|_| ())
    } else {
        fs::read(file).map(|bytes| body = bytes)
    };
    let cannot = |error| format!("LW5004: cannot read {}: {error}", file.display());
    done.map_err(|error| Fault::unreadable(cannot(error)))?;
    Ok(body)
}

/// The first byte at which a cut changes what is heard; the length of the body stands for "byte by
/// byte".
fn first_odd_split(wire: Dialect, body: &[u8]) -> Option<usize> {
    let whole = joined(events(wire, &[body]));
    let halves = (0..body.len()).find(|at| {
        let (head, tail) = body.split_at(*at);
        joined(events(wire, &[head, tail])) != whole
    });
    halves.or_else(|| {
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        (joined(events(wire, &bytes)) != whole).then_some(body.len())
    })
}

fn events(wire: Dialect, pieces: &[&[u8]]) -> Vec<ModelEvent> {
    let mut decoder = Decoder::new(wire, DecodeLimits::default());
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
    }
    decoder.finish(&mut events);
    events
}

/// Neighbouring deltas of one block say the same as one delta.
fn joined(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    let mut joined: Vec<ModelEvent> = Vec::with_capacity(events.len());
    for event in events {
        match (joined.last_mut(), event) {
            (
                Some(ModelEvent::Delta { block, text }),
                ModelEvent::Delta { block: next, text: more },
            ) if *block == next => text.push_str(&more),
            (_, event) => joined.push(event),
        }
    }
    joined
}

fn tell(message: &Message, out: &mut impl Write) -> Result<(), Fault> {
    if !message.thinking.is_empty() {
        writeln!(out, "thinking: {}", message.thinking)?;
    }
    if !message.text.is_empty() {
        writeln!(out, "{}", message.text)?;
    }
    for call in &message.tool_calls {
        let args = match (&call.args, &call.args_raw) {
            (Some(args), _) => args.to_string(),
            (None, Some(raw)) => format!("{raw} (not JSON)"),
            (None, None) => "{}".into(),
        };
        let cut = if call.complete { "" } else { " (incomplete)" };
        writeln!(out, "call {}: {} {args}{cut}", call.id.as_deref().unwrap_or("-"), call.name)?;
    }
    match (&message.stop_reason, &message.error) {
        (_, Some(error)) => writeln!(out, "error: {} {}", error.class, error.message)?,
        (Some(stop), None) => writeln!(out, "stop: {stop}")?,
        (None, None) => writeln!(out, "stop: the stream does not say; it is not complete")?,
    }
    let told = |name: &str, n: Option<u64>| n.map(|n| format!("{name} {n}"));
    let usage = &message.usage;
    let counts = [
        told("input", usage.input),
        told("output", usage.output),
        told("cache read", usage.cache_read),
        told("cache write", usage.cache_write),
        told("reasoning", usage.reasoning),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    if !counts.is_empty() {
        writeln!(out, "usage: {}", counts.join(", "))?;
    }
    Ok(())
}
