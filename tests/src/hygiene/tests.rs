//! The checker finds each flaw that it names, and nothing in a clean body.

use serde_json::{Value, json};
use wire::Dialect::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};

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

#[test]
fn responses_bodies() {
    let check = |items: Value, expected: &[FlawKind]| {
        let told = flaws(OpenAiResponses, &json!({ "input": items }));
        let kinds: Vec<FlawKind> = told.into_iter().map(|flaw| flaw.kind).collect();
        assert_eq!(kinds, expected, "{items:#}");
    };
    let says = |role: &str, word: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        json!({"type": "message", "role": role, "content": [{"type": kind, "text": word}]})
    };
    let hi = || says("user", "hi");
    let call = |id: &str, args: &str| json!({"type": "function_call", "call_id": id, "name": "t", "arguments": args});
    let result = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "r"});
    let a = || call("a", "{}");
    let b = || call("b", "{}");
    let spoken = || says("assistant", "both");
    check(json!([hi(), a(), spoken(), b(), result("a"), result("b"), hi()]), &[]);
    check(json!([]), &[BeginsWithoutUser]);
    check(json!([hi(), a(), b(), result("b"), result("a")]), &[ResultOutOfOrder]);
    check(json!([hi(), a(), hi(), result("a")]), &[CallWithoutResult, ResultWithoutCall]);
    check(json!([hi(), a(), result("a"), result("a")]), &[SecondResult]);
    check(json!([hi(), a(), result("a"), a(), result("a")]), &[CallIdTwice]);
    check(json!([hi(), call("a", ""), result("a")]), &[ArgumentsNotJson]);
    check(json!([hi(), says("assistant", " ")]), &[BlankText]);
    let empty = json!({"type": "message", "role": "assistant", "content": []});
    check(json!([hi(), empty]), &[EmptyMessage]);
    check(json!([hi(), {"type": "novel"}]), &[Shape]);
}

#[test]
fn gemini_bodies() {
    let check = |contents: Value, expected: &[FlawKind]| {
        let told = flaws(Gemini, &json!({ "contents": contents }));
        let kinds: Vec<FlawKind> = told.into_iter().map(|flaw| flaw.kind).collect();
        assert_eq!(kinds, expected, "{contents:#}");
    };
    let user = |parts: Value| json!({"role": "user", "parts": parts});
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    let hi = || user(json!([{"text": "hi"}]));
    let call = || json!({"functionCall": {"name": "t", "args": {}}});
    let named = |id: &str| json!({"functionCall": {"id": id, "name": "t", "args": {}}});
    let result = || json!({"functionResponse": {"name": "t", "response": {"output": "r"}}});
    let answered = |id: &str| json!({"functionResponse": {"id": id, "name": "t", "response": {}}});
    let text = || json!({"text": "x"});
    check(
        json!([hi(), model(json!([call(), call()])), user(json!([result(), result(), text()]))]),
        &[],
    );
    check(
        json!([hi(), model(json!([call(), call()])), user(json!([result()]))]),
        &[CallWithoutResult],
    );
    check(
        json!([hi(), model(json!([call()])), user(json!([text(), result()]))]),
        &[ResultNotFirst],
    );
    check(json!([hi(), hi()]), &[SameRoleTwice]);
    check(json!([model(json!([text()]))]), &[BeginsWithoutUser]);
    check(json!([user(json!([result()]))]), &[ResultWithoutCall]);
    let round = |id: &str| [model(json!([named(id)])), user(json!([answered(id)]))];
    let twice: Vec<Value> = [hi()].into_iter().chain(round("a")).chain(round("a")).collect();
    check(json!(twice), &[CallIdTwice]);
    let bad = json!({"functionCall": {"name": "t", "args": "{}"}});
    check(json!([hi(), model(json!([bad])), user(json!([result()]))]), &[ArgumentsNotJson]);
    check(json!([hi(), model(json!([]))]), &[EmptyMessage]);
    check(json!([hi(), model(json!([{"text": " "}]))]), &[BlankText]);
    check(json!([hi(), model(json!([result()]))]), &[ResultWithoutCall, Shape]);
}
