//! One file a command.

pub(crate) mod decode;
pub(crate) mod draw;
pub(crate) mod replay;
