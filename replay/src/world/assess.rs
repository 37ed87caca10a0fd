//! What only the tools know about a call: whether its arguments satisfy the schema, and whether it
//! may run beside others.

use std::collections::BTreeMap;

use machine_spec::model::{ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Safety};
use serde_json::Value;

use crate::scenario::{Scenario, Verdict};

/// A judge of calls. What it says becomes part of the input, and so of the recording.
pub trait Assessor {
    /// What is known of a complete call, given what the decoder found out.
    fn assess(&self, tool: &str, args: &str, facts: CallFacts) -> CallFacts;
}

/// Judges by the plan: the safety of the tool, and the members its schema requires.
#[derive(Clone, Debug, Default)]
pub struct PlanAssessor {
    tools: BTreeMap<String, Known>,
    /// What is known of a call to the letter.
    verdicts: Vec<Verdict>,
}

#[derive(Clone, Debug)]
struct Known {
    safety: Safety,
    required: Vec<String>,
}

impl PlanAssessor {
    /// The judge of a scenario.
    #[must_use]
    pub fn of(scenario: &Scenario) -> PlanAssessor {
        let known = scenario.config.tools.iter().map(|tool| {
            let plan = scenario.tools.get(&tool.name);
            let safety = plan.map_or(Safety::Exclusive, |plan| plan.safety);
            let schema = serde_json::from_str::<Value>(&tool.input_schema).unwrap_or(Value::Null);
            let required = schema.get("required").and_then(Value::as_array);
            let required = required.into_iter().flatten().filter_map(Value::as_str);
            let required = required.map(str::to_owned).collect();
            (tool.name.clone(), Known { safety, required })
        });
        PlanAssessor { tools: known.collect(), verdicts: scenario.verdicts.clone() }
    }
}

impl Assessor for PlanAssessor {
    fn assess(&self, tool: &str, args: &str, facts: CallFacts) -> CallFacts {
        let told = self.verdicts.iter().find(|told| told.tool == tool && told.args == args);
        if let Some(told) = told {
            return told.facts.clone();
        }
        let Some(known) = self.tools.get(tool) else { return facts };
        let ArgsVerdict::Valid { .. } = facts.args else { return facts };
        let missing = if known.required.is_empty() {
            None
        } else {
            let args: Value = serde_json::from_str(args).unwrap_or(Value::Null);
            known.required.iter().find(|name| args.get(name.as_str()).is_none())
        };
        match missing {
            None => CallFacts { args: facts.args, safety: known.safety },
            Some(name) => {
                let problem = format!("`{name}` is required");
                let args = ArgsVerdict::Invalid { path: String::new(), problem };
                CallFacts { args, safety: Safety::Exclusive }
            }
        }
    }
}

/// Follows the calls of one response, so that each can be judged when it is complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follower {
    open: BTreeMap<u32, (String, String)>,
}

impl Follower {
    /// The event, with the verdict of the tools where it completes a call.
    pub(crate) fn refine(&mut self, event: ModelEvent, assessor: &dyn Assessor) -> ModelEvent {
        match event {
            ModelEvent::BlockBegan { block, kind: BlockKind::Call { wire_id, name } } => {
                self.open.insert(block, (name.clone(), String::new()));
                ModelEvent::BlockBegan { block, kind: BlockKind::Call { wire_id, name } }
            }
            ModelEvent::Delta { block, text } => {
                if let Some((_, args)) = self.open.get_mut(&block) {
                    args.push_str(&text);
                }
                ModelEvent::Delta { block, text }
            }
            ModelEvent::BlockDone { block, proof, done: BlockEnd::Call(facts) } => {
                let facts = match self.open.remove(&block) {
                    Some((name, args)) => assessor.assess(&name, &args, facts),
                    None => facts,
                };
                ModelEvent::BlockDone { block, proof, done: BlockEnd::Call(facts) }
            }
            other => other,
        }
    }
}
