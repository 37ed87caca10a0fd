//! One file a command.

pub(crate) mod bound;
pub(crate) mod chaos;
pub(crate) mod decode;
pub(crate) mod draw;
pub(crate) mod explore;
pub(crate) mod fork;
pub(crate) mod progress;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod shrink;
pub(crate) mod trace;
