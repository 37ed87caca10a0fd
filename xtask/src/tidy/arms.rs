//! No catch-all arm over our own enums: a new room, input or ending must break every match that has
//! not thought of it.

use syn::visit::{Visit, visit_expr_match};
use syn::{ExprMatch, File, Pat};

use super::{Report, Source};

pub(super) fn check(source: &Source, file: &File, report: &mut Report) {
    Matches { source, report }.visit_file(file);
}

struct Matches<'a> {
    source: &'a Source,
    report: &'a mut Report,
}

impl<'ast> Visit<'ast> for Matches<'_> {
    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        // A match over numbers, texts or slices cannot list everything.
        if !node.arms.iter().any(|arm| is_open_ended(&arm.pat)) {
            for arm in node.arms.iter().filter(|arm| is_anything(&arm.pat)) {
                let line = arm.fat_arrow_token.spans[0].start().line;
                let says = "a catch-all arm; name every variant".into();
                self.report.tell(self.source, line, says);
            }
        }
        visit_expr_match(self, node);
    }
}

/// Whether a pattern takes whatever comes. One with a guard does not: the guard sorts out.
fn is_anything(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(name) => name.subpat.is_none() && is_binding(&name.ident.to_string()),
        Pat::Tuple(tuple) => tuple.elems.iter().all(|part| matches!(part, Pat::Wild(_))),
        Pat::Paren(inner) => is_anything(&inner.pat),
        Pat::Or(or) => or.cases.iter().any(is_anything),
        _ => false,
    }
}

/// A lower-case name binds; an upper-case one is a constant or a variant.
fn is_binding(name: &str) -> bool {
    name.starts_with(|first: char| first.is_lowercase() || first == '_')
}

fn is_open_ended(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(_) | Pat::Range(_) | Pat::Slice(_) => true,
        Pat::Or(or) => or.cases.iter().any(is_open_ended),
        Pat::Tuple(tuple) => tuple.elems.iter().any(is_open_ended),
        Pat::Paren(inner) => is_open_ended(&inner.pat),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines_told;
    use super::check;

    fn lines(body: &str) -> Vec<usize> {
        let text = format!("fn f(x: X) -> u8 {{\nmatch x {{\n{body}\n}}\n}}\n");
        let file = syn::parse_file(&text).expect("Rust");
        lines_told("machine-spec/src/x.rs", &text, |source, report| check(source, &file, report))
    }

    #[test]
    fn a_catch_all_over_variants_is_told() {
        for arm in ["_ => 2", "other => 2", "(_, _) => 2", "X::B | _ => 2", "_unused => 2"] {
            assert_eq!(lines(&format!("X::A => 1,\n{arm},")), [4], "{arm}");
        }
    }

    #[test]
    fn what_cannot_be_listed_may_have_one() {
        for arms in ["1 => 1,\n_ => 2", "\"a\" | \"b\" => 1,\n_ => 2", "[] => 1,\nrest => 2"] {
            assert!(lines(arms).is_empty(), "{arms}");
        }
        assert!(lines("X::A(_) => 1,\n_ if late => 2,\nX::B => 3,").is_empty());
        assert!(lines("(X::A, _) => 1,\n(X::B, _) => 2,").is_empty());
    }

    #[test]
    fn an_inner_match_is_seen() {
        assert_eq!(lines("X::A => match y { Y::A => 1,\n_ => 2 },\nX::B => 3,"), [4]);
    }
}
