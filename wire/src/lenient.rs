//! Fields as they come: providers write `null` for absent, numbers as text and text as numbers.
//!
//! A field that is not what it should be must not cost the event, so these types take what makes
//! sense and treat the rest as absent.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Text, borrowed where the JSON allows it. Anything but a string is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> Piece<'a> {
    /// The text, unless it is absent or empty (B008: an empty string means absent).
    pub(crate) fn text(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    pub(crate) fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A count: a number that is none of the odd ones, or absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<u64>);

/// An index: a whole number, or absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index(pub(crate) Option<i64>);

/// Skips what is not wanted, so that it becomes absent.
macro_rules! absent_otherwise {
    ($absent:expr; $($kind:ident),* $(,)?) => {
        $(absent_otherwise!(@ $kind $absent);)*
    };
    (@ bool $absent:expr) => {
        fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> { Ok($absent) }
    };
    (@ number $absent:expr) => {
        fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> { Ok($absent) }
        fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> { Ok($absent) }
        fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> { Ok($absent) }
    };
    (@ string $absent:expr) => {
        fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> { Ok($absent) }
    };
    (@ null $absent:expr) => {
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> { Ok($absent) }
        fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> { Ok($absent) }
    };
    (@ nested $absent:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($absent)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($absent)
        }
    };
}
pub(crate) use absent_otherwise;

impl<'de: 'a, 'a> Deserialize<'de> for Piece<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Piece<'a>, D::Error> {
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Piece<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Piece<'de>, E> {
                Ok(Piece(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Piece<'de>, E> {
                Ok(Piece(Some(Cow::Owned(text.to_owned()))))
            }
            absent_otherwise!(Piece(None); bool, number, null, nested);
        }
        deserializer.deserialize_any(Seen)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Count, E> {
                Ok(Count(Some(value)))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(value).ok()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Count, E> {
                // Exact up to 2^53; a count beyond that is none.
                let whole = (0.0..=9_007_199_254_740_992.0).contains(&value);
                Ok(Count((whole && value.fract() == 0.0).then_some(value as u64)))
            }
            absent_otherwise!(Count(None); bool, string, null, nested);
        }
        deserializer.deserialize_any(Seen)
    }
}

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Index, D::Error> {
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Index;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an index")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Index, E> {
                Ok(Index(i64::try_from(value).ok()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Index, E> {
                Ok(Index(Some(value)))
            }
            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Index, E> {
                Ok(Index(None))
            }
            absent_otherwise!(Index(None); bool, string, null, nested);
        }
        deserializer.deserialize_any(Seen)
    }
}

/// JSON that was read to its last letter, and of which nothing is kept.
pub(crate) struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sound, D::Error> {
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Sound;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Sound, A::Error> {
                while seq.next_element::<Sound>()?.is_some() {}
                Ok(Sound)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sound, A::Error> {
                while map.next_entry::<Sound, Sound>()?.is_some() {}
                Ok(Sound)
            }
            absent_otherwise!(Sound; bool, number, string, null);
        }
        deserializer.deserialize_any(Seen)
    }
}

/// A list that nearly always has one item or none: the first costs no allocation.
#[derive(Clone, Debug)]
pub(crate) struct Few<T> {
    first: Option<T>,
    others: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few { first: None, others: Vec::new() }
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.others)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Few<T>, D::Error> {
        struct Seen<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Seen<T> {
            type Value = Few<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Few<T>, E> {
                Ok(Few::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Few<T>, A::Error> {
                let mut few = Few { first: seq.next_element()?, others: Vec::new() };
                while let Some(item) = seq.next_element()? {
                    few.others.push(item);
                }
                Ok(few)
            }
        }
        deserializer.deserialize_any(Seen(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_borrowed_and_the_rest_is_absent() {
        let piece: Piece<'_> = serde_json::from_str("\"plain\"").expect("json");
        assert!(matches!(piece.0, Some(Cow::Borrowed("plain"))));
        for other in ["null", "1", "-1", "1.5", "true", "[1,[2]]", "{\"a\":{}}"] {
            let piece: Piece<'_> = serde_json::from_str(other).expect("json");
            assert_eq!(piece.0, None, "{other}");
        }
    }

    #[test]
    fn a_short_list_is_a_list() {
        for (json, items) in
            [("null", vec![]), ("[]", vec![]), ("[1]", vec![1]), ("[1,2,3]", vec![1, 2, 3])]
        {
            let few: Few<i32> = serde_json::from_str(json).expect("json");
            assert_eq!(few.into_iter().collect::<Vec<_>>(), items, "{json}");
        }
        for other in ["1", "{}", "[\"x\"]"] {
            assert!(serde_json::from_str::<Few<i32>>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn counts_take_whole_numbers_only() {
        for (json, count) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("7.5", None),
            ("-7", None),
            ("1e300", None),
            ("\"7\"", None),
            ("null", None),
            ("{}", None),
            ("18446744073709551615", Some(u64::MAX)),
        ] {
            assert_eq!(serde_json::from_str::<Count>(json).expect("json").0, count, "{json}");
        }
    }
}
