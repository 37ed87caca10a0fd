//! Parts of a reply that only their maker understands, and that go back to nobody else (B012).

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::json::raw_object;

/// A provider's own JSON, as it goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Private<'a> {
    /// A whole object of the dialect, byte for byte.
    Whole(&'a str),
    /// Members that belong into the wire object of the next block, without braces.
    Adorns(&'a str),
    /// Nothing that can go back.
    Nothing,
}

/// Reads a seal or an opaque payload. Decoders write `{"adorns_next":{…}}` before a block that has
/// private members of its own, such as the signature of a call.
pub(crate) fn private(text: &str) -> Private<'_> {
    let Some(whole) = raw_object(text) else { return Private::Nothing };
    if !whole.contains("\"adorns_next\"") {
        return Private::Whole(whole);
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(whole).unwrap_or_default();
    match members.get("adorns_next") {
        Some(adornment) if members.len() == 1 => {
            let inner = adornment.get();
            let inside = inner.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            match inside.map(str::trim) {
                Some(inside) if !inside.is_empty() => Private::Adorns(inside),
                Some(_) | None => Private::Nothing,
            }
        }
        Some(_) | None => Private::Whole(whole),
    }
}

/// Whether a whole private object has a member of this name.
pub(crate) fn has_member(whole: &str, name: &str) -> bool {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(whole).unwrap_or_default();
    members.get(name).is_some_and(|member| member.get() != "null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adornment_is_told_from_a_whole_object() {
        for (text, wanted) in [
            ("", Private::Nothing),
            ("\"x\"", Private::Nothing),
            (" {\"type\":\"thinking\" }", Private::Whole("{\"type\":\"thinking\" }")),
            ("{\"adorns_next\": {\"a\":{\"b\":1} } }", Private::Adorns("\"a\":{\"b\":1}")),
            ("{\"adorns_next\":{}}", Private::Nothing),
            ("{\"adorns_next\":7}", Private::Nothing),
            ("{\"x\":\"\\\"adorns_next\\\"\"}", Private::Whole("{\"x\":\"\\\"adorns_next\\\"\"}")),
        ] {
            assert_eq!(private(text), wanted, "{text}");
        }
    }
}
