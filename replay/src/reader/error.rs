//! Why a recording could not be read: where, what was expected, what was found.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::code::Code;
use crate::format::Version;

/// Why a recording could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadError {
    /// The code.
    pub code: Code,
    /// The file, if it came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The line, from 1; 0 for the file as a whole.
    pub line: u64,
    /// The column in bytes, from 1; 0 for the line as a whole.
    pub column: u64,
    /// The place in the file, in bytes from 0.
    pub byte: u64,
    /// The number of the frame that should stand there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What is wrong.
    pub fault: ReadFault,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadFault {
    /// The file could not be read.
    Io {
        /// Why not.
        problem: String,
    },
    /// The file is larger than is accepted.
    FileTooLarge {
        /// Its bytes.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A line is longer than is accepted.
    LineTooLong {
        /// Its bytes, as far as they were counted.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// There is nothing in the first line.
    Empty,
    /// The line is not what it must be.
    Unexpected {
        /// What must stand here.
        expected: Expected,
        /// What is wrong with what stands here.
        problem: String,
    },
    /// The format is newer than this release.
    NewerFormat {
        /// Its version word.
        found: String,
        /// The version this release reads.
        known: String,
    },
    /// The run needs behaviour that this release does not know.
    UnknownFlags {
        /// The flags of the run.
        found: u64,
        /// The flags this release knows.
        known: u64,
    },
    /// The line does not end with a check.
    CheckMissing,
    /// The line is not what was written.
    Altered {
        /// The check that stands there.
        written: String,
        /// The check of what stands there.
        computed: String,
        /// Which part of the line has changed.
        part: AlteredPart,
        /// What is wrong with the content, if it can be told without the machine.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// What stands around the place of that problem.
        #[serde(skip_serializing_if = "String::is_empty")]
        around: String,
    },
    /// A frame is missing, repeated or out of order.
    Sequence {
        /// The number that comes next.
        expected: u64,
        /// The number that came.
        found: u64,
    },
}

/// Which part of an altered line has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlteredPart {
    /// Its content: the line behind it still follows the check that stands there.
    Content,
    /// Its check: the line behind it still follows the content.
    Check,
    /// Nobody can tell, or both.
    Unknown,
}

/// What must stand at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// The header of a recording.
    Header,
    /// A frame or an aside.
    Frame,
    /// Frame 0, the start, without an input.
    Start,
    /// A frame with an input.
    Input,
}

impl Expected {
    const fn words(self) -> &'static str {
        match self {
            Expected::Header => "the header of a recording",
            Expected::Frame => "a frame (`seq`) or an aside (`aside`)",
            Expected::Start => "frame 0 without an input",
            Expected::Input => "an input",
        }
    }
}

impl ReadError {
    pub(crate) fn io(path: &Path, error: &io::Error) -> Box<ReadError> {
        let fault = ReadFault::Io { problem: error.to_string() };
        ReadError::whole(Code::Unreadable, fault).in_file(path)
    }

    pub(crate) fn file_too_large(path: &Path, size: u64, limit: u64) -> Box<ReadError> {
        ReadError::whole(Code::TooLarge, ReadFault::FileTooLarge { size, limit }).in_file(path)
    }

    pub(crate) fn whole(code: Code, fault: ReadFault) -> Box<ReadError> {
        Box::new(ReadError { code, path: None, line: 0, column: 0, byte: 0, seq: None, fault })
    }

    pub(crate) fn in_file(mut self: Box<Self>, path: &Path) -> Box<ReadError> {
        self.path = Some(path.to_owned());
        self
    }

    /// Whether a line is not what the recorder wrote, as opposed to one that no reader of this
    /// release could understand.
    #[must_use]
    pub const fn is_alteration(&self) -> bool {
        match self.fault {
            ReadFault::CheckMissing | ReadFault::Altered { .. } => true,
            ReadFault::Io { .. }
            | ReadFault::FileTooLarge { .. }
            | ReadFault::LineTooLong { .. }
            | ReadFault::Empty
            | ReadFault::Unexpected { .. }
            | ReadFault::NewerFormat { .. }
            | ReadFault::UnknownFlags { .. }
            | ReadFault::Sequence { .. } => false,
        }
    }
}

impl ReadError {
    /// The exit code of a command that meets it: 1 for a line that is not what was written, 3 for
    /// what cannot be read.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        if self.is_alteration() { 1 } else { 3 }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code)?;
        if let Some(path) = &self.path {
            write!(f, "{}", path.display())?;
            match (self.line, self.column) {
                (0, _) => f.write_str(": ")?,
                (line, 0) => write!(f, ":{line}: ")?,
                (line, column) => write!(f, ":{line}:{column}: ")?,
            }
        } else if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column.max(1))?;
        }
        write!(f, "{}", self.fault)?;
        if self.line > 0 {
            write!(f, " (byte {}", self.byte)?;
            match self.seq {
                Some(seq) => write!(f, ", frame {seq})"),
                None => f.write_str(")"),
            }
        } else {
            Ok(())
        }
    }
}

impl std::error::Error for ReadError {}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadFault::Io { problem } => write!(f, "the recording cannot be read: {problem}"),
            ReadFault::FileTooLarge { size, limit } => {
                write!(f, "the file has {size} bytes, at most {limit} are read")
            }
            ReadFault::LineTooLong { size, limit } => {
                write!(f, "the line has at least {size} bytes, at most {limit} are read")
            }
            ReadFault::Empty => write!(
                f,
                "the first line is empty, expected one that begins with \
                 {{\"format\":\"{}\"",
                Version::CURRENT
            ),
            ReadFault::Unexpected { expected, problem } => {
                write!(f, "expected {}: {problem}", expected.words())
            }
            ReadFault::NewerFormat { found, known } => write!(
                f,
                "the recording has format `{found}`, this release reads `{known}`; \
                 use a newer loopwright"
            ),
            ReadFault::UnknownFlags { found, known } => write!(
                f,
                "the run needs behaviour flags {found:#x}, this release knows {known:#x}; \
                 use a newer loopwright"
            ),
            ReadFault::CheckMissing => {
                f.write_str("the line does not end with its check, so it is not what was written")
            }
            ReadFault::Altered { part, problem, .. } => {
                f.write_str(match part {
                    AlteredPart::Content => "the content of the line is not what was written",
                    AlteredPart::Check => "the check of the line is not what was written",
                    AlteredPart::Unknown => "the line is not what was written",
                })?;
                match problem {
                    Some(problem) => write!(f, "; {problem}"),
                    None => Ok(()),
                }
            }
            ReadFault::Sequence { expected, found } => {
                write!(f, "expected frame {expected}, found frame {found}")
            }
        }
    }
}
