//! What the end-to-end tests and the recorder of fixtures share: a scripted provider on the loopback
//! interface, scenes that say who answers what, a checker of request bodies, and the way to our files.
//!
//! Nothing here knows the machine. The double speaks bytes and the checker reads JSON, so neither
//! can share a mistake with what they judge.

pub mod double;
pub mod house;
pub mod hygiene;
pub mod processes;
pub mod render;
pub mod scene;
