//! Documentation speaks in sentences: a doc comment ends like one.

use super::{Report, Source};

pub(super) fn check(source: &Source, report: &mut Report) {
    let mut last: Option<(usize, &str)> = None;
    for (number, line) in (1..).zip(source.text.lines()).chain([(0, "")]) {
        match doc_of(line) {
            Some("") => {}
            Some(text) => last = Some((number, text)),
            None => {
                if let Some((number, text)) = last.take()
                    && !ends_well(text)
                {
                    let says = "a doc comment that does not end with a full stop".into();
                    report.tell(source, number, says);
                }
            }
        }
    }
}

fn doc_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    // Four slashes are an ordinary comment.
    (!text.starts_with('/')).then(|| text.trim())
}

/// A sentence, the edge of a code block (its text may be included from a file), or the row of a
/// table.
fn ends_well(text: &str) -> bool {
    let edge = text.starts_with("```");
    edge || [".", "!", "?", ":", ".)", "?)", "|"].iter().any(|end| text.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::super::lines_told;
    use super::check;

    #[test]
    fn a_doc_comment_without_a_full_stop_is_told() {
        let text =
            "//! Head\n\n/// Good.\nx\n/// Two\n/// lines\ny\n/// Code:\n/// ```\n/// ```\nz\n";
        assert_eq!(lines_told("a.rs", text, check), [1, 6]);
        let included = "//! All keys:\n//!\n//! ```toml\n#![doc = include_str!(\"k\")]\n//! ```\n";
        assert!(lines_told("a.rs", included, check).is_empty());
    }

    #[test]
    fn ordinary_comments_and_the_end_of_a_file_are_known() {
        assert_eq!(lines_told("a.rs", "// not a doc\n//// nor this\n/// Doc", check), [3]);
    }
}
