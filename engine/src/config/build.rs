//! From the tables of a file to a setup: every value checked, every fault told at its place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine_spec::config::{Candidate, Fault, FaultKind, HookSpec, Rule, RunConfig, ToolSpec};
use regex::Regex;
use serde_json::{Value, json};

use super::endpoint::{self, Endpoint};
use super::file::{ConfigFile, HookEvent, HookTable, ProviderTable, RequireTable, ToolTable};
use super::{Environment, Overrides, Problem};
use crate::assess::{Assessor, Concurrency, Condition, Judge};
use crate::error::Code;
use crate::hooks::Hook;
use crate::rules::Rules;
use crate::setup::{Options, Patience, Provider, Setup};
use crate::tools::Tool;

/// The most bytes of output that a tool may be allowed.
const MOST_OUTPUT: usize = 16 << 20;

/// Builds the setup.
pub(super) fn setup(
    mut file: ConfigFile,
    overrides: &Overrides,
    folder: &Path,
    environment: Environment<'_>,
) -> Result<Setup, Vec<Problem>> {
    let mut build = Build { folder, environment, problems: Vec::new() };
    build.override_with(&mut file, overrides);
    let system = build.system(&file, overrides);
    let (providers, candidates, mut hidden) = build.providers(file.providers);
    hidden.extend(endpoint::all_key_variables().map(str::to_owned));
    hidden.sort();
    hidden.dedup();
    let (tools, specs, judges) = build.tools(file.tools);
    let (hooks, stop_hooks) = build.hooks(file.hooks);
    let (rules, patterns) = build.rules(file.requirements);
    let machine = RunConfig {
        candidates,
        tools: specs,
        stop_hooks,
        rules,
        system,
        force_tool: file.force_tool,
        limits: file.limits,
        policy: file.policy,
        ..RunConfig::default()
    };
    if build.problems.is_empty() {
        build.problems.extend(machine.faults().iter().map(problem_of));
    }
    if !build.problems.is_empty() {
        return Err(build.problems);
    }
    Ok(Setup {
        machine,
        providers,
        tools,
        hooks,
        rules: Rules::new(patterns),
        assessor: Arc::new(Assessor::new(judges)),
        hidden,
        origin: None,
    })
}

