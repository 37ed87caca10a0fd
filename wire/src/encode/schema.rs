//! Schemas and arguments: JSON that came as text and goes out as it came, if it is usable at all.

use machine_spec::message::Call;
use machine_spec::model::ArgsVerdict;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::json::{Out, raw_object};

/// Appends the schema of a tool's arguments. Providers want an object schema that names its type
/// and its properties even where there are none, so what is missing is added in front; the rest
/// stays as it was configured.
pub(crate) fn push_schema(out: &mut Vec<u8>, schema: &str) {
    let Some(raw) = raw_object(schema) else {
        out.put(r#"{"type":"object","properties":{}}"#);
        return;
    };
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw).unwrap_or_default();
    let composed = ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| members.contains_key(*key));
    let mut added = String::new();
    if !members.contains_key("type") {
        added.push_str(r#""type":"object","#);
    }
    if !members.contains_key("properties") && !composed {
        added.push_str(r#""properties":{},"#);
    }
    if members.is_empty() {
        added.pop();
    }
    out.put("{");
    out.put(&added);
    out.put(&raw[1..]);
}

/// The arguments of a call as they may go out: the text of an object, or `{}`. Arguments that were
/// never usable were never used either, and an error result stands beside them.
pub(crate) fn args(call: &Call) -> &str {
    match &call.facts.args {
        ArgsVerdict::Valid { .. } | ArgsVerdict::Invalid { .. } => {
            raw_object(&call.args).unwrap_or("{}")
        }
        ArgsVerdict::Malformed { .. } => "{}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_names_its_type_and_its_properties() {
        let cases = [
            ("", r#"{"type":"object","properties":{}}"#),
            ("not json", r#"{"type":"object","properties":{}}"#),
            ("{}", r#"{"type":"object","properties":{}}"#),
            (r#"{"type":"object"}"#, r#"{"properties":{},"type":"object"}"#),
            (
                r#"{ "properties": {"b":{},"a":{}} }"#,
                r#"{"type":"object", "properties": {"b":{},"a":{}} }"#,
            ),
            (r#"{"anyOf":[]}"#, r#"{"type":"object","anyOf":[]}"#),
        ];
        for (schema, wanted) in cases {
            let mut out = Vec::new();
            push_schema(&mut out, schema);
            assert_eq!(String::from_utf8(out).expect("UTF-8"), wanted, "{schema}");
        }
    }
}
