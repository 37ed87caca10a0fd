//! Profiles of those who have a say about a call, or work beside the loop: people, hooks, rules, stores,
//! background tasks, children, memory.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Profile, base, call, failures, tool};
use crate::config::{DeferredCall, FailMode, HookSpec, Rule, ToolKind, ToolSpec};
use crate::explore::CallTemplate;
use crate::ids::RuleId;
use crate::input::{
    CallEdit, Compaction, Decision, GrantScope, HookAnswer, OutputVerdict, Recall, Refresh, Stored,
    ToolStatus,
};
use crate::model::{ArgsVerdict, BlockKind, CallFacts, ErrorClass, Permission, Safety, StopReason};
use crate::policy::{Denial, EarlyStart, Tasks};

pub(super) fn all() -> Vec<Profile> {
    vec![
        approvals(Denial::One),
        approvals(Denial::Batch),
        lone_approval(),
        edited_apart(),
        tool_hooks(),
        rules(),
        stores(),
        batch_hooks(),
        tasks(Tasks::Wait),
        tasks(Tasks::Cancel),
        tasks(Tasks::Leave),
        beside_hooks(),
        beside_people(),
        doom_hooked(),
        doom_asked(),
        busy_round(),
        busy_end(),
        busy_head(),
        children(),
        memory(),
        compact_hooks(),
        vetoed_overflow(),
        long_heads(),
        resumed(true),
        resumed(false),
    ]
}

pub(super) fn kept() -> Vec<Stored> {
    vec![
        Stored::Kept { reference: String::from("r") },
        Stored::Failed { problem: String::from("p") },
    ]
}

pub(super) fn ask(tool: &'static str, safety: Safety) -> CallTemplate {
    CallTemplate { permission: Permission::Ask, ..call(tool, safety) }
}

pub(super) fn of_kind(name: &str, kind: ToolKind) -> ToolSpec {
    ToolSpec { kind, ..tool(name, false) }
}

/// Facts of edited arguments: usable, not usable, forbidden, and asked about once more.
fn facts(permission: Permission, usable: bool) -> CallFacts {
    let args = if usable {
        ArgsVerdict::Valid { canonical: 2 }
    } else {
        ArgsVerdict::Invalid { path: String::from("/x"), problem: String::from("p") }
    };
    CallFacts { permission, ..CallFacts::new(args, Safety::Exclusive) }
}

/// Other arguments: usable, not usable, and forbidden.
pub(super) fn edits() -> impl Iterator<Item = CallEdit> {
    let deny = Permission::Deny { reason: String::from("r") };
    [facts(Permission::Ask, true), facts(Permission::Allow, false), facts(deny, true)]
        .into_iter()
        .map(|facts| CallEdit { args: edited_args(), facts })
}

/// Somebody wants this instead.
pub(super) fn edited(CallEdit { args, facts }: CallEdit) -> Decision {
    Decision::Edited { args, facts }
}

fn edited_args() -> String {
    String::from("{\"e\":1}")
}

fn approvals(denial: Denial) -> Profile {
    let mut profile = base("approvals: two calls that somebody must allow, in any order");
    profile.config.tools = vec![tool("edit", false), tool("run", false)];
    profile.config.policy.denial = denial;
    profile.blocks = vec![];
    profile.calls = vec![ask("edit", Safety::Exclusive), ask("run", Safety::Concurrent)];
    profile.max_blocks = 2;
    profile.stops = vec![StopReason::ToolUse];
    profile.decisions = vec![Decision::Allowed, Decision::Denied { reason: String::from("r") }];
    profile.strays = denial == Denial::One;
    profile
}

fn lone_approval() -> Profile {
    let mut profile = base("approval: everything that can be decided about one call, twice");
    profile.config.tools = vec![tool("edit", false)];
    profile.config.limits.tool_rounds = 2;
    profile.blocks = vec![];
    profile.calls = vec![ask("edit", Safety::Concurrent)];
    profile.stops = vec![StopReason::ToolUse];
    profile.decisions = vec![
        Decision::AllowedAlways { scope: GrantScope::Tool },
        Decision::AllowedAlways { scope: GrantScope::Call },
        Decision::TimedOut,
        Decision::Queued { ticket: String::from("q") },
        Decision::Deferred,
        Decision::NoVerdict,
    ];
    profile.decisions.extend(edits().map(edited));
    profile
}

fn edited_apart() -> Profile {
    let mut profile =
        base("edited apart: two calls side by side, of which one must run alone then");
    profile.config.tools = vec![tool("note", false)];
    profile.blocks = vec![];
    profile.calls = vec![ask("note", Safety::Concurrent), call("note", Safety::Concurrent)];
    profile.max_blocks = 2;
    profile.stops = vec![StopReason::ToolUse];
    let facts = facts(Permission::Allow, true);
    profile.decisions = vec![Decision::Edited { args: edited_args(), facts }];
    profile
}

