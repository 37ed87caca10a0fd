//! Cases from the field, played by the engine: real connections to the double, real processes, the
//! scenes of our fixtures.

mod act;

mod guard;
mod hooks;
mod order;
mod providers;
mod streams;
mod tools;
mod written;
