//! One file a command.

pub(crate) mod draw;
pub(crate) mod replay;
