//! The whole house, end to end.

mod in_core;
