//! Agents of a configuration, memory, and the wanted shape of an answer.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use machine_spec::config::{Candidate, ToolKind, ToolSpec};
use machine_spec::limits::Limits;
use serde_json::{Map, Value, json};

use super::super::file::{AgentTable, ConfigFile, MemoryTable};
use super::Build;
use super::commands::{Commands, validator};
use crate::assess::{Concurrency, Judge};
use crate::children::Agent;
use crate::error::Code;
use crate::memory::{FileMemory, Memory};
use crate::shape::Shape;

/// The tables about runs within the run.
pub(super) struct Agents<'a> {
    pub(super) tables: Vec<AgentTable>,
    pub(super) candidates: &'a [Candidate],
    pub(super) limits: &'a Limits,
}

impl Build<'_> {
    /// Agents are tools, and may be tools of each other.
    pub(super) fn agents(&mut self, agents: Agents<'_>, into: &mut Commands) {
        let Agents { tables, candidates, limits } = agents;
        let own = tables.iter().map(|table| table.name.clone());
        let known: BTreeSet<String> = into.tools.keys().cloned().chain(own).collect();
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("agent[{index}]");
            let schema = json!({
                "type": "object",
                "properties": { "prompt": {
                    "type": "string",
                    "description": "what the agent should do; it knows nothing else",
                } },
                "required": ["prompt"],
                "additionalProperties": false,
            });
            let concurrency = match table.concurrency_safe {
                true => Concurrency::Always,
                false => Concurrency::Never,
            };
            if let Some(schema) = self.keep(validator(&at, &schema)) {
                into.judges.insert(table.name.clone(), Judge { schema, concurrency });
            }
            for (n, tool) in table.tools.iter().enumerate().filter(|(_, t)| !known.contains(*t)) {
                let message =
                    format!("there is no tool named `{tool}`; declare it or correct the name");
                self.problem(Code::ConfigFault, format!("{at}.tools[{n}]"), message);
            }
            into.specs.push(ToolSpec {
                name: table.name.clone(),
                description: table.description.clone(),
                input_schema: schema.to_string(),
                read_only: false,
                kind: if table.background { ToolKind::ChildTask } else { ToolKind::Child },
            });
            let agent = Agent {
                chain: self.chain(&at, &table, candidates),
                limits: self.agent_limits(&at, table.limits, limits),
                name: table.name.clone(),
                system: table.system,
                tools: table.tools,
            };
            into.agents.insert(table.name, Arc::new(agent));
        }
    }

    /// Whom an agent asks: those of the chain that it names, all of them if it names none.
    fn chain(&mut self, at: &str, table: &AgentTable, all: &[Candidate]) -> Vec<String> {
        let fits = |wanted: &Option<String>, found: &String| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let asked =
            |one: &&Candidate| fits(&table.provider, &one.name) && fits(&table.model, &one.model);
        let chain: Vec<String> = all.iter().filter(asked).map(Agent::link).collect();
        let (key, named) = match (&table.provider, &table.model) {
            (Some(provider), _) => ("provider", provider),
            (None, Some(model)) => ("model", model),
            (None, None) => return Vec::new(),
        };
        if chain.is_empty() {
            let message = format!("no [[provider]] is called `{named}`, or has the wanted model");
            self.problem(Code::ConfigFault, format!("{at}.{key}"), message);
        }
        chain
    }

    /// The bounds of the run, with what the agent says of its own.
    fn agent_limits(&mut self, at: &str, own: Map<String, Value>, limits: &Limits) -> Limits {
        let mut merged = serde_json::to_value(limits).unwrap_or_default();
        for (key, value) in own {
            match merged.get_mut(&key) {
                Some(place) if value.is_u64() => *place = value,
                Some(_) => {
                    let message = format!("expected a number of at least 0, found {value}");
                    self.problem(Code::ConfigValue, format!("{at}.limits.{key}"), message);
                }
                None => {
                    let message = format!("there is no limit called `{key}`");
                    self.problem(Code::ConfigValue, format!("{at}.limits.{key}"), message);
                }
            }
        }
        serde_json::from_value(merged).unwrap_or_else(|error| {
            self.problem(Code::ConfigValue, format!("{at}.limits"), error.to_string());
            limits.clone()
        })
    }

    /// What remembers. It is wanted where the policy asks it.
    pub(super) fn memory(
        &mut self,
        table: Option<MemoryTable>,
        wanted: bool,
    ) -> Option<Arc<dyn Memory>> {
        if table.is_none() && wanted {
            let message = "`policy.recall` and `policy.flush` need a memory: give its `dir`";
            self.problem(Code::ConfigFault, "memory", message);
        }
        let folder: PathBuf = self.folder.join(table?.dir);
        Some(Arc::new(FileMemory::in_folder(&folder)))
    }

    /// The wanted shape of the answer, with the text of its schema.
    pub(super) fn shape(&mut self, file: &ConfigFile) -> Option<(String, Shape)> {
        let (at, schema) = match (&file.output_schema, &file.output_schema_file) {
            (None, None) => return None,
            (Some(_), Some(_)) => {
                let message = "give either `output_schema` or `output_schema_file`, not both";
                self.problem(Code::ConfigValue, "output_schema_file", message);
                return None;
            }
            (Some(schema), None) => ("output_schema", schema.clone()),
            (None, Some(path)) => {
                let path = self.folder.join(path);
                let read = std::fs::read_to_string(&path).map_err(|error| error.to_string());
                let parsed = read.and_then(|text| {
                    serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())
                });
                match parsed {
                    Ok(schema) => ("output_schema_file", schema),
                    Err(problem) => {
                        let message = format!("cannot read {}: {problem}", path.display());
                        self.problem(Code::ConfigValue, "output_schema_file", message);
                        return None;
                    }
                }
            }
        };
        let validator = self.keep(super::commands::schema(at.to_owned(), &schema))?;
        Some((schema.to_string(), Shape::new(validator)))
    }
}
