//! Done: the run is over. It absorbs; nothing after it changes anything (I03).

use serde::{Deserialize, Serialize};

use crate::terminal::Terminal;

/// The run is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Done {
    /// How it ended.
    pub terminal: Terminal,
}
