//! What only the edge knows about a call: whether its arguments satisfy the schema, whether it may
//! run beside others, what the permission rules say about it, and which required-tool rules it
//! would not satisfy.
//!
//! The decoder has said whether the arguments are JSON at all. All verdicts are part of the input
//! and therefore of the recording; a replay judges nothing again.

use std::collections::BTreeMap;

use jsonschema::Validator;
use machine_spec::ids::RuleId;
use machine_spec::model::{ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Safety};
use regex::Regex;
use serde_json::Value;

use crate::permit::Permits;

/// The longest explanation of a fault that goes to the model, in characters.
const LONGEST_PROBLEM: usize = 500;

/// When the calls of a tool may run beside others.
#[derive(Clone, Debug)]
pub enum Concurrency {
    /// Never.
    Never,
    /// Always.
    Always,
    /// When every one of these conditions holds.
    When(Vec<Condition>),
}

/// A condition on the arguments of a call.
#[derive(Clone, Debug)]
pub struct Condition {
    /// JSON pointer of the value. An argument that is not there satisfies nothing.
    pub pointer: String,
    /// What the value must match; a value that is no string is matched as its JSON text.
    pub matches: Regex,
}

/// What is known of one tool.
#[derive(Debug)]
pub(crate) struct Judge {
    pub(crate) schema: Validator,
    pub(crate) concurrency: Concurrency,
}

/// The arguments that a call must have to count for a required-tool rule.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) rule: RuleId,
    pub(crate) tool: String,
    pub(crate) args: Value,
}

/// Judges the calls of all tools.
#[derive(Debug, Default)]
pub struct Assessor {
    judges: BTreeMap<String, Judge>,
    permits: Permits,
    wants: Vec<Want>,
}

impl Assessor {
    pub(crate) fn new(judges: BTreeMap<String, Judge>) -> Assessor {
        Assessor { judges, ..Assessor::default() }
    }

    /// The same judge, who also knows which calls may run and which count for the rules.
    pub(crate) fn knowing(self, permits: Permits, wants: Vec<Want>) -> Assessor {
        Assessor { permits, wants, ..self }
    }

    /// Judges arguments that somebody else than a model wrote, exactly as those of a model.
    #[must_use]
    pub fn facts(&self, name: &str, args: &str) -> CallFacts {
        self.judge(name, args, CallFacts::new(wire::canonical_args(args), Safety::Exclusive))
    }

    /// Judges a call whose arguments are JSON. A tool nobody knows is the affair of the gate.
    #[must_use]
    pub fn judge(&self, name: &str, args: &str, facts: CallFacts) -> CallFacts {
        let ArgsVerdict::Valid { .. } = facts.args else { return facts };
        let Some(judge) = self.judges.get(name) else { return facts };
        let args = if args.trim().is_empty() { "{}" } else { args };
        // What the decoder could parse parses here too.
        let Ok(value) = serde_json::from_str::<Value>(args) else { return facts };
        if let Err(fault) = judge.schema.validate(&value) {
            let path = fault.instance_path().as_str().to_owned();
            let problem = shortened(&fault.to_string());
            let args = ArgsVerdict::Invalid { path, problem };
            return CallFacts::new(args, Safety::Exclusive);
        }
        CallFacts {
            args: facts.args,
            safety: judge.concurrency.of(&value),
            permission: self.permits.judge(name, &value),
            lacks: self.lacks(name, &value),
        }
    }

    /// The rules for which this call would count if its arguments were those that are wanted.
    fn lacks(&self, tool: &str, args: &Value) -> Vec<RuleId> {
        let unmet = |want: &&Want| want.tool == tool && !holds(args, &want.args);
        self.wants.iter().filter(unmet).map(|want| want.rule).collect()
    }
}

/// Whether a value has everything that is wanted: every member of an object, anything else as it is.
fn holds(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(has), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| has.get(key).is_some_and(|has| holds(has, wanted)))
        }
        (value, wanted) => value == wanted,
    }
}

