//! Cases from the field, played in the core: the real machine, the real dialects, our wire files,
//! a virtual clock. No socket, no process, no time.

mod approvals;
mod play;
mod played;

mod guard;
mod hooks;
mod order;
mod providers;
mod resume;
mod streams;
mod tools;
