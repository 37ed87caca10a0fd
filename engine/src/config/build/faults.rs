//! A fault as the machine found it, told in the words and at the place of the file.

use machine_spec::config::{Fault, FaultKind};

use super::super::Problem;
use crate::error::Code;

/// What the machine calls its parts, and what the file calls them.
const NAMES: &[(&str, &str)] =
    &[("candidates", "provider"), ("tools", "tool"), ("stop_hooks", "hook"), ("rules", "require")];

/// The problem that a fault is.
pub(super) fn problem(fault: &Fault) -> Problem {
    let renamed = NAMES
        .iter()
        .find_map(|(ours, theirs)| Some(format!("{theirs}{}", fault.at.strip_prefix(ours)?)));
    let at = renamed.unwrap_or_else(|| fault.at.clone());
    let found = &fault.found;
    let message = match fault.kind {
        FaultKind::NoCandidate => "give at least one [[provider]]".to_owned(),
        FaultKind::DuplicateCandidate => {
            format!("`{found}` stands in the chain already with the same model; leave one out")
        }
        FaultKind::EmptyName => "must not be empty".to_owned(),
        FaultKind::DuplicateTool => format!("there is another tool named `{found}`; rename one"),
        FaultKind::UnknownTool => {
            format!(
                "there is no tool named `{found}`; declare it as a [[tool]] or correct the name"
            )
        }
        FaultKind::CannotFailClosed => {
            "only a hook of PreToolUse may fail closed: what it is asked about then does not run"
                .to_owned()
        }
        FaultKind::UnknownPrice => format!(
            "there is a budget of money, and nobody knows what `{found}` costs; give its `price`"
        ),
        FaultKind::NothingToFlush => {
            "memory cannot be shown what a compaction takes away: `policy.compact` is off"
                .to_owned()
        }
        FaultKind::ForcedWithoutRounds => {
            format!("`{found}` must be called, and `limits.tool_rounds` allows no round of tools")
        }
        FaultKind::EmptyRule => format!("the rule for `{found}` requires nothing; name its tools"),
        FaultKind::LimitTooSmall => format!("must be at least 1, found {found}"),
        FaultKind::LimitTooLarge => {
            "the limits together allow more requests than can be counted; lower some of them"
                .to_owned()
        }
        FaultKind::WindowTooSmall => format!(
            "the {found} tokens reserved for the output leave nothing of the context window"
        ),
        FaultKind::HistoryUnpaired => "a call in the history has no result".to_owned(),
    };
    Problem::new(Code::ConfigFault, at, message)
}