struct Build<'a> {
    folder: &'a Path,
    environment: Environment<'a>,
    problems: Vec<Problem>,
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

    fn providers(
        &mut self,
        tables: Vec<ProviderTable>,
    ) -> (Vec<Provider>, Vec<Candidate>, Vec<String>) {
        let (mut providers, mut candidates, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("provider[{index}]");
            let name = table.name.unwrap_or_else(|| table.dialect.word().to_owned());
            candidates.push(Candidate {
                name: name.clone(),
                model: table.model.clone(),
                context_window: table.context_window,
                // What a request may produce must fit into the window with what it says.
                max_output: table.max_output.or(table.max_tokens).unwrap_or(0),
            });
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
                self.positive(&at, key, ms);
            }
            let options = Options {
                max_tokens: table.max_tokens.or(table.max_output),
                temperature: table.temperature,
                extra: table.extra,
            };
            let headers = self.keep(endpoint::headers(&at, table.headers)).unwrap_or_default();
            let (url, key) = (table.base_url.as_deref(), table.api_key_env.as_deref());
            match endpoint::find(&at, table.dialect, url, key, self.environment) {
                Ok(Endpoint { base_url, auth, key_variable }) => {
                    hidden.extend(key_variable);
                    let (dialect, model) = (table.dialect, table.model);
                    providers.push(Provider {
                        name,
                        dialect,
                        model,
                        base_url,
                        auth,
                        headers,
                        patience,
                        options,
                    });
                }
                Err(problems) => self.problems.extend(problems),
            }
        }
        (providers, candidates, hidden)
    }

    fn positive(&mut self, at: &str, key: &str, ms: u64) {
        if ms == 0 {
            let message = "must be at least 1 millisecond, found 0";
            self.problem(Code::ConfigValue, format!("{at}.{key}"), message);
        }
    }

    fn tools(
        &mut self,
        tables: Vec<ToolTable>,
    ) -> (BTreeMap<String, Arc<Tool>>, Vec<ToolSpec>, BTreeMap<String, Judge>) {
        let (mut tools, mut specs, mut judges) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("tool[{index}]");
            self.positive(&at, "timeout_ms", table.timeout_ms);
            if table.max_output_bytes > MOST_OUTPUT {
                let message =
                    format!("may be at most {MOST_OUTPUT}, found {}", table.max_output_bytes);
                self.problem(Code::ConfigValue, format!("{at}.max_output_bytes"), message);
            }
            let schema = table.input_schema.clone().unwrap_or_else(|| json!({ "type": "object" }));
            let concurrency = self.concurrency(&at, &table);
            if let Some(validator) = self.keep(validator(&at, &schema)) {
                let judge = Judge { schema: validator, concurrency };
                judges.insert(table.name.clone(), judge);
            }
            specs.push(ToolSpec {
                name: table.name.clone(),
                description: table.description,
                input_schema: schema.to_string(),
                read_only: table.read_only,
            });
            let command = self.command(&at, table.command);
            let tool = Tool {
                name: table.name.clone(),
                command,
                timeout_ms: table.timeout_ms,
                max_output_bytes: table.max_output_bytes,
                env: table.env,
                cwd: table.cwd.map(|cwd| self.folder.join(cwd)),
            };
            tools.insert(table.name, Arc::new(tool));
        }
        (tools, specs, judges)
    }

    fn concurrency(&mut self, at: &str, table: &ToolTable) -> Concurrency {
        match (table.concurrency_safe, table.safe_when.as_slice()) {
            (true, []) => return Concurrency::Always,
            (false, []) => return Concurrency::Never,
            (true, _) => {
                let message = "a tool is either always safe or safe when its arguments match: \
                               leave one of `concurrency_safe` and `safe_when` out";
                self.problem(Code::ConfigValue, format!("{at}.safe_when"), message);
            }
            (false, _) => {}
        }
        let mut conditions = Vec::new();
        for (index, one) in table.safe_when.iter().enumerate() {
            let at = format!("{at}.safe_when[{index}]");
            if !(one.pointer.is_empty() || one.pointer.starts_with('/')) {
                let message =
                    format!("`{}` is not a JSON pointer; expected one such as `/cmd`", one.pointer);
                self.problem(Code::ConfigValue, format!("{at}.pointer"), message);
            }
            let pattern = self.keep(pattern(format!("{at}.matches"), &one.matches));
            let pointer = one.pointer.clone();
            conditions.extend(pattern.map(|matches| Condition { pointer, matches }));
        }
        Concurrency::When(conditions)
    }

    fn hooks(&mut self, tables: Vec<HookTable>) -> (Vec<Hook>, Vec<HookSpec>) {
        let (mut hooks, mut specs) = (Vec::new(), Vec::new());
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("hook[{index}]");
            let HookEvent::Stop = table.event;
            self.positive(&at, "timeout_ms", table.timeout_ms);
            let command = self.command(&at, table.command);
            let name = table.name.unwrap_or_else(|| hook_name(index, &command));
            specs.push(HookSpec { name: name.clone() });
            hooks.push(Hook {
                name,
                command,
                timeout_ms: table.timeout_ms,
                env: table.env,
                cwd: table.cwd.map(|cwd| self.folder.join(cwd)),
            });
        }
        (hooks, specs)
    }

    fn rules(&mut self, tables: Vec<RequireTable>) -> (Vec<Rule>, Vec<Regex>) {
        let (mut rules, mut patterns) = (Vec::new(), Vec::new());
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("require[{index}].when");
            patterns.extend(self.keep(pattern(at, &table.when)));
            rules.push(Rule { when: table.when, tools: table.tools });
        }
        (rules, patterns)
    }

    /// A command whose program, where it is a relative path, starts from the folder of the file.
    /// A bare name is looked for in the usual places.
    fn command(&mut self, at: &str, mut command: Vec<String>) -> Vec<String> {
        match command.first_mut() {
            Some(program) if !program.is_empty() => {
                if program.contains('/') {
                    let folder = std::path::absolute(self.folder);
                    let folder = folder.unwrap_or_else(|_| PathBuf::from(self.folder));
                    let whole: PathBuf = folder.join(&*program).components().collect();
                    *program = whole.display().to_string();
                }
            }
            Some(_) | None => {
                let message = "expected a program and its arguments, found none";
                self.problem(Code::ConfigValue, format!("{at}.command"), message);
            }
        }
        command
    }
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
            context_window: 0,
            max_output: None,
            max_tokens: None,
            temperature: None,
            headers: BTreeMap::new(),
            extra: serde_json::Map::new(),
            connect_timeout_ms: None,
            request_timeout_ms: None,
            idle_timeout_ms: None,
            progress_timeout_ms: None,
            linger_ms: None,
        }
    }
}

