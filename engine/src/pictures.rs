//! Images with their bytes: those that a user shows beside words, and those that a tool shows beside
//! its output.
//!
//! A conversation names an image by the digest of its content; the bytes stay at the edge, with the
//! recording, and go out with every request whose dialect has a place for them.

use std::fmt;
use std::path::{Path, PathBuf};

use machine_spec::message::Image;
use wire::Images;

/// The largest image that is taken, in bytes.
pub const LARGEST: usize = 20 << 20;

/// Images in the order in which they are shown, with their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pictures {
    pub(crate) shown: Vec<Image>,
    pub(crate) held: Images,
}

/// Why something cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum BadPicture {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// It is too large.
    #[error("expected an image of at most {LARGEST} bytes, found {0}")]
    TooLarge(usize),
    /// It is no image that models can see.
    #[error("expected a PNG, JPEG, GIF or WebP image, found something else")]
    NoImage,
}

impl Pictures {
    /// No images.
    #[must_use]
    pub fn none() -> Pictures {
        Pictures::default()
    }

    /// One more image, by its bytes.
    ///
    /// # Errors
    ///
    /// It is too large, or no image that models can see.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), BadPicture> {
        if bytes.len() > LARGEST {
            return Err(BadPicture::TooLarge(bytes.len()));
        }
        let media = media_of(bytes).ok_or(BadPicture::NoImage)?;
        self.shown.push(self.held.hold(media, bytes));
        Ok(())
    }

    /// One more image, from a file.
    ///
    /// # Errors
    ///
    /// It cannot be read, is too large, or is no image that models can see.
    pub fn add_file(&mut self, path: &Path) -> Result<(), BadPicture> {
        let read = std::fs::read(path);
        let bytes =
            read.map_err(|error| BadPicture::Unreadable { path: path.to_owned(), error })?;
        self.add(&bytes)
    }
}

impl fmt::Display for Pictures {
    /// Words for people: the kinds, without the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&str> = self.shown.iter().map(|image| image.media.as_str()).collect();
        f.write_str(&kinds.join(", "))
    }
}

/// The media type of an image that all providers see, by how it begins.
fn media_of(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let known: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
    ];
    let by_beginning = known.iter().find(|(beginning, _)| bytes.starts_with(beginning));
    by_beginning.map(|(_, media)| *media).or(is_webp.then_some("image/webp"))
}

#[cfg(test)]
mod tests {
    use super::{BadPicture, LARGEST, Pictures};

    #[test]
    fn images_are_known_by_their_bytes() {
        let mut pictures = Pictures::none();
        let png: &[u8] = b"\x89PNG\r\n\x1a\nrest";
        for bytes in [png, b"\xff\xd8\xff\xe0", b"GIF89a.", b"RIFF\0\0\0\0WEBPVP8 ", png] {
            pictures.add(bytes).expect("an image");
        }
        assert_eq!(pictures.to_string(), "image/png, image/jpeg, image/gif, image/webp, image/png");
        assert_eq!(pictures.shown[0], pictures.shown[4], "the same bytes have the same name");
        assert_eq!(pictures.held.all().count(), 4, "and are held once");
        for bytes in [&b""[..], b"<svg/>", b"RIFF\0\0\0\0WAVE"] {
            assert!(matches!(pictures.add(bytes), Err(BadPicture::NoImage)), "{bytes:?}");
        }
        let large = vec![0; LARGEST + 1];
        assert!(matches!(pictures.add(&large), Err(BadPicture::TooLarge(_))));
    }
}
