//! Arguments that Vertex streams by path: `$.items[0].name` gets a piece of text, a number, a
//! truth value. The pieces are put into one JSON value; only the whole of it is arguments.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assembly::Fault;
use crate::json::Node;
use crate::lenient::Piece;

/// A piece of the arguments.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    #[serde(borrow, default)]
    json_path: Piece<'a>,
    #[serde(borrow, default)]
    string_value: Piece<'a>,
    #[serde(borrow, default)]
    number_value: Option<&'a RawValue>,
    #[serde(borrow, default)]
    bool_value: Option<&'a RawValue>,
}

/// The arguments so far.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    value: Node,
    bytes: usize,
}

/// Elements that an index may reach ahead; more is nonsense that would fill the memory.
const REACH: usize = 4096;

/// Bytes that an element is charged for: about what it takes in memory.
const ELEMENT: usize = 64;

/// Steps that a path may have.
const STEPS: usize = 64;

enum Step<'a> {
    Member(&'a str),
    Element(usize),
}

impl Arguments {
    /// Arguments that begin with what the header of the call holds.
    pub(super) fn new(header: BTreeMap<String, Node>) -> Arguments {
        Arguments { value: Node::Object(header), bytes: 0 }
    }

    /// Puts a piece where its path says. Text is appended to text.
    pub(super) fn take(&mut self, piece: &PartialArg<'_>, limit: usize) -> Result<(), Fault> {
        let path = piece.json_path.or_empty();
        let value = match (&piece.string_value.0, piece.number_value.or(piece.bool_value)) {
            (Some(text), _) => Some(Node::Text(text.clone().into_owned())),
            (None, Some(raw)) => Some(Node::Json(raw.get().to_owned())),
            (None, None) => None,
        };
        self.bytes += path.len() + value.as_ref().map_or(0, Node::len);
        if self.bytes > limit {
            return Err(too_long(limit));
        }
        let mut node = &mut self.value;
        for step in steps(path)? {
            node = match step {
                Step::Member(name) => member(node, name),
                Step::Element(at) => element(node, at, &mut self.bytes)?,
            };
            if self.bytes > limit {
                return Err(too_long(limit));
            }
        }
        match (node, value) {
            (Node::Text(text), Some(Node::Text(more))) => text.push_str(&more),
            (node, Some(value)) => *node = value,
            // A piece without a value ends a text and changes nothing.
            (_, None) => {}
        }
        Ok(())
    }

    pub(super) fn json(&self) -> String {
        self.value.json()
    }
}

fn member<'a>(node: &'a mut Node, name: &str) -> &'a mut Node {
    if !matches!(node, Node::Object(_)) {
        *node = Node::Object(BTreeMap::new());
    }
    match node {
        Node::Object(members) => members.entry(name.to_owned()).or_insert_with(null),
        Node::Json(_) | Node::Text(_) | Node::Streamed(_) | Node::List(_) => node,
    }
}

fn too_long(limit: usize) -> Fault {
    Fault(format!("a block may hold {limit} bytes, this one is longer"))
}

/// The element at an index. Those before it that nobody filled are charged like text: a short path
/// must not make many of them for nothing.
fn element<'a>(node: &'a mut Node, at: usize, bytes: &mut usize) -> Result<&'a mut Node, Fault> {
    if !matches!(node, Node::List(_)) {
        *node = Node::List(Vec::new());
    }
    match node {
        Node::List(items) => {
            if at >= items.len() + REACH {
                return Err(Fault(format!("expected the next element, got index {at}")));
            }
            while items.len() <= at {
                *bytes += ELEMENT;
                items.push(null());
            }
            Ok(&mut items[at])
        }
        Node::Json(_) | Node::Text(_) | Node::Streamed(_) | Node::Object(_) => Ok(node),
    }
}

fn null() -> Node {
    Node::Json("null".to_owned())
}

/// The steps of a path such as `$.a.b[2]['c.d']`.
fn steps(path: &str) -> Result<Vec<Step<'_>>, Fault> {
    let fault = || Fault(format!("expected a path such as $.a[0], got `{path}`"));
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == STEPS {
            return Err(fault());
        }
        let (step, after) = if let Some(quoted) = rest.strip_prefix("['") {
            let (name, after) = quoted.split_once("']").ok_or_else(fault)?;
            (Step::Member(name), after)
        } else if let Some(bracket) = rest.strip_prefix('[') {
            let (number, after) = bracket.split_once(']').ok_or_else(fault)?;
            (Step::Element(number.parse().map_err(|_| fault())?), after)
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return Err(fault());
            }
            (Step::Member(&name[..end]), &name[end..])
        };
        steps.push(step);
        rest = after;
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(pieces: &[(&str, &str)]) -> Result<String, Fault> {
        let mut arguments = Arguments::new(BTreeMap::new());
        for (path, value) in pieces {
            let json = format!("{{\"jsonPath\":\"{path}\",{value}}}");
            arguments.take(&serde_json::from_str(&json).expect("JSON"), 10_000)?;
        }
        Ok(arguments.json())
    }

    #[test]
    fn pieces_find_their_place() {
        let json = assemble(&[
            ("$.steps[0].text", "\"stringValue\":\"go \""),
            ("$.steps[0].text", "\"stringValue\":\"on\""),
            ("$.steps[1].ok", "\"boolValue\":true"),
            ("$['a.b']", "\"numberValue\":1.5"),
            ("$.steps[0].text", "\"willContinue\":false"),
        ]);
        assert_eq!(json, Ok(r#"{"a.b":1.5,"steps":[{"text":"go on"},{"ok":true}]}"#.to_owned()));
    }

    #[test]
    fn nonsense_is_refused_before_it_fills_the_memory() {
        for path in ["$.a[4294967296]", "$.a[-1]", "$.a[", "$..a", "$.a['b"] {
            assert!(assemble(&[(path, "\"boolValue\":true")]).is_err(), "{path}");
        }
        // Each step may reach ahead, but not all of them together.
        let deep = format!("$.a{}", "[4000]".repeat(3));
        let fault = assemble(&[(&deep, "\"boolValue\":true")]);
        assert_eq!(fault, Err(Fault("a block may hold 10000 bytes, this one is longer".into())));
    }
}
