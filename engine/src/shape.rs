//! Whether an answer has the wanted shape: it must be JSON and nothing else, and satisfy the schema.
//!
//! The verdict is an input and therefore part of the recording; a replay judges nothing again.

use std::sync::Arc;

use jsonschema::Validator;
use machine_spec::input::OutputVerdict;
use serde_json::Value;

use crate::assess::shortened;

/// The wanted shape of an answer.
#[derive(Clone, Debug)]
pub struct Shape {
    schema: Arc<Validator>,
}

impl Shape {
    /// The shape that this schema describes.
    pub(crate) fn new(schema: Validator) -> Shape {
        Shape { schema: Arc::new(schema) }
    }

    /// Holds an answer against the schema.
    #[must_use]
    pub fn judge(&self, text: &str) -> OutputVerdict {
        let value: Value = match serde_json::from_str(text.trim()) {
            Ok(value) => value,
            Err(error) => {
                let problem = format!("it is not plain JSON: {error}");
                return OutputVerdict::Misfits { path: String::new(), problem };
            }
        };
        match self.schema.validate(&value) {
            Ok(()) => OutputVerdict::Fits,
            Err(fault) => {
                let path = fault.instance_path().as_str().to_owned();
                let problem = shortened(&fault.to_string());
                OutputVerdict::Misfits { path, problem }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use machine_spec::input::OutputVerdict;
    use rstest::rstest;
    use serde_json::json;

    use super::Shape;

    #[rstest]
    #[case::fits(" {\"n\": 3}\n", None)]
    #[case::wrong_type("{\"n\": \"x\"}", Some("/n"))]
    #[case::missing("{}", Some(""))]
    #[case::words("The number is 3.", Some(""))]
    #[case::fenced("```json\n{\"n\": 3}\n```", Some(""))]
    #[case::more_than_json("{\"n\": 3} there", Some(""))]
    fn an_answer_is_json_of_the_wanted_shape_and_nothing_else(
        #[case] text: &str,
        #[case] fault: Option<&str>,
    ) {
        let schema = json!({
            "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } },
        });
        let shape = Shape::new(jsonschema::validator_for(&schema).expect("a schema"));
        match (shape.judge(text), fault) {
            (OutputVerdict::Fits, None) => {}
            (OutputVerdict::Misfits { path, problem }, Some(wanted)) => {
                assert_eq!(path, wanted);
                assert!(!problem.is_empty());
            }
            (verdict, _) => panic!("{verdict:?}"),
        }
    }
}
