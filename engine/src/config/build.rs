//! From the tables of a file to a setup: every value checked, every fault told at its place.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use machine_spec::config::{Candidate, RunConfig};
use wire::catalogue::{Catalogue, Window, WindowSource};
use wire::encode::{EncodeOptions, OutputShape};
use wire::{DecodeLimits, Images};

use super::endpoint::{self, Endpoint, Keys};
use super::file::{ConfigFile, HookEvent, ProviderTable};
use super::{Environment, Overrides, Problem};
use crate::approve::{self, ApprovalRules};
use crate::assess::Assessor;
use crate::credentials::KeySource;
use crate::error::Code;
use crate::rules::Rules;
use crate::setup::{Patience, Provider, Setup};

mod agents;
mod commands;
mod faults;
mod hooks;
mod permissions;
mod price;

use agents::Agents;
use commands::Commands;

/// Builds the setup.
/// Who judges whether the machine can work with a configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// We do, before anything starts, and tell the place of each mistake.
    ByUs,
    /// The machine does: the run ends as refused, and its recording says why.
    ByTheMachine,
}

pub(super) fn setup(
    mut file: ConfigFile,
    overrides: &Overrides,
    folder: &Path,
    environment: Environment<'_>,
    judge: Judged,
) -> Result<Setup, Vec<Problem>> {
    let mut build = Build::new(folder, environment);
    build.override_with(&mut file, overrides);
    let system = build.system(&file, overrides);
    let tables = std::mem::take(&mut file.providers);
    let Endpoints { mut providers, candidates, hidden } = build.providers(tables);
    let mut commands = Commands::default();
    build.tools(std::mem::take(&mut file.tools), &mut commands);
    let hooks = build.hooks(std::mem::take(&mut file.hooks));
    build.rules(std::mem::take(&mut file.requirements), &mut commands);
    let approvals = build.approvals(&mut file);
    let limits = file.limits.clone();
    let agents = Agents {
        tables: std::mem::take(&mut file.agents),
        candidates: &candidates,
        limits: &limits,
    };
    build.agents(agents, &mut commands);
    let scope = file.scope.take();
    let rules = std::mem::take(&mut file.permissions);
    let permits = build.permits(rules, scope, file.default_permission, &commands);
    let wants_memory = file.policy.recall || file.policy.flush;
    let memory = build.memory(file.memory.take(), wants_memory);
    let (output_schema, shape) = build.shape(&file).unzip();
    ask_for_shape(&mut providers, output_schema.as_deref());
    let machine = RunConfig {
        candidates,
        output_schema: output_schema.unwrap_or_default(),
        tools: commands.specs,
        stop_hooks: hooks.specs(HookEvent::Stop),
        tool_hooks: hooks.specs(HookEvent::PreToolUse),
        batch_hooks: hooks.specs(HookEvent::PostToolBatch),
        compact_hooks: hooks.specs(HookEvent::PreCompact),
        rules: commands.rules,
        system,
        force_tool: file.force_tool,
        limits: file.limits,
        policy: file.policy,
        ..RunConfig::default()
    };
    if build.problems.is_empty() && judge == Judged::ByUs {
        build.problems.extend(machine.faults().iter().map(faults::problem));
    }
    if !build.problems.is_empty() {
        return Err(build.problems);
    }
    Ok(Setup {
        machine,
        providers,
        tools: commands.tools,
        hooks: hooks.in_order(),
        rules: Rules::new(commands.patterns),
        assessor: Arc::new(Assessor::new(commands.judges).knowing(permits, commands.wants)),
        approvals,
        hidden,
        agents: commands.agents,
        memory,
        shape,
        store_dir: file.store_dir.map(|dir| folder.join(dir)),
        origin: None,
        images: Images::default(),
        catalogue: build.catalogue.date().to_owned(),
    })
}

/// What is asked of the model is asked of the wire too, unless an endpoint is asked otherwise.
fn ask_for_shape(providers: &mut [Provider], schema: Option<&str>) {
    let Some(schema) = schema else { return };
    for provider in providers {
        let whole = || OutputShape { schema: schema.to_owned(), ..OutputShape::default() };
        provider.options.output.get_or_insert_with(whole);
    }
}

/// The providers as the machine and the engine want them.
#[derive(Default)]
struct Endpoints {
    providers: Vec<Provider>,
    candidates: Vec<Candidate>,
    hidden: Vec<String>,
}

struct Build<'a> {
    folder: &'a Path,
    environment: Environment<'a>,
    catalogue: Catalogue,
    problems: Vec<Problem>,
}

impl<'a> Build<'a> {
    fn new(folder: &'a Path, environment: Environment<'a>) -> Build<'a> {
        Build { folder, environment, catalogue: Catalogue::vendored(), problems: Vec::new() }
    }
}

