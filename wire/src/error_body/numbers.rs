//! The sizes an error names: the limit, and what was sent.

use machine_spec::model::ErrorClass;
use serde_json::Value;

use super::told::Told;

/// The sizes an error names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) limit: Option<u64>,
    pub(super) actual: Option<u64>,
}

/// Words before a number that make it the limit.
const LIMIT_BEFORE: &[&str] = &[
    "limit",
    "maximum",
    "max ",
    "context length",
    "context size",
    "context window",
    "n_ctx",
    "allowed",
    "exceed",
    "should be",
    ">",
    "<=",
];

/// Words directly after a number that make it the limit.
const LIMIT_AFTER: &[&str] = &["maximum", "max ", "limit", "token limit", "tokens maximum"];

/// The sizes, where the class is one that has sizes.
pub(super) fn sizes(told: &Told, class: ErrorClass) -> Sizes {
    let about_size = matches!(
        class,
        ErrorClass::ContextOverflow | ErrorClass::PayloadTooLarge | ErrorClass::BadRequest
    );
    // A wrong request names numbers of every kind; only those about tokens are sizes.
    if !about_size || (class == ErrorClass::BadRequest && !told.text.contains("token")) {
        return Sizes::default();
    }
    let (limit, actual) = (field(&told.value, "n_ctx"), field(&told.value, "n_prompt_tokens"));
    if limit.is_some() && actual.is_some() {
        return Sizes { limit, actual };
    }
    from_text(&told.message)
}

/// A number of the error object, under its own name.
fn field(value: &Value, name: &str) -> Option<u64> {
    value.get("error").unwrap_or(value).get(name).and_then(Value::as_u64)
}

/// The sizes of a text. What was sent is always more than what is allowed; that decides where the
/// words alone do not.
fn from_text(text: &str) -> Sizes {
    let text = text.to_ascii_lowercase();
    let mut limits: Vec<u64> = Vec::new();
    let mut others: Vec<u64> = Vec::new();
    let mut last_end = 0;
    for number in summed(&text, numbers(&text)) {
        let before = &text[last_end..number.start];
        let after = text[number.end..].trim_start();
        last_end = number.end;
        if before.trim_end().ends_with(" by") {
            // "exceeded by 5000 tokens" names neither size.
            continue;
        }
        let is_limit = LIMIT_BEFORE.iter().any(|word| before.contains(word))
            || LIMIT_AFTER.iter().any(|word| after.starts_with(word));
        if is_limit { limits.push(number.value) } else { others.push(number.value) }
    }
    match (limits.iter().min(), others.iter().max(), limits.iter().max()) {
        (Some(&limit), Some(&actual), _) if actual > limit => {
            Sizes { limit: Some(limit), actual: Some(actual) }
        }
        (Some(&limit), _, Some(&actual)) if actual > limit => {
            Sizes { limit: Some(limit), actual: Some(actual) }
        }
        (Some(&limit), _, _) => Sizes { limit: Some(limit), actual: None },
        (None, _, _) => Sizes::default(),
    }
}

struct Number {
    value: u64,
    start: usize,
    end: usize,
}

/// The numbers of at least three digits that stand alone, with their thousands separators.
fn numbers(text: &str) -> Vec<Number> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        let mut value = 0u64;
        let mut digits = 0;
        while at < bytes.len() && (bytes[at].is_ascii_digit() || separates(bytes, at)) {
            if bytes[at].is_ascii_digit() {
                digits += 1;
                value = value.saturating_mul(10).saturating_add(u64::from(bytes[at] - b'0'));
            }
            at += 1;
        }
        let in_word = |byte: Option<&u8>| {
            byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        };
        let dotted_end = bytes.get(at) == Some(&b'.')
            && !bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        let alone = !in_word(start.checked_sub(1).and_then(|before| bytes.get(before)))
            && (dotted_end || !in_word(bytes.get(at)));
        if alone && digits >= 3 {
            found.push(Number { value, start, end: at });
        }
    }
    found
}

/// Whether the byte at `at` is a thousands separator: exactly three digits follow it.
fn separates(bytes: &[u8], at: usize) -> bool {
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    matches!(bytes[at], b',' | b'_')
        && digit(at + 1)
        && digit(at + 2)
        && digit(at + 3)
        && !digit(at + 4)
}

/// `188240 + 21333 > 200000`: a sum is one number.
fn summed(text: &str, numbers: Vec<Number>) -> Vec<Number> {
    let mut joined: Vec<Number> = Vec::new();
    for number in numbers {
        match joined.last_mut() {
            Some(last) if text[last.end..number.start].trim() == "+" => {
                last.value = last.value.saturating_add(number.value);
                last.end = number.end;
            }
            Some(_) | None => joined.push(number),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::from_text;

    #[test]
    fn sizes_stand_in_many_sentences() {
        let sentences: &[(&str, Option<u64>, Option<u64>)] = &[
            ("prompt is too long: 204812 tokens > 200000 maximum", Some(200_000), Some(204_812)),
            (
                "This model's maximum context length is 8192 tokens, however you requested 10000 \
                 tokens (9000 in your prompt; 1000 for the completion).",
                Some(8_192),
                Some(10_000),
            ),
            (
                "Input exceeds the context window: 530211 tokens, limit 512000.",
                Some(512_000),
                Some(530_211),
            ),
            (
                "Prompt has 301,442 tokens, but the configured context size is 262,144 tokens",
                Some(262_144),
                Some(301_442),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed \
                 (1048576).",
                Some(1_048_576),
                Some(1_200_000),
            ),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
                Some(200_000),
                Some(209_573),
            ),
            (
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 \
                 maximum context length",
                Some(32_768),
                Some(40_000),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 \
                 tokens.",
                Some(131_072),
                Some(537_812),
            ),
            (
                "prompt token count of 130000 exceeds the limit of 128000",
                Some(128_000),
                Some(130_000),
            ),
            (
                "Request too large for model `llama-3.1-8b-instant` in organization `org_01jk` on \
                 tokens per minute (TPM): Limit 6000, Requested 6512",
                Some(6_000),
                Some(6_512),
            ),
            ("Range of input length should be [1, 30720]", Some(30_720), None),
            ("Your request exceeded model token limit: 262144", Some(262_144), None),
            ("prompt too long; exceeded max context length by 1119046 tokens", None, None),
            ("the input length exceeds the context length", None, None),
            ("request req_011CeCGmMJJGRCp7xgjqapmJ of 2026-11-30 failed", None, None),
            ("99999999999999999999999999 tokens > 200000 maximum", Some(200_000), Some(u64::MAX)),
        ];
        for (sentence, limit, actual) in sentences {
            let sizes = from_text(sentence);
            assert_eq!((sizes.limit, sizes.actual), (*limit, *actual), "{sentence}");
        }
    }
}
