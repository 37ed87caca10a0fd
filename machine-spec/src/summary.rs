//! The deterministic summary: the default compactor, pure and without a model.
//!
//! It tells the user's goals, what the model noted, and which calls had which ends, newest last,
//! within a fixed size (document 1, 1.8).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::message::{CallResult, Outcome};
use crate::view::{Seen, View};
use crate::wording::clipped;

/// Longest summary, in characters.
const LONGEST: usize = 1_200;
/// Longest quotation, in characters.
const QUOTE: usize = 160;
/// How many goals, notes and calls are told.
const TOLD: usize = 6;

/// Summarises a view without a model.
#[must_use]
pub fn summarise(view: &View) -> String {
    let (mut goals, mut notes, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for message in view.messages() {
        match message {
            Seen::Said(said) if said.origin.is_user() => goals.push(quote(&said.text)),
            Seen::Said(said) if said.origin == crate::message::Origin::Summary => {
                notes.push(quote(&said.text));
            }
            Seen::Said(_) => {}
            Seen::Reply(reply) => {
                let text = reply.text();
                if !text.trim().is_empty() {
                    notes.push(quote(&text));
                }
            }
            Seen::Results(results) => calls.extend(results.iter().map(ending)),
        }
    }
    let mut summary = String::from("Summary of the conversation so far.");
    for (title, lines) in [("The user asked", goals), ("Noted", notes), ("Calls", calls)] {
        let from = lines.len().saturating_sub(TOLD);
        if !lines.is_empty() {
            summary += &format!("\n{title}:\n- {}", lines[from..].join("\n- "));
        }
    }
    clipped(&summary, LONGEST)
}

fn ending(result: &CallResult) -> String {
    let (what, output) = match &result.outcome {
        Outcome::Succeeded { output } => ("succeeded", output.as_str()),
        Outcome::Failed { output } => ("failed", output.as_str()),
        Outcome::TimedOut { output } => ("timed out, may have had effects", output.as_str()),
        Outcome::Unknown { output } => ("interrupted, may have had effects", output.as_str()),
        Outcome::Partial { output } => ("ended before its work was done", output.as_str()),
        Outcome::Acknowledged { .. } => ("was started in the background", ""),
        Outcome::NotApproved { .. } => ("was not allowed", ""),
        Outcome::NotStarted { .. } => ("did not run", ""),
        Outcome::Refused { .. } => ("was refused", ""),
    };
    format!("{} {what}: {}", result.name, quote(output))
}

fn quote(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    clipped(&line.join(" "), QUOTE)
}
