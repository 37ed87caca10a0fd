//! Most events of a stream are the one before with another piece of text in it. This recognises
//! them without parsing.
//!
//! After an event that did nothing but add text to a block, its bytes are kept as a pattern: what
//! stood around the text, and around the few members that change and mean nothing. The next event
//! fits if all of that is the same, byte for byte, and a JSON string stands in the place of the
//! text. Then it *is* the same JSON but for that string, so it does the same as the one before.
//! Any other event is parsed, and the pattern forgotten: what the reader does may depend on it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr2, memmem};

/// What an event taught: it did nothing but add the text of this member to this block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lesson {
    pub(crate) member: &'static str,
    pub(crate) block: u32,
}

/// A member whose value changes from event to event and means nothing to any reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    /// A string.
    Text(&'static str),
    /// A whole number.
    Number(&'static str),
}

/// The pattern of the last event, if it had one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prediction {
    noise: &'static [Noise],
    block: u32,
    /// The fixed parts, one after the other.
    fixed: Vec<u8>,
    /// The changing parts, each behind so many fixed bytes. None means no pattern.
    holes: Vec<Hole>,
    /// Patterns in a row that no event fitted.
    useless: u32,
    /// Events that were not learned from, because learning did not help.
    unlearned: u32,
    off: bool,
    hits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    /// Where in the fixed parts it lies.
    at: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    NoiseText,
    NoiseNumber,
}

/// So many useless patterns in a row, and only every so many events one is tried again.
const PATIENCE: u32 = 4;
const PAUSE: u32 = 32;

/// To learn from a longer event costs more than it can spare.
const LARGEST: usize = 64 << 10;

impl Prediction {
    pub(crate) fn new(noise: &'static [Noise]) -> Prediction {
        Prediction { noise, ..Prediction::default() }
    }

    /// Parses every event from here on.
    pub(crate) fn switch_off(&mut self) {
        self.holes.clear();
        self.off = true;
    }

    /// Events that fitted.
    pub(crate) fn hits(&self) -> u64 {
        self.hits
    }

    /// The block and the text that an event adds to it, if it fits the pattern.
    pub(crate) fn fit<'a>(&mut self, data: &'a [u8]) -> Option<(u32, Cow<'a, str>)> {
        let (first, holes) = self.holes.split_first()?;
        let mut rest = data.strip_prefix(&self.fixed[..first.at])?;
        let mut from = first.at;
        let mut text = None;
        let (value, after) = first.read(rest)?;
        text = value.or(text);
        rest = after;
        for hole in holes {
            rest = rest.strip_prefix(&self.fixed[from..hole.at])?;
            from = hole.at;
            let (value, after) = hole.read(rest)?;
            text = value.or(text);
            rest = after;
        }
        if rest != &self.fixed[from..] {
            return None;
        }
        self.useless = 0;
        self.hits += 1;
        Some((self.block, text?))
    }

    /// An event was parsed: forgets the pattern, and takes a new one from it if it taught one.
    pub(crate) fn learn(&mut self, data: &[u8], lesson: Option<Lesson>) {
        self.holes.clear();
        let teaches = !self.off && data.len() <= LARGEST;
        let Some(Lesson { member, block }) = lesson.filter(|_| teaches) else { return };
        if self.useless >= PATIENCE {
            self.unlearned += 1;
            if self.unlearned < PAUSE {
                return;
            }
            self.unlearned = 0;
        }
        self.useless += 1;
        self.block = block;
        if self.take(data, member).is_none() {
            self.holes.clear();
        }
    }

    fn take(&mut self, data: &[u8], member: &'static str) -> Option<()> {
        let mut found: [Option<(Range<usize>, Kind)>; 4] = [const { None }; 4];
        found[0] = Some((value_of(data, member, Kind::Text)?, Kind::Text));
        for (noise, place) in self.noise.iter().zip(&mut found[1..]) {
            let (name, kind) = match noise {
                Noise::Text(name) => (name, Kind::NoiseText),
                Noise::Number(name) => (name, Kind::NoiseNumber),
            };
            *place = value_of(data, name, kind).map(|range| (range, kind));
        }
        found.sort_by_key(|place| place.as_ref().map_or(usize::MAX, |(range, _)| range.start));
        self.fixed.clear();
        let mut from = 0;
        for (range, kind) in found.into_iter().flatten() {
            self.fixed.extend_from_slice(data.get(from..range.start)?);
            self.holes.push(Hole { at: self.fixed.len(), kind });
            from = range.end;
        }
        self.fixed.extend_from_slice(&data[from..]);
        Some(())
    }
}

