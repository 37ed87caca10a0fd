//! The closed-form worst case of a configuration: the proof that every run ends (T6, I12).

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::because::Owner;
use crate::config::RunConfig;
use crate::policy::{Compactor, EarlyStart};

/// The worst case of a configuration, computed without running anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Requests to models.
    pub model_calls: u64,
    /// Responses that come to their end.
    pub responses: u64,
    /// Calls of tools that are started.
    pub tool_executions: u64,
    /// Hooks that are asked.
    pub hook_runs: u64,
    /// Compactions that are ordered.
    pub compactions: u64,
    /// Milliseconds of backoff, when no server asks for a wait.
    pub backoff_ms: u64,
    /// Milliseconds of waiting, when every server asks for the longest wait that is granted.
    pub longest_wait_ms: u64,
    /// The path that reaches it: who orders how many responses, in the order of the table.
    pub path: Vec<Leg>,
}

/// A leg of the worst path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// Who orders these requests.
    pub owner: Owner,
    /// How many responses they bring, or requests where none of them brings one.
    pub times: u64,
}

/// The budgets of a configuration as the formula uses them.
struct Budgets {
    rounds: u64,
    repairs: u64,
    output: u64,
    reminders: u64,
    blocks: u64,
    messages: u64,
    structured: u64,
    tasks: u64,
    wrap_ups: u64,
    switches: u64,
    parameters: u64,
    refreshes: u64,
    whole: u64,
    http: u64,
    reissues: u64,
    overflow: u64,
}

impl Budgets {
    fn of(config: &RunConfig) -> Budgets {
        let limits = &config.limits;
        // The round limit is checked before the call, so the last round is followed by none.
        let rounds = u64::from(limits.tool_rounds.max(1));
        let messages = u64::from(limits.user_messages.max(1));
        let chain = (config.candidates.len() as u64).saturating_sub(1);
        let blocks = if config.stop_hooks.is_empty() { 0 } else { limits.stop_hook_blocks };
        Budgets {
            rounds,
            repairs: u64::from(limits.malformed_repairs).saturating_mul(rounds),
            output: u64::from(limits.blank_nudges)
                .saturating_add(u64::from(limits.continuations))
                .saturating_add(u64::from(limits.pauses)),
            reminders: u64::from(limits.guard_retries).saturating_mul(config.rules.len() as u64),
            blocks: u64::from(blocks).saturating_mul(messages),
            messages,
            structured: if config.output_schema.is_empty() {
                0
            } else {
                u64::from(limits.structured_retries)
            },
            tasks: if config.tools.iter().any(|tool| tool.kind.is_task()) {
                u64::from(limits.tasks)
            } else {
                0
            },
            wrap_ups: u64::from(config.policy.wrap_up),
            switches: u64::from(limits.fallback_hops).min(chain),
            parameters: u64::from(limits.param_degrades),
            refreshes: if config.candidates.iter().any(|candidate| candidate.refreshable) {
                u64::from(limits.credential_refreshes)
            } else {
                0
            },
            whole: u64::from(limits.stream_fallbacks),
            http: u64::from(limits.http_retries),
            reissues: u64::from(limits.stream_reissues)
                .saturating_add(u64::from(limits.stall_reissues)),
            overflow: u64::from(config.policy.compact != Compactor::Off)
                + u64::from(may_shrink(config)),
        }
    }

    fn responses(&self) -> u64 {
        let parts = [
            self.rounds,
            self.repairs,
            self.output,
            self.reminders,
            self.blocks,
            self.structured,
            self.tasks,
            self.wrap_ups,
        ];
        parts.iter().fold(self.messages - 1, |sum, part| sum.saturating_add(*part))
    }

    /// Requests that one response may cost on one candidate.
    fn attempts(&self) -> u64 {
        1u64.saturating_add(self.overflow)
            .saturating_add(self.http)
            .saturating_add(self.reissues)
            .saturating_add(self.refreshes)
            .saturating_add(self.whole)
    }

    /// Requests that only leave a parameter out, over the whole run: each candidate remembers.
    fn degraded(&self) -> u64 {
        self.parameters.saturating_mul(self.switches.saturating_add(1))
    }

    fn legs(&self) -> u64 {
        self.responses().saturating_add(self.switches)
    }
}

/// The largest number of requests to models that a run with this configuration can make, or `None`
/// when it is not a number of 32 bits any more.
///
/// Every response is followed by another for one cause only, and each cause has a budget: usable
/// tool rounds `T`, unusable ones in a row between them `Q`, nudges `N`, continuations `C`, pauses
/// `P`, requests for the wanted shape `V`, guard reminders `G` per rule, hook blocks `H` per user
/// message, background tasks `B`, the last word `W` and the user messages `M` themselves. The round
/// limit is checked before the call, so `T` rounds cost `T` responses and not one more. That bounds
/// the responses by
///
/// `R = T + Q T + N + C + P + V + G |rules| + H M + B + W + (M - 1)`, with `T` at least 1.
///
/// One response costs at most `1 + K` requests, where `K` is the sum of the retry, reissue, refresh
/// and one-piece budgets, one for an overflow when compaction is on and one for a smaller output.
/// Each of the `S` switches of the fallback chain grants a fresh `1 + K`, and each of the `S + 1`
/// candidates may have `D` parameters left out, once for the whole run:
///
/// `calls = (R + S) (1 + K) + D (S + 1)`.
#[must_use]
pub fn model_calls(config: &RunConfig) -> Option<u32> {
    let budgets = Budgets::of(config);
    let calls = budgets.legs().checked_mul(budgets.attempts())?;
    u32::try_from(calls.checked_add(budgets.degraded())?).ok()
}