fn tool_hooks() -> Profile {
    let mut profile = base("tool hooks: one that fails open and one that fails closed");
    profile.config.tools = vec![tool("edit", false), tool("read", true)];
    let closed = HookSpec { on_failure: FailMode::Closed, ..HookSpec::new("h2") };
    profile.config.tool_hooks = vec![HookSpec::new("h1"), closed];
    profile.config.limits.hook_failures = 2;
    profile.blocks = vec![];
    profile.calls = vec![call("edit", Safety::Exclusive), call("read", Safety::Concurrent)];
    profile.max_blocks = 1;
    profile.stops = vec![StopReason::ToolUse, StopReason::OutputLimit, StopReason::Refused];
    profile.failures = failures(&[ErrorClass::Transport]);
    profile.decisions = vec![Decision::Allowed, Decision::NoVerdict];
    let reason = || String::from("r");
    profile.hook_answers = vec![
        HookAnswer::Allowed,
        HookAnswer::Continued { context: reason() },
        HookAnswer::Denied { reason: reason() },
        HookAnswer::Asked { reason: reason(), edit: None },
        HookAnswer::Deferred,
        HookAnswer::Halted { reason: reason() },
        HookAnswer::Failed { problem: reason() },
    ];
    let edit = edits().next().map(Box::new);
    profile.hook_answers.push(HookAnswer::Asked { reason: reason(), edit });
    let edited = |CallEdit { args, facts }| HookAnswer::Edited { args, facts };
    profile.hook_answers.extend(edits().map(edited));
    profile
}

fn rules() -> Profile {
    let mut profile = base("rules: forbidden, out of scope, and out of order");
    profile.config.tools = vec![tool("first", false), tool("second", false)];
    let ordered = Rule { ordered: true, ..Rule::new("w", &["first", "second"]) };
    profile.config.rules = vec![ordered];
    profile.says = vec![vec![RuleId(0)]];
    let deny = Permission::Deny { reason: String::from("r") };
    profile.blocks = vec![];
    profile.calls = vec![call("first", Safety::Exclusive), call("second", Safety::Exclusive)];
    profile.calls.push(CallTemplate { permission: deny, ..call("first", Safety::Exclusive) });
    let nowhere = Permission::OutOfScope;
    profile.calls.push(CallTemplate { permission: nowhere, ..call("second", Safety::Exclusive) });
    profile.max_blocks = 2;
    profile.stops = vec![StopReason::ToolUse];
    profile.config.limits.malformed_repairs = 0;
    profile.interrupts = false;
    profile
}

fn stores() -> Profile {
    let mut profile = base("stores: every result is too large to stand inline");
    profile.config.tools = vec![tool("read", true), tool("write", false)];
    profile.config.limits.inline_result_bytes = 0;
    profile.calls = vec![call("read", Safety::Concurrent), call("write", Safety::Concurrent)];
    profile.blocks = vec![];
    profile.max_blocks = 2;
    profile.stops = vec![StopReason::ToolUse];
    profile.stores = kept();
    profile.failures = failures(&[ErrorClass::Transport]);
    profile.strays = true;
    profile
}

fn batch_hooks() -> Profile {
    let mut profile = base("batch hooks: the results are seen before the model sees them");
    profile.config.tools = vec![tool("read", true)];
    profile.config.batch_hooks = vec![HookSpec::new("h1"), HookSpec::new("h2")];
    profile.config.limits.user_messages = 2;
    profile.config.limits.tool_rounds = 2;
    profile.config.limits.hook_failures = 2;
    profile.calls = vec![call("read", Safety::Exclusive), call("none", Safety::Exclusive)];
    profile.stops = vec![StopReason::EndOfTurn];
    let text = || String::from("r");
    profile.hook_answers = vec![
        HookAnswer::Allowed,
        HookAnswer::Continued { context: text() },
        HookAnswer::Blocked { reason: text() },
        HookAnswer::Failed { problem: text() },
    ];
    profile.strays = true;
    profile
}

fn tasks(tasks: Tasks) -> Profile {
    let mut profile = base("tasks: work in the background, reported once or left behind");
    profile.config.tools = vec![of_kind("bg", ToolKind::Task)];
    profile.config.policy.tasks = tasks;
    let limits = &mut profile.config.limits;
    (limits.tasks, limits.parallel_tasks, limits.tool_rounds) = (2, 2, 2);
    limits.user_messages = 2;
    profile.calls = vec![call("bg", Safety::Exclusive)];
    profile.stops = vec![StopReason::EndOfTurn];
    profile.tool_statuses = vec![ToolStatus::Succeeded, ToolStatus::Failed];
    profile.strays = tasks == Tasks::Wait;
    profile
}