impl Hole {
    /// What fills the hole at the beginning of `rest`, and what follows it.
    fn read<'a>(&self, rest: &'a [u8]) -> Option<(Option<Cow<'a, str>>, &'a [u8])> {
        match self.kind {
            Kind::Text => {
                let (text, after) = string(rest)?;
                Some((Some(text), after))
            }
            Kind::NoiseText => {
                let plain =
                    |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
                let end = rest.iter().position(|byte| !plain(byte))?;
                Some((None, &rest[end..]))
            }
            Kind::NoiseNumber => {
                let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
                let valid = end == 1 || (1..16).contains(&end) && rest[0] != b'0';
                valid.then(|| (None, &rest[end..]))
            }
        }
    }
}

/// The text of a JSON string whose opening quote stands before `rest`, and what follows, from its
/// closing quote on.
fn string(rest: &[u8]) -> Option<(Cow<'_, str>, &[u8])> {
    let end = memchr2(b'"', b'\\', rest)?;
    if rest[end] == b'\\' {
        return escaped(rest, end);
    }
    let text = &rest[..end];
    // Collected without a branch, so that it becomes one pass of vector instructions.
    let control = text.iter().fold(false, |found, byte| found | (*byte < 0x20));
    if control {
        return None;
    }
    Some((Cow::Borrowed(std::str::from_utf8(text).ok()?), &rest[end..]))
}

/// The same for a string whose first escape stands at `at`. Whatever is not plainly well formed
/// fits no pattern; the parser will judge it.
fn escaped(rest: &[u8], mut at: usize) -> Option<(Cow<'_, str>, &[u8])> {
    let mut text = Vec::with_capacity(2 * at + 32);
    let mut from = 0;
    loop {
        let plain = &rest[from..at];
        if plain.iter().fold(false, |found, byte| found | (*byte < 0x20)) {
            return None;
        }
        text.extend_from_slice(plain);
        if rest[at] == b'"' {
            let text = String::from_utf8(text).ok()?;
            return Some((Cow::Owned(text), &rest[at..]));
        }
        from = at + 2;
        match *rest.get(at + 1)? {
            b'n' => text.push(b'\n'),
            same @ (b'"' | b'\\' | b'/') => text.push(same),
            b't' => text.push(b'\t'),
            b'r' => text.push(b'\r'),
            b'b' => text.push(0x08),
            b'f' => text.push(0x0c),
            b'u' => {
                let (letter, length) = letter(&rest[from..])?;
                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                from += length;
            }
            _ => return None,
        }
        // Escapes often stand side by side: look before searching.
        at = match *rest.get(from)? {
            b'"' | b'\\' => from,
            _ => from + memchr2(b'"', b'\\', &rest[from..])?,
        };
    }
}

/// The letter whose escape begins behind `\u`, and how many bytes it takes: a half of a pair takes
/// the other half with it.
fn letter(digits: &[u8]) -> Option<(char, usize)> {
    let unit = |digits: &[u8]| {
        digits
            .get(..4)?
            .iter()
            .try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    };
    let first = unit(digits)?;
    if !(0xd800..0xdc00).contains(&first) {
        // A second half without a first is no letter.
        return Some((char::from_u32(first)?, 4));
    }
    let second = unit(digits.get(4..)?.strip_prefix(b"\\u")?)?;
    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    Some((char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low)?, 10))
}

