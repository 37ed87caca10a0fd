//! Images: bytes that a conversation names by the digest of their content, and how they are spelled
//! inside of JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine_spec::message::{Image, ImagePlace};

use crate::encode::Out;

/// The bytes of images, by the digest of their content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images {
    held: BTreeMap<String, Arc<[u8]>>,
}

impl Images {
    /// Keeps the bytes of an image and gives the words by which a conversation shows it.
    pub fn hold(&mut self, media: &str, bytes: &[u8]) -> Image {
        let address = blake3::hash(bytes).to_hex().to_string();
        self.held.entry(address.clone()).or_insert_with(|| Arc::from(bytes));
        Image { media: media.to_owned(), place: ImagePlace::Held(address) }
    }

    /// The bytes at an address, if they are here.
    #[must_use]
    pub fn bytes(&self, address: &str) -> Option<&[u8]> {
        self.held.get(address).map(AsRef::as_ref)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The bytes of every image.
    pub fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.held.values().map(AsRef::as_ref)
    }

    /// Takes over all that another collection holds; false if nothing of it was new.
    pub fn take_over(&mut self, others: &Images) -> bool {
        let before = self.held.len();
        let others = others.held.iter().map(|(address, bytes)| (address.clone(), bytes.clone()));
        self.held.extend(others);
        self.held.len() > before
    }

    /// How an image can be shown.
    pub(crate) fn show<'a>(&'a self, image: &'a Image) -> Shown<'a> {
        match &image.place {
            ImagePlace::Linked(url) => Shown::Linked(url),
            ImagePlace::Held(address) => self.bytes(address).map_or(Shown::Missing, Shown::Inline),
        }
    }
}

/// How an image can be shown.
pub(crate) enum Shown<'a> {
    /// By its bytes.
    Inline(&'a [u8]),
    /// By an address.
    Linked(&'a str),
    /// Not at all: nobody has the bytes.
    Missing,
}

/// The words that stand for an image that cannot be shown; a model must not guess what it saw.
pub(crate) fn placeholder(image: &Image) -> String {
    let media = if image.media.is_empty() { "image" } else { &image.media };
    match &image.place {
        ImagePlace::Linked(url) => format!("({media} at {url})"),
        ImagePlace::Held(_) => format!("({media} that is not available any more)"),
    }
}

/// The words that stand for an image where a wire has no place for one.
pub(crate) fn no_place(image: &Image) -> String {
    let media = if image.media.is_empty() { "image" } else { &image.media };
    match &image.place {
        ImagePlace::Linked(url) => format!("({media} at {url})"),
        ImagePlace::Held(_) => format!("({media} that cannot be shown to you here)"),
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends bytes as base64, which needs no escapes in JSON.
pub(crate) fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= three.len() { letter } else { b'=' });
        }
    }
}

/// Appends a `data:` address as a string.
pub(crate) fn data_url(out: &mut Vec<u8>, media: &str, bytes: &[u8]) {
    out.push(b'"');
    out.escaped("data:");
    out.escaped(media);
    out.escaped(";base64,");
    push_base64(out, bytes);
    out.push(b'"');
}

/// The bytes of a base64 text, in the common or the URL alphabet, padded or not. Blanks are
/// skipped; anything else that is no base64 gives nothing.
#[must_use]
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end().trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0u32, 0u32);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // A single letter left over holds no byte.
    (count < 6).then_some(bytes)
}

/// An image behind a `data:` address, or behind another one. Nothing if it is a `data:` address
/// that holds no image.
pub(crate) fn from_url(images: &mut Images, url: &str) -> Option<Image> {
    let Some(rest) = url.strip_prefix("data:") else {
        let linked = ImagePlace::Linked(url.to_owned());
        return (!url.is_empty()).then(|| Image { media: String::new(), place: linked });
    };
    let (head, data) = rest.split_once(',')?;
    let media = head.strip_suffix(";base64")?;
    from_data(images, media, data)
}

/// An image whose bytes stand in the body.
pub(crate) fn from_data(images: &mut Images, media: &str, data: &str) -> Option<Image> {
    if !media.starts_with("image/") {
        return None;
    }
    from_base64(data).map(|bytes| images.hold(media, &bytes))
}

/// The media type of an image on a wire that does not name it, by how its base64 begins.
pub(crate) fn media_of(data: &str) -> &'static str {
    const BEGINNINGS: &[(&str, &str)] =
        &[("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];
    let known = BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning));
    known.map_or("image/png", |(_, media)| media)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base64(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        push_base64(&mut out, bytes);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn base64_is_as_the_standard_has_it() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_base64(&base64(&all)), Some(all.clone()));
        let url_alphabet = base64(&all).replace('+', "-").replace('/', "_");
        assert_eq!(from_base64(url_alphabet.trim_end_matches('=')), Some(all));
        assert_eq!(from_base64("Zm9v\nYg"), Some(b"foob".to_vec()));
        for bad in ["Z", "!!!!not-base64!!!!", "Zm9v=Zg"] {
            assert_eq!(from_base64(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_same_bytes_have_the_same_address() {
        let mut images = Images::default();
        let one = images.hold("image/png", b"1");
        assert_eq!(images.hold("image/png", b"1"), one);
        assert_ne!(images.hold("image/png", b"2"), one);
        let mut others = Images::default();
        assert!(others.take_over(&images));
        assert!(!others.take_over(&images));
        let ImagePlace::Held(address) = &one.place else { panic!("{one:?}") };
        assert_eq!(others.bytes(address), Some(b"1".as_slice()));
    }

    #[test]
    fn addresses_are_read_or_refused() {
        let mut images = Images::default();
        let one = images.hold("image/png", b"foo");
        assert_eq!(from_url(&mut images, "data:image/png;base64,Zm9v"), Some(one));
        let linked = from_url(&mut images, "https://example.com/a.png").map(|image| image.place);
        assert_eq!(linked, Some(ImagePlace::Linked("https://example.com/a.png".to_owned())));
        for bad in
            ["", "data:image/png,foo", "data:image/png;base64,!", "data:text/plain;base64,Zg"]
        {
            assert_eq!(from_url(&mut images, bad), None, "{bad}");
        }
    }
}
