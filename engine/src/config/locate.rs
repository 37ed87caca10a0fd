//! From a path such as `tool[0].command` to the line and column where it stands.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Place, Problem};

/// Gives every problem its place, and puts them in the order of their places.
pub(super) fn place(text: &str, problems: &mut [Problem]) {
    let (document, _) = DeTable::parse_recoverable(text);
    for problem in problems.iter_mut().filter(|problem| problem.place.is_none()) {
        problem.place = find(document.get_ref(), &problem.at).map(|at| place_of(text, at));
    }
    problems.sort_by_key(|problem| problem.place);
}

/// Line and column of a byte.
pub(super) fn place_of(text: &str, at: usize) -> Place {
    let at = text.floor_char_boundary(at);
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// Where the path leads, as far as it leads anywhere.
fn find(document: &DeTable<'_>, path: &str) -> Option<usize> {
    let mut steps = path.split(['.', '[']).filter(|step| !step.is_empty());
    let first = steps.next()?;
    let (mut at, mut value) = member(document, first)?;
    for step in steps {
        let next = match step.strip_suffix(']') {
            Some(index) => index.parse().ok().and_then(|index| element(value, index)),
            None => value.get_ref().as_table().and_then(|table| member(table, step)),
        };
        let Some(next) = next else { break };
        (at, value) = next;
    }
    Some(at.start)
}

type Found<'a, 'i> = (Range<usize>, &'a Spanned<DeValue<'i>>);

/// A member of a table: the place of its value, or of its key where the value is a table.
fn member<'a, 'i>(table: &'a DeTable<'i>, name: &str) -> Option<Found<'a, 'i>> {
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    let nested = value.get_ref().is_table() || value.get_ref().is_array();
    Some((if nested { key.span() } else { value.span() }, value))
}

fn element<'a, 'i>(value: &'a Spanned<DeValue<'i>>, index: usize) -> Option<Found<'a, 'i>> {
    let element = value.get_ref().as_array()?.get(index)?;
    Some((element.span(), element))
}
