//! Is a request body fit to be sent? Calls and results are paired, results stand first and in call
//! order, nothing is blank.
//!
//! It reads the JSON that went over the wire and nothing of the machine that made it, so it is an
//! oracle of its own (CASES invariants 1 and 6).

use std::fmt;

use serde_json::Value;
use wire::Dialect;

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

#[cfg(test)]
mod tests;

/// Something in a request body that must not be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The JSON pointer of the place.
    pub at: String,
    /// What is wrong there.
    pub kind: FlawKind,
}

/// What can be wrong with a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlawKind {
    /// The body, a message or a block does not have the shape of its dialect.
    Shape,
    /// The conversation does not begin with the user's role.
    BeginsWithoutUser,
    /// Two neighbours have the same role in a dialect that alternates.
    SameRoleTwice,
    /// A call has no result in the message directly after it.
    CallWithoutResult,
    /// A result stands where no call was made.
    ResultWithoutCall,
    /// A call has a second result.
    SecondResult,
    /// Results are not in the order of their calls.
    ResultOutOfOrder,
    /// Something stands before a result in its message.
    ResultNotFirst,
    /// A call id stands twice in one request.
    CallIdTwice,
    /// A message has no content.
    EmptyMessage,
    /// A text is empty or white space.
    BlankText,
    /// The arguments of a call are not a JSON object.
    ArgumentsNotJson,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", self.kind, self.at)
    }
}

/// Every flaw of a request body, in the order of the body. Panics for a dialect whose bodies this
/// checker cannot read: an unread body is not a clean one.
#[must_use]
pub fn flaws(dialect: Dialect, body: &Value) -> Vec<Flaw> {
    let mut report = Report::default();
    match dialect {
        Dialect::Anthropic => anthropic::check(body, &mut report),
        Dialect::OpenAiChat => openai_chat::check(body, &mut report),
        Dialect::OpenAiResponses => openai_responses::check(body, &mut report),
        Dialect::Gemini => gemini::check(body, &mut report),
        Dialect::Ollama => panic!("no checker reads bodies of {dialect} yet"),
    }
    report.flaws
}

/// Panics with every flaw when one of the bodies has any.
pub fn assert_clean(dialect: Dialect, bodies: &[Value]) {
    for (n, body) in bodies.iter().enumerate() {
        let flaws = flaws(dialect, body);
        let told: Vec<String> = flaws.iter().map(Flaw::to_string).collect();
        assert!(flaws.is_empty(), "request {}: {}\n{body:#}", n + 1, told.join("; "));
    }
}

/// Flaws so far.
#[derive(Default)]
struct Report {
    flaws: Vec<Flaw>,
}

impl Report {
    fn tell(&mut self, kind: FlawKind, at: impl fmt::Display) {
        self.flaws.push(Flaw { at: at.to_string(), kind });
    }

    /// A text may not be blank.
    fn judge_text(&mut self, text: &Value, at: &str) {
        match text.as_str() {
            Some(text) if text.trim().is_empty() => self.tell(FlawKind::BlankText, at),
            Some(_) => {}
            None => self.tell(FlawKind::Shape, at),
        }
    }

    /// The calls of one message against the results of the next.
    fn pair(&mut self, calls: &[(String, String)], results: &[(String, String)]) {
        let mut expected = calls.iter().map(|(id, _)| id);
        for (i, (id, at)) in results.iter().enumerate() {
            if results[..i].iter().any(|(earlier, _)| earlier == id) {
                self.tell(FlawKind::SecondResult, at);
            } else if !calls.iter().any(|(call, _)| call == id) {
                self.tell(FlawKind::ResultWithoutCall, at);
            } else if !expected.any(|call| call == id) {
                self.tell(FlawKind::ResultOutOfOrder, at);
            }
        }
        for (id, at) in calls {
            if !results.iter().any(|(result, _)| result == id) {
                self.tell(FlawKind::CallWithoutResult, at);
            }
        }
    }

    /// No call id twice in one request.
    fn judge_ids(&mut self, calls: &[(String, String)]) {
        for (i, (id, at)) in calls.iter().enumerate() {
            if id.is_empty() {
                self.tell(FlawKind::Shape, at);
            } else if calls[..i].iter().any(|(earlier, _)| earlier == id) {
                self.tell(FlawKind::CallIdTwice, at);
            }
        }
    }
}

/// A string field, or nothing.
fn text_of(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
