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
use crate::frame::{ActiveRule, Frame, Stop, Task, Waiting};
use crate::ids::{EffectId, HookId, RuleId, TaskId};
use crate::input::OutputVerdict;
use crate::message::Origin;
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
    /// The words that wait are the user's, not a notification's.
    user: bool,
    /// The answer must satisfy a schema.
    schema: bool,
    /// A background task runs, and the run waits for it.
    task: bool,
    /// As many rounds in a row went wrong as may.
    piled_up: bool,
}

fn all_facts() -> Vec<Facts> {
    (0u16..512)
        .map(|bits| Facts {
            spent: bits & 1 != 0,
            waiting: bits & 2 != 0,
            missing: bits & 4 != 0,
            reminders_left: bits & 8 != 0,
            hooks: bits & 16 != 0,
            user: bits & 32 != 0,
            schema: bits & 64 != 0,
            task: bits & 128 != 0,
            piled_up: bits & 256 != 0,
        })
        .collect()
}

fn frame(facts: Facts) -> Frame {
    let mut limits = small_limits();
    (limits.continuations, limits.malformed_repairs, limits.blank_nudges) = (1, 1, 1);
    (limits.pauses, limits.guard_retries, limits.stop_hook_blocks) = (1, 1, 1);
    (limits.structured_retries, limits.anomalies) = (1, 3);
    let hook = HookSpec::new("h");
    let mut frame = Frame::new(RunConfig {
        candidates: vec![candidate("a")],
        tools: vec![tool("submit", false)],
        rules: vec![Rule::new("", &["submit"])],
        stop_hooks: if facts.hooks { vec![hook] } else { vec![] },
        output_schema: String::from(if facts.schema { "{}" } else { "" }),
        limits,
        ..RunConfig::default()
    });
    let spent = u32::from(facts.spent);
    let counters = &mut frame.counters;
    (counters.continuations, counters.malformed_streak, counters.blank_nudges) =
        (spent, spent, spent);
    (counters.pauses, counters.hook_blocks, counters.structured_retries) = (spent, spent, spent);
    counters.anomalies = if facts.piled_up { 3 } else { 2 };
    if facts.task {
        let (task, effect) = (TaskId(1), EffectId(9));
        frame.tasks.push(Task { task, effect, tool: "t".into(), lacks: vec![] });
    }
    if facts.waiting {
        let origin = if facts.user { Origin::User } else { Origin::Notification };
        frame.inbox.push(Waiting::words(origin, "u"));
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
        Finding::Checked(OutputVerdict::Fits),
        Finding::Checked(OutputVerdict::Misfits { path: text(), problem: text() }),
        Finding::Overdue,
        Finding::Hooks(HookVerdict::Allow),
        Finding::Hooks(HookVerdict::GoOn { hook: HookId(0), feedback: text() }),
        Finding::Hooks(HookVerdict::Halt { reason: text() }),
    ]);
    findings
}

/// What the oracle expects: again, check, ask, await, or over with this ending.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Again(Because, Owner),
    Check,
    Ask,
    Await,
    Over(TerminalKind),
}

fn oracle(finding: &Finding, facts: Facts) -> Expected {
    use Expected::{Again, Ask, Await, Check, Over};
    let Facts { spent, waiting, missing, reminders_left, hooks, user, schema, task, .. } = facts;
    let more = if user {
        Again(Because::Steered, Owner::UserInput)
    } else {
        Again(Because::TaskReported, Owner::Supervisor)
    };
    let settled = if task { Await } else { Over(TerminalKind::Answered) };
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
    let piled_up = Over(TerminalKind::BudgetExhausted);
    match finding {
        Finding::Results { cut: Cut::StreamFailed } if facts.piled_up => piled_up,
        Finding::Unusable { .. } | Finding::Blank { .. } if facts.piled_up && !spent => piled_up,
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
        Finding::Said if waiting => more,
        Finding::Said if missing => Over(TerminalKind::RequiredToolMissing),
        Finding::Said if schema => Check,
        Finding::Checked(OutputVerdict::Misfits { .. }) if spent => {
            Over(TerminalKind::StructuredOutputInvalid)
        }
        Finding::Checked(OutputVerdict::Misfits { .. }) => {
            Again(Because::OutputMisfit, Owner::OutputRepair)
        }
        Finding::Checked(OutputVerdict::Fits) if waiting => more,
        Finding::Said | Finding::Checked(OutputVerdict::Fits) if hooks => Ask,
        Finding::Said | Finding::Checked(OutputVerdict::Fits) => settled,
        Finding::Overdue => Over(TerminalKind::Answered),
        Finding::Hooks(HookVerdict::Halt { .. }) => Over(TerminalKind::HookStopped),
        Finding::Hooks(HookVerdict::GoOn { .. }) if !spent => {
            Again(Because::HookBlocked, Owner::HookReentry)
        }
        Finding::Hooks(_) if waiting => more,
        Finding::Hooks(HookVerdict::GoOn { .. }) => Over(TerminalKind::StopHookLimit),
        Finding::Hooks(HookVerdict::Allow) => settled,
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
                Verdict::Check => Expected::Check,
                Verdict::Ask => Expected::Ask,
                Verdict::Await => Expected::Await,
                Verdict::Over { end, .. } => Expected::Over(end.kind()),
            };
            assert_eq!(decided, expected, "{finding:?} with {facts:?}");
            assert_eq!(frame, before, "deciding changes nothing");
            cases += 1;
        }
    }
    assert_eq!(cases, 512 * 20, "every finding with every fact");
}

/// What stops the turn beats everything that the turn has come to, and the last word after the
/// tool-round limit ends it whatever it is.
#[test]
fn what_stops_the_turn_comes_first() {
    let mut limits = small_limits();
    limits.tool_rounds = 1;
    let candidates = vec![candidate("a")];
    let mut frame = Frame::new(RunConfig { candidates, limits, ..RunConfig::default() });
    for finding in findings() {
        frame.counters.wrap_ups = 1;
        let Verdict::Over { end, .. } = decide(&finding, &frame) else { panic!("{finding:?}") };
        assert_eq!(end.kind(), TerminalKind::MaxTurns, "{finding:?}");
        frame.stop = Stop::Halted { reason: String::from("r") };
        let Verdict::Over { end, .. } = decide(&finding, &frame) else { panic!("{finding:?}") };
        assert_eq!(end.kind(), TerminalKind::HookStopped, "{finding:?}");
        frame.stop = Stop::Nothing;
    }
}
