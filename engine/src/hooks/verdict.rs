//! What a hook's exit code and output mean. Pure: what came in decides, nothing else.
//!
//! | ended with | means |
//! | --- | --- |
//! | exit 0, no JSON object on stdout | nothing against it |
//! | exit 0, a JSON object | what the object says |
//! | exit 2 | block, or deny the call; stderr is the reason and JSON is ignored |
//! | any other exit, an object that decides | what the object says |
//! | any other exit, a signal, a timeout, no start | the hook failed, which is not a block |
//!
//! In an object `continue: false` beats what is said of a permission (`verdict/permission.rs`), which
//! beats `decision`, which beats `additionalContext`. Fields nobody
//! knows are ignored; an object that contradicts the protocol is a failure of the hook.

use machine_spec::effect::HookQuestion;
use machine_spec::input::HookAnswer;
use serde_json::{Map, Value};

use crate::process::End;

mod permission;

/// The longest text of a hook that goes any further, in characters.
pub(super) const LONGEST_TEXT: usize = 10_000;

/// What a hook is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    Stop,
    Tool,
    Batch,
    Compact,
}

impl Point {
    pub(super) fn of(question: &HookQuestion) -> Point {
        match question {
            HookQuestion::Stop { .. } => Point::Stop,
            HookQuestion::Tool { .. } => Point::Tool,
            HookQuestion::Batch { .. } => Point::Batch,
            HookQuestion::Compact { .. } => Point::Compact,
        }
    }

    /// An objection, as it is called here.
    fn objection(self, reason: String) -> HookAnswer {
        match self {
            Point::Tool => HookAnswer::Denied { reason },
            Point::Stop | Point::Batch | Point::Compact => HookAnswer::Blocked { reason },
        }
    }
}

/// What a hook said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// To the machine.
    pub(super) answer: HookAnswer,
    /// To the user, besides.
    pub(super) message: Option<String>,
}

/// Reads the verdict.
pub(super) fn read(
    point: Point,
    end: &End,
    timeout_ms: u64,
    stdout: &str,
    stderr: &str,
) -> Verdict {
    let answer = match end {
        End::Exited(2) => {
            let reason = stderr.trim();
            let reason = if reason.is_empty() { "a hook objects without a reason" } else { reason };
            point.objection(cut(reason))
        }
        End::Exited(code) => return by_output(point, *code, stdout, stderr),
        End::Signalled(signal) => failed(format!("it was ended by signal {signal}")),
        End::TimedOut => failed(format!("it did not answer within {timeout_ms} ms")),
        End::Stopped | End::LetGo => failed("it was cancelled".into()),
        End::NotStarted(problem) => failed(problem.clone()),
    };
    Verdict { answer, message: None }
}

fn by_output(point: Point, code: i32, stdout: &str, stderr: &str) -> Verdict {
    let stdout = stdout.trim();
    let silent = || Verdict {
        answer: if code == 0 { HookAnswer::Allowed } else { exit_failure(code, stderr) },
        message: None,
    };
    if !stdout.starts_with('{') {
        return silent();
    }
    match serde_json::from_str::<Value>(stdout) {
        Ok(Value::Object(said)) => {
            let message = text(&said, "systemMessage").map(cut);
            match by_object(point, &said) {
                Ok(Some(answer)) => Verdict { answer, message },
                Ok(None) => Verdict { message, ..silent() },
                Err(problem) => Verdict { answer: failed(problem), message },
            }
        }
        Ok(_) | Err(_) if code != 0 => silent(),
        Ok(_) => silent(),
        Err(error) => {
            Verdict { answer: failed(format!("its output is not JSON: {error}")), message: None }
        }
    }
}

