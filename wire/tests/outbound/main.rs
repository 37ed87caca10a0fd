//! What leaves this crate towards a provider, and what a provider's refusals mean.

mod error_bodies;
mod hostile;
mod images;
mod lawful;
mod reading;
mod requests;
mod round_trip;
mod support;
mod talk;
mod walk;
