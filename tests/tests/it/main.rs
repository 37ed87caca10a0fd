//! The whole house, end to end.

mod fixtures;
mod in_core;
mod in_engine;
