//! Chores of the workspace, written in Rust so that they run wherever the workspace builds.
//!
//! A chore that checks something is also an ordinary test: nothing is green here that `cargo test`
//! has not seen.

pub mod bless;
pub mod chaos;
pub mod draw;
pub mod explore;
pub mod fixtures;
pub mod swarm;
pub mod tidy;
