#![no_std]
#![doc = include_str!("lib.md")]

extern crate alloc;

pub mod because;
pub mod board;
pub mod bound;
pub mod compact;
pub mod config;
pub mod digest;
pub mod doom;
pub mod draft;
pub mod draw;
pub mod effect;
pub mod estimate;
pub mod explore;
pub mod flags;
pub mod frame;
mod gate;
pub mod ids;
pub mod input;
pub mod invariants;
pub mod ledger;
pub mod limits;
pub mod message;
pub mod model;
pub mod planted;
pub mod policy;
pub mod rejection;
pub mod rooms;
pub mod state;
mod step;
pub mod summary;
pub mod table;
pub mod terminal;
pub mod transcript;
pub mod view;
pub mod wording;

pub use because::{Because, Owner, Passage, Trigger};
pub use config::RunConfig;
pub use digest::Digest;
pub use effect::{Effect, EffectKind, Notice};
pub use input::{Input, InputKind};
pub use rejection::Rejection;
pub use rooms::RoomKind;
pub use state::{State, Step};
pub use step::{start, step};
pub use terminal::{Terminal, TerminalKind};
pub use transcript::Transcript;
