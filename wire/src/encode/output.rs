//! An answer in the shape of a schema, as each wire wants to be asked for it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::json::{Members, Out, sorted, value};
use super::schema::push_schema;
use crate::read::Raw;

/// The name of a shape that nobody named; two wires demand one.
const NAME: &str = "answer";

/// The shape that answers must have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputShape {
    /// Its name, where the wire has a place for one.
    pub name: String,
    /// Its JSON Schema, as text: the order of properties is the order in which they are written.
    pub schema: String,
    /// Whether answers outside of the schema are barred, not only discouraged, where the wire can
    /// tell the two apart. Then the schema must close every object and require every property.
    pub strict: bool,
}

impl OutputShape {
    /// A shape as two wires read it; `None` if the object is another kind of shape.
    pub(crate) fn read(format: &Raw<'_>) -> Option<OutputShape> {
        let schema = format.get("schema").filter(Raw::is_object)?.text().to_owned();
        let strict = format.get("strict").is_some_and(|flag| flag.text() == "true");
        Some(OutputShape { name: format.word("name"), schema, strict })
    }

    /// A shape on a wire that knows schemas only.
    pub(crate) fn of_schema(schema: &Raw<'_>) -> Option<OutputShape> {
        let text = schema.text().to_owned();
        schema.is_object().then(|| OutputShape { schema: text, ..OutputShape::default() })
    }

    /// Appends the schema.
    pub(crate) fn push_schema(&self, out: &mut Vec<u8>) {
        push_schema(out, &self.schema);
    }

    /// Appends name, schema and strictness as members.
    pub(crate) fn members(&self, members: &mut Members<'_>) {
        let name = if self.name.is_empty() { NAME } else { &self.name };
        members.own("name", |out| out.string(name));
        members.own("schema", |out| self.push_schema(out));
        members.own("strict", |out| out.put(if self.strict { "true" } else { "false" }));
    }
}

/// Appends an object of parameters: the user's own members of that name, and ours among them unless
/// the user gave it too.
pub(crate) fn joined(
    out: &mut Vec<u8>,
    given: Option<&Value>,
    key: &str,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let none = Map::new();
    let given = given.and_then(Value::as_object).unwrap_or(&none);
    out.put("{");
    let mut members = Members::inside(out);
    for (name, member) in sorted(given) {
        members.own(name, |out| value(out, member));
    }
    members.unless(given, key, write);
    out.put("}");
}
