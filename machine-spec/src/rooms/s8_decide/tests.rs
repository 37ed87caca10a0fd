//! Room 8 against its decision table, by enumeration: every finding, with every counter below and
//! at its limit, with and without waiting words, missing tools and hooks in force.
//!
//! The oracle is the table as a reader would write it: the first row that fits decides.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Cut, Finding, HookVerdict, Verdict, decide};
use crate::because::{Because, Owner};
use crate::config::{HookSpec, Rule, RunConfig};
use crate::explore::profiles::{candidate, small_limits, tool};
use crate::frame::{ActiveRule, Frame, Waiting};
use crate::ids::{HookId, RuleId};
use crate::model::{ErrorClass, Failure};
use crate::terminal::TerminalKind;

/// Everything the table looks at, as booleans.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// The counter that belongs to the finding has reached its limit.
    spent: bool,
    /// Words wait in the inbox.
    waiting: bool,
    /// A required tool was not called successfully.
    missing: bool,
    /// The rule that wants it has reminders left.
    reminders_left: bool,
    /// A stop hook is in force.
    hooks: bool,
}

fn all_facts() -> Vec<Facts> {
    (0u8..32)
        .map(|bits| Facts {
            spent: bits & 1 != 0,
            waiting: bits & 2 != 0,
            missing: bits & 4 != 0,
            reminders_left: bits & 8 != 0,
            hooks: bits & 16 != 0,
        })
        .collect()
}

fn frame(facts: Facts) -> Frame {
    let mut limits = small_limits();
    (limits.continuations, limits.malformed_repairs, limits.blank_nudges) = (1, 1, 1);
    (limits.pauses, limits.guard_retries, limits.stop_hook_blocks) = (1, 1, 1);
    let hook = HookSpec { name: String::from("h") };
    let mut frame = Frame::new(RunConfig {
        candidates: vec![candidate("a")],
        tools: vec![tool("submit", false)],
        rules: vec![Rule { when: String::new(), tools: vec![String::from("submit")] }],
        stop_hooks: if facts.hooks { vec![hook] } else { vec![] },
        limits,
        ..RunConfig::default()
    });
    let spent = u32::from(facts.spent);
    let counters = &mut frame.counters;
    (counters.continuations, counters.malformed_streak, counters.blank_nudges) =
        (spent, spent, spent);
    (counters.pauses, counters.hook_blocks) = (spent, spent);
    if facts.waiting {
        frame.inbox.push(Waiting { text: String::from("u"), rules: vec![] });
    }
    if facts.missing {
        let reminders = u32::from(!facts.reminders_left);
        frame.guard.active.push(ActiveRule { rule: RuleId(0), reminders });
    }
    frame
}

fn findings() -> Vec<Finding> {
    let cuts = [Cut::No, Cut::OutputLimit, Cut::StreamFailed];
    let text = || String::from("r");
    let mut findings: Vec<Finding> =
        cuts.iter().map(|cut| Finding::Results { cut: *cut }).collect();
    findings.extend(cuts.iter().map(|cut| Finding::Unusable { cut: *cut, tool: "t".into() }));
    findings.extend([
        Finding::Said,
        Finding::Truncated,
        Finding::Blank { thinking_only: true },
        Finding::Blank { thinking_only: false },
        Finding::Paused,
        Finding::Refused,
        Finding::Filtered,
        Finding::InPart { failure: Failure::new(ErrorClass::Transport, "f") },
        Finding::Hooks(HookVerdict::Allow),
        Finding::Hooks(HookVerdict::GoOn { hook: HookId(0), feedback: text() }),
        Finding::Hooks(HookVerdict::Halt { reason: text() }),
    ]);
    findings
}

/// What the oracle expects: again, ask, or over with this ending.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Again(Because, Owner),
    Ask,
    Over(TerminalKind),
}

fn oracle(finding: &Finding, facts: Facts) -> Expected {
    use Expected::{Again, Ask, Over};
    let Facts { spent, waiting, missing, reminders_left, hooks } = facts;
    let cut_at_limit = matches!(
        finding,
        Finding::Truncated
            | Finding::Results { cut: Cut::OutputLimit }
            | Finding::Unusable { cut: Cut::OutputLimit, .. }
    );
    if cut_at_limit {
        let on = Again(Because::Continued, Owner::OutputRepair);
        return if spent { Over(TerminalKind::OutputLimit) } else { on };
    }
    match finding {
        Finding::Results { .. } => Again(Because::MoreWork, Owner::ToolFeedback),
        Finding::Unusable { .. } if spent => Over(TerminalKind::MalformedToolUse),
        Finding::Unusable { .. } => Again(Because::RepairAsked, Owner::OutputRepair),
        Finding::Blank { .. } if spent => Over(TerminalKind::NoVisibleOutput),
        Finding::Blank { .. } => Again(Because::Nudged, Owner::OutputRepair),
        Finding::Paused if spent => Over(TerminalKind::PauseLimit),
        Finding::Paused => Again(Because::PauseResumed, Owner::OutputRepair),
        Finding::Refused => Over(TerminalKind::Refused),
        Finding::Filtered => Over(TerminalKind::Filtered),
        Finding::InPart { .. } => Over(TerminalKind::AnsweredInPart),
        Finding::Said if missing && reminders_left => {
            Again(Because::GuardReminded, Owner::LoopGuard)
        }
        Finding::Said if waiting => Again(Because::Steered, Owner::UserInput),
        Finding::Said if missing => Over(TerminalKind::RequiredToolMissing),
        Finding::Said if hooks => Ask,
        Finding::Said => Over(TerminalKind::Answered),
        Finding::Hooks(HookVerdict::Halt { .. }) => Over(TerminalKind::HookStopped),
        Finding::Hooks(HookVerdict::GoOn { .. }) if !spent => {
            Again(Because::HookBlocked, Owner::HookReentry)
        }
        Finding::Hooks(_) if waiting => Again(Because::Steered, Owner::UserInput),
        Finding::Hooks(HookVerdict::GoOn { .. }) => Over(TerminalKind::StopHookLimit),
        Finding::Hooks(HookVerdict::Allow) => Over(TerminalKind::Answered),
        Finding::Truncated | Finding::Over { .. } => unreachable!("not in the table: {finding:?}"),
    }
}

#[test]
fn the_table_agrees_with_its_oracle_in_every_case() {
    let mut cases = 0;
    for facts in all_facts() {
        let frame = frame(facts);
        for finding in findings() {
            let expected = oracle(&finding, facts);
            let before = frame.clone();
            let decided = match decide(&finding, &frame) {
                Verdict::Again { because, owner } => Expected::Again(because, owner),
                Verdict::Ask => Expected::Ask,
                Verdict::Over { end, .. } => Expected::Over(end.kind()),
            };
            assert_eq!(decided, expected, "{finding:?} with {facts:?}");
            assert_eq!(frame, before, "deciding changes nothing");
            cases += 1;
        }
    }
    assert_eq!(cases, 32 * 17, "every finding with every fact");
}
