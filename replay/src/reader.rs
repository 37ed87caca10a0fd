//! Reads and validates recordings, wherever they come from.
//!
//! [`Frames`] reads line by line and holds one frame at a time; [`Recording`] holds them all. What
//! cannot be read is refused with its place, what was expected and what was found; nothing in a
//! file can make a reader panic. Of a last line that was not written to its end the input is kept
//! if it is whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine_spec::Input;
use serde::Serialize;

use crate::format::v1::{Aside, BodyNote, Frame, Header};
use crate::format::{Chain, ReadLimits, address};
use crate::sink::{MemorySink, bodies_folder};

mod error;
mod frames;
mod piece;

pub use error::{AlteredPart, Expected, ReadError, ReadFault};
pub use frames::{Frames, Item};

/// A recording in memory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where it was read from, if from a file.
    pub path: Option<PathBuf>,
    /// Its header.
    pub header: Header,
    /// Its sound frames, in order.
    pub frames: Vec<Frame>,
    /// What is told between the frames: the number of the frame it stands before, and what.
    pub asides: Vec<(u64, Aside)>,
    /// How it ends.
    pub tail: Tail,
    /// The stored bodies.
    pub bodies: Bodies,
    /// Bytes up to the end of the last sound line, with its newline if it has one.
    pub sound_bytes: u64,
    /// Whether the last of them is a newline.
    pub ends_with_newline: bool,
    pub(crate) chain: Chain,
}

/// How a recording ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// With a whole line.
    Clean,
    /// With a line that was not written to its end: the process ended there.
    Torn(TornTail),
    /// With a line that is not what was written, or no frame. Nothing behind it is read.
    Damaged {
        /// What is wrong with it.
        error: Box<ReadError>,
        /// The frame that stands there now, if it is one.
        suspect: Option<Box<Frame>>,
    },
}

/// A last line that was not written to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TornTail {
    /// The line, from 1.
    pub line: u64,
    /// Where it begins, in bytes.
    pub byte: u64,
    /// How many bytes of it there are.
    pub length: u64,
    /// Its number, if that is whole.
    pub seq: Option<u64>,
    /// The input the machine was about to hear, if that is whole.
    pub input: Option<Input>,
}

impl Recording {
    /// Reads a recording with its bodies.
    ///
    /// A damaged frame is no error here: everything before it is usable, and [`Recording::tail`]
    /// tells about it.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its first line is no header that this release understands.
    pub fn read(path: &Path) -> Result<Recording, Box<ReadError>> {
        Recording::read_within(path, ReadLimits::default())
    }

    /// Like [`Recording::read`], with limits.
    ///
    /// # Errors
    ///
    /// See [`Recording::read`].
    pub fn read_within(path: &Path, limits: ReadLimits) -> Result<Recording, Box<ReadError>> {
        let bytes = read_file(path, limits)?;
        let bodies = Bodies::folder(bodies_folder(path), limits);
        let mut recording =
            Recording::from_bytes(&bytes, limits, bodies).map_err(|error| error.in_file(path))?;
        recording.path = Some(path.to_owned());
        if let Tail::Damaged { error, .. } = &mut recording.tail {
            error.path = Some(path.to_owned());
        }
        Ok(recording)
    }

    /// Reads a recording from memory.
    ///
    /// # Errors
    ///
    /// The first line is no header that this release understands.
    pub fn from_bytes(
        bytes: &[u8],
        limits: ReadLimits,
        bodies: Bodies,
    ) -> Result<Recording, Box<ReadError>> {
        let mut lines = Frames::new(bytes, limits)?;
        let (mut frames, mut asides, mut tail) = (Vec::new(), Vec::new(), Tail::Clean);
        while let Some(item) = lines.next_item() {
            match item {
                Ok(Item::Frame(frame)) => frames.push(*frame),
                Ok(Item::Aside(aside)) => asides.push((frames.len() as u64, *aside)),
                Ok(Item::Torn(torn)) => tail = Tail::Torn(*torn),
                Err(error) => {
                    tail = Tail::Damaged { error, suspect: lines.suspect().cloned().map(Box::new) };
                }
            }
        }
        Ok(Recording {
            path: None,
            frames,
            asides,
            tail,
            bodies,
            sound_bytes: lines.sound_bytes(),
            ends_with_newline: lines.ends_with_newline(),
            chain: lines.chain().clone(),
            header: lines.into_header(),
        })
    }

