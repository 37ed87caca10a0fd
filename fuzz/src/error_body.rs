//! Error bodies: any bytes, any status, any header are classified, and the message stays short.

use wire::Dialect;

pub(crate) fn check(input: &[u8]) {
    let [dialect, high, low, rest @ ..] = input else { return };
    let dialect = Dialect::ALL[usize::from(*dialect) % Dialect::ALL.len()];
    let status = u16::from_be_bytes([*high, *low]) % 1000;
    let (header, body) = match rest.iter().position(|byte| *byte == 0) {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (&[][..], rest),
    };
    let value = String::from_utf8_lossy(header).into_owned();
    let names = ["retry-after", "retry-after-ms", "x-ratelimit-reset-requests", "content-type"];
    let headers: Vec<(String, String)> =
        names.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
    let failure = wire::classify(dialect, status, &headers, body, Some(1_700_000_000_000));
    assert!(failure.message.len() < 4_000, "{} bytes of message", failure.message.len());
    assert!(failure.code.len() < 4_000, "{} bytes of code", failure.code.len());
    assert!(!failure.message.is_empty(), "a failure without a word");
}
