//! How long a server asks to wait, in every form it has.

use jiff::Timestamp;
use serde_json::Value;

use super::told::Told;

/// Longest span that is believed, in milliseconds: a year. Beyond it somebody miscounted units.
const BELIEVED_MS: f64 = 366.0 * 86_400_000.0;

/// What the waits of one answer are judged by.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    /// The time, where it is known; without it a date says nothing.
    pub(super) now_unix_ms: Option<u64>,
    /// Whether the answer is about a rate. Reset headers come with every answer, and only then
    /// are they meant as a wait.
    pub(super) rate_limited: bool,
}

/// The wait in milliseconds. Headers are believed before the body.
pub(super) fn asked(headers: &[(String, String)], told: &Told, at: Moment) -> Option<u64> {
    let headers: Vec<(String, &str)> =
        headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.trim())).collect();
    // Google's field is cut to whole seconds where its text is exact: the longer one is meant.
    let in_body = || in_fields(&told.value, at, 0).max(in_text(&told.text));
    in_headers(&headers, at).or_else(in_body)
}

fn in_headers(headers: &[(String, &str)], at: Moment) -> Option<u64> {
    let find = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, v)| *v);
    let millis = find("retry-after-ms").and_then(|value| number(value).and_then(from_ms));
    let plain = find("retry-after").and_then(|value| span_or_date(value, at.now_unix_ms));
    match (millis, plain) {
        // Azure sends `retry-after-ms: 0` beside `retry-after: 1`.
        (Some(0), Some(plain)) => Some(plain),
        (Some(millis), _) => Some(millis),
        (None, Some(plain)) => Some(plain),
        (None, None) if at.rate_limited => resets(headers, at.now_unix_ms),
        (None, None) => None,
    }
}

/// `retry-after`: seconds, also with a fraction or a unit, or a date.
fn span_or_date(value: &str, now_unix_ms: Option<u64>) -> Option<u64> {
    number(value)
        .and_then(|seconds| from_ms(seconds * 1_000.0))
        .or_else(|| duration(value))
        .or_else(|| until(date(value)?, now_unix_ms))
}

/// The reset headers of rate limits. Those count whose budget is used up; a header without any
/// `remaining` beside it counts as well.
fn resets(headers: &[(String, &str)], now_unix_ms: Option<u64>) -> Option<u64> {
    let mut longest = None;
    for (name, value) in headers {
        let limits_rate = name.contains("ratelimit") || name.contains("rate-limit");
        if !limits_rate || !name.contains("reset") {
            continue;
        }
        let twin = name.replace("reset-after", "remaining").replace("reset", "remaining");
        let remaining = headers.iter().find(|(other, _)| *other == twin).map(|(_, v)| *v);
        let used_up = remaining.is_none_or(|left| number(left) == Some(0.0));
        let wait = if used_up { reset(value, now_unix_ms) } else { None };
        longest = longest.max(wait);
    }
    longest
}

/// One reset: a span, seconds, a point in Unix seconds or milliseconds, or a date.
fn reset(value: &str, now_unix_ms: Option<u64>) -> Option<u64> {
    match number(value) {
        Some(point) if point >= 1e12 => until(point, now_unix_ms),
        Some(point) if point >= 1e9 => until(point * 1_000.0, now_unix_ms),
        Some(seconds) => from_ms(seconds * 1_000.0),
        None => duration(value).or_else(|| until(date(value)?, now_unix_ms)),
    }
}