    /// Reads what a recorder left in memory.
    ///
    /// # Errors
    ///
    /// See [`Recording::from_bytes`].
    pub fn from_memory(sink: &MemorySink) -> Result<Recording, Box<ReadError>> {
        let bodies = Bodies::memory(sink.bodies.clone());
        Recording::from_bytes(&sink.recording, ReadLimits::default(), bodies)
    }

    /// The same recording, but only if it is sound to its end; a torn last line is no damage.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn sound(self) -> Result<Recording, Box<ReadError>> {
        match self.tail {
            Tail::Damaged { error, .. } => Err(error),
            Tail::Clean | Tail::Torn(_) => Ok(self),
        }
    }

    /// The raw responses it tells of, in the order in which they ended.
    pub fn responses(&self) -> impl Iterator<Item = &BodyNote> {
        self.asides.iter().filter_map(|(_, aside)| aside.body.as_ref())
    }
}

/// Reads a whole file of acceptable size.
///
/// # Errors
///
/// The file cannot be read or is too large.
pub fn read_file(path: &Path, limits: ReadLimits) -> Result<Vec<u8>, Box<ReadError>> {
    let size = fs::metadata(path).map_err(|error| ReadError::io(path, &error))?.len();
    if size > limits.file_bytes {
        return Err(ReadError::file_too_large(path, size, limits.file_bytes));
    }
    fs::read(path).map_err(|error| ReadError::io(path, &error))
}

/// The stored bodies of a recording, by content address.
#[derive(Clone, Debug)]
pub struct Bodies {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Nowhere,
    Folder { folder: PathBuf, limits: ReadLimits },
    Memory(Arc<BTreeMap<String, Vec<u8>>>),
}

/// What a store of bodies has under an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The bytes.
    Found(Vec<u8>),
    /// Nothing.
    Missing,
    /// Something else than the address promises.
    Altered {
        /// The address of what is there.
        found: String,
    },
    /// It cannot be read.
    Unreadable {
        /// Why not.
        problem: String,
    },
}

impl Bodies {
    /// No bodies.
    #[must_use]
    pub const fn none() -> Bodies {
        Bodies { source: Source::Nowhere }
    }

    /// The bodies in a folder.
    #[must_use]
    pub const fn folder(folder: PathBuf, limits: ReadLimits) -> Bodies {
        Bodies { source: Source::Folder { folder, limits } }
    }

    /// Bodies in memory.
    #[must_use]
    pub fn memory(bodies: BTreeMap<String, Vec<u8>>) -> Bodies {
        Bodies { source: Source::Memory(Arc::new(bodies)) }
    }

    /// Whether there is no store at all: a recording that was copied without its folder.
    #[must_use]
    pub fn are_absent(&self) -> bool {
        match &self.source {
            Source::Nowhere => true,
            Source::Memory(bodies) => bodies.is_empty(),
            Source::Folder { folder, .. } => !folder.is_dir(),
        }
    }

    /// The body with this address. Its bytes are checked.
    #[must_use]
    pub fn get(&self, wanted: &str) -> Body {
        let plain = wanted.len() == 64 && wanted.bytes().all(|b| b.is_ascii_hexdigit());
        if !plain {
            // An address from a file is never used as a path unseen.
            return Body::Missing;
        }
        let bytes = match &self.source {
            Source::Nowhere => return Body::Missing,
            Source::Memory(bodies) => match bodies.get(wanted) {
                Some(bytes) => bytes.clone(),
                None => return Body::Missing,
            },
            Source::Folder { folder, limits } => {
                let path = folder.join(wanted);
                let Ok(size) = fs::metadata(&path).map(|data| data.len()) else {
                    return Body::Missing;
                };
                if size > limits.body_bytes {
                    let limit = limits.body_bytes;
                    let problem = format!("it has {size} bytes, at most {limit} are read");
                    return Body::Unreadable { problem };
                }
                match fs::read(&path) {
                    Ok(bytes) => bytes,
                    Err(error) => return Body::Unreadable { problem: error.to_string() },
                }
            }
        };
        let found = address(&bytes);
        if found == wanted { Body::Found(bytes) } else { Body::Altered { found } }
    }
}
