//! Reading JSON objects into structs that are there already.
//!
//! A derived reader returns each struct by value, through every level of nesting; for events of a
//! few hundred bytes that copying costs as much as the parsing. Here a field goes straight to its
//! place. Whatever is no object leaves the struct as it is, and of a repeated member the last one
//! counts.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::assembly::Fault;

/// A struct that can be filled member by member.
pub(crate) trait Fill<'de> {
    /// Takes the value of a member that it knows; false if it does not know it.
    fn member<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;
}

/// Fills a struct from a JSON text.
pub(crate) fn fill<'de, T: Fill<'de>>(target: &mut T, json: &'de str) -> Result<(), Fault> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let read = Filling(target).deserialize(&mut reader);
    read.and_then(|()| reader.end()).map_err(|error| Fault(format!("expected JSON, got: {error}")))
}

/// The place to be filled.
pub(crate) struct Filling<'s, T>(pub(crate) &'s mut T);

impl<'de, T: Fill<'de>> DeserializeSeed<'de> for Filling<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Fill<'de>> Visitor<'de> for Filling<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key::<Name<'de>>()? {
            if !self.0.member(&name, &mut map)? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// The name of a member, borrowed where it holds no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<'a>, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Any)
    }
}
