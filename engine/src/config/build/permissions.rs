//! Permission rules, the scope, and the required-tool rules of a configuration.

use std::collections::BTreeMap;

use machine_spec::config::Rule;
use machine_spec::ids::RuleId;
use serde_json::Value;

use super::Build;
use super::commands::{Commands, pattern};
use crate::assess::Want;
use crate::config::file::{PermissionTable, RequireTable, ScopeTable};
use crate::error::Code;
use crate::permit::{Permit, Permits, Ruling, ToolPattern};

impl Build<'_> {
    /// The permission rules. The tools must be known already.
    pub(super) fn permits(
        &mut self,
        tables: Vec<PermissionTable>,
        scope: Option<ScopeTable>,
        unruled: Ruling,
        known: &Commands,
    ) -> Permits {
        let mut rules = Vec::new();
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("permission[{index}]");
            let tool = self.tool_pattern(&format!("{at}.tool"), &table.tool, known);
            if !table.reason.is_empty() && table.verdict != Ruling::Deny {
                let message = "only `deny` tells the model a reason; leave it out";
                self.problem(Code::ConfigValue, format!("{at}.reason"), message);
            }
            let when = self.conditions(&format!("{at}.when"), &table.when);
            rules.push(Permit { tool, when, ruling: table.verdict, reason: table.reason });
        }
        let scope = scope.map(|scope| {
            let tools = scope.tools.iter().enumerate();
            tools
                .map(|(index, name)| {
                    self.tool_pattern(&format!("scope.tools[{index}]"), name, known)
                })
                .collect()
        });
        Permits { rules, scope, unruled }
    }

    /// A name must be that of a tool; a rule with a slip in its name would guard nothing.
    fn tool_pattern(&mut self, at: &str, written: &str, known: &Commands) -> ToolPattern {
        let pattern = ToolPattern::new(written);
        let names_one = known.specs.iter().any(|tool| pattern.means(&tool.name));
        if pattern.is_exact() && !names_one {
            let message = format!(
                "there is no tool named `{written}`; declare it as a [[tool]], correct the name, or \
                 write a pattern with `*`"
            );
            self.problem(Code::ConfigValue, at, message);
        }
        pattern
    }

    pub(super) fn rules(&mut self, tables: Vec<RequireTable>, into: &mut Commands) {
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("require[{index}].when");
            into.patterns.extend(self.keep(pattern(at, &table.when)));
            let rule = RuleId(u16::try_from(index).unwrap_or(u16::MAX));
            let mut args = BTreeMap::new();
            for (tool, wanted) in table.args {
                let wanted = Value::Object(wanted);
                args.insert(tool.clone(), wanted.to_string());
                into.wants.push(Want { rule, tool, args: wanted });
            }
            let (when, tools, ordered) = (table.when, table.tools, table.ordered);
            into.rules.push(Rule { when, tools, ordered, args });
        }
    }
}
