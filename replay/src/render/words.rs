//! Phrases for data: short, quoted where they are somebody's words, cut where they are long.

use machine_spec::wording::clipped;
use serde::Serialize;
use serde_json::Value;

use super::Mode;

/// Longest text of a short rendering, in characters.
const SHORT: usize = 60;

/// Somebody's words, in quotes; line breaks are told.
pub(super) fn quoted(text: &str, mode: Mode) -> String {
    let longest = match mode {
        Mode::Kinds => 0,
        Mode::Short => SHORT,
        Mode::Full => usize::MAX,
    };
    let cut = text.char_indices().nth(longest).map(|(at, _)| at);
    let shown = Value::from(&text[..cut.unwrap_or(text.len())]).to_string();
    match cut {
        Some(_) => format!("{shown}… ({} characters)", text.chars().count()),
        None => shown,
    }
}

/// JSON text as it stands, cut where it is long.
pub(super) fn cut(text: &str, mode: Mode) -> String {
    let longest = if mode == Mode::Full { usize::MAX } else { SHORT };
    clipped(text, longest)
}

/// Any data of the vocabulary: its word, and its members as `name=value`.
pub(super) fn facts<T: Serialize + ?Sized>(value: &T, mode: Mode) -> String {
    match serde_json::to_value(value) {
        Ok(value) => told(&value, mode),
        Err(_) => "(no text)".into(),
    }
}

/// The word of an enum's value, without its data.
pub(super) fn word<T: Serialize + ?Sized>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(members)) => members.keys().next().cloned().unwrap_or_default(),
        Ok(_) | Err(_) => String::new(),
    }
}

fn told(value: &Value, mode: Mode) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            if let [(word, inner)] = members[..]
                && (inner.is_object() || inner.is_array())
            {
                let inner = told(inner, mode);
                return if inner.is_empty() { word.clone() } else { format!("{word} {inner}") };
            }
            members.sort_by_key(|(name, _)| *name);
            let member =
                |(name, value): &(&String, &Value)| format!("{name}={}", nested(value, mode));
            members.iter().map(member).collect::<Vec<_>>().join(" ")
        }
        other => nested(other, mode),
    }
}

fn nested(value: &Value, mode: Mode) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) if is_word(text) => text.clone(),
        Value::String(text) => quoted(text, mode.max(Mode::Short)),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| nested(item, mode)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(_) => format!("({})", told(value, mode)),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Number(number) => number.to_string(),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// A time for people.
pub(super) fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        _ => format!("{}.{:03} s", ms / 1_000, ms % 1_000),
    }
}

/// `1 door`, `2 doors`.
pub(super) fn count(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::{Mode, facts, quoted, time, word};
    use machine_spec::effect::Notice;
    use machine_spec::ids::AttemptId;
    use machine_spec::model::{ErrorClass, Failure, StreamPhase};

    #[test]
    fn data_reads_as_words() {
        let failure = Failure::new(ErrorClass::Overloaded, "try later");
        let (attempt, phase) = (AttemptId(2), StreamPhase::Partial);
        let notice = Notice::AttemptFailed { attempt, phase, failure };
        assert_eq!(word(&notice), "attempt_failed");
        assert_eq!(
            facts(&notice, Mode::Short),
            "attempt_failed attempt=2 failure=(class=overloaded message=\"try later\") phase=partial"
        );
        assert_eq!(facts(&Notice::TurnInterrupted, Mode::Short), "turn_interrupted");
    }

    #[test]
    fn long_words_are_cut_between_characters() {
        let text = "ä".repeat(100);
        let cut = quoted(&text, Mode::Short);
        assert!(cut.ends_with("… (100 characters)") && cut.matches('ä').count() == 60, "{cut}");
        assert_eq!(quoted(&text, Mode::Full).matches('ä').count(), 100);
        assert_eq!((time(999), time(61_005)), ("999 ms".to_owned(), "61.005 s".to_owned()));
    }
}