/// A wait that stands in a field of the body.
fn in_fields(value: &Value, at: Moment, depth: u32) -> Option<u64> {
    match value {
        Value::Array(items) if depth < 6 => {
            items.iter().find_map(|item| in_fields(item, at, depth + 1))
        }
        Value::Object(object) if depth < 6 => {
            let own = object.iter().find_map(|(key, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
                match key.as_str() {
                    // Google's RetryInfo.
                    "retryDelay" => duration(&text),
                    "retry_after_ms" => number(&text).and_then(from_ms),
                    "retry_after" | "retry_after_seconds" | "resets_in_seconds" => {
                        number(&text).and_then(|seconds| from_ms(seconds * 1_000.0))
                    }
                    "resets_at" => reset(&text, at.now_unix_ms),
                    // A gateway that passes on the headers of the provider behind it.
                    "headers" => in_header_map(value, at),
                    _ => None,
                }
            });
            let inner = || object.values().find_map(|v| in_fields(v, at, depth + 1));
            own.or_else(inner)
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => None,
    }
}

fn in_header_map(value: &Value, at: Moment) -> Option<u64> {
    let headers: Vec<(String, &str)> = value
        .as_object()?
        .iter()
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value.as_str()?)))
        .collect();
    in_headers(&headers, at)
}

/// `try again in 20s`, `retry after 3 seconds`, `please retry in 1m2.5s`.
fn in_text(text: &str) -> Option<u64> {
    const LEADS: &[&str] =
        &["try again in ", "retry in ", "retry after ", "retry-after: ", "wait for ", "wait "];
    LEADS.iter().find_map(|lead| {
        let at = text.find(lead)? + lead.len();
        let rest = text[at..].trim_start_matches("about ").trim_start_matches("approximately ");
        duration(rest)
    })
}

/// A span such as `20s`, `1m30s`, `350ms`, `2 minutes`, at the start of a text.
fn duration(text: &str) -> Option<u64> {
    let mut rest = text.trim_start();
    let mut total_ms = 0.0;
    let mut parts = 0;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Some(amount) = number(&rest[..digits]) else { break };
        let after = rest[digits..].trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let Some(unit_ms) = unit(&after[..letters]) else { break };
        total_ms += amount * unit_ms;
        parts += 1;
        rest = after[letters..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    if parts == 0 { None } else { from_ms(total_ms) }
}

fn unit(word: &str) -> Option<f64> {
    let ms = match word.to_ascii_lowercase().as_str() {
        "ms" | "msec" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    };
    Some(ms)
}

/// A point in time as Unix milliseconds: an HTTP date in its three forms, or RFC 3339.
fn date(text: &str) -> Option<f64> {
    if let Ok(time) = httpdate::parse_http_date(text) {
        let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        return Some(since.as_millis() as f64);
    }
    text.parse::<Timestamp>().ok().map(|time| time.as_millisecond() as f64)
}

/// The time that the answer itself tells.
pub(super) fn told_time(headers: &[(String, String)]) -> Option<u64> {
    let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("date"))?;
    Some(date(value.trim())? as u64)
}

/// The wait until a point in time; one that has passed is no wait.
fn until(unix_ms: f64, now_unix_ms: Option<u64>) -> Option<u64> {
    let wait = unix_ms - now_unix_ms? as f64;
    from_ms(wait.max(0.0))
}

/// A plain number, not negative.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if !plain || text.is_empty() {
        return None;
    }
    text.parse().ok()
}

