//! Calls written in Python: `[read(path="a"), now()]`. Only literals are arguments.

use std::collections::BTreeMap;

use super::forms::Spelled;
use crate::json::Node;

/// How deep literals may nest.
const DEPTH: u32 = 32;

/// The calls of a list at the beginning of a text, and what follows it.
pub(super) fn calls(text: &str) -> Option<(Vec<Spelled>, &str)> {
    let mut reader = Reader { rest: text };
    reader.symbol('[')?;
    let mut calls = Vec::new();
    loop {
        let name = reader.name()?;
        reader.symbol('(')?;
        let members = reader.arguments()?;
        calls.push(Spelled { name, args: Node::Object(members).json() });
        if reader.symbol(',').is_none() {
            break;
        }
    }
    reader.symbol(']')?;
    Some((calls, reader.rest))
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn symbol(&mut self, symbol: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(symbol)?;
        Some(())
    }

    fn name(&mut self) -> Option<String> {
        let rest = self.rest.trim_start();
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-');
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        self.rest = &rest[end..];
        Some(rest[..end].to_owned()).filter(|name| !name.is_empty())
    }

    fn arguments(&mut self) -> Option<BTreeMap<String, Node>> {
        let mut members = BTreeMap::new();
        while self.symbol(')').is_none() {
            if !members.is_empty() {
                self.symbol(',')?;
                if self.symbol(')').is_some() {
                    break;
                }
            }
            let name = self.name()?;
            self.symbol('=')?;
            members.insert(name, self.literal(0)?);
        }
        Some(members)
    }

    fn literal(&mut self, depth: u32) -> Option<Node> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '[' | '(' | '{' if depth == DEPTH => None,
            '"' | '\'' => self.string().map(Node::Text),
            '[' => self.list('[', ']', depth),
            '(' => self.list('(', ')', depth),
            '{' => self.dictionary(depth),
            _ => self.word(),
        }
    }

    fn list(&mut self, open: char, close: char, depth: u32) -> Option<Node> {
        self.symbol(open)?;
        let mut items = Vec::new();
        while self.symbol(close).is_none() {
            if !items.is_empty() {
                self.symbol(',')?;
                if self.symbol(close).is_some() {
                    break;
                }
            }
            items.push(self.literal(depth + 1)?);
        }
        Some(Node::List(items))
    }

    fn dictionary(&mut self, depth: u32) -> Option<Node> {
        self.symbol('{')?;
        let mut members = BTreeMap::new();
        while self.symbol('}').is_none() {
            if !members.is_empty() {
                self.symbol(',')?;
                if self.symbol('}').is_some() {
                    break;
                }
            }
            self.rest = self.rest.trim_start();
            let name = self.string()?;
            self.symbol(':')?;
            members.insert(name, self.literal(depth + 1)?);
        }
        Some(Node::Object(members))
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
        let mut text = String::new();
        let mut letters = self.rest[1..].char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                _ if letter == quote => {
                    self.rest = &self.rest[at + 2..];
                    return Some(text);
                }
                '\\' => match letters.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'u' => {
                        let digits: String =
                            (0..4).map_while(|_| letters.next()).map(|l| l.1).collect();
                        text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                    }
                    other @ ('\\' | '"' | '\'') => text.push(other),
                    other => text.extend(['\\', other]),
                },
                '\n' => return None,
                other => text.push(other),
            }
        }
        None
    }

    /// A number, a truth value or nothing.
    fn word(&mut self) -> Option<Node> {
        let end = self.rest.find([',', ')', ']', '}', ':']).unwrap_or(self.rest.len());
        let word = self.rest[..end].trim_end();
        let json = match word {
            "True" | "true" => "true",
            "False" | "false" => "false",
            "None" | "null" => "null",
            number if number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => number,
            _ => return None,
        };
        serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
        self.rest = &self.rest[end..];
        Some(Node::Json(json.to_owned()))
    }
}
