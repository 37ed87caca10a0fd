//! Commands of a configuration: tools and hooks, and the rules that require tools.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use machine_spec::config::{Rule, ToolKind, ToolSpec};
use regex::Regex;
use serde_json::{Value, json};

use super::super::Problem;
use super::super::file::{SafeWhenTable, ToolTable};
use super::Build;
use crate::assess::{Concurrency, Condition, Judge, Want};
use crate::children::Agent;
use crate::error::Code;
use crate::tools::Tool;

/// The most bytes of output that a tool may be allowed.
const MOST_OUTPUT: usize = 16 << 20;

/// Everything about commands, as the machine and as the engine want it.
#[derive(Default)]
pub(super) struct Commands {
    pub(super) tools: BTreeMap<String, Arc<Tool>>,
    pub(super) specs: Vec<ToolSpec>,
    pub(super) judges: BTreeMap<String, Judge>,
    pub(super) agents: BTreeMap<String, Arc<Agent>>,
    pub(super) wants: Vec<Want>,
    pub(super) rules: Vec<Rule>,
    pub(super) patterns: Vec<Regex>,
}

impl Build<'_> {
    pub(super) fn tools(&mut self, tables: Vec<ToolTable>, into: &mut Commands) {
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("tool[{index}]");
            let timeout_ms = table.timeout_ms();
            self.positive(&at, "timeout_ms", timeout_ms);
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
                kind: if table.background { ToolKind::Task } else { ToolKind::Plain },
            });
            let tool = Tool {
                name: table.name.clone(),
                command: self.command(&format!("{at}.command"), table.command),
                timeout_ms,
                max_output_bytes: table.max_output_bytes,
                output: table.output,
                env: table.env,
                cwd: table.cwd.map(|cwd| self.folder.join(cwd)),
            };
            into.tools.insert(table.name, Arc::new(tool));
        }
    }

    fn concurrency(&mut self, at: &str, table: &ToolTable) -> Concurrency {
        let when = format!("{at}.safe_when");
        match (table.concurrency_safe, table.safe_when.as_slice()) {
            (true, []) => Concurrency::Always,
            (false, []) => Concurrency::Never,
            (false, conditions) => Concurrency::When(self.conditions(&when, conditions)),
            (true, _) => {
                let message = "a tool is either always safe or safe when its arguments match: \
                               leave one of `concurrency_safe` and `safe_when` out";
                self.problem(Code::ConfigValue, format!("{at}.safe_when"), message);
                Concurrency::When(self.conditions(&when, &table.safe_when))
            }
        }
    }

    pub(super) fn conditions(&mut self, at: &str, tables: &[SafeWhenTable]) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for (index, one) in tables.iter().enumerate() {
            let at = format!("{at}[{index}]");
            if !(one.pointer.is_empty() || one.pointer.starts_with('/')) {
                let message =
                    format!("`{}` is not a JSON pointer; expected one such as `/cmd`", one.pointer);
                self.problem(Code::ConfigValue, format!("{at}.pointer"), message);
            }
            let pattern = self.keep(pattern(format!("{at}.matches"), &one.matches));
            let pointer = one.pointer.clone();
            conditions.extend(pattern.map(|matches| Condition { pointer, matches }));
        }
        conditions
    }

    /// A command whose program, where it is a relative path, starts from the folder of the file.
    /// A bare name is looked for in the usual places.
    pub(super) fn command(&mut self, at: &str, mut command: Vec<String>) -> Vec<String> {
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
                self.problem(Code::ConfigValue, at, message);
            }
        }
        command
    }
}

pub(super) fn pattern(at: String, text: &str) -> Result<Regex, Problem> {
    Regex::new(text).map_err(|error| {
        // The engine draws the pattern with a marker below; the last line says what is wrong.
        let told = error.to_string();
        let why = told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Problem::new(Code::ConfigValue, at, format!("`{text}` is not a regular expression: {why}"))
    })
}

pub(super) fn validator(at: &str, schema: &Value) -> Result<jsonschema::Validator, Problem> {
    self::schema(format!("{at}.input_schema"), schema)
}

/// A validator for a schema that stands at this place.
pub(super) fn schema(at: String, schema: &Value) -> Result<jsonschema::Validator, Problem> {
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
