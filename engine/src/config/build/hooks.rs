//! Hooks of a configuration, sorted by what they are asked about.

use std::path::Path;

use machine_spec::config::{FailMode, HookSpec};
use regex::Regex;

use super::Build;
use super::commands::pattern;
use crate::config::file::{HookEvent, HookTable};
use crate::error::Code;
use crate::hooks::Hook;

/// The hooks, in the order of the file.
pub(super) struct Hooks(Vec<(HookEvent, HookSpec, Hook)>);

impl Hooks {
    /// The hooks that are asked about this, as the machine knows them.
    pub(super) fn specs(&self, event: HookEvent) -> Vec<HookSpec> {
        let of_event = self.0.iter().filter(|(asked, ..)| *asked == event);
        of_event.map(|(_, spec, _)| spec.clone()).collect()
    }

    /// All hooks in the order in which the machine counts them.
    pub(super) fn in_order(mut self) -> Vec<Hook> {
        self.0.sort_by_key(|(event, ..)| *event);
        self.0.into_iter().map(|(.., hook)| hook).collect()
    }
}

impl Build<'_> {
    pub(super) fn hooks(&mut self, tables: Vec<HookTable>) -> Hooks {
        let mut hooks = Vec::new();
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("hook[{index}]");
            self.positive(&at, "timeout_ms", table.timeout_ms);
            let matcher = self.matcher(&at, &table);
            if table.on_failure == FailMode::Closed && table.event != HookEvent::PreToolUse {
                let message = "only a hook of `PreToolUse` may fail closed: the call it is asked \
                               about does not run then";
                self.problem(Code::ConfigValue, format!("{at}.on_failure"), message);
            }
            let command = self.command(&at, table.command);
            let name = table.name.unwrap_or_else(|| hook_name(index, &command));
            let spec = HookSpec { name: name.clone(), on_failure: table.on_failure };
            let hook = Hook {
                name,
                command,
                timeout_ms: table.timeout_ms,
                matcher,
                env: table.env,
                cwd: table.cwd.map(|cwd| self.folder.join(cwd)),
            };
            hooks.push((table.event, spec, hook));
        }
        Hooks(hooks)
    }

    /// The tools a hook is asked about: a pattern for whole names. `*` and nothing mean all of them.
    fn matcher(&mut self, at: &str, table: &HookTable) -> Option<Regex> {
        let written = table.matcher.as_deref()?;
        let at = format!("{at}.matcher");
        if table.event != HookEvent::PreToolUse {
            let message = "only a hook of `PreToolUse` is asked about tools; leave it out";
            self.problem(Code::ConfigValue, at, message);
            return None;
        }
        if written.is_empty() || written == "*" {
            return None;
        }
        // The pattern is judged as it is written, so that the fault is told in its own words.
        self.keep(pattern(at.clone(), written))?;
        self.keep(pattern(at, &format!("^(?:{written})$")))
    }
}

fn hook_name(index: usize, command: &[String]) -> String {
    let program = command.first().map(Path::new).and_then(Path::file_name);
    program.map_or_else(|| format!("hook {index}"), |name| name.display().to_string())
}