/// The whole worst case.
#[must_use]
pub fn certificate(config: &RunConfig) -> Certificate {
    let (budgets, limits) = (Budgets::of(config), &config.limits);
    let ceiling = match limits.model_calls {
        0 => u64::MAX,
        set => u64::from(set),
    };
    let (legs, attempts) = (budgets.legs(), budgets.attempts());
    let model_calls = legs.saturating_mul(attempts).saturating_add(budgets.degraded()).min(ceiling);
    let repeats = budgets.http.saturating_add(budgets.reissues);
    let waits = legs.saturating_mul(repeats).min(ceiling.saturating_sub(1));
    Certificate {
        model_calls,
        responses: budgets.responses().min(ceiling),
        tool_executions: tool_executions(config, &budgets, model_calls),
        hook_runs: hook_runs(config, &budgets, model_calls),
        compactions: compactions(config),
        backoff_ms: legs.saturating_mul(backoff_of_one(config)),
        longest_wait_ms: waits.saturating_mul(limits.retry_after_cap_ms.max(limits.backoff_cap_ms)),
        path: path(&budgets),
    }
}

fn may_shrink(config: &RunConfig) -> bool {
    config.limits.least_output > 0 && config.candidates.iter().any(|c| c.max_output > 0)
}

/// Calls that a response may hold, for each round that may use them; and reads that were started
/// early and discarded with their response, for each request that may be repeated.
fn tool_executions(config: &RunConfig, budgets: &Budgets, model_calls: u64) -> u64 {
    let limits = &config.limits;
    if config.tools.is_empty() || limits.tool_rounds == 0 {
        return 0;
    }
    let early = config.policy.early_start != EarlyStart::Off;
    let discards = early && config.tools.iter().any(|tool| tool.read_only);
    let rounds = if discards { model_calls } else { budgets.rounds.min(model_calls) };
    rounds.saturating_mul(u64::from(limits.calls_per_response))
}

/// Stop hooks at every answer, tool hooks at every call, batch hooks after every batch, compact hooks
/// before every compaction.
fn hook_runs(config: &RunConfig, budgets: &Budgets, model_calls: u64) -> u64 {
    let answers = budgets
        .blocks
        .saturating_add(budgets.messages)
        .saturating_add(budgets.structured)
        .saturating_add(budgets.tasks)
        .min(model_calls);
    let calls = model_calls.saturating_mul(u64::from(config.limits.calls_per_response));
    let times = |hooks: &[crate::config::HookSpec], n: u64| n.saturating_mul(hooks.len() as u64);
    times(&config.stop_hooks, answers)
        .saturating_add(times(&config.tool_hooks, calls))
        .saturating_add(times(&config.batch_hooks, model_calls))
        .saturating_add(times(&config.compact_hooks, compactions(config)))
}

fn compactions(config: &RunConfig) -> u64 {
    match config.policy.compact {
        Compactor::Off => 0,
        Compactor::Summary | Compactor::Model => {
            let done = u64::from(config.limits.compactions);
            // Failures count until they trip the breaker, and a success resets them.
            let failures = u64::from(config.limits.compact_failures);
            done.saturating_mul(failures.max(1)).saturating_add(failures)
        }
    }
}

/// Milliseconds of backoff before one response, all owners together.
fn backoff_of_one(config: &RunConfig) -> u64 {
    let limits = &config.limits;
    let wait = |n: u32| {
        let doubled = limits.backoff_base_ms.saturating_mul(1 << n.min(20));
        doubled.min(limits.backoff_cap_ms)
    };
    let owner = |budget: u32| (0..budget).fold(0u64, |sum, n| sum.saturating_add(wait(n)));
    owner(limits.http_retries)
        .saturating_add(owner(limits.stream_reissues))
        .saturating_add(owner(limits.stall_reissues))
}

fn path(budgets: &Budgets) -> Vec<Leg> {
    let legs = budgets.legs();
    let all = [
        (Owner::Step, 1),
        (Owner::ToolFeedback, budgets.rounds - 1),
        (
            Owner::OutputRepair,
            budgets.repairs.saturating_add(budgets.output).saturating_add(budgets.structured),
        ),
        (Owner::LoopGuard, budgets.reminders),
        (Owner::HookReentry, budgets.blocks),
        (Owner::UserInput, budgets.messages - 1),
        (Owner::Supervisor, budgets.tasks),
        (Owner::WrapUp, budgets.wrap_ups),
        (Owner::ModelFallback, budgets.switches),
        (Owner::ParamDegrade, budgets.degraded()),
        (Owner::CredentialRefresh, legs.saturating_mul(budgets.refreshes)),
        (Owner::StreamFallback, legs.saturating_mul(budgets.whole)),
        (Owner::HttpRetry, legs.saturating_mul(budgets.http)),
        (Owner::StreamReissue, legs.saturating_mul(budgets.reissues)),
        (Owner::ContextCompact, legs.saturating_mul(budgets.overflow)),
    ];
    all.into_iter()
        .filter(|(_, times)| *times > 0)
        .map(|(owner, times)| Leg { owner, times })
        .collect()
}
