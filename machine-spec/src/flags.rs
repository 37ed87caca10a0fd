//! Numbered behaviour flags: how old recordings keep their old behaviour.
//!
//! A change that would alter the replay of an existing recording gets a number here. New runs set
//! all flags of their time; the recording keeps them; a number is never reused.

use serde::{Deserialize, Serialize};

/// The flags a run was started with, one bit a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flags(pub u64);

impl Flags {
    /// The flags of this release. None has been needed yet.
    pub const CURRENT: Flags = Flags(0);

    /// Whether this release knows every flag that is set.
    #[must_use]
    pub const fn known(self) -> bool {
        self.0 & !Flags::CURRENT.0 == 0
    }
}

impl Default for Flags {
    fn default() -> Flags {
        Flags::CURRENT
    }
}
