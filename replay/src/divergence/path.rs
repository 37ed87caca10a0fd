//! The first difference between two JSON values, with its path.

use serde_json::Value;

use super::shown;

/// The first difference of two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it is: `messages[2].content[0].text`.
    pub path: String,
    /// What stands there on the left, as a report shows it.
    pub left: String,
    /// What stands there on the right.
    pub right: String,
}

/// How many characters before and after the place are shown of two long texts.
const AROUND: usize = 24;

/// The first difference, in the order of indexes and sorted keys; `None` when there is none.
#[must_use]
pub fn first_difference(base: &str, left: &Value, right: &Value) -> Option<Difference> {
    let mut path = String::from(base);
    find(&mut path, Some(left), Some(right))
}

fn find(path: &mut String, left: Option<&Value>, right: Option<&Value>) -> Option<Difference> {
    if left == right {
        return None;
    }
    match (left, right) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            // The order of a map depends on features of other crates; that of its keys does not.
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().find_map(|key| {
                let len = path.len();
                push_key(path, key);
                let found = find(path, a.get(key), b.get(key));
                path.truncate(len);
                found
            })
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            (0..a.len().max(b.len())).find_map(|index| {
                let len = path.len();
                path.push_str(&format!("[{index}]"));
                let found = find(path, a.get(index), b.get(index));
                path.truncate(len);
                found
            })
        }
        (Some(Value::String(a)), Some(Value::String(b))) => {
            let (left, right) = around(a, b);
            Some(Difference { path: path.clone(), left, right })
        }
        _ => Some(Difference { path: path.clone(), left: shown(left), right: shown(right) }),
    }
}

fn push_key(path: &mut String, key: &str) {
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if plain && !key.is_empty() {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    } else {
        path.push_str(&format!("[{}]", Value::from(key)));
    }
}

/// Two texts, cut to what is around their first difference if they are long.
fn around(a: &str, b: &str) -> (String, String) {
    let common = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    let long = a.chars().count().max(b.chars().count()) > 4 * AROUND;
    if !long {
        return (Value::from(a).to_string(), Value::from(b).to_string());
    }
    let from = common.saturating_sub(AROUND);
    let cut = |text: &str| {
        let window: String = text.chars().skip(from).take(2 * AROUND).collect();
        let before = if from > 0 { "…" } else { "" };
        let after = if text.chars().count() > from + 2 * AROUND { "…" } else { "" };
        format!("{before}{}{after} (at character {common})", Value::from(window))
    };
    (cut(a), cut(b))
}

#[cfg(test)]
mod tests {
    use super::first_difference;
    use serde_json::json;

    #[test]
    fn the_first_difference_has_a_path() {
        let left = json!({"b": [1, {"c d": "x"}], "a": 1, "z": null});
        assert_eq!(first_difference("", &left, &left), None);
        let cases = [
            (json!({"b": [1, {"c d": "y"}], "a": 1, "z": 1}), "b[1][\"c d\"]", "\"x\"", "\"y\""),
            (json!({"b": [1], "a": 1, "z": null}), "b[1]", "{\"c d\":\"x\"}", "(nothing)"),
            (json!({"b": [1, {"c d": "x"}], "z": null}), "a", "1", "(nothing)"),
        ];
        for (right, path, was, is) in cases {
            let found = first_difference("", &left, &right).expect("they differ");
            assert_eq!((&*found.path, &*found.left, &*found.right), (path, was, is));
        }
    }

    #[test]
    fn long_texts_are_cut_around_the_place() {
        let a = "a".repeat(300);
        let mut b = a.clone();
        b.replace_range(200..201, "b");
        let found = first_difference("text", &json!(a), &json!(b)).expect("they differ");
        assert!(found.left.len() < 90 && found.left.ends_with("(at character 200)"));
        assert!(found.right.contains('b') && found.right.starts_with('…'));
    }
}
