//! From an error a provider reported (status, headers, body) to a class that a policy can decide
//! about.
//!
//! It judges words; it never retries, waits or sends. One condition has many spellings (B025), so
//! the judgement goes from the surest sign to the weakest: the provider's own code, then the text,
//! then the HTTP status. Every spelling stands once, in `class.rs`, as data.

mod class;
mod numbers;
mod told;
mod wait;

use machine_spec::model::{ErrorClass, Failure};

use self::told::Told;
use crate::Dialect;
use crate::encode::Degradation;

/// Longest message that is kept, in bytes. Error pages of proxies can be large.
const MESSAGE_BYTES: usize = 2_000;

/// Says what an HTTP answer that is not a stream of the dialect means.
///
/// With a success status the body is judged by its own words alone: an error object inside a 200
/// answer, or inside a stream, is classified as what it says; anything else is not the API's own
/// body. `now_unix_ms` is needed only where a server gives a point in time instead of a span; without
/// it the `date` header counts.
#[must_use]
pub fn classify(
    dialect: Dialect,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
    now_unix_ms: Option<u64>,
) -> Failure {
    // A server that names a point in time usually tells its own time too.
    let now_unix_ms = now_unix_ms.or_else(|| wait::told_time(headers));
    let told = Told::read(headers, body);
    let success = (200..300).contains(&status);
    if success && !told.is_error_object {
        return not_the_api(dialect, status, &told);
    }
    let status = if success { told.numeric_status } else { Some(status) };
    let at = wait::Moment { now_unix_ms, rate_limited: status == Some(429) };
    let retry_after_ms = wait::asked(headers, &told, at);
    let class = class::judge(status, &told, retry_after_ms);
    let sizes = numbers::sizes(&told, class);
    let message = message(dialect, status, &told, class);
    let mut failure = Failure { status, retry_after_ms, ..Failure::new(class, message) };
    (failure.code, failure.limit, failure.actual) = (told.code(), sizes.limit, sizes.actual);
    if let Some(remedy) = Degradation::mending(dialect, &failure) {
        failure.remedy = remedy.word().to_owned();
    }
    failure
}

/// Success status, but neither a stream nor an error of the dialect.
fn not_the_api(dialect: Dialect, status: u16, told: &Told) -> Failure {
    let what = told.form.named();
    let mut message = format!("expected a {dialect} response, got {status} with {what}");
    append_excerpt(&mut message, &told.message);
    Failure { status: Some(status), ..Failure::new(ErrorClass::NonApiBody, message) }
}

fn message(dialect: Dialect, status: Option<u16>, told: &Told, class: ErrorClass) -> String {
    let mut message = String::new();
    if told.is_error_object && !told.message.is_empty() {
        push_cut(&mut message, &told.message, MESSAGE_BYTES);
    } else {
        let status = status.map_or_else(|| "an error".to_owned(), |status| status.to_string());
        message = format!("{dialect} endpoint answered {status} with {}", told.form.named());
        append_excerpt(&mut message, &told.message);
    }
    // The name of the rejected parameter sometimes stands in a field of its own only, and whoever
    // mends the request has nothing but the message to go by.
    let names_it = told.param.is_empty() || message.contains(&told.param);
    if class == ErrorClass::ParamRejected && !names_it {
        message.push_str(" (parameter: ");
        push_cut(&mut message, &told.param, 200);
        message.push(')');
    }
    message
}

fn append_excerpt(message: &mut String, excerpt: &str) {
    if !excerpt.is_empty() {
        message.push_str(": ");
        push_cut(message, excerpt, MESSAGE_BYTES);
    }
}

/// Appends at most `limit` bytes of `text`, cut between characters.
fn push_cut(out: &mut String, text: &str, limit: usize) {
    let end = text.floor_char_boundary(limit);
    out.push_str(&text[..end]);
    if end < text.len() {
        out.push('…');
    }
}
