//! No file names a place that exists on one machine only.

use super::{Report, Source};

/// The beginnings of such places. They are put together here so that this file is clean itself.
const PLACES: [&str; 6] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/tm", "p/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
    concat!("C:\\", "Users"),
];

pub(super) fn check(source: &Source, report: &mut Report) {
    for (number, line) in (1..).zip(source.text.lines()) {
        if let Some(place) = PLACES.iter().find(|place| names(line, place)) {
            let says = format!("`{place}…` exists on one machine only");
            report.tell(source, number, says);
        }
    }
}

/// Whether a line names a place. A longer relative path such as `a/work/b` does not.
fn names(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "._-}/".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::super::lines_told;
    use super::{PLACES, check};

    #[test]
    fn a_path_of_one_machine_is_told() {
        for place in PLACES {
            let text = format!("fine\nlet x = \"{place}x\";\nhttps://example.org{place}x\n");
            assert_eq!(lines_told("a.rs", &text, check), [2], "{place}");
        }
    }
}