/// Whole milliseconds, rounded up: never sooner than asked.
fn from_ms(ms: f64) -> Option<u64> {
    (ms.is_finite() && (0.0..=BELIEVED_MS).contains(&ms)).then(|| ms.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Moment = Moment { now_unix_ms: Some(1_700_000_000_000), rate_limited: true };

    #[test]
    fn headers_have_many_forms() {
        let cases: &[(&str, Option<u64>)] = &[
            ("Retry-After: 30", Some(30_000)),
            ("retry-after: 0.25", Some(250)),
            ("retry-after: 0", Some(0)),
            ("retry-after: Tue, 14 Nov 2023 22:14:05 GMT", Some(45_000)),
            ("retry-after: Tuesday, 14-Nov-23 22:14:05 GMT", Some(45_000)),
            ("retry-after: Tue Nov 14 22:14:05 2023", Some(45_000)),
            ("retry-after: Tue, 14 Nov 2023 22:12:00 GMT", Some(0)),
            ("retry-after-ms: 1500", Some(1_500)),
            ("retry-after-ms: 0\nretry-after: 1", Some(1_000)),
            ("retry-after: soon", None),
            ("retry-after: -5", None),
            ("retry-after: 1e400", None),
            ("retry-after: 99999999999999999999", None),
            ("x-ratelimit-reset-requests: 17ms", Some(17)),
            (
                "x-ratelimit-remaining-requests: 3499\nx-ratelimit-reset-requests: 17ms\nx-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 6m0s",
                Some(360_000),
            ),
            ("x-ratelimit-remaining-tokens: 12\nx-ratelimit-reset-tokens: 6m0s", None),
            ("x-ratelimit-remaining: 0\nx-ratelimit-reset: 1700000007", Some(7_000)),
            ("x-ratelimit-reset: 1700000002500", Some(2_500)),
            ("ratelimit-reset: 50", Some(50_000)),
            (
                "anthropic-ratelimit-requests-remaining: 0\nanthropic-ratelimit-requests-reset: 2023-11-14T22:13:31Z",
                Some(11_000),
            ),
            ("anthropic-ratelimit-unified-reset: 1700003600", Some(3_600_000)),
        ];
        for (lines, wait) in cases {
            let pairs = lines.lines().filter_map(|line| line.split_once(": "));
            let headers: Vec<(String, String)> =
                pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            assert_eq!(asked(&headers, &Told::read(&[], b""), AT), *wait, "{lines}");
        }
    }

    #[test]
    fn a_date_says_nothing_to_one_who_does_not_know_the_time() {
        let date = [("retry-after".to_owned(), "Tue, 14 Nov 2023 22:14:05 GMT".to_owned())];
        let timeless = Moment { now_unix_ms: None, ..AT };
        assert_eq!(asked(&date, &Told::read(&[], b""), timeless), None);
    }

    #[test]
    fn an_answer_tells_its_own_time() {
        let date = |text: &str| vec![("Date".to_owned(), text.to_owned())];
        assert_eq!(told_time(&date("Tue, 14 Nov 2023 22:13:20 GMT")), AT.now_unix_ms);
        assert_eq!(told_time(&date("yesterday")), None);
        assert_eq!(told_time(&[]), None);
    }

    #[test]
    fn a_reset_is_no_wait_where_no_rate_was_limited() {
        let reset = [("anthropic-ratelimit-unified-reset".to_owned(), "1700003600".to_owned())];
        let other = Moment { rate_limited: false, ..AT };
        assert_eq!(asked(&reset, &Told::read(&[], b""), other), None);
    }

    #[test]
    fn bodies_have_many_forms() {
        let cases: &[(&str, Option<u64>)] = &[
            (
                r#"{"error":{"message":"x","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48.5s"}]}}"#,
                Some(48_500),
            ),
            (r#"{"error":{"message":"Rate limit. Please try again in 20s."}}"#, Some(20_000)),
            (r#"{"error":{"message":"Please try again in 1m2.5s. Visit"}}"#, Some(62_500)),
            (r#"{"error":{"message":"try again in 350ms"}}"#, Some(350)),
            (r#"{"error":{"message":"Retry after 3 seconds"}}"#, Some(3_000)),
            (r#"{"error":{"message":"try again in 2 hours and 5 minutes"}}"#, Some(7_500_000)),
            (r#"{"error":{"message":"try again later"}}"#, None),
            (r#"{"error":{"message":"x","resets_in_seconds":120}}"#, Some(120_000)),
            (r#"{"error":{"message":"x","resets_at":1700000060}}"#, Some(60_000)),
            (
                r#"{"error":{"message":"x","metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1700000060000"}}}}"#,
                Some(60_000),
            ),
        ];
        for (body, wait) in cases {
            assert_eq!(asked(&[], &Told::read(&[], body.as_bytes()), AT), *wait, "{body}");
        }
    }
}