impl Build<'_> {
    fn problem(&mut self, code: Code, at: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, at, message));
    }

    /// The value, or its problem noted and nothing.
    fn keep<T>(&mut self, value: Result<T, Problem>) -> Option<T> {
        value.map_err(|problem| self.problems.push(problem)).ok()
    }

    fn override_with(&mut self, file: &mut ConfigFile, overrides: &Overrides) {
        if let Some(first) = file.providers.first_mut() {
            if let Some(dialect) = overrides.dialect {
                first.dialect = dialect;
            }
            if let Some(model) = &overrides.model {
                first.model.clone_from(model);
            }
            first.base_url = overrides.base_url.clone().or(first.base_url.take());
            first.api_key_env = overrides.api_key_env.clone().or(first.api_key_env.take());
            return;
        }
        let (Some(dialect), Some(model)) = (overrides.dialect, overrides.model.clone()) else {
            self.problem(
                Code::NoProvider,
                "provider",
                "no provider: give a [[provider]] with `dialect` and `model` in the \
                 configuration, or both on the command line",
            );
            return;
        };
        let mut only = ProviderTable::of(dialect, model);
        only.base_url.clone_from(&overrides.base_url);
        only.api_key_env.clone_from(&overrides.api_key_env);
        file.providers.push(only);
    }

    fn system(&mut self, file: &ConfigFile, overrides: &Overrides) -> String {
        if let Some(system) = &overrides.system {
            return system.clone();
        }
        let Some(path) = &file.system_file else { return file.system.clone() };
        if !file.system.is_empty() {
            let message = "give either `system` or `system_file`, not both";
            self.problem(Code::ConfigValue, "system_file", message);
        }
        let path = self.folder.join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| {
            let message = format!("cannot read {}: {error}", path.display());
            self.problem(Code::ConfigValue, "system_file", message);
            String::new()
        })
    }

    fn approvals(&mut self, file: &mut ConfigFile) -> ApprovalRules {
        let timeout_ms = file.approval_timeout_ms.unwrap_or(approve::DEFAULT_TIMEOUT_MS);
        if timeout_ms == 0 {
            let message = "must be at least 1 millisecond, found 0";
            self.problem(Code::ConfigValue, "approval_timeout_ms", message);
        }
        let queue = file.approval_queue.take().map(|path| self.folder.join(path));
        ApprovalRules { absent: file.on_approval, timeout_ms, queue }
    }

    fn positive(&mut self, at: &str, key: &str, ms: u64) {
        if ms == 0 {
            let message = "must be at least 1 millisecond, found 0";
            self.problem(Code::ConfigValue, format!("{at}.{key}"), message);
        }
    }

    fn providers(&mut self, tables: Vec<ProviderTable>) -> Endpoints {
        let mut endpoints = Endpoints::default();
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("provider[{index}]");
            let name = table.name.clone().unwrap_or_else(|| table.dialect.word().to_owned());
            let window = window(&table, &self.catalogue);
            let (price, price_from) = self.price(&at, &table);
            endpoints.candidates.push(Candidate {
                name: name.clone(),
                model: table.model.clone(),
                context_window: window.tokens,
                max_output: reserved(&table),
                price,
                refreshable: false,
            });
            let patience = self.patience(&at, &table);
            let options = self.options(&at, &table);
            let headers = self.keep(endpoint::headers(&at, table.headers)).unwrap_or_default();
            let command = table.api_key_command.clone();
            let command = command.map(|one| self.command(&format!("{at}.api_key_command"), one));
            let keys = Keys {
                variable: table.api_key_env.as_deref(),
                file: table.api_key_file.as_ref().map(|path| self.folder.join(path)),
                command,
            };
            let url = table.base_url.as_deref();
            match endpoint::find(&at, table.dialect, url, keys, self.environment) {
                Ok(Endpoint { base_url, auth, key }) => {
                    if let KeySource::Variable(name) = &key {
                        endpoints.hidden.push(name.clone());
                    }
                    if let Some(candidate) = endpoints.candidates.last_mut() {
                        candidate.refreshable = key.can_be_asked();
                    }
                    let (dialect, model) = (table.dialect, table.model);
                    endpoints.providers.push(Provider {
                        name,
                        dialect,
                        model,
                        base_url,
                        auth,
                        key,
                        headers,
                        patience,
                        options,
                        window_from: window.source,
                        price_from,
                    });
                }
                Err(problems) => self.problems.extend(problems),
            }
        }
        endpoints.hidden.extend(endpoint::all_key_variables().map(str::to_owned));
        endpoints.hidden.sort();
        endpoints.hidden.dedup();
        endpoints
    }

    fn patience(&mut self, at: &str, table: &ProviderTable) -> Patience {
        let usual = Patience::default();
        let patience = Patience {
            connect_ms: table.connect_timeout_ms.unwrap_or(usual.connect_ms),
            request_ms: table.request_timeout_ms.unwrap_or(usual.request_ms),
            idle_ms: table.idle_timeout_ms.unwrap_or(usual.idle_ms),
            progress_ms: table.progress_timeout_ms.unwrap_or(usual.progress_ms),
            linger_ms: table.linger_ms.unwrap_or(usual.linger_ms),
        };
        for (key, ms) in [
            ("connect_timeout_ms", patience.connect_ms),
            ("request_timeout_ms", patience.request_ms),
            ("idle_timeout_ms", patience.idle_ms),
            ("progress_timeout_ms", patience.progress_ms),
        ] {
            self.positive(at, key, ms);
        }
        patience
    }

    fn options(&mut self, at: &str, table: &ProviderTable) -> EncodeOptions {
        let recovers = table.recover_text_calls.unwrap_or(may_write_calls(table.dialect));
        let options = EncodeOptions {
            max_tokens: table.max_tokens,
            temperature: table.temperature,
            output: self.provider_shape(at, table),
            recover_text_calls: recovers,
            tell_text_calls: !recovers,
            extra: table.extra.clone(),
            degraded: table.leave_out.clone(),
            decode_limits: table.decode_limits,
            ..EncodeOptions::default()
        };
        self.bounds(at, &table.decode_limits);
        for key in options.reserved_extras(table.dialect) {
            let message = format!("`{key}` is written by the engine itself; leave it out");
            self.problem(Code::ConfigValue, format!("{at}.extra.{key}"), message);
        }
        options
    }

    /// A bound of nothing would refuse every response.
    fn bounds(&mut self, at: &str, limits: &DecodeLimits) {
        let DecodeLimits { event_bytes, total_bytes, blocks, block_bytes, depth, bad_utf8: _ } =
            *limits;
        for (key, is_zero) in [
            ("event_bytes", event_bytes == 0),
            ("total_bytes", total_bytes == 0),
            ("blocks", blocks == 0),
            ("block_bytes", block_bytes == 0),
            ("depth", depth == 0),
        ] {
            if is_zero {
                let at = format!("{at}.decode_limits.{key}");
                self.problem(Code::ConfigValue, at, "must be at least 1, found 0");
            }
        }
    }

    fn provider_shape(&mut self, at: &str, table: &ProviderTable) -> Option<OutputShape> {
        let schema = table.output_schema.as_ref()?;
        if !schema.is_object() {
            let message = format!("expected a JSON Schema as a table, found {schema}");
            self.problem(Code::ConfigValue, format!("{at}.output_schema"), message);
        }
        let (schema, strict) = (schema.to_string(), table.output_strict);
        Some(OutputShape { schema, strict, ..OutputShape::default() })
    }
}

