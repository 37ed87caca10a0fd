//! The world around the machine.
pub mod assess;
pub mod clock;
pub mod config;
pub mod error;
pub mod hooks;
mod process;
pub mod rules;
pub mod setup;
pub mod tools;
