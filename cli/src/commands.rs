//! One file a command.

pub(crate) mod bound;
pub(crate) mod decode;
pub(crate) mod draw;
pub(crate) mod progress;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod trace;
