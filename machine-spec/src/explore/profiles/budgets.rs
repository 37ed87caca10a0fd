//! Profiles of what a run may cost, and of what is done to a request before it is given up.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Profile, base, call, candidate, failures, tool};
use crate::config::{HookSpec, Price};
use crate::input::{HookAnswer, OutputVerdict, Refresh};
use crate::model::{ErrorClass, Failure, Safety, StopReason, Usage};

pub(super) fn all() -> Vec<Profile> {
    vec![
        mended(),
        whole(),
        shapes(),
        tokens(),
        money(),
        time(),
        wrap_up(),
        anomalies(),
        shrunk(),
        weighed(),
    ]
}

/// A failure that leaving this out would mend.
fn refused(what: &str) -> Failure {
    Failure { remedy: what.into(), ..Failure::new(ErrorClass::ParamRejected, "f") }
}

fn mended() -> Profile {
    let mut profile = base("mended: parameters left out, credentials looked up again");
    profile.config.candidates = vec![candidate("a"), candidate("b")];
    profile.config.candidates[0].refreshable = true;
    let limits = &mut profile.config.limits;
    (limits.param_degrades, limits.credential_refreshes) = (1, 1);
    (limits.model_calls, limits.user_messages) = (4, 2);
    profile.failures = vec![refused("x"), refused("y")];
    profile.failures.extend(failures(&[ErrorClass::Auth, ErrorClass::ModelNotFound]));
    profile.refreshes = vec![Refresh::Refreshed, Refresh::Failed { problem: String::from("p") }];
    profile.strays = true;
    profile
}

fn whole() -> Profile {
    let mut profile = base("whole: streams that break until the response comes in one piece");
    profile.config.limits.stream_fallbacks = 1;
    profile.config.limits.stream_reissues = 1;
    profile.failures = failures(&[ErrorClass::Transport, ErrorClass::IdleTimeout]);
    profile.stream_errors = true;
    profile
}

fn shapes() -> Profile {
    let mut profile = base("shapes: an answer that must satisfy a schema");
    profile.config.output_schema = String::from("{}");
    profile.config.stop_hooks = vec![HookSpec::new("h")];
    let limits = &mut profile.config.limits;
    (limits.structured_retries, limits.user_messages) = (1, 2);
    profile.hook_answers = vec![HookAnswer::Allowed];
    let misfit = OutputVerdict::Misfits { path: String::from("/x"), problem: String::from("p") };
    profile.verdicts = vec![OutputVerdict::Fits, misfit];
    profile.strays = true;
    profile
}

fn usages() -> Vec<Usage> {
    vec![Usage { input: Some(60), output: Some(10), ..Usage::default() }]
}

fn tokens() -> Profile {
    let mut profile = base("tokens: a budget of tokens, reported or estimated");
    profile.config.limits.tokens = 100;
    profile.config.limits.continuations = 3;
    profile.usages = usages();
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    profile.failures = failures(&[ErrorClass::ServerError]);
    profile
}

fn money() -> Profile {
    let mut profile = base("money: a budget of money");
    let price = Price { input: 1, output: 5, cache_read: 0, cache_write: 2, long: None };
    profile.config.candidates[0].price = Some(price);
    profile.config.limits.nanos = 200;
    profile.config.limits.continuations = 3;
    profile.usages = usages();
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    profile
}

fn time() -> Profile {
    let mut profile = base("time: a budget of time that strikes anywhere");
    profile.config.tools = vec![tool("write", false)];
    profile.config.stop_hooks = vec![HookSpec::new("h")];
    profile.config.limits.wall_ms = 1_000;
    profile.config.limits.tool_rounds = 2;
    profile.calls = vec![call("write", Safety::Exclusive)];
    profile.calls.push(call("write", Safety::Concurrent));
    profile.failures = failures(&[ErrorClass::ServerError]);
    profile.hook_answers = vec![HookAnswer::Allowed];
    profile.strays = true;
    profile
}

fn wrap_up() -> Profile {
    let mut profile = base("wrap-up: a last word at the tool-round limit");
    profile.config.tools = vec![tool("read", true)];
    profile.config.policy.wrap_up = true;
    profile.calls = vec![call("read", Safety::Exclusive)];
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    profile.failures = failures(&[ErrorClass::ServerError]);
    profile
}

fn anomalies() -> Profile {
    let mut profile = base("anomalies: rounds that go wrong in turns");
    profile.config.tools = vec![tool("read", true)];
    let limits = &mut profile.config.limits;
    (limits.malformed_repairs, limits.blank_nudges, limits.anomalies) = (2, 2, 2);
    profile.calls = vec![call("none", Safety::Exclusive)];
    profile.interrupts = false;
    profile
}

fn shrunk() -> Profile {
    let mut profile = base("shrunk: fewer output tokens, so that the input fits");
    profile.config.candidates[0].context_window = 200;
    profile.config.candidates[0].max_output = 120;
    let limits = &mut profile.config.limits;
    (limits.least_output, limits.keep_entries, limits.compactions) = (20, 1, 0);
    limits.continuations = 3;
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    let mut overflow = Failure::new(ErrorClass::ContextOverflow, "f");
    overflow.limit = Some(150);
    profile.failures = vec![overflow];
    profile
}

/// Usage reports that contradict the estimate, both ways.
fn weighed() -> Profile {
    let mut profile = base("weighed: what the provider counts against what we estimate");
    profile.config.candidates[0].context_window = 300;
    profile.config.policy.compact = crate::policy::Compactor::Off;
    profile.config.limits.keep_entries = 1;
    profile.config.limits.continuations = 3;
    profile.usages = [5, 90].map(|n| Usage { input: Some(n), ..Usage::default() }).to_vec();
    profile.stops = vec![StopReason::EndOfTurn, StopReason::OutputLimit];
    profile
}
