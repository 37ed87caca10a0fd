//! What a hook of `PreToolUse` says about its call.
//!
//! | `permissionDecision` | means |
//! | --- | --- |
//! | `allow`, or none | nothing against it; `updatedInput` runs instead |
//! | `ask` | somebody should decide, about `updatedInput` where there is one |
//! | `deny` | the call does not run, and the model reads the reason |
//! | `defer` | the run ends with the call pending |

use machine_spec::input::{CallEdit, HookAnswer};
use machine_spec::model::{ArgsVerdict, CallFacts, Safety};
use serde_json::{Map, Value};

use super::{expected, text, with_context};

pub(super) fn of(
    specific: &Map<String, Value>,
    said: &Map<String, Value>,
    context: Option<&str>,
) -> Result<Option<HookAnswer>, String> {
    let reason = text(specific, "permissionDecisionReason").or_else(|| text(said, "reason"));
    let reason = reason.unwrap_or_default();
    let updated = match specific.get("updatedInput") {
        None | Some(Value::Null) => None,
        Some(updated @ Value::Object(_)) => Some(updated.to_string()),
        Some(other) => return Err(expected("updatedInput", "an object", other)),
    };
    let word = match specific.get("permissionDecision") {
        None | Some(Value::Null) => None,
        Some(Value::String(word)) => Some(word.as_str()),
        Some(other) => return Err(expected("permissionDecision", WORDS, other)),
    };
    match word {
        Some("deny") => Ok(Some(HookAnswer::Denied { reason: with_context(reason, context) })),
        Some("defer") => Ok(Some(HookAnswer::Deferred)),
        Some("ask") => {
            let edit = updated.map(|args| Box::new(CallEdit { args, facts: unjudged() }));
            Ok(Some(HookAnswer::Asked { reason: with_context(reason, context), edit }))
        }
        None | Some("allow") => {
            Ok(updated.map(|args| HookAnswer::Edited { args, facts: unjudged() }))
        }
        Some(other) => Err(expected("permissionDecision", WORDS, &Value::from(other))),
    }
}

/// What is known of changed arguments is found out by whoever knows the tools.
fn unjudged() -> CallFacts {
    CallFacts::new(ArgsVerdict::Valid { canonical: 0 }, Safety::Exclusive)
}

const WORDS: &str = "`allow`, `deny`, `ask` or `defer`";

#[cfg(test)]
mod tests {
    use machine_spec::input::{CallEdit, HookAnswer};
    use rstest::rstest;
    use serde_json::json;

    use super::super::{Point, read};
    use super::unjudged;
    use crate::process::End;

    fn denied(reason: &str) -> HookAnswer {
        HookAnswer::Denied { reason: reason.into() }
    }

    fn asked(reason: &str) -> HookAnswer {
        HookAnswer::Asked { reason: reason.into(), edit: None }
    }

    fn failed(problem: &str) -> HookAnswer {
        HookAnswer::Failed { problem: problem.into() }
    }

    #[rstest]
    #[case::allow(json!({ "permissionDecision": "allow" }), HookAnswer::Allowed)]
    #[case::nothing(json!({ "hookEventName": "PreToolUse" }), HookAnswer::Allowed)]
    #[case::deny(
        json!({ "permissionDecision": "deny", "permissionDecisionReason": "not here" }),
        denied("not here")
    )]
    #[case::deny_with_context(
        json!({ "permissionDecision": "deny", "additionalContext": "use b" }),
        denied("use b")
    )]
    #[case::deny_beats_a_change(
        json!({ "permissionDecision": "deny", "updatedInput": { "a": 1 } }),
        denied("")
    )]
    #[case::ask(json!({ "permissionDecision": "ask" }), asked(""))]
    #[case::ask_and_change(
        json!({ "permissionDecision": "ask", "permissionDecisionReason": "prod?",
                "updatedInput": { "a": 1 } }),
        HookAnswer::Asked {
            reason: "prod?".into(),
            edit: Some(Box::new(CallEdit { args: r#"{"a":1}"#.into(), facts: unjudged() })),
        }
    )]
    #[case::defer(json!({ "permissionDecision": "defer" }), HookAnswer::Deferred)]
    #[case::context(
        json!({ "permissionDecision": "allow", "additionalContext": "b" }),
        HookAnswer::Continued { context: "b".into() }
    )]
    #[case::unknown_word(
        json!({ "permissionDecision": "maybe" }),
        failed(r#"its `permissionDecision` must be `allow`, `deny`, `ask` or `defer`, found "maybe""#)
    )]
    #[case::change_is_text(
        json!({ "updatedInput": "{}" }),
        failed(r#"its `updatedInput` must be an object, found "{}""#)
    )]
    fn the_protocol_line_by_line(#[case] specific: serde_json::Value, #[case] answer: HookAnswer) {
        let said = json!({ "hookSpecificOutput": specific }).to_string();
        assert_eq!(read(Point::Tool, &End::Exited(0), 1, &said, "").answer, answer);
    }

    #[test]
    fn old_words_and_exit_codes_count_too() {
        let tool =
            |code, said: &str, stderr| read(Point::Tool, &End::Exited(code), 1, said, stderr);
        assert_eq!(tool(2, "", "no").answer, denied("no"));
        assert_eq!(tool(0, r#"{"decision":"block","reason":"no"}"#, "").answer, denied("no"));
        assert_eq!(tool(0, r#"{"decision":"approve"}"#, "").answer, HookAnswer::Allowed);
        assert_eq!(tool(1, "", "").answer, failed("it ended with exit code 1"));
        let halt = r#"{"continue":false,"hookSpecificOutput":{"permissionDecision":"allow"}}"#;
        assert_eq!(tool(0, halt, "").answer, HookAnswer::Halted { reason: String::new() });
    }

    #[test]
    fn a_permission_means_nothing_elsewhere() {
        let said = r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#;
        for point in [Point::Stop, Point::Batch, Point::Compact] {
            assert_eq!(read(point, &End::Exited(0), 1, said, "").answer, HookAnswer::Allowed);
            let objects = read(point, &End::Exited(2), 1, "", "no").answer;
            assert_eq!(objects, HookAnswer::Blocked { reason: "no".into() });
        }
    }
}
