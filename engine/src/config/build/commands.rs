//! Commands of a configuration: tools and hooks, and the rules that require tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine_spec::config::{HookSpec, Rule, ToolKind, ToolSpec};
use regex::Regex;
use serde_json::{Value, json};

use super::super::Problem;
use super::super::file::{HookEvent, HookTable, RequireTable, SafeWhenTable, ToolTable};
use super::Build;
use crate::assess::{Concurrency, Condition, Judge};
use crate::error::Code;
use crate::hooks::Hook;
use crate::tools::Tool;

/// The most bytes of output that a tool may be allowed.
const MOST_OUTPUT: usize = 16 << 20;

/// Everything about commands, as the machine and as the engine want it.
#[derive(Default)]
pub(super) struct Commands {
    pub(super) tools: BTreeMap<String, Arc<Tool>>,
    pub(super) specs: Vec<ToolSpec>,
    pub(super) judges: BTreeMap<String, Judge>,
    pub(super) hooks: Vec<Hook>,
    pub(super) stop_hooks: Vec<HookSpec>,
    pub(super) rules: Vec<Rule>,
    pub(super) patterns: Vec<Regex>,
}

impl Build<'_> {
    pub(super) fn tools(&mut self, tables: Vec<ToolTable>, into: &mut Commands) {
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
            if let Some(schema) = self.keep(validator(&at, &schema)) {
                into.judges.insert(table.name.clone(), Judge { schema, concurrency });
            }
            into.specs.push(ToolSpec {
                name: table.name.clone(),
                description: table.description,
                input_schema: schema.to_string(),
                read_only: table.read_only,
                kind: ToolKind::Plain,
            });
            let tool = Tool {
                name: table.name.clone(),
                command: self.command(&at, table.command),
                timeout_ms: table.timeout_ms,
                max_output_bytes: table.max_output_bytes,
                env: table.env,
                cwd: table.cwd.map(|cwd| self.folder.join(cwd)),
            };
            into.tools.insert(table.name, Arc::new(tool));
        }
    }

    fn concurrency(&mut self, at: &str, table: &ToolTable) -> Concurrency {
        match (table.concurrency_safe, table.safe_when.as_slice()) {
            (true, []) => Concurrency::Always,
            (false, []) => Concurrency::Never,
            (false, conditions) => self.conditions(at, conditions),
            (true, _) => {
                let message = "a tool is either always safe or safe when its arguments match: \
                               leave one of `concurrency_safe` and `safe_when` out";
                self.problem(Code::ConfigValue, format!("{at}.safe_when"), message);
                self.conditions(at, &table.safe_when)
            }
        }
    }

    fn conditions(&mut self, at: &str, tables: &[SafeWhenTable]) -> Concurrency {
        let mut conditions = Vec::new();
        for (index, one) in tables.iter().enumerate() {
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

    pub(super) fn hooks(&mut self, tables: Vec<HookTable>, into: &mut Commands) {
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("hook[{index}]");
            let HookEvent::Stop = table.event;
            self.positive(&at, "timeout_ms", table.timeout_ms);
            let command = self.command(&at, table.command);
            let name = table.name.unwrap_or_else(|| hook_name(index, &command));
            into.stop_hooks.push(HookSpec::new(&name));
            into.hooks.push(Hook {
                name,
                command,
                timeout_ms: table.timeout_ms,
                env: table.env,
                cwd: table.cwd.map(|cwd| self.folder.join(cwd)),
            });
        }
    }

    pub(super) fn rules(&mut self, tables: Vec<RequireTable>, into: &mut Commands) {
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("require[{index}].when");
            into.patterns.extend(self.keep(pattern(at, &table.when)));
            into.rules.push(Rule {
                when: table.when,
                tools: table.tools,
                ordered: false,
                args: BTreeMap::new(),
            });
        }
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
