//! The verdict on arguments: a digest of what the JSON means, whatever it looks like.

use machine_spec::model::ArgsVerdict;
use serde_json::Value;

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match (wire::canonical_args(text), serde_json::from_str::<Value>(text)) {
        (verdict @ ArgsVerdict::Valid { .. }, Ok(value)) => {
            assert!(value.is_object());
            // Numbers that are not whole, or long, may lose digits on the way through the crate.
            let long = text.as_bytes().windows(16).any(|part| part.iter().all(u8::is_ascii_digit));
            if !long && !text.contains(['.', 'e', 'E']) {
                assert_eq!(verdict, wire::canonical_args(&value.to_string()), "{text}");
            }
        }
        (ArgsVerdict::Valid { .. }, Err(error)) => assert!(text.trim().is_empty(), "{error}"),
        (ArgsVerdict::Malformed { at, .. }, read) => {
            assert!(at as usize <= text.len());
            assert!(!read.is_ok_and(|value| value.is_object()), "{text}");
        }
        (ArgsVerdict::Invalid { .. }, _) => panic!("nobody asked for a schema"),
    }
}
