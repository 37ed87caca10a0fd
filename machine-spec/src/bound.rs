//! The closed-form worst case of a configuration: the proof that every run ends (T6, I12).

use crate::config::RunConfig;
use crate::policy::Compactor;

/// The largest number of requests to models that a run with this configuration can make, or `None`
/// when it is not a number of 32 bits any more.
///
/// Every response is followed by another for one cause only, and each cause has a budget: usable
/// tool rounds `T`, unusable ones in a row between them `Q`, nudges `N`, continuations `C`, pauses
/// `P`, guard reminders `G` per rule, hook blocks `H` per user message and the user messages `M`
/// themselves. That bounds the responses by
///
/// `R = 1 + T + Q (T + 1) + N + C + P + G |rules| + H M + (M - 1)`.
///
/// One response costs at most `1 + K` requests, where `K` is the sum of the retry and reissue
/// budgets and one for an overflow when compaction is on, and each of the `S` switches of the fallback chain grants a fresh `1 + K`:
///
/// `calls = (R + S) (1 + K)`.
#[must_use]
pub fn model_calls(config: &RunConfig) -> Option<u32> {
    let limits = &config.limits;
    let rounds = u64::from(limits.tool_rounds);
    let messages = u64::from(limits.user_messages);
    let rules = config.rules.len() as u64;
    let responses = [
        Some(1),
        Some(rounds),
        u64::from(limits.malformed_repairs).checked_mul(rounds + 1),
        Some(u64::from(limits.blank_nudges)),
        Some(u64::from(limits.continuations)),
        Some(u64::from(limits.pauses)),
        u64::from(limits.guard_retries).checked_mul(rules),
        u64::from(stop_hook_blocks(config)).checked_mul(messages),
        Some(messages.saturating_sub(1)),
    ];
    let responses = responses.into_iter().try_fold(0u64, |sum, n| sum.checked_add(n?))?;
    let overflow = u64::from(config.policy.compact != Compactor::Off);
    let repeats = overflow
        + u64::from(limits.http_retries)
        + u64::from(limits.stream_reissues)
        + u64::from(limits.stall_reissues);
    let chain = (config.candidates.len() as u64).saturating_sub(1);
    let switches = u64::from(limits.fallback_hops).min(chain);
    let calls = responses.checked_add(switches)?.checked_mul(1 + repeats)?;
    u32::try_from(calls).ok()
}

fn stop_hook_blocks(config: &RunConfig) -> u32 {
    if config.stop_hooks.is_empty() { 0 } else { config.limits.stop_hook_blocks }
}
