//! `loopwright decode --errors`: what an error body means.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machine_spec::model::Failure;
use serde_json::Value;
use wire::{Dialect, classify};

use super::read;
use crate::fault::Fault;

/// What stood in front of an error body.
#[derive(clap::Args)]
pub(crate) struct Head {
    /// With --errors: the HTTP status that came with the body.
    #[arg(long, value_name = "N", requires = "errors")]
    status: Option<u16>,
    /// With --errors: a header that came with the body, as `name: value`; may be repeated.
    #[arg(long, value_name = "HEADER", requires = "errors")]
    header: Vec<String>,
    /// With --errors: a JSON object with `status` (or `http_status`) and `headers`. Without any of
    /// the three, FILE is a whole HTTP answer, or its name begins with the status.
    #[arg(long, value_name = "JSON", requires = "errors")]
    head: Option<PathBuf>,
}

/// A status, its headers and its body.
struct Answer<'a> {
    status: u16,
    headers: Vec<(String, String)>,
    body: &'a [u8],
}

pub(super) fn run(
    wire: Dialect,
    head: &Head,
    file: &Path,
    body: &[u8],
    json: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Fault> {
    let answer = answer(head, file, body)?;
    let failure = classify(wire, answer.status, &answer.headers, answer.body, None);
    if json {
        let json = serde_json::to_string_pretty(&failure).map_err(Fault::unreadable)?;
        writeln!(out, "{json}")?;
    } else {
        tell(&failure, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn answer<'a>(head: &Head, file: &Path, body: &'a [u8]) -> Result<Answer<'a>, Fault> {
    let mut answer = match whole(body) {
        Some(answer) => answer,
        None => Answer { status: status_in_name(file).unwrap_or(0), headers: Vec::new(), body },
    };
    if let Some(path) = &head.head {
        let told: Value = serde_json::from_slice(&read(path)?)
            .map_err(|error| Fault::unreadable(format!("LW5006: {}: {error}", path.display())))?;
        let status = told.get("status").or_else(|| told.get("http_status"));
        let status = status.and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        answer.status = status.unwrap_or(answer.status);
        let headers = told.get("headers").and_then(Value::as_object).into_iter().flatten();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        answer.headers.extend(headers.map(|(name, value)| (name.clone(), text(value))));
    }
    for header in &head.header {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            Fault::usage(format!("LW5007: expected a header as `name: value`, got `{header}`"))
        })?;
        answer.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    answer.status = head.status.unwrap_or(answer.status);
    if answer.status == 0 {
        return Err(Fault::usage("LW5008: the status of the answer is not known; give --status"));
    }
    Ok(answer)
}

/// A body that is a whole HTTP answer: a status line, headers, a blank line, the body.
fn whole(bytes: &[u8]) -> Option<Answer<'_>> {
    let status = bytes.strip_prefix(b"HTTP/")?;
    let ends = [b"\r\n\r\n".as_slice(), b"\n\n"];
    let cut =
        |end: &[u8]| Some((bytes.windows(end.len()).position(|part| part == end)?, end.len()));
    let (at, length) = ends.iter().filter_map(|end| cut(end)).min()?;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let status = std::str::from_utf8(status).ok().and_then(|text| text.split(' ').nth(1))?;
    let status = status.lines().next()?.parse().ok()?;
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    Some(Answer { status, headers: headers.collect(), body: &bytes[at + length..] })
}

/// The status that a name such as `429-vendor-what.json` begins with.
fn status_in_name(file: &Path) -> Option<u16> {
    let name = file.file_name()?.to_str()?;
    name.split('-').next()?.parse().ok().filter(|status| (100..600).contains(status))
}

fn tell(failure: &Failure, out: &mut impl Write) -> Result<(), Fault> {
    writeln!(out, "class: {}", failure.class)?;
    if let Some(status) = failure.status {
        writeln!(out, "status: {status}")?;
    }
    if !failure.code.is_empty() {
        writeln!(out, "code: {}", failure.code)?;
    }
    writeln!(out, "message: {}", failure.message)?;
    if let Some(ms) = failure.retry_after_ms {
        writeln!(out, "retry after: {ms} ms")?;
    }
    if let Some(limit) = failure.limit {
        writeln!(out, "limit: {limit} tokens")?;
    }
    if let Some(actual) = failure.actual {
        writeln!(out, "actual: {actual} tokens")?;
    }
    Ok(())
}