/// A task among the calls of a response: it starts when the calls in front of it are out of the way.
fn beside(name: &'static str) -> Profile {
    let mut profile = base(name);
    profile.config.tools = vec![of_kind("bg", ToolKind::Task), tool("edit", false)];
    profile.config.policy.early_start = EarlyStart::Off;
    (profile.config.limits.tasks, profile.config.limits.parallel_tasks) = (1, 1);
    profile.blocks = vec![];
    profile.max_blocks = 2;
    profile.stops = vec![StopReason::ToolUse];
    profile.interrupts = false;
    profile
}

fn beside_hooks() -> Profile {
    let mut profile = beside("beside hooks: a task starts once a hook has answered");
    profile.config.tool_hooks = vec![HookSpec::new("h")];
    profile.calls = vec![call("edit", Safety::Exclusive), call("bg", Safety::Exclusive)];
    profile.hook_answers =
        vec![HookAnswer::Allowed, HookAnswer::Denied { reason: String::from("r") }];
    profile
}

fn beside_people() -> Profile {
    let mut profile = beside("beside people: a task starts once somebody decided or kept a result");
    profile.config.limits.inline_result_bytes = 0;
    profile.calls = vec![ask("edit", Safety::Exclusive), call("bg", Safety::Exclusive)];
    profile.decisions = vec![Decision::Allowed, Decision::Denied { reason: String::from("r") }];
    profile.stores = kept();
    profile
}

/// A forbidden call again and again, behind one that somebody is still asked about.
fn doomed(name: &'static str) -> Profile {
    let mut profile = base(name);
    profile.config.tools = vec![tool("edit", false), tool("note", false)];
    profile.config.policy.early_start = EarlyStart::Off;
    profile.config.limits.tool_rounds = 2;
    profile.config.limits.calls_per_response = 5;
    let permission = Permission::Deny { reason: String::from("r") };
    profile.calls =
        vec![CallTemplate { permission, named: false, ..call("edit", Safety::Exclusive) }];
    profile.blocks = vec![];
    profile.stops = vec![StopReason::ToolUse];
    profile.interrupts = false;
    profile
}

fn doom_hooked() -> Profile {
    let mut profile = doomed("doom, hooked: a repetition is proven while a hook is asked");
    profile.config.tool_hooks = vec![HookSpec::new("h")];
    profile.calls.push(call("note", Safety::Exclusive));
    profile.max_blocks = 3;
    profile.hook_answers = vec![HookAnswer::Allowed];
    profile
}

fn doom_asked() -> Profile {
    let mut profile = doomed("doom, asked: a repetition is proven while somebody is asked");
    profile.calls.push(ask("note", Safety::Exclusive));
    profile.max_blocks = 5;
    profile.config.limits.tool_rounds = 1;
    profile.decisions = vec![Decision::NoVerdict];
    profile
}

/// A task that ends, and time that is up, while everything else is going on.
fn busy(name: &'static str) -> Profile {
    let mut profile = base(name);
    profile.config.tools = vec![of_kind("bg", ToolKind::Task), tool("edit", false)];
    profile.config.limits.wall_ms = 1_000;
    let limits = &mut profile.config.limits;
    (limits.tasks, limits.parallel_tasks, limits.tool_rounds) = (1, 1, 2);
    profile.blocks = vec![];
    profile.calls = vec![call("bg", Safety::Exclusive)];
    profile.hook_answers = vec![HookAnswer::Allowed];
    profile.stores = kept();
    profile
}

fn busy_round() -> Profile {
    let mut profile = busy("busy round: a task ends between streams, people, stores and hooks");
    profile.config.batch_hooks = vec![HookSpec::new("b")];
    profile.config.candidates[0].refreshable = true;
    profile.config.limits.credential_refreshes = 1;
    profile.config.limits.inline_result_bytes = 0;
    profile.calls.push(ask("edit", Safety::Exclusive));
    profile.stops = vec![StopReason::ToolUse];
    profile.failures = failures(&[ErrorClass::ServerError, ErrorClass::Auth]);
    profile.decisions = vec![Decision::Allowed];
    profile.refreshes = vec![Refresh::Refreshed];
    profile
}

fn busy_end() -> Profile {
    let mut profile = busy("busy end: a task ends between memory, schema and stop hooks");
    profile.config.stop_hooks = vec![HookSpec::new("h")];
    profile.config.policy.recall = true;
    profile.config.output_schema = String::from("{}");
    profile.config.limits.user_messages = 2;
    profile.blocks = vec![BlockKind::Text];
    profile.recalls = vec![Recall::Nothing];
    profile.verdicts = vec![OutputVerdict::Fits];
    profile
}

