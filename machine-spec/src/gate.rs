//! The judgement of the gate over one call: may it run at all? Pure, and the same for a call that
//! starts early and for one that waits for the end of the message.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::board::Status;
use crate::config::RunConfig;
use crate::message::{GateRefusal, Outcome};
use crate::model::{ArgsVerdict, CallFacts};
use crate::planted::{Defect, active};

/// How many names a refusal tells.
const NAMES_TOLD: usize = 8;

/// A call that may run waits for its turn; every other one has its outcome at once.
pub(crate) fn judge(name: &str, facts: &CallFacts, config: &RunConfig) -> Status {
    let offered = config.limits.tool_rounds > 0 && config.tool(name).is_some();
    let why = match &facts.args {
        _ if !offered => GateRefusal::UnknownTool { nearest: nearest(name, config) },
        ArgsVerdict::Valid { .. } => return Status::Queued,
        ArgsVerdict::Malformed { .. } if active(Defect::RunsMalformed) => return Status::Queued,
        ArgsVerdict::Malformed { at, problem } => {
            GateRefusal::MalformedArgs { at: *at, problem: problem.clone() }
        }
        ArgsVerdict::Invalid { path, problem } => {
            GateRefusal::InvalidArgs { path: path.clone(), problem: problem.clone() }
        }
    };
    Status::Settled { ran: false, outcome: Outcome::Refused { why } }
}

/// The declared names, closest first, as many as a refusal tells.
fn nearest(name: &str, config: &RunConfig) -> Vec<String> {
    if config.limits.tool_rounds == 0 {
        return Vec::new();
    }
    let mut names: Vec<(usize, &str)> =
        config.tools.iter().map(|tool| (distance(name, &tool.name), tool.name.as_str())).collect();
    names.sort_unstable();
    names.into_iter().take(NAMES_TOLD).map(|(_, name)| name.to_string()).collect()
}

/// Edit distance between two names, cut to lengths that names have.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut above_left = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = above_left + usize::from(x != y);
            above_left = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distance_counts_single_edits() {
        let pairs =
            [("", "", 0), ("a", "", 1), ("read_files", "read_file", 1), ("grep", "read", 3)];
        for (a, b, edits) in pairs {
            assert_eq!(distance(a, b), edits, "{a} -> {b}");
            assert_eq!(distance(b, a), edits, "{b} -> {a}");
        }
    }
}
