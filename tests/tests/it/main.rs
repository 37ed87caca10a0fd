//! The whole house, end to end.

mod cases;
mod fixtures;
mod in_core;
mod in_engine;