impl Concurrency {
    fn of(&self, args: &Value) -> Safety {
        let safe = match self {
            Concurrency::Never => false,
            Concurrency::Always => true,
            Concurrency::When(conditions) => conditions.iter().all(|one| one.holds(args)),
        };
        if safe { Safety::Concurrent } else { Safety::Exclusive }
    }
}

impl Condition {
    pub(crate) fn holds(&self, args: &Value) -> bool {
        match args.pointer(&self.pointer) {
            Some(Value::String(text)) => self.matches.is_match(text),
            Some(other) => self.matches.is_match(&other.to_string()),
            None => false,
        }
    }
}

pub(crate) fn shortened(problem: &str) -> String {
    machine_spec::wording::clipped(problem, LONGEST_PROBLEM)
}

/// Follows the calls of one response, so that each can be judged when it is complete.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    open: BTreeMap<u32, OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    name: String,
    args: String,
}

impl Follower {
    /// The event, with the verdict of the tools where it completes a call.
    pub(crate) fn refine(&mut self, event: ModelEvent, assessor: &Assessor) -> ModelEvent {
        match event {
            ModelEvent::BlockBegan { block, kind: BlockKind::Call { wire_id, name } } => {
                self.open.insert(block, OpenCall { name: name.clone(), args: String::new() });
                ModelEvent::BlockBegan { block, kind: BlockKind::Call { wire_id, name } }
            }
            ModelEvent::Delta { block, text } => {
                if let Some(call) = self.open.get_mut(&block) {
                    call.args.push_str(&text);
                }
                ModelEvent::Delta { block, text }
            }
            ModelEvent::BlockDone { block, proof, done: BlockEnd::Call(facts) } => {
                let facts = match self.open.remove(&block) {
                    Some(call) => assessor.judge(&call.name, &call.args, facts),
                    None => facts,
                };
                ModelEvent::BlockDone { block, proof, done: BlockEnd::Call(facts) }
            }
            ModelEvent::Began { .. }
            | ModelEvent::BlockBegan { .. }
            | ModelEvent::BlockDone { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Finished { .. }
            | ModelEvent::Failed(_) => event,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machine_spec::ids::RuleId;
    use machine_spec::model::{
        ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Proof, Safety,
    };
    use regex::Regex;
    use rstest::rstest;
    use serde_json::json;

    use super::{Assessor, Concurrency, Condition, Follower, Judge, Want};
    use crate::permit::Permits;

    const VALID: ArgsVerdict = ArgsVerdict::Valid { canonical: 1 };

    fn facts(args: ArgsVerdict) -> CallFacts {
        CallFacts::new(args, Safety::Exclusive)
    }

    fn assessor(concurrency: Concurrency) -> Assessor {
        let schema = json!({
            "type": "object",
            "properties": { "cmd": { "type": "string" }, "n": { "type": "integer" } },
            "required": ["cmd"],
        });
        let schema = jsonschema::validator_for(&schema).expect("a schema");
        Assessor::new(BTreeMap::from([("run".to_owned(), Judge { schema, concurrency })]))
    }

    fn reads_only() -> Concurrency {
        let matches = Regex::new("^(ls|cat) ").expect("a pattern");
        let small = Regex::new("^[0-9]$").expect("a pattern");
        Concurrency::When(vec![
            Condition { pointer: "/cmd".into(), matches },
            Condition { pointer: "/n".into(), matches: small },
        ])
    }

    #[rstest]
    #[case::reads(r#"{"cmd":"ls .","n":3}"#, Safety::Concurrent)]
    #[case::writes(r#"{"cmd":"rm x","n":3}"#, Safety::Exclusive)]
    #[case::only_one_holds(r#"{"cmd":"ls .","n":33}"#, Safety::Exclusive)]
    #[case::one_is_missing(r#"{"cmd":"ls ."}"#, Safety::Exclusive)]
    fn safety_is_judged_per_call(#[case] args: &str, #[case] safety: Safety) {
        let judged = assessor(reads_only()).judge("run", args, facts(VALID));
        assert_eq!(judged, CallFacts::new(VALID, safety));
    }

    #[rstest]
    #[case::missing("", "", r#""cmd" is a required property"#)]
    #[case::wrong_type(r#"{"cmd":1}"#, "/cmd", r#"1 is not of type "string""#)]
    fn a_schema_fault_names_its_place(
        #[case] args: &str,
        #[case] path: &str,
        #[case] problem: &str,
    ) {
        let judged = assessor(Concurrency::Always).judge("run", args, facts(VALID));
        let args = ArgsVerdict::Invalid { path: path.into(), problem: problem.into() };
        assert_eq!(judged, CallFacts::new(args, Safety::Exclusive));
    }

    #[test]
    fn what_is_no_json_or_no_tool_of_ours_is_left_as_it_is() {
        let assessor = assessor(Concurrency::Always);
        let broken = facts(ArgsVerdict::Malformed { at: 0, problem: "cut".into() });
        assert_eq!(assessor.judge("run", "{", broken.clone()), broken);
        assert_eq!(assessor.judge("other", "{}", facts(VALID)), facts(VALID));
    }

    #[test]
    fn what_somebody_else_wrote_is_judged_like_a_models_own() {
        let assessor = assessor(reads_only());
        let args = r#"{"n":3, "cmd":"ls ."}"#;
        let own = assessor.judge("run", args, facts(wire::canonical_args(args)));
        assert_eq!(assessor.facts("run", args), own);
        assert_eq!(own.safety, Safety::Concurrent);
        let broken = assessor.facts("run", "{");
        assert!(matches!(broken.args, ArgsVerdict::Malformed { .. }), "{broken:?}");
    }

    #[rstest]
    #[case::has_all(r#"{"cmd":"x","env":{"stage":"prod","n":1}}"#, &[])]
    #[case::another_value(r#"{"cmd":"x","env":{"stage":"test"}}"#, &[RuleId(4)])]
    #[case::nothing(r#"{"cmd":"x"}"#, &[RuleId(4)])]
    fn a_call_counts_with_the_wanted_arguments(#[case] args: &str, #[case] lacks: &[RuleId]) {
        let want = Want {
            rule: RuleId(4),
            tool: "run".into(),
            args: json!({ "env": { "stage": "prod" } }),
        };
        let other = Want { rule: RuleId(0), tool: "other".into(), args: json!({ "a": 1 }) };
        let assessor = assessor(Concurrency::Never).knowing(Permits::default(), vec![want, other]);
        assert_eq!(assessor.judge("run", args, facts(VALID)).lacks, lacks);
    }

    #[test]
    fn long_values_do_not_reach_the_model_twice() {
        let args = json!({ "cmd": ["é".repeat(4_000)] }).to_string();
        let judged = assessor(Concurrency::Always).judge("run", &args, facts(VALID));
        let ArgsVerdict::Invalid { problem, .. } = judged.args else { panic!("{judged:?}") };
        assert!(problem.chars().count() <= 501, "{} characters", problem.chars().count());
    }

    #[test]
    fn a_follower_judges_the_joined_arguments_of_its_own_block() {
        let assessor = assessor(Concurrency::Always);
        let mut follower = Follower::default();
        let call = |wire_id: &str| BlockKind::Call { wire_id: wire_id.into(), name: "run".into() };
        let delta = |block, text: &str| ModelEvent::Delta { block, text: text.into() };
        let done = |block, facts| {
            let proof = Proof::BlockStop;
            ModelEvent::BlockDone { block, proof, done: BlockEnd::Call(facts) }
        };
        for event in [
            ModelEvent::BlockBegan { block: 0, kind: call("a") },
            ModelEvent::BlockBegan { block: 1, kind: call("b") },
            delta(0, "{\"cmd\":"),
            delta(1, "{}"),
            delta(0, "\"ls\"}"),
        ] {
            assert_eq!(follower.refine(event.clone(), &assessor), event);
        }
        let safe = CallFacts::new(VALID, Safety::Concurrent);
        assert_eq!(follower.refine(done(0, facts(VALID)), &assessor), done(0, safe));
        let ModelEvent::BlockDone { done: BlockEnd::Call(facts), .. } =
            follower.refine(done(1, facts(VALID)), &assessor)
        else {
            panic!("a call was completed")
        };
        assert!(matches!(facts.args, ArgsVerdict::Invalid { .. }), "{facts:?}");
    }
}
