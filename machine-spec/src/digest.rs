//! A stable 64-bit digest of anything serialisable, for comparing states and transcripts.
//!
//! It walks the canonical serialisation of a value without building it: the same on every
//! platform, in every release of the compiler and with every feature of any JSON crate. It finds
//! accidents, not attackers; what must resist tampering is hashed in `replay` with BLAKE3.
//!
//! Values that carry a rolling digest of their own (a transcript, a sealed configuration) serialise
//! to that digest here and in full for people: they look at `is_human_readable`, which is false
//! for this serialiser. That keeps the digest of a state independent of the length of the
//! conversation.

use core::fmt;

use serde::ser::{self, Serialize};
use serde::{Deserialize, Deserializer, Serializer};

/// A stable digest.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u64);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        struct Hex;
        impl de::Visitor<'_> for Hex {
            type Value = Digest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("sixteen hexadecimal digits")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Digest, E> {
                let whole = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
                match u64::from_str_radix(text, 16) {
                    Ok(value) if whole => Ok(Digest(value)),
                    Ok(_) | Err(_) => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        use serde::de;
        deserializer.deserialize_str(Hex)
    }
}

impl Digest {
    /// The digest of a value.
    #[must_use]
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Digest {
        Digest::default().chain(value)
    }

    /// The digest of everything so far followed by a value.
    #[must_use]
    pub fn chain<T: Serialize + ?Sized>(self, value: &T) -> Digest {
        let mut mixer = Mixer(self.0);
        match value.serialize(&mut mixer) {
            Ok(()) => Digest(mixer.0),
            // Only a value that refuses to be serialised gets here; none of ours does.
            Err(Unserialisable) => Digest(mixer.0 ^ u64::MAX),
        }
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

struct Mixer(u64);

impl Mixer {
    fn word(&mut self, word: u64) {
        let wide = u128::from(self.0.wrapping_add(word) ^ SEED) * u128::from(SPREAD);
        self.0 = (wide as u64) ^ ((wide >> 64) as u64);
        self.0 = self.0.rotate_left(23) ^ word;
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        let len = bytes.len() as u64;
        if len < 8 {
            // Most texts are words of ours. The length stands in the byte that is left.
            return self.word(le_word(bytes) | ((len + 1) << 56));
        }
        self.word(len ^ SPREAD);
        let (blocks, rest) = bytes.as_chunks::<64>();
        if !blocks.is_empty() {
            self.blocks(blocks);
        }
        let (words, rest) = rest.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.word(le_word(rest));
        }
    }

    /// Four words at once, because each waits for the one before it.
    fn blocks(&mut self, blocks: &[[u8; 64]]) {
        let mut lanes = [1, 2, 3, 4].map(|n| Mixer(self.0 ^ SPREAD.wrapping_mul(n)));
        for half in blocks.as_flattened().as_chunks::<32>().0 {
            for (lane, word) in lanes.iter_mut().zip(half.as_chunks::<8>().0) {
                lane.word(u64::from_le_bytes(*word));
            }
        }
        lanes.iter().for_each(|lane| self.word(lane.0));
    }
}

/// Up to eight bytes as a word, the first one lowest.
fn le_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte))
}

/// A value that refused to be serialised.
#[derive(Debug)]
struct Unserialisable;

impl fmt::Display for Unserialisable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value refused to be serialised")
    }
}

impl core::error::Error for Unserialisable {}

impl ser::Error for Unserialisable {
    fn custom<T: fmt::Display>(_: T) -> Unserialisable {
        Unserialisable
    }
}

type Mixed = Result<(), Unserialisable>;

macro_rules! words {
    ($($method:ident: $type:ty),+ $(,)?) => {$(
        fn $method(self, value: $type) -> Mixed {
            self.word(value as u64);
            Ok(())
        }
    )+};
}

impl Serializer for &mut Mixer {
    type Ok = ();
    type Error = Unserialisable;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    words! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_char: char,
    }

    fn is_human_readable(&self) -> bool {
        false
    }
    fn serialize_f32(self, value: f32) -> Mixed {
        self.word(u64::from(value.to_bits()));
        Ok(())
    }
    fn serialize_f64(self, value: f64) -> Mixed {
        self.word(value.to_bits());
        Ok(())
    }
    fn serialize_str(self, value: &str) -> Mixed {
        self.bytes(value.as_bytes());
        Ok(())
    }
    fn serialize_bytes(self, value: &[u8]) -> Mixed {
        self.bytes(value);
        Ok(())
    }
    fn serialize_none(self) -> Mixed {
        self.word(1);
        Ok(())
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Mixed {
        self.word(2);
        value.serialize(self)
    }
    fn serialize_unit(self) -> Mixed {
        self.word(3);
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Mixed {
        self.word(4);
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Mixed {
        self.bytes(variant.as_bytes());
        Ok(())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Mixed {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Mixed {
        self.bytes(variant.as_bytes());
        value.serialize(self)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Unserialisable> {
        self.word(5);
        Ok(self)
    }
    fn serialize_tuple(self, len: usize) -> Result<Self, Unserialisable> {
        self.word(len as u64);
        Ok(self)
    }
    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Self, Unserialisable> {
        self.word(len as u64);
        Ok(self)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, Unserialisable> {
        self.bytes(variant.as_bytes());
        Ok(self)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Self, Unserialisable> {
        self.word(6);
        Ok(self)
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unserialisable> {
        Ok(self)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, Unserialisable> {
        self.bytes(variant.as_bytes());
        Ok(self)
    }
}

/// Marks the end of a sequence or map, so that neighbours cannot trade elements unseen.
const END: u64 = 7;

impl ser::SerializeSeq for &mut Mixer {
    type Ok = ();
    type Error = Unserialisable;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Mixed {
        value.serialize(&mut **self)
    }
    fn end(self) -> Mixed {
        self.word(END);
        Ok(())
    }
}

impl ser::SerializeMap for &mut Mixer {
    type Ok = ();
    type Error = Unserialisable;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Mixed {
        key.serialize(&mut **self)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Mixed {
        value.serialize(&mut **self)
    }
    fn end(self) -> Mixed {
        self.word(END);
        Ok(())
    }
}

macro_rules! positional {
    ($($trait:ident :: $method:ident),+ $(,)?) => {$(
        impl ser::$trait for &mut Mixer {
            type Ok = ();
            type Error = Unserialisable;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Mixed {
                value.serialize(&mut **self)
            }
            fn end(self) -> Mixed {
                Ok(())
            }
        }
    )+};
}

positional! {
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

macro_rules! named {
    ($($trait:ident),+ $(,)?) => {$(
        impl ser::$trait for &mut Mixer {
            type Ok = ();
            type Error = Unserialisable;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Mixed {
                value.serialize(&mut **self)
            }
            fn skip_field(&mut self, name: &'static str) -> Mixed {
                self.bytes(name.as_bytes());
                Ok(())
            }
            fn end(self) -> Mixed {
                Ok(())
            }
        }
    )+};
}

named! { SerializeStruct, SerializeStructVariant }
