//! The checker finds each flaw that it names, and nothing in a clean body.

use serde_json::{Value, json};
use wire::Dialect::{Anthropic, OpenAiChat};

use super::FlawKind::{
    ArgumentsNotJson, BeginsWithoutUser, BlankText, CallIdTwice, CallWithoutResult, EmptyMessage,
    ResultNotFirst, ResultOutOfOrder, ResultWithoutCall, SameRoleTwice, SecondResult, Shape,
};
use super::{FlawKind, flaws};

fn kinds(dialect: wire::Dialect, messages: Value) -> Vec<FlawKind> {
    let body = json!({ "messages": messages });
    flaws(dialect, &body).into_iter().map(|flaw| flaw.kind).collect()
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "t", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "r"})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn anthropic_bodies() {
    let hi = || user(json!("hi"));
    let check = |messages: Value, expected: &[FlawKind]| {
        assert_eq!(kinds(Anthropic, messages.clone()), expected, "{messages:#}");
    };
    let ab = || assistant(json!([call("a"), call("b")]));
    check(json!([hi(), ab(), user(json!([result("a"), result("b"), text("more")]))]), &[]);
    check(json!([]), &[BeginsWithoutUser]);
    check(json!([assistant(json!("hi"))]), &[BeginsWithoutUser]);
    check(json!([hi(), hi()]), &[SameRoleTwice]);
    check(json!([hi(), ab()]), &[CallWithoutResult, CallWithoutResult]);
    check(json!([hi(), ab(), user(json!([result("a")]))]), &[CallWithoutResult]);
    check(json!([hi(), ab(), user(json!([result("b"), result("a")]))]), &[ResultOutOfOrder]);
    check(
        json!([hi(), ab(), user(json!([result("a"), result("b"), result("b")]))]),
        &[SecondResult],
    );
    check(json!([user(json!([result("a")]))]), &[ResultWithoutCall]);
    let late = user(json!([result("a"), text("x"), result("b")]));
    check(json!([hi(), ab(), late]), &[ResultNotFirst]);
    let twice = json!([
        hi(),
        assistant(json!([call("a")])),
        user(json!([result("a")])),
        assistant(json!([call("a")])),
        user(json!([result("a")]))
    ]);
    check(twice, &[CallIdTwice]);
    check(json!([hi(), assistant(json!([]))]), &[EmptyMessage]);
    check(json!([hi(), assistant(json!([text(" \n")]))]), &[BlankText]);
    check(json!([user(json!(""))]), &[BlankText]);
    let bad = json!([{"type": "tool_use", "id": "a", "name": "t", "input": "{"}]);
    check(json!([hi(), assistant(bad), user(json!([result("a")]))]), &[ArgumentsNotJson]);
    check(json!([hi(), assistant(json!([result("a")]))]), &[ResultWithoutCall, Shape]);
    check(json!([user(json!([{"type": "novel"}]))]), &[Shape]);
}

#[test]
fn chat_bodies() {
    let hi = || user(json!("hi"));
    let check = |messages: Value, expected: &[FlawKind]| {
        assert_eq!(kinds(OpenAiChat, messages.clone()), expected, "{messages:#}");
    };
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "t", "arguments": arguments}});
    let calls = |calls: Value| json!({"role": "assistant", "content": null, "tool_calls": calls});
    let ab = || calls(json!([call("a", "{}"), call("b", "{}")]));
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
    let system = json!({"role": "system", "content": "be kind"});
    check(json!([system, hi(), ab(), result("a"), result("b"), hi()]), &[]);
    check(json!([system]), &[BeginsWithoutUser]);
    check(json!([hi(), ab(), result("a"), hi()]), &[CallWithoutResult]);
    check(json!([hi(), ab(), result("b"), result("a")]), &[ResultOutOfOrder]);
    check(json!([hi(), ab(), result("a"), result("b"), result("a")]), &[SecondResult]);
    check(json!([hi(), result("a")]), &[ResultWithoutCall]);
    let again = calls(json!([call("a", "{}")]));
    check(json!([hi(), ab(), result("a"), result("b"), again, result("a")]), &[CallIdTwice]);
    let cut = calls(json!([call("a", "{\"q")]));
    check(json!([hi(), cut, result("a")]), &[ArgumentsNotJson]);
    let none = calls(json!([call("a", "")]));
    check(json!([hi(), none, result("a")]), &[ArgumentsNotJson]);
    check(json!([hi(), assistant(json!(null))]), &[EmptyMessage]);
    check(json!([hi(), assistant(json!(" "))]), &[BlankText]);
    check(json!([hi(), {"role": "bystander", "content": "x"}]), &[Shape]);
}
