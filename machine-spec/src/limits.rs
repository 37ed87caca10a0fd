//! Every bound of the machine, in one struct, with units.

use serde::{Deserialize, Serialize};

/// Every bound, by name. Zero means "none of it" unless a line says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Rounds in which a tool was used, per turn. Checked before the model call, so the last
    /// results always stand in history. Recovery never consumes it.
    pub tool_rounds: u32,
    /// Requests to models per run; 0 means the closed-form bound of all other budgets.
    pub model_calls: u32,
    /// Repetitions of one request that failed before any response data.
    pub http_retries: u32,
    /// Repetitions of one request whose stream broke.
    pub stream_reissues: u32,
    /// Repetitions of one request whose stream fell silent.
    pub stall_reissues: u32,
    /// Parameters of one candidate that may be left out, because the endpoint does not know them.
    pub param_degrades: u32,
    /// Look-ups of the credential for one request.
    pub credential_refreshes: u32,
    /// Repetitions of one request, after its streams broke, for a response in one piece.
    pub stream_fallbacks: u32,
    /// Candidates that may be switched to per turn.
    pub fallback_hops: u32,
    /// Consecutive rounds without any usable call after which the model is asked to mend.
    pub malformed_repairs: u32,
    /// Nudges per turn for responses with nothing to show.
    pub blank_nudges: u32,
    /// Continuations per turn of an output cut at its limit.
    pub continuations: u32,
    /// Resumptions per turn of a response the provider paused.
    pub pauses: u32,
    /// Times per turn that the model is asked to give its answer the wanted shape.
    pub structured_retries: u32,
    /// Rounds in a row that may go wrong, whoever owned them; 0 for any number.
    pub anomalies: u32,
    /// Reminders per required-tool rule.
    pub guard_retries: u32,
    /// Forced continuations by stop hooks per turn; only the user's own words reset them.
    pub stop_hook_blocks: u32,
    /// Consecutive failures after which a hook is not asked again in the turn.
    pub hook_failures: u32,
    /// Compactions per run.
    pub compactions: u32,
    /// Compactions in a row that may fail before no further one is tried.
    pub compact_failures: u32,
    /// Compactions in a row that were needed again at once.
    pub rapid_refills: u32,
    /// Shorter heads that are tried when one is too long for the model that sums up.
    pub head_trims: u32,
    /// Fewest output tokens that are asked for so that a view fits; 0 to never ask for fewer.
    pub least_output: u64,
    /// Entries that always stay visible behind a cut.
    pub keep_entries: u32,
    /// Calls that may run at the same time.
    pub parallel_tools: u32,
    /// Background tasks per run; a call beyond is refused.
    pub tasks: u32,
    /// Background tasks that may run at the same time; a call beyond is refused.
    pub parallel_tasks: u32,
    /// How deep child runs may stand: 0 for no children.
    pub child_depth: u32,
    /// Bytes of a result that stand in the conversation; of a longer one only head and tail do.
    pub inline_result_bytes: u64,
    /// User messages that may wait in the inbox.
    pub inbox: u32,
    /// User messages per run.
    pub user_messages: u32,
    /// Calls that one response may hold; a response with more is garbled.
    pub calls_per_response: u32,
    /// First wait of a backoff, in milliseconds; doubled with each repetition.
    pub backoff_base_ms: u64,
    /// Longest wait of a backoff, in milliseconds.
    pub backoff_cap_ms: u64,
    /// Longest wait a server may ask for, in milliseconds; a longer one is not slept.
    pub retry_after_cap_ms: u64,
    /// Time that cancelled tools get to settle, in milliseconds.
    pub settle_grace_ms: u64,
    /// How long an answer waits for background tasks, in milliseconds.
    pub task_wait_ms: u64,
    /// Tokens of models per run, children included; 0 for any number.
    pub tokens: u64,
    /// Money per run, children included, in billionths of a dollar; 0 for any amount.
    pub nanos: u64,
    /// Time of a run, in milliseconds; 0 for any time.
    pub wall_ms: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            tool_rounds: 15,
            model_calls: 0,
            http_retries: 4,
            stream_reissues: 2,
            stall_reissues: 1,
            param_degrades: 2,
            credential_refreshes: 2,
            stream_fallbacks: 1,
            fallback_hops: 3,
            malformed_repairs: 2,
            blank_nudges: 2,
            continuations: 2,
            pauses: 5,
            structured_retries: 5,
            anomalies: 6,
            guard_retries: 2,
            stop_hook_blocks: 8,
            hook_failures: 3,
            compactions: 16,
            compact_failures: 2,
            rapid_refills: 3,
            head_trims: 3,
            least_output: 1_024,
            keep_entries: 4,
            parallel_tools: 10,
            tasks: 32,
            parallel_tasks: 20,
            child_depth: 3,
            inline_result_bytes: 30_000,
            inbox: 64,
            user_messages: 256,
            calls_per_response: 128,
            backoff_base_ms: 500,
            backoff_cap_ms: 32_000,
            retry_after_cap_ms: 600_000,
            settle_grace_ms: 5_000,
            task_wait_ms: 600_000,
            tokens: 0,
            nanos: 0,
            wall_ms: 0,
        }
    }
}
