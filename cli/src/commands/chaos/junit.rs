//! The report that build servers read: a suite for each path, a case for each fault.

use std::fmt::Write;

use super::{Failure, Tried};

/// The whole report.
pub(super) fn report(all: &[Tried]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let failures: usize = all.iter().map(|tried| tried.failures.len()).sum();
    let tests: usize = all.iter().map(cases).sum();
    let _ = writeln!(
        xml,
        "<testsuites name=\"loopwright chaos\" tests=\"{tests}\" failures=\"{failures}\">"
    );
    for tried in all {
        suite(tried, &mut xml);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn cases(tried: &Tried) -> usize {
    tried.by_fault.len() + tried.failures.len()
}

fn suite(tried: &Tried, xml: &mut String) {
    let name = escaped(&tried.name);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\">",
        cases(tried),
        tried.failures.len()
    );
    for (fault, variants) in &tried.by_fault {
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{name}\" name=\"{} ({variants} variants)\"/>",
            escaped(fault)
        );
    }
    for Failure { breach, faults, command, .. } in &tried.failures {
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{name}\" name=\"{}\">\n      <failure type=\"{}\" \
             message=\"{}\">{}</failure>\n    </testcase>",
            escaped(faults),
            escaped(&breach.law),
            escaped(&breach.to_string()),
            escaped(command)
        );
    }
    xml.push_str("  </testsuite>\n");
}

/// A text as XML holds it. What XML cannot hold at all is replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(' '),
            letter if letter < ' ' => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_xml_cannot_hold_is_escaped_or_replaced() {
        assert_eq!(escaped("a<b>&\"c\"\n\u{1}"), "a&lt;b&gt;&amp;&quot;c&quot; \u{fffd}");
    }
}