/// What the object decides, if it decides anything.
fn by_object(point: Point, said: &Map<String, Value>) -> Result<Option<HookAnswer>, String> {
    match said.get("continue") {
        Some(Value::Bool(false)) => {
            let reason = text(said, "stopReason").or_else(|| text(said, "reason"));
            return Ok(Some(HookAnswer::Halted { reason: cut(reason.unwrap_or_default()) }));
        }
        None | Some(Value::Null | Value::Bool(true)) => {}
        Some(other) => return Err(expected("continue", "true or false", other)),
    }
    let specific = specific(said)?;
    let context = additional_context(said, specific)?;
    if let (Point::Tool, Some(specific)) = (point, specific)
        && let Some(answer) = permission::of(specific, said, context)?
    {
        return Ok(Some(answer));
    }
    match said.get("decision") {
        None | Some(Value::Null) => {}
        Some(Value::String(word)) if word == "block" => {
            let Some(reason) = text(said, "reason") else {
                return Err("it blocks without the `reason` that must go with it".into());
            };
            return Ok(Some(point.objection(with_context(reason, context))));
        }
        // The old word for "nothing against it".
        Some(Value::String(word)) if word == "approve" => {}
        Some(other) => return Err(expected("decision", "`block` or nothing", other)),
    }
    Ok(context.map(|context| HookAnswer::Continued { context: cut(context) }))
}

/// What is said for this kind of hook alone.
fn specific(said: &Map<String, Value>) -> Result<Option<&Map<String, Value>>, String> {
    match said.get("hookSpecificOutput") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(specific)) => Ok(Some(specific)),
        Some(other) => Err(expected("hookSpecificOutput", "an object", other)),
    }
}

fn with_context(reason: &str, context: Option<&str>) -> String {
    cut(&match context {
        Some(context) if reason.is_empty() => context.to_owned(),
        Some(context) => format!("{reason}\n\n{context}"),
        None => reason.to_owned(),
    })
}

/// The context, from either of the two places where hooks put it.
fn additional_context<'a>(
    said: &'a Map<String, Value>,
    specific: Option<&'a Map<String, Value>>,
) -> Result<Option<&'a str>, String> {
    let specific = specific.and_then(|specific| specific.get("additionalContext"));
    match specific.or_else(|| said.get("additionalContext")) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(other) => Err(expected("additionalContext", "text", other)),
    }
}

/// The text under this key, if it is text and not blank.
fn text<'a>(said: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    said.get(key)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

fn expected(key: &str, wanted: &str, found: &Value) -> String {
    cut(&format!("its `{key}` must be {wanted}, found {found}"))
}

fn exit_failure(code: i32, stderr: &str) -> HookAnswer {
    let stderr = stderr.trim();
    failed(match stderr {
        "" => format!("it ended with exit code {code}"),
        _ => format!("it ended with exit code {code}: {stderr}"),
    })
}

