//! What must hold for every input, whoever made it. A target of the fuzzer only chooses one of
//! [`TARGETS`]; `wire/tests/smoke` runs the same bodies over the fixtures, without a fuzzer.

mod arguments;
mod decode;
mod error_body;
mod order;
mod read_request;
mod text_calls;

/// Judges one input; panics at what must not be.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: &[(&str, Target)] = &[
    ("decode_anthropic", |input| decode::check(wire::Dialect::Anthropic, input)),
    ("decode_openai_chat", |input| decode::check(wire::Dialect::OpenAiChat, input)),
    ("decode_openai_responses", |input| decode::check(wire::Dialect::OpenAiResponses, input)),
    ("decode_gemini", |input| decode::check(wire::Dialect::Gemini, input)),
    ("decode_ollama", |input| decode::check(wire::Dialect::Ollama, input)),
    ("text_calls", text_calls::check),
    ("arguments", arguments::check),
    ("error_body", error_body::check),
    ("read_request", read_request::check),
];

/// Runs the target of a name.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    target.expect("a target of this name").1(input);
}
