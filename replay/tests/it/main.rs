//! The tests of this crate in one binary.

mod recorder;
mod recordings;
mod resuming;
mod support;
