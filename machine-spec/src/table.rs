//! The declared plan of the house.

use crate::because::Passage;

/// Whether a passage is declared.
#[must_use]
pub fn declares(_: &Passage) -> bool {
    true
}
