//! Cases from the field, played by the engine: real connections to the double, real processes, the
//! scenes of our fixtures.

mod act;
mod approvals;

mod agents;
mod budgets;
mod compaction;
mod guard;
mod hooks;
mod left_out;
mod order;
mod providers;
mod streams;
mod tasks;
mod tools;
mod written;
