//! Requests of others: any body is read or refused with a reason.

use wire::Dialect;

pub(crate) fn check(input: &[u8]) {
    let Some((dialect, body)) = input.split_first() else { return };
    let dialect = Dialect::ALL[usize::from(*dialect) % Dialect::ALL.len()];
    match wire::read(dialect, body, "fuzz", Some("model")) {
        Ok(request) => drop(request.config("fuzz")),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
