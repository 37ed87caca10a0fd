//! JSON that is looked into without losing its bytes.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::ReadError;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Raw<'a> {
    text: &'a str,
    at: String,
}

impl<'a> Raw<'a> {
    /// The body itself, which must be an object.
    pub(crate) fn body(body: &'a [u8]) -> Result<Raw<'a>, ReadError> {
        let raw: &RawValue = serde_json::from_slice(body).map_err(|error| ReadError {
            at: String::new(),
            expected: "a JSON object",
            got: error.to_string(),
        })?;
        let raw = Raw { text: raw.get(), at: String::new() };
        if raw.is_object() { Ok(raw) } else { Err(raw.unexpected("a JSON object")) }
    }

    /// The bytes as they came.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Where it stands, as a JSON pointer.
    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    pub(crate) fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }

    pub(crate) fn is_list(&self) -> bool {
        self.text.starts_with('[')
    }

    pub(crate) fn is_null(&self) -> bool {
        self.text == "null"
    }

    /// The members of an object, by key; of a repeated key the last value counts.
    pub(crate) fn members(&self) -> Vec<(String, Raw<'a>)> {
        if !self.is_object() {
            return Vec::new();
        }
        let members: BTreeMap<String, &'a RawValue> =
            serde_json::from_str(self.text).unwrap_or_default();
        members
            .into_iter()
            .map(|(key, member)| {
                let at = format!("{}/{key}", self.at);
                (key, Raw { text: member.get(), at })
            })
            .collect()
    }

    /// A member that is there and not null.
    pub(crate) fn get(&self, key: &str) -> Option<Raw<'a>> {
        let found = self.members().into_iter().find(|(name, _)| name == key);
        found.map(|(_, member)| member).filter(|member| !member.is_null())
    }

    /// A member under either of two spellings.
    pub(crate) fn get_either(&self, key: &str, other: &str) -> Option<Raw<'a>> {
        self.get(key).or_else(|| self.get(other))
    }

    /// The text of a member, or nothing.
    pub(crate) fn word(&self, key: &str) -> String {
        self.get(key).and_then(|member| member.string()).unwrap_or_default()
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Vec<Raw<'a>> {
        let items: Vec<&'a RawValue> = if self.is_list() {
            serde_json::from_str(self.text).unwrap_or_default()
        } else {
            Vec::new()
        };
        let place = |index: usize| format!("{}/{index}", self.at);
        items
            .into_iter()
            .enumerate()
            .map(|(index, item)| Raw { text: item.get(), at: place(index) })
            .collect()
    }

    /// The list of a member that the dialect demands.
    pub(crate) fn demand_list(&self, key: &'static str) -> Result<Vec<Raw<'a>>, ReadError> {
        let member = self.get(key).ok_or_else(|| ReadError {
            at: format!("{}/{key}", self.at),
            expected: "a list",
            got: "nothing".to_owned(),
        })?;
        if member.is_list() { Ok(member.items()) } else { Err(member.unexpected("a list")) }
    }

    /// The text of a string.
    pub(crate) fn string(&self) -> Option<String> {
        serde_json::from_str(self.text).ok()
    }

    /// The value, without its bytes.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(self.text).unwrap_or_default()
    }

    /// The error that something else stands here.
    pub(crate) fn unexpected(&self, expected: &'static str) -> ReadError {
        let end = self.text.floor_char_boundary(60);
        let cut = if end < self.text.len() { "…" } else { "" };
        ReadError { at: self.at.clone(), expected, got: format!("{}{cut}", &self.text[..end]) }
    }
}
