//! Recordings, replay and chaos for the Loopwright machine.
//!
//! A run is a list of inputs; a recording is that list plus what came of each. This crate writes
//! recordings ([`recorder`]), reads them whatever their origin ([`reader`]), drives them again and
//! tells the first difference ([`replayer`], [`divergence`]), and plays whole runs in a scripted
//! world without network, clock or chance ([`scenario`], [`world`]). It does no I/O besides files,
//! and reads no clock: times are told.

pub mod arena;
pub mod boundary;
pub mod checkers;
pub mod chooser;
pub mod code;
pub mod divergence;
mod doors;
pub mod faults;
pub mod fork;
pub mod format;
pub mod reader;
pub mod recorder;
pub mod redact;
pub mod regressions;
pub mod render;
pub mod replayer;
pub mod resume;
pub mod scenario;
pub mod schedules;
pub mod shrink;
pub mod sink;
pub mod swarm;
pub mod world;

pub use format::v1::{Frame, Header, Note, Provider};
pub use reader::{ReadError, Recording};
pub use recorder::Recorder;
