//! The profiles of the large exploration, each far beyond what a test can afford: everything at once,
//! with different emphasis.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::guests::{ask, edited, edits, kept, of_kind, summary};
use super::{Profile, call, candidate, failures, tools};
use crate::config::{HookSpec, Rule, ToolKind};
use crate::ids::RuleId;
use crate::input::{Decision, HookAnswer, OutputVerdict, Recall, Refresh, ToolStatus};
use crate::model::{BlockKind, ErrorClass, Safety, StopReason};
use crate::policy::EarlyStart;

/// Every one of them.
#[must_use]
pub fn large() -> Vec<Profile> {
    let mut tools = everything("large: three calls a response, two rounds, every end of a tool");
    tools.config.limits.tool_rounds = 2;
    tools.max_blocks = 3;
    tools.tool_statuses = ToolStatus::ALL.to_vec();

    let mut early = everything("large: every call may start early, in streams that break");
    early.config.policy.early_start = EarlyStart::All;
    early.max_blocks = 3;
    early.stream_errors = true;

    let mut hooked = everything("large: two hooks, two rules, a user who goes on talking");
    let hook = |name: &str| HookSpec::new(name);
    hooked.config.stop_hooks = vec![hook("h1"), hook("h2")];
    hooked.config.limits.stop_hook_blocks = 2;
    hooked.config.limits.user_messages = 3;
    hooked.config.limits.inbox = 2;
    hooked.says = vec![vec![], vec![RuleId(0)], vec![RuleId(1)]];

    let mut swept = everything("large: a chain of three that fails in every way");
    swept.config.candidates = vec![candidate("a"), candidate("b"), candidate("c")];
    let limits = &mut swept.config.limits;
    (limits.http_retries, limits.stream_reissues, limits.stall_reissues) = (2, 2, 1);
    swept.failures = failures(&[
        ErrorClass::ServerError,
        ErrorClass::IdleTimeout,
        ErrorClass::ModelNotFound,
        ErrorClass::Auth,
    ]);
    swept.stream_errors = true;
    vec![tools, early, hooked, swept, guarded(), busy()]
}

/// Calls that hooks and people decide about, changed on the way, with large results that hooks see.
fn guarded() -> Profile {
    let mut profile =
        everything("large: hooks and people decide about calls, hooks see the results");
    profile.config.tool_hooks = vec![HookSpec::new("t")];
    profile.config.batch_hooks = vec![HookSpec::new("b")];
    profile.config.limits.inline_result_bytes = 0;
    profile.calls = vec![ask("write", Safety::Exclusive), ask("note", Safety::Concurrent)];
    profile.calls.push(call("read", Safety::Concurrent));
    profile.max_blocks = 2;
    profile.decisions = vec![Decision::Allowed, Decision::NoVerdict, Decision::Deferred];
    profile.decisions.extend(edits().map(edited));
    let reason = || String::from("r");
    profile.hook_answers = vec![
        HookAnswer::Allowed,
        HookAnswer::Denied { reason: reason() },
        HookAnswer::Asked { reason: reason(), edit: None },
        HookAnswer::Continued { context: reason() },
    ];
    profile.stores = kept();
    profile
}

/// Tasks and children in the background, memory, a wanted shape, credentials and a window that fills
/// up, within a budget of time.
fn busy() -> Profile {
    let mut profile = everything("large: tasks, memory, shapes and heads, within a budget of time");
    profile.config.tools.push(of_kind("bg", ToolKind::Task));
    profile.config.tools.push(of_kind("scout", ToolKind::ChildTask));
    profile.config.candidates[0].context_window = 400;
    profile.config.candidates[0].refreshable = true;
    profile.config.policy.recall = true;
    profile.config.policy.flush = true;
    profile.config.output_schema = String::from("{}");
    let limits = &mut profile.config.limits;
    (limits.tasks, limits.parallel_tasks, limits.wall_ms) = (2, 2, 1_000);
    (limits.keep_entries, limits.compactions, limits.rapid_refills) = (1, 1, 1);
    (limits.credential_refreshes, limits.structured_retries, limits.tool_rounds) = (1, 1, 2);
    profile.calls = vec![call("bg", Safety::Exclusive), call("scout", Safety::Exclusive)];
    profile.calls.push(call("write", Safety::Exclusive));
    profile.failures = failures(&[ErrorClass::ServerError, ErrorClass::Auth]);
    profile.recalls = vec![Recall::Nothing, Recall::Found { text: String::from("known") }];
    profile.refreshes = vec![Refresh::Refreshed, Refresh::Failed { problem: String::from("p") }];
    let misfit = OutputVerdict::Misfits { path: String::from("/x"), problem: String::from("p") };
    profile.verdicts = vec![OutputVerdict::Fits, misfit];
    profile.stores = kept();
    profile.compactions = vec![summary("a summary that is long enough")];
    profile
}

fn everything(name: &'static str) -> Profile {
    let mut profile = tools(EarlyStart::Safe);
    profile.name = name;
    profile.blocks = vec![BlockKind::Text, BlockKind::Thinking];
    profile.stops = vec![StopReason::EndOfTurn, StopReason::ToolUse, StopReason::OutputLimit];
    let rule = |tool: &str| Rule::new("w", &[tool]);
    profile.config.rules = vec![rule("write"), rule("note")];
    let limits = &mut profile.config.limits;
    (limits.malformed_repairs, limits.blank_nudges, limits.continuations) = (1, 1, 1);
    (limits.guard_retries, limits.http_retries, limits.user_messages) = (1, 1, 2);
    profile.says = vec![vec![], vec![RuleId(0)]];
    profile.calls.push(call("none", Safety::Exclusive));
    profile.hook_answers = vec![
        HookAnswer::Allowed,
        HookAnswer::Blocked { reason: String::from("r") },
        HookAnswer::Failed { problem: String::from("p") },
    ];
    profile.benign_bound = 200;
    profile.max_states = 200_000;
    profile
}