fn busy_head() -> Profile {
    let mut profile = busy("busy head: a task ends while the head leaves the view");
    profile.config.candidates[0].context_window = 200;
    profile.config.compact_hooks = vec![HookSpec::new("h")];
    let limits = &mut profile.config.limits;
    (limits.keep_entries, limits.compactions, limits.rapid_refills) = (1, 1, 1);
    limits.tool_rounds = 3;
    profile.stops = vec![StopReason::ToolUse];
    profile.compactions = vec![summary("a summary that is long enough")];
    profile
}

fn children() -> Profile {
    let mut profile = base("children: a child run too deep, and one in the background");
    profile.config.tools =
        vec![of_kind("agent", ToolKind::Child), of_kind("scout", ToolKind::ChildTask)];
    profile.config.lineage = vec![String::from("main")];
    let limits = &mut profile.config.limits;
    (limits.tasks, limits.parallel_tasks, limits.child_depth) = (1, 1, 2);
    (limits.tokens, limits.tool_rounds) = (1_000, 2);
    profile.spent.tokens = 600;
    profile.calls = vec![call("agent", Safety::Concurrent), call("scout", Safety::Exclusive)];
    profile.stops = vec![StopReason::EndOfTurn];
    profile.tool_statuses = vec![ToolStatus::Succeeded, ToolStatus::Partial];
    profile
}

fn memory() -> Profile {
    let mut profile = base("memory: asked about words, shown what leaves the view");
    profile.config.candidates[0].context_window = 200;
    profile.config.policy.recall = true;
    profile.config.policy.flush = true;
    let limits = &mut profile.config.limits;
    (limits.keep_entries, limits.compactions, limits.rapid_refills) = (1, 2, 2);
    (limits.continuations, limits.user_messages) = (2, 2);
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    profile.recalls = vec![
        Recall::Found { text: String::from("known") },
        Recall::Nothing,
        Recall::Failed { problem: String::from("p") },
    ];
    profile.stores = kept();
    profile.compactions = vec![summary("a summary that is long enough")];
    profile.strays = true;
    profile
}

pub(super) fn summary(text: &str) -> Compaction {
    Compaction::Summarised { text: text.into(), archive: String::from("a") }
}

fn compact_hooks() -> Profile {
    let mut profile = base("compact hooks: a head that may go, may not, or stops everything");
    profile.config.candidates[0].context_window = 200;
    profile.config.compact_hooks = vec![HookSpec::new("h1"), HookSpec::new("h2")];
    let limits = &mut profile.config.limits;
    (limits.keep_entries, limits.compactions, limits.rapid_refills) = (1, 2, 2);
    (limits.continuations, limits.hook_failures, limits.user_messages) = (2, 2, 2);
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    let reason = || String::from("r");
    profile.hook_answers = vec![
        HookAnswer::Allowed,
        HookAnswer::Blocked { reason: reason() },
        HookAnswer::Halted { reason: reason() },
        HookAnswer::Failed { problem: reason() },
    ];
    profile.compactions = vec![summary("a summary that is long enough")];
    profile
}

fn vetoed_overflow() -> Profile {
    let mut profile = compact_hooks();
    profile.name = "vetoed overflow: the provider refuses what a hook wants to keep";
    profile.config.candidates[0].context_window = 240;
    profile.config.policy.flush = true;
    profile.stores = kept();
    profile.failures = failures(&[ErrorClass::ContextOverflow]);
    profile.interrupts = false;
    profile
}

fn long_heads() -> Profile {
    let mut profile = base("long heads: too long for the model that sums them up");
    profile.config.candidates[0].context_window = 320;
    let limits = &mut profile.config.limits;
    (limits.keep_entries, limits.compactions, limits.head_trims) = (1, 1, 2);
    (limits.continuations, limits.compact_failures) = (3, 1);
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    profile.failures = failures(&[ErrorClass::ContextOverflow]);
    profile.compactions = vec![
        summary("a summary that is long enough"),
        Compaction::TooLong { problem: String::from("p") },
    ];
    profile
}

fn resumed(there: bool) -> Profile {
    let mut profile = base("resumed: a call that an earlier run left pending");
    let name = String::from(if there { "edit" } else { "gone" });
    let call_facts = facts(Permission::Ask, true);
    profile.config.tools = vec![tool("edit", false)];
    profile.config.deferred = Some(DeferredCall { name, args: edited_args(), facts: call_facts });
    profile.config.policy.early_start = EarlyStart::Off;
    profile.config.limits.tool_rounds = 2;
    profile.config.limits.wall_ms = 1_000;
    profile.blocks = vec![BlockKind::Text];
    profile.decisions = vec![Decision::Allowed, Decision::Deferred, Decision::NoVerdict];
    profile.strays = true;
    profile
}
