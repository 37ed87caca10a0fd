//! Cases from the field, played in the core: the real machine, the real dialects, our wire files,
//! a virtual clock. No socket, no process, no time.

mod approvals;
mod play;
mod played;

mod assembly;
mod context;
mod failures;
mod guard;
mod hooks;
mod left_out;
mod limits;
mod order;
mod providers;
mod replies;
mod resume;
mod said;
mod streams;
mod tasks;
mod tools;
mod written;
