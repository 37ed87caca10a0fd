//! The pure parts that the rooms are built of, one by one.

mod bound;
mod digest;
mod estimate;
mod faults;
mod history;
mod made;
mod summary;
mod terminal;
mod wording;
