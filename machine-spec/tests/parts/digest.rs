//! Digests stand in recordings, so they are pinned: of every shape that serde knows, and of texts of
//! every length that is mixed in its own way.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use machine_spec::Digest;
use serde::{Serialize, Serializer};

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Pair(u8, u16);

#[derive(Serialize)]
struct Named {
    a: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<u64>,
}

#[derive(Serialize)]
enum Any {
    Unit,
    One(u8),
    Two(u8, u8),
    Named { a: u8 },
}

struct Raw(&'static [u8]);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

fn text(len: usize) -> String {
    (0..len).map(|n| char::from(b'a' + (n % 26) as u8)).collect()
}

#[test]
fn digests_are_pinned() {
    let mut told = String::new();
    let mut tell = |what: &str, digest: Digest| writeln!(told, "{what:<9} {digest}").expect("text");
    tell("bool", Digest::of(&true));
    tell("i8", Digest::of(&-1_i8));
    tell("i64", Digest::of(&-1_i64));
    tell("u32", Digest::of(&7_u32));
    tell("f32", Digest::of(&1.5_f32));
    tell("f64", Digest::of(&1.5_f64));
    tell("char", Digest::of(&'x'));
    tell("bytes", Digest::of(&Raw(b"bytes")));
    tell("none", Digest::of(&None::<u8>));
    tell("some", Digest::of(&Some(1_u8)));
    tell("unit", Digest::of(&()));
    tell("struct()", Digest::of(&Unit));
    tell("struct(2)", Digest::of(&Pair(1, 2)));
    tell("struct", Digest::of(&Named { a: 1, b: Some(2) }));
    tell("skipped", Digest::of(&Named { a: 1, b: None }));
    tell("variant", Digest::of(&Any::Unit));
    tell("one", Digest::of(&Any::One(1)));
    tell("two", Digest::of(&Any::Two(1, 2)));
    tell("named", Digest::of(&Any::Named { a: 1 }));
    tell("tuple", Digest::of(&(1_u8, 2_u8)));
    tell("list", Digest::of(&vec![1_u8, 2]));
    tell("map", Digest::of(&BTreeMap::from([("a", 1_u8), ("b", 2)])));
    for len in [0, 1, 7, 8, 9, 63, 64, 65, 96, 130, 200] {
        tell(&format!("text {len}"), Digest::of(text(len).as_str()));
    }
    tell("chain", Digest::of("a").chain("b").chain(&1_u8));
    insta::assert_snapshot!(told);
}

#[test]
fn neighbours_differ() {
    let lengths: BTreeSet<Digest> = (0..300).map(|len| Digest::of(text(len).as_str())).collect();
    assert_eq!(lengths.len(), 300);
    let whole = text(200);
    let changed: BTreeSet<Digest> = (0..200)
        .map(|at| {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] = b'_';
            Digest::of(std::str::from_utf8(&bytes).expect("text"))
        })
        .collect();
    assert_eq!(changed.len(), 200);
    assert!(!changed.contains(&Digest::of(whole.as_str())));
    // What stands at the border of two texts belongs to one of them.
    assert_ne!(Digest::of(&("ab", "c")), Digest::of(&("a", "bc")));
    assert_ne!(Digest::of(&(vec![1_u8], vec![2_u8])), Digest::of(&(vec![1_u8, 2], [0_u8; 0])));
    assert_ne!(Digest::of(&[("a", 1_u8)]), Digest::of(&[("b", 1_u8)]));
    let maps = [("a", "b"), ("b", "a")].map(|pair| Digest::of(&BTreeMap::from([pair])));
    assert_ne!(maps[0], maps[1]);
}

#[test]
fn a_digest_is_written_as_sixteen_digits_and_read_back() {
    let digest = Digest(0xab);
    let written = serde_json::to_string(&digest).expect("it is text");
    assert_eq!(written, "\"00000000000000ab\"");
    assert_eq!(format!("{digest:?}"), "Digest(00000000000000ab)");
    assert_eq!(serde_json::from_str::<Digest>(&written).expect("it reads back"), digest);
    for wrong in ["\"ab\"", "\"00000000000000xy\"", "\"+0000000000000ab\"", "171"] {
        let error = serde_json::from_str::<Digest>(wrong).expect_err(wrong).to_string();
        assert!(error.contains("sixteen hexadecimal digits"), "{error}");
    }
}