/// Whether models behind this dialect are known to write calls into their text: those that other
/// people serve.
const fn may_write_calls(dialect: wire::Dialect) -> bool {
    match dialect {
        wire::Dialect::OpenAiChat | wire::Dialect::Ollama => true,
        wire::Dialect::Anthropic | wire::Dialect::OpenAiResponses | wire::Dialect::Gemini => false,
    }
}

/// What a request may produce must fit into the window with what it says.
fn reserved(table: &ProviderTable) -> u64 {
    table.max_output.or(table.max_tokens).unwrap_or(0)
}

/// The window that was configured (0 is no limit), else the one the catalogue knows, else a guess.
/// A guess never makes a configuration unusable: an answer is at most a quarter of a window.
fn window(table: &ProviderTable, catalogue: &Catalogue) -> Window {
    if let Some(tokens) = table.context_window {
        return Window { tokens, source: WindowSource::Explicit };
    }
    let mut window = catalogue.window(&table.model, 0);
    match window.source {
        WindowSource::Explicit | WindowSource::Catalogue => {}
        WindowSource::NamePattern | WindowSource::Assumed => {
            window.tokens = window.tokens.max(reserved(table).saturating_mul(4));
        }
    }
    window
}

impl ProviderTable {
    /// A provider of which only this is known.
    fn of(dialect: wire::Dialect, model: String) -> ProviderTable {
        ProviderTable {
            name: None,
            dialect,
            model,
            base_url: None,
            api_key_env: None,
            api_key_file: None,
            api_key_command: None,
            context_window: None,
            max_output: None,
            max_tokens: None,
            temperature: None,
            price: None,
            recover_text_calls: None,
            leave_out: BTreeSet::new(),
            decode_limits: DecodeLimits::default(),
            output_schema: None,
            output_strict: false,
            headers: std::collections::BTreeMap::new(),
            extra: serde_json::Map::new(),
            connect_timeout_ms: None,
            request_timeout_ms: None,
            idle_timeout_ms: None,
            progress_timeout_ms: None,
            linger_ms: None,
        }
    }
}
