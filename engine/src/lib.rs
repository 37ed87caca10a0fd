//! The world around the machine: providers, tools, hooks, the clock, and the one loop that drives
//! it.
//!
//! A run is begun with a [`Setup`] (from a configuration file), a line to speak into
//! ([`inputs`]), somebody who watches ([`Observer`]) and a [`Stage`] (where to record, which
//! clock):
//!
//! ```no_run
//! use engine::config::{Overrides, process_environment};
//! use engine::{Observer, Setup, Stage};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let path = std::path::Path::new("loopwright.toml");
//! let setup = Setup::load(path, &Overrides::default(), &process_environment)?;
//! let (handle, inputs) = engine::inputs();
//! handle.say("what is in this folder?")?;
//! let (observer, mut events) = Observer::new();
//! let ended = engine::block_on(async {
//!     let run = engine::run(setup, inputs, observer, Stage::recorded("run.jsonl"));
//!     let watch = async {
//!         while let Some(event) = events.recv().await {
//!             println!("{}", event.to_json());
//!         }
//!     };
//!     tokio::join!(run, watch).0
//! })??;
//! # std::process::exit(i32::from(ended.exit_code()))
//! # }
//! ```
//!
//! Everything that influences the run passes through one queue, is recorded before it is stepped,
//! and can be replayed without this crate.

pub mod approve;
pub mod assess;
pub mod children;
pub mod clock;
mod compact;
pub mod config;
pub mod credentials;
#[cfg(test)]
mod double;
mod driver;
pub mod error;
pub mod events;
pub mod hooks;
mod inbox;
mod journal;
pub mod memory;
mod perform;
pub mod permit;
pub mod pictures;
mod process;
mod providers;
pub mod resume;
pub mod rules;
pub mod setup;
pub mod shape;
mod signals;
mod store;
pub mod tools;

pub use approve::{Approvals, Approver};
pub use clock::Clock;
pub use driver::{Ended, Stage, run};
pub use error::EngineError;
pub use events::{Event, Events, Observer};
pub use inbox::{Handle, Inputs, NotHeard, inputs};
pub use journal::RecordingStatus;
pub use pictures::Pictures;
pub use setup::Setup;
pub use signals::Signals;

/// Runs a future to its end on a runtime of one thread, with everything a run needs.
///
/// # Errors
///
/// The system has no resources for a runtime.
pub fn block_on<F: Future>(future: F) -> std::io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(future))
}
