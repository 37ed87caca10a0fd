//! The tables of a configuration file, as they are written. Unknown keys are refused everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use machine_spec::config::FailMode;
use machine_spec::limits::Limits;
use machine_spec::policy::Policy;
use serde::Deserialize;
use serde_json::{Map, Value};
use wire::encode::Degradation;
use wire::{DecodeLimits, Dialect};

use super::Problem;
use crate::approve::Standing;
use crate::error::Code;
use crate::permit::Ruling;
use crate::tools::ToolOutput;

/// A configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ConfigFile {
    pub(super) system: String,
    pub(super) system_file: Option<PathBuf>,
    pub(super) force_tool: String,
    pub(super) output_schema: Option<Value>,
    pub(super) output_schema_file: Option<PathBuf>,
    pub(super) store_dir: Option<PathBuf>,
    #[serde(rename = "provider")]
    pub(super) providers: Vec<ProviderTable>,
    #[serde(rename = "tool")]
    pub(super) tools: Vec<ToolTable>,
    #[serde(rename = "agent")]
    pub(super) agents: Vec<AgentTable>,
    #[serde(rename = "hook")]
    pub(super) hooks: Vec<HookTable>,
    #[serde(rename = "require")]
    pub(super) requirements: Vec<RequireTable>,
    #[serde(rename = "permission")]
    pub(super) permissions: Vec<PermissionTable>,
    pub(super) default_permission: Ruling,
    pub(super) scope: Option<ScopeTable>,
    pub(super) on_approval: Standing,
    pub(super) approval_timeout_ms: Option<u64>,
    pub(super) approval_queue: Option<PathBuf>,
    pub(super) memory: Option<MemoryTable>,
    pub(super) limits: Limits,
    pub(super) policy: Policy,
}

/// `[[provider]]`: one link of the fallback chain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderTable {
    pub(super) name: Option<String>,
    pub(super) dialect: Dialect,
    pub(super) model: String,
    pub(super) base_url: Option<String>,
    pub(super) api_key_env: Option<String>,
    pub(super) api_key_file: Option<PathBuf>,
    pub(super) api_key_command: Option<Vec<String>>,
    pub(super) context_window: Option<u64>,
    pub(super) max_output: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
    pub(super) price: Option<PriceTable>,
    pub(super) recover_text_calls: Option<bool>,
    #[serde(default)]
    pub(super) leave_out: BTreeSet<Degradation>,
    #[serde(default)]
    pub(super) decode_limits: DecodeLimits,
    pub(super) output_schema: Option<Value>,
    #[serde(default)]
    pub(super) output_strict: bool,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) extra: Map<String, Value>,
    pub(super) connect_timeout_ms: Option<u64>,
    pub(super) request_timeout_ms: Option<u64>,
    pub(super) idle_timeout_ms: Option<u64>,
    pub(super) progress_timeout_ms: Option<u64>,
    pub(super) linger_ms: Option<u64>,
}

/// `[[tool]]`: a command the model may call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolTable {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) command: Vec<String>,
    pub(super) input_schema: Option<Value>,
    #[serde(default)]
    pub(super) concurrency_safe: bool,
    #[serde(default)]
    pub(super) safe_when: Vec<SafeWhenTable>,
    #[serde(default)]
    pub(super) read_only: bool,
    #[serde(default)]
    pub(super) background: bool,
    pub(super) timeout_ms: Option<u64>,
    #[serde(default = "default_output")]
    pub(super) max_output_bytes: usize,
    #[serde(default)]
    pub(super) output: ToolOutput,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: Option<PathBuf>,
}

impl ToolTable {
    /// How long a call may take. Work in the background is seldom done in a minute.
    pub(super) fn timeout_ms(&self) -> u64 {
        let usual = if self.background { ONE_DAY_MS } else { one_minute() };
        self.timeout_ms.unwrap_or(usual)
    }
}

/// `[[agent]]`: a tool whose call is a run of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentTable {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) system: String,
    #[serde(default)]
    pub(super) tools: Vec<String>,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) limits: Map<String, Value>,
    #[serde(default)]
    pub(super) concurrency_safe: bool,
    #[serde(default)]
    pub(super) background: bool,
}

/// `[memory]`: where earlier sessions are remembered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryTable {
    pub(super) dir: PathBuf,
}

/// `safe_when = [{ pointer = "/cmd", matches = "^ls " }]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SafeWhenTable {
    pub(super) pointer: String,
    pub(super) matches: String,
}

/// `[[hook]]`: a command that is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HookTable {
    pub(super) event: HookEvent,
    pub(super) command: Vec<String>,
    #[serde(default = "one_minute")]
    pub(super) timeout_ms: u64,
    pub(super) name: Option<String>,
    pub(super) matcher: Option<String>,
    #[serde(default)]
    pub(super) on_failure: FailMode,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: Option<PathBuf>,
}

/// What a hook is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum HookEvent {
    /// Whether the turn may end.
    Stop,
    /// Whether a call may run.
    PreToolUse,
    /// Whether the model should see a complete batch of results.
    PostToolBatch,
    /// Whether the head of the conversation may become a summary.
    PreCompact,
}

/// `[[require]]`: tools that must be called when the user's words match.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequireTable {
    pub(super) when: String,
    pub(super) tools: Vec<String>,
    #[serde(default)]
    pub(super) ordered: bool,
    #[serde(default)]
    pub(super) args: BTreeMap<String, Map<String, Value>>,
}

/// `[[permission]]`: a rule about calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PermissionTable {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) when: Vec<SafeWhenTable>,
    pub(super) verdict: Ruling,
    #[serde(default)]
    pub(super) reason: String,
}

/// `[scope]`: the tools of the run, when not all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScopeTable {
    pub(super) tools: Vec<String>,
}

/// What a model costs. `long` is what it costs where the input of a request is long.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceTable {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    pub(super) long: Option<LongPriceTable>,
}

/// What a model costs for requests of more input tokens than `above`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LongPriceTable {
    pub(super) above: u64,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl PriceTable {
    pub(super) fn rates(&self) -> Rates {
        let PriceTable { input, output, cache_read, cache_write, long: _ } = *self;
        Rates { input, output, cache_read, cache_write }
    }
}

impl LongPriceTable {
    pub(super) fn rates(&self) -> Rates {
        let LongPriceTable { above: _, input, output, cache_read, cache_write } = *self;
        Rates { input, output, cache_read, cache_write }
    }
}

/// In dollars for a million tokens.
pub(super) struct Rates {
    pub(super) input: f64,
    pub(super) output: f64,
    pub(super) cache_read: Option<f64>,
    pub(super) cache_write: Option<f64>,
}

/// How long a background task may take.
const ONE_DAY_MS: u64 = 86_400_000;

fn one_minute() -> u64 {
    60_000
}

fn default_output() -> usize {
    1_000_000
}

/// Reads the tables. The first mistake ends it: what follows would be guesswork.
pub(super) fn read(text: &str) -> Result<ConfigFile, Vec<Problem>> {
    toml::from_str(text).map_err(|error| {
        let mut problem = Problem::new(Code::ConfigSyntax, "", one_line(error.message()));
        problem.place = error.span().map(|span| super::locate::place_of(text, span.start));
        vec![problem]
    })
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