/// Where the value of a member lies, if the member is there once. Its quotes cannot stand inside of
/// a string, where they would be escaped, so what is found is a member.
fn value_of(data: &[u8], name: &str, kind: Kind) -> Option<Range<usize>> {
    let mut member = [0u8; 32];
    let length = name.len() + 3;
    let key = member.get_mut(..length)?;
    key[0] = b'"';
    key[1..=name.len()].copy_from_slice(name.as_bytes());
    key[name.len() + 1] = b'"';
    key[name.len() + 2] = b':';
    let mut places = memmem::find_iter(data, &*key);
    let mut start = places.next()? + length;
    if places.next().is_some() {
        return None;
    }
    let blank = usize::from(data.get(start) == Some(&b' '));
    start += blank;
    match kind {
        Kind::Text | Kind::NoiseText => {
            if data.get(start) != Some(&b'"') {
                return None;
            }
            start += 1;
            let (_, after) = string(&data[start..])?;
            Some(start..data.len() - after.len())
        }
        Kind::NoiseNumber => {
            let digits = data[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            (digits > 0).then_some(start..start + digits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: &[Noise] = &[Noise::Text("pad"), Noise::Number("n")];

    fn learned(event: &str) -> Prediction {
        let mut prediction = Prediction::new(NOISE);
        let lesson = Lesson { member: "text", block: 7 };
        prediction.learn(event.as_bytes(), Some(lesson));
        prediction
    }

    fn fit(prediction: &mut Prediction, event: &str) -> Option<String> {
        prediction.fit(event.as_bytes()).map(|(block, text)| {
            assert_eq!(block, 7);
            text.into_owned()
        })
    }

    #[test]
    fn the_same_event_with_another_text_fits() {
        let mut prediction = learned(r#"{"n":1,"delta":{"text":"a\"b"},"pad":"xy"}"#);
        for (event, text) in [
            (r#"{"n":1,"delta":{"text":""},"pad":""}"#, ""),
            (r#"{"n":22,"delta":{"text":"é🦀"},"pad":"xyz"}"#, "é🦀"),
            (r#"{"n":0,"delta":{"text":"\u00e9\n\"\\"},"pad":"x"}"#, "é\n\"\\"),
            (
                r#"{"n":0,"delta":{"text":"a\t\r\b\f\/\u0041\uD83E\udd80b"},"pad":"x"}"#,
                "a\t\r\u{8}\u{c}/A🦀b",
            ),
        ] {
            assert_eq!(fit(&mut prediction, event).as_deref(), Some(text), "{event}");
        }
    }

    #[test]
    fn anything_else_does_not_fit() {
        let mut prediction = learned(r#"{"n":1,"delta":{"text":"a"},"pad":"xy"}"#);
        for event in [
            "",
            r#"{"n":1,"delta":{"text":"a"},"pad":"xy"} "#,
            r#"{"n":1,"delta":{"text":"a"},"pad":"xy","x":1}"#,
            r#"{"n":1,"delta":{"text":"a","x":"b"},"pad":"xy"}"#,
            r#"{"n":01,"delta":{"text":"a"},"pad":"xy"}"#,
            r#"{"n":,"delta":{"text":"a"},"pad":"xy"}"#,
            r#"{"n":1,"delta":{"text":"a"},"pad":"x\"y"}"#,
            r#"{"n":1,"delta":{"text":"\x"},"pad":"xy"}"#,
            r#"{"n":1,"delta":{"text":"\ud83d"},"pad":"xy"}"#,
            r#"{"n":1,"delta":{"text":"\ud83d\u0041"},"pad":"xy"}"#,
            r#"{"n":1,"delta":{"text":"\ud83dx"},"pad":"xy"}"#,
            r#"{"n":1,"delta":{"text":"\udd80"},"pad":"xy"}"#,
            r#"{"n":1,"delta":{"text":"\u00+1"},"pad":"xy"}"#,
            "{\"n\":1,\"delta\":{\"text\":\"\\n\u{1}\"},\"pad\":\"xy\"}",
            "{\"n\":1,\"delta\":{\"text\":\"a\u{1}\"},\"pad\":\"xy\"}",
            r#"{"n":1,"delta":{"text":"a\"#,
            r#"{"n":1,"delta":{"text":"a\\\"#,
            r#"{"n":1,"delta":{"text":"a"#,
        ] {
            assert_eq!(fit(&mut prediction, event), None, "{event}");
        }
        let broken = b"{\"n\":1,\"delta\":{\"text\":\"\xff\"},\"pad\":\"xy\"}";
        assert_eq!(prediction.fit(broken), None);
    }

    /// What is unescaped here is what the JSON crate makes of it, or is left to that crate.
    #[test]
    fn every_escape_means_what_the_standard_says() {
        let halves = ["d7ff", "d800", "dbff", "dc00", "dfff", "e000", "0000", "0022", "005c"];
        let mut texts: Vec<String> = (0u8..128).map(|c| format!("a\\{}b", char::from(c))).collect();
        for first in halves {
            texts.push(format!("\\u{first}"));
            texts.extend(halves.map(|second| format!("\\u{first}\\u{second}é")));
        }
        for text in texts {
            let quoted = format!("\"{text}\"");
            let ours = string(&quoted.as_bytes()[1..]).filter(|(_, after)| *after == b"\"");
            let theirs: Option<String> = serde_json::from_str(&quoted).ok();
            assert_eq!(ours.map(|(text, _)| text.into_owned()), theirs, "{text}");
        }
    }

    #[test]
    fn a_member_that_stands_twice_is_no_place() {
        let mut prediction = learned(r#"{"text":"a","again":{"text":"a"}}"#);
        assert_eq!(fit(&mut prediction, r#"{"text":"a","again":{"text":"a"}}"#), None);
        let mut prediction = learned(r#"{"text":"say \"text\":\"x\""}"#);
        assert_eq!(fit(&mut prediction, r#"{"text":"b"}"#).as_deref(), Some("b"));
    }

    #[test]
    fn patterns_that_never_fit_are_not_tried_for_ever() {
        let mut prediction = Prediction::new(NOISE);
        let mut patterns = 0;
        for n in 0..320 {
            let event = format!("{{\"k{n}\":1,\"text\":\"a\"}}");
            prediction.learn(event.as_bytes(), Some(Lesson { member: "text", block: 7 }));
            patterns += usize::from(!prediction.holes.is_empty());
        }
        assert!((4..20).contains(&patterns), "{patterns}");
    }
}
