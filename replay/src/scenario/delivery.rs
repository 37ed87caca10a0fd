//! How the bytes of a body come: in which pieces, after which pauses, with which end.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How the bytes of a body come. The same words as in the `.plan.json` files of wire cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyPlan {
    /// In which pieces.
    #[serde(default)]
    pub chunks: Chunks,
    /// Milliseconds to wait before the byte at this offset. An offset inside a piece divides it; the
    /// length of the body stands for its end. Where events stand for a body, they are counted
    /// instead of bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pauses_ms: BTreeMap<u64, u64>,
    /// What comes behind the last byte.
    #[serde(default)]
    pub end: EndOfBody,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// In which pieces a body comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// In one.
    #[default]
    Whole,
    /// Byte by byte.
    EveryByte,
    /// A new one begins at each of these offsets.
    At(Vec<u64>),
}

/// What comes behind the last byte of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndOfBody {
    /// A clean end.
    #[default]
    Eof,
    /// A broken connection.
    Reset,
    /// Nothing, and the connection stays open.
    Hang,
}

impl BodyPlan {
    /// The pieces of a body of this length: where each begins, and the pause before it. The first
    /// begins at 0, even of an empty body.
    #[must_use]
    pub fn pieces(&self, length: u64) -> Vec<(u64, u64)> {
        let mut begins: Vec<u64> = match &self.chunks {
            Chunks::Whole => Vec::new(),
            Chunks::EveryByte => (0..length).collect(),
            Chunks::At(offsets) => offsets.clone(),
        };
        begins.push(0);
        begins.extend(self.pauses_ms.keys());
        begins.retain(|at| *at < length || *at == 0);
        begins.sort_unstable();
        begins.dedup();
        let pause = |at: &u64| self.pauses_ms.get(at).copied().unwrap_or(0);
        begins.iter().map(|at| (*at, pause(at))).collect()
    }
}

impl BodyPlan {
    /// The pause before the end of a body of this length.
    #[must_use]
    pub fn pause_before_end(&self, length: u64) -> u64 {
        self.pauses_ms.get(&length).copied().unwrap_or(0)
    }
}

const FORMS: &str = "`whole`, `every_byte` or a list of offsets";

impl Serialize for Chunks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Chunks::Whole => serializer.serialize_str("whole"),
            Chunks::EveryByte => serializer.serialize_str("every_byte"),
            Chunks::At(offsets) => offsets.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Chunks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Chunks, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = Chunks;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMS)
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Chunks, E> {
                match word {
                    "whole" => Ok(Chunks::Whole),
                    "every_byte" => Ok(Chunks::EveryByte),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Chunks, A::Error> {
                let mut offsets = Vec::new();
                while let Some(offset) = list.next_element()? {
                    offsets.push(offset);
                }
                Ok(Chunks::At(offsets))
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

#[cfg(test)]
mod tests {
    use super::{BodyPlan, Chunks, EndOfBody};

    #[test]
    fn plans_are_read_in_the_words_of_the_cases() {
        let text = r#"{"chunks": [4, 614], "end": "reset", "pauses_ms": {"614": 250, "8": 1}}"#;
        let plan: BodyPlan = serde_json::from_str(text).expect("a plan");
        assert_eq!(plan.chunks, Chunks::At(vec![4, 614]));
        assert_eq!(plan.end, EndOfBody::Reset);
        assert_eq!(plan.pieces(1000), [(0, 0), (4, 0), (8, 1), (614, 250)]);
        assert_eq!(plan.pieces(100), [(0, 0), (4, 0), (8, 1)]);
        let back = serde_json::to_string(&plan).expect("serialisable");
        assert_eq!(serde_json::from_str::<BodyPlan>(&back).expect("a plan"), plan);
        for wrong in [r#"{"chunks":"half"}"#, r#"{"end":"sudden"}"#, r#"{"pauses":{}}"#] {
            serde_json::from_str::<BodyPlan>(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn pieces_cover_a_body_of_any_length() {
        let every = BodyPlan { chunks: Chunks::EveryByte, ..BodyPlan::default() };
        assert_eq!(every.pieces(3), [(0, 0), (1, 0), (2, 0)]);
        for plan in [every, BodyPlan::default()] {
            assert_eq!(plan.pieces(0), [(0, 0)]);
        }
    }
}