fn failed(problem: String) -> HookAnswer {
    HookAnswer::Failed { problem: cut(&problem) }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((at, _)) => format!("{}\n[cut at {LONGEST_TEXT} characters]", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use machine_spec::input::HookAnswer;
    use rstest::rstest;

    use super::{LONGEST_TEXT, Point, Verdict, read};
    use crate::process::End;

    fn blocked(reason: &str) -> HookAnswer {
        HookAnswer::Blocked { reason: reason.into() }
    }

    fn continued(context: &str) -> HookAnswer {
        HookAnswer::Continued { context: context.into() }
    }

    fn halted(reason: &str) -> HookAnswer {
        HookAnswer::Halted { reason: reason.into() }
    }

    fn failed(problem: &str) -> HookAnswer {
        HookAnswer::Failed { problem: problem.into() }
    }

    /// The protocol, line by line.
    #[rstest]
    #[case::silence(0, "", "", HookAnswer::Allowed)]
    #[case::chatter(0, "all good", "", HookAnswer::Allowed)]
    #[case::an_array_is_chatter(0, "[1]", "", HookAnswer::Allowed)]
    #[case::an_empty_object(0, "{}", "", HookAnswer::Allowed)]
    #[case::fields_nobody_knows(0, r#"{"a":1,"suppressOutput":true}"#, "", HookAnswer::Allowed)]
    #[case::approve(0, r#"{"decision":"approve"}"#, "", HookAnswer::Allowed)]
    #[case::nulls(0, r#"{"decision":null,"continue":null}"#, "", HookAnswer::Allowed)]
    #[case::exit_two(2, "", "tests fail\n", blocked("tests fail"))]
    #[case::exit_two_without_a_word(2, "", " ", blocked("a hook objects without a reason"))]
    #[case::exit_two_beats_json(2, r#"{"continue":false}"#, "no", blocked("no"))]
    #[case::block(0, r#" {"decision":"block","reason":"not yet"}"#, "", blocked("not yet"))]
    #[case::block_at_a_bad_exit(1, r#"{"decision":"block","reason":"no"}"#, "x", blocked("no"))]
    #[case::block_with_context(
        0,
        r#"{"decision":"block","reason":"no","additionalContext":"see log"}"#,
        "",
        blocked("no\n\nsee log")
    )]
    #[case::context(0, r#"{"additionalContext":"use b"}"#, "", continued("use b"))]
    #[case::specific_context(
        0,
        r#"{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"b"}}"#,
        "",
        continued("b")
    )]
    #[case::blank_context(0, r#"{"additionalContext":"  "}"#, "", HookAnswer::Allowed)]
    #[case::halt(0, r#"{"continue":false,"stopReason":"enough"}"#, "", halted("enough"))]
    #[case::halt_beats_block(
        0,
        r#"{"continue":false,"decision":"block","reason":"no"}"#,
        "",
        halted("no")
    )]
    #[case::halt_without_reason(0, r#"{"continue":false}"#, "", halted(""))]
    #[case::going_on_is_no_decision(0, r#"{"continue":true}"#, "", HookAnswer::Allowed)]
    #[case::another_exit(
        127,
        "",
        "no such program",
        failed("it ended with exit code 127: no such program")
    )]
    #[case::another_exit_in_silence(1, "chatter", "", failed("it ended with exit code 1"))]
    #[case::another_exit_undecided(1, "{}", "", failed("it ended with exit code 1"))]
    #[case::another_exit_garbled(1, "{", "", failed("it ended with exit code 1"))]
    #[case::block_without_reason(
        0,
        r#"{"decision":"block"}"#,
        "",
        failed("it blocks without the `reason` that must go with it")
    )]
    #[case::unknown_decision(
        0,
        r#"{"decision":"deny"}"#,
        "",
        failed(r#"its `decision` must be `block` or nothing, found "deny""#)
    )]
    #[case::continue_is_text(
        0,
        r#"{"continue":"no"}"#,
        "",
        failed(r#"its `continue` must be true or false, found "no""#)
    )]
    #[case::context_is_a_number(
        0,
        r#"{"additionalContext":1}"#,
        "",
        failed("its `additionalContext` must be text, found 1")
    )]
    #[case::garbled(
        0,
        "{no",
        "",
        failed("its output is not JSON: key must be a string at line 1 column 2")
    )]
    fn exit_code_and_output_decide(
        #[case] code: i32,
        #[case] stdout: &str,
        #[case] stderr: &str,
        #[case] answer: HookAnswer,
    ) {
        let verdict = read(Point::Stop, &End::Exited(code), 60_000, stdout, stderr);
        assert_eq!(verdict, Verdict { answer, message: None });
    }

    #[rstest]
    #[case::timeout(End::TimedOut, "it did not answer within 60000 ms")]
    #[case::signal(End::Signalled(9), "it was ended by signal 9")]
    #[case::cancel(End::Stopped, "it was cancelled")]
    #[case::no_start(End::NotStarted("cannot start `x`".into()), "cannot start `x`")]
    fn an_end_without_exit_code_is_a_failure(#[case] end: End, #[case] problem: &str) {
        // Whatever such a hook printed before: half an answer is none.
        let verdict = read(Point::Stop, &end, 60_000, r#"{"continue":false}"#, "");
        assert_eq!(verdict.answer, failed(problem));
    }

    #[test]
    fn a_message_for_the_user_goes_beside_the_decision() {
        let said = r#"{"systemMessage":"took 3 s","decision":"block","reason":"no"}"#;
        let verdict = read(Point::Stop, &End::Exited(0), 1, said, "");
        let message = Some("took 3 s".to_owned());
        assert_eq!(verdict, Verdict { answer: blocked("no"), message });
    }

    #[test]
    fn long_text_is_cut() {
        let HookAnswer::Blocked { reason } =
            read(Point::Stop, &End::Exited(2), 1, "", &"é".repeat(50_000)).answer
        else {
            panic!("exit 2 blocks")
        };
        assert!(reason.chars().count() < LONGEST_TEXT + 50, "{}", reason.chars().count());
        assert!(reason.ends_with("[cut at 10000 characters]"));
    }
}
