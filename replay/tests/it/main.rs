//! The tests of this crate in one binary.

mod divergences;
mod hostile;
mod recorder;
mod recordings;
mod renderings;
mod resuming;
mod support;
mod worlds;
