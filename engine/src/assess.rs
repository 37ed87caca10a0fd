//! What only the tools know about a call: whether its arguments satisfy the schema, and whether it
//! may run beside others.
//!
//! The decoder has said whether the arguments are JSON at all. Both verdicts are part of the input
//! and therefore of the recording; a replay judges nothing again.

use std::collections::BTreeMap;

use jsonschema::Validator;
use machine_spec::model::{ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Safety};
use regex::Regex;
use serde_json::Value;

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

/// Judges the calls of all tools.
#[derive(Debug, Default)]
pub struct Assessor {
    judges: BTreeMap<String, Judge>,
}

impl Assessor {
    pub(crate) fn new(judges: BTreeMap<String, Judge>) -> Assessor {
        Assessor { judges }
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
        CallFacts::new(facts.args, judge.concurrency.of(&value))
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
    fn holds(&self, args: &Value) -> bool {
        match args.pointer(&self.pointer) {
            Some(Value::String(text)) => self.matches.is_match(text),
            Some(other) => self.matches.is_match(&other.to_string()),
            None => false,
        }
    }
}

fn shortened(problem: &str) -> String {
    match problem.char_indices().nth(LONGEST_PROBLEM) {
        Some((at, _)) => format!("{}…", &problem[..at]),
        None => problem.to_owned(),
    }
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

    use machine_spec::model::{
        ArgsVerdict, BlockEnd, BlockKind, CallFacts, ModelEvent, Proof, Safety,
    };
    use regex::Regex;
    use rstest::rstest;
    use serde_json::json;

    use super::{Assessor, Concurrency, Condition, Follower, Judge};

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
