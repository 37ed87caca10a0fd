//! Where a recording goes: a file with its folder of bodies, or memory.
//!
//! A sink is small so that it can be replaced by one that fails.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where a recording goes. Whatever a call was given is out of the process when it returns.
pub trait Sink {
    /// Appends to the recording.
    ///
    /// # Errors
    ///
    /// Whatever kept the bytes from being stored.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Appends to a body that is still growing.
    ///
    /// # Errors
    ///
    /// Whatever kept the bytes from being stored.
    fn grow_body(&mut self, part: &str, bytes: &[u8]) -> io::Result<()>;

    /// Gives a body that has come to its end the name of its content.
    ///
    /// # Errors
    ///
    /// Whatever kept it from being renamed.
    fn keep_body(&mut self, part: &str, address: &str) -> io::Result<()>;

    /// Throws a growing body away.
    ///
    /// # Errors
    ///
    /// Whatever kept it from being removed.
    fn drop_body(&mut self, part: &str) -> io::Result<()>;
}

/// The folder of bodies beside a recording: `run.jsonl` has `run.bodies`.
#[must_use]
pub fn bodies_folder(recording: &Path) -> PathBuf {
    recording.with_extension("bodies")
}

/// A file with its folder of bodies.
#[derive(Debug)]
pub struct FileSink {
    file: File,
    folder: PathBuf,
    growing: BTreeMap<String, File>,
}

impl FileSink {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    ///
    /// Whatever kept the file from being created.
    pub fn create(path: &Path) -> io::Result<FileSink> {
        let file = File::create(path)?;
        Ok(FileSink { file, folder: bodies_folder(path), growing: BTreeMap::new() })
    }

    /// Opens a recording to go on with it after its first `sound` bytes; what stands behind them
    /// was not written to its end and is cut off.
    ///
    /// # Errors
    ///
    /// Whatever kept the file from being opened.
    pub fn reopen(path: &Path, sound: u64) -> io::Result<FileSink> {
        let file = File::options().write(true).open(path)?;
        file.set_len(sound)?;
        let mut file = file;
        io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
        Ok(FileSink { file, folder: bodies_folder(path), growing: BTreeMap::new() })
    }

    fn part_path(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{part}.part"))
    }
}

impl Sink for FileSink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn grow_body(&mut self, part: &str, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = self.growing.get_mut(part) {
            return file.write_all(bytes);
        }
        fs::create_dir_all(&self.folder)?;
        let mut file = File::create(self.part_path(part))?;
        file.write_all(bytes)?;
        self.growing.insert(part.to_owned(), file);
        Ok(())
    }

    fn keep_body(&mut self, part: &str, address: &str) -> io::Result<()> {
        if self.growing.remove(part).is_none() {
            // A body of no bytes never began to grow.
            fs::create_dir_all(&self.folder)?;
            File::create(self.part_path(part))?;
        }
        fs::rename(self.part_path(part), self.folder.join(address))
    }

    fn drop_body(&mut self, part: &str) -> io::Result<()> {
        match self.growing.remove(part) {
            Some(_) => fs::remove_file(self.part_path(part)),
            None => Ok(()),
        }
    }
}

/// Memory, for tests, scripted worlds and benches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySink {
    /// The recording.
    pub recording: Vec<u8>,
    /// The bodies by address.
    pub bodies: BTreeMap<String, Vec<u8>>,
    /// The bodies that are still growing.
    pub growing: BTreeMap<String, Vec<u8>>,
}

impl Sink for MemorySink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.recording.extend_from_slice(bytes);
        Ok(())
    }

    fn grow_body(&mut self, part: &str, bytes: &[u8]) -> io::Result<()> {
        match self.growing.get_mut(part) {
            Some(body) => body.extend_from_slice(bytes),
            None => {
                self.growing.insert(part.to_owned(), bytes.to_vec());
            }
        }
        Ok(())
    }

    fn keep_body(&mut self, part: &str, address: &str) -> io::Result<()> {
        let body = self.growing.remove(part).unwrap_or_default();
        self.bodies.insert(address.to_owned(), body);
        Ok(())
    }

    fn drop_body(&mut self, part: &str) -> io::Result<()> {
        self.growing.remove(part);
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).append(bytes)
    }
    fn grow_body(&mut self, part: &str, bytes: &[u8]) -> io::Result<()> {
        (**self).grow_body(part, bytes)
    }
    fn keep_body(&mut self, part: &str, address: &str) -> io::Result<()> {
        (**self).keep_body(part, address)
    }
    fn drop_body(&mut self, part: &str) -> io::Result<()> {
        (**self).drop_body(part)
    }
}