fn hook_name(index: usize, command: &[String]) -> String {
    let program = command.first().map(Path::new).and_then(Path::file_name);
    program.map_or_else(|| format!("hook {index}"), |name| name.display().to_string())
}

fn pattern(at: String, text: &str) -> Result<Regex, Problem> {
    Regex::new(text).map_err(|error| {
        // The engine draws the pattern with a marker below; the last line says what is wrong.
        let told = error.to_string();
        let why = told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Problem::new(Code::ConfigValue, at, format!("`{text}` is not a regular expression: {why}"))
    })
}

fn validator(at: &str, schema: &Value) -> Result<jsonschema::Validator, Problem> {
    let at = format!("{at}.input_schema");
    if !schema.is_object() {
        let message = format!("expected a table with a JSON Schema, found {schema}");
        return Err(Problem::new(Code::ConfigValue, at, message));
    }
    jsonschema::validator_for(schema).map_err(|error| {
        let inside = error.instance_path().as_str().to_owned();
        let inside = if inside.is_empty() { String::new() } else { format!(" at {inside}") };
        Problem::new(Code::ConfigValue, at, format!("not a JSON Schema{inside}: {error}"))
    })
}

/// A fault as the machine found it, in the words of the file.
fn problem_of(fault: &Fault) -> Problem {
    let at = [
        ("candidates", "provider"),
        ("tools", "tool"),
        ("stop_hooks", "hook"),
        ("rules", "require"),
    ]
    .iter()
    .find_map(|(ours, theirs)| Some(format!("{theirs}{}", fault.at.strip_prefix(ours)?)))
    .unwrap_or_else(|| fault.at.clone());
    let found = &fault.found;
    let message = match fault.kind {
        FaultKind::NoCandidate => "give at least one [[provider]]".to_owned(),
        FaultKind::DuplicateCandidate => {
            format!("`{found}` stands in the chain already with the same model; leave one out")
        }
        FaultKind::EmptyName => "must not be empty".to_owned(),
        FaultKind::DuplicateTool => format!("there is another tool named `{found}`; rename one"),
        FaultKind::UnknownTool => {
            format!(
                "there is no tool named `{found}`; declare it as a [[tool]] or correct the name"
            )
        }
        FaultKind::EmptyRule => format!("the rule for `{found}` requires nothing; name its tools"),
        FaultKind::LimitTooSmall => format!("must be at least 1, found {found}"),
        FaultKind::LimitTooLarge => {
            "the limits together allow more requests than can be counted; lower some of them"
                .to_owned()
        }
        FaultKind::WindowTooSmall => format!(
            "the {found} tokens reserved for the output leave nothing of the context window"
        ),
        FaultKind::HistoryUnpaired => "a call in the history has no result".to_owned(),
    };
    Problem::new(Code::ConfigFault, at, message)
}
