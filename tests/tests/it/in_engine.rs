//! Cases from the field, played by the engine: real connections to the double, real processes, the
//! scenes of our fixtures.

mod act;
mod approvals;

mod agents;
mod assembly;
mod budgets;
mod compaction;
mod failures;
mod guard;
mod hooks;
mod left_out;
mod limits;
mod order;
mod providers;
mod replies;
mod said;
mod streams;
mod tasks;
mod tools;
mod written;
