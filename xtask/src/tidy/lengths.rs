//! Functions of at most 70 lines everywhere but in tables of tests, rooms of at most 200 lines
//! without their tests.

use syn::visit::{Visit, visit_impl_item_fn, visit_item_fn, visit_trait_item_fn};
use syn::{Attribute, Block, File, ImplItemFn, Item, ItemFn, Signature, TraitItemFn};

use super::{Report, Source};

/// A function is read on one screen.
const FUNCTION_LINES: usize = 70;

/// A room has one question.
const ROOM_LINES: usize = 200;

/// Rooms that have outgrown their question and wait for an alcove. Their ceilings only fall.
const OVERGROWN: [(&str, usize); 3] =
    [("s5_parse.rs", 250), ("s5_recover.rs", 280), ("s8_decide.rs", 400)];

pub(super) fn check(source: &Source, file: &File, report: &mut Report) {
    Functions { source, report }.visit_file(file);
    if source.path.starts_with("machine-spec/src/rooms") && !is_test_file(source) {
        let lines = source.text.lines().count() - test_lines(file);
        let limit = ceiling(source);
        if lines > limit {
            let says = format!("a room of {lines} lines; expected at most {limit}");
            report.tell(source, 0, says);
        }
    }
}

fn ceiling(source: &Source) -> usize {
    let overgrown = OVERGROWN.iter().find(|(name, _)| source.path.ends_with(name));
    overgrown.map_or(ROOM_LINES, |(_, lines)| *lines)
}

fn is_test_file(source: &Source) -> bool {
    source.path.file_stem().is_some_and(|stem| stem == "tests")
}

fn test_lines(file: &File) -> usize {
    let tests = file.items.iter().filter_map(|item| {
        let Item::Mod(module) = item else { return None };
        let mark = module.attrs.iter().find(|attribute| is_test_only(attribute))?;
        let (braces, _) = module.content.as_ref()?;
        let start = mark.pound_token.span.start().line;
        Some(braces.span.close().end().line - start + 1)
    });
    tests.sum()
}

fn is_test_only(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

/// A test may be one long table of cases.
fn marks_a_test(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|last| last.ident == "test" || last.ident == "rstest")
}

struct Functions<'a> {
    source: &'a Source,
    report: &'a mut Report,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, block: &Block) {
        let start = signature.fn_token.span.start().line;
        let lines = block.brace_token.span.close().end().line - start + 1;
        if lines > FUNCTION_LINES {
            let name = &signature.ident;
            let says = format!("`{name}` has {lines} lines; expected at most {FUNCTION_LINES}");
            self.report.tell(self.source, start, says);
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, node: &'ast ItemFn) {
        if !node.attrs.iter().any(marks_a_test) {
            self.measure(&node.sig, &node.block);
        }
        visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast ImplItemFn) {
        self.measure(&node.sig, &node.block);
        visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast TraitItemFn) {
        if let Some(block) = &node.default {
            self.measure(&node.sig, block);
        }
        visit_trait_item_fn(self, node);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines_told;
    use super::{FUNCTION_LINES, ROOM_LINES, check};

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = syn::parse_file(text).expect("Rust");
        lines_told(path, text, |source, report| check(source, &file, report))
    }

    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "f();\n".repeat(lines - 2))
    }

    #[test]
    fn a_long_function_is_told_wherever_it_stands() {
        let long = function(FUNCTION_LINES + 1);
        assert_eq!(lines("a.rs", &function(FUNCTION_LINES)), [0; 0]);
        assert_eq!(lines("a.rs", &format!("/// Doc.\n{long}")), [2]);
        assert_eq!(lines("a.rs", &format!("#[test]\n{long}")), [0; 0]);
        assert_eq!(lines("a.rs", &format!("impl X {{\n{long}}}")), [2]);
        assert_eq!(lines("a.rs", &format!("trait X {{\n{long}}}")), [2]);
        assert_eq!(lines("a.rs", &format!("mod x {{\nfn g() {{\n{long}}}\n}}")), [2, 3]);
    }

    #[test]
    fn a_long_room_is_told_and_its_tests_do_not_count() {
        let room = "const X: u8 = 0;\n".repeat(ROOM_LINES);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{room}}}\n");
        let path = "machine-spec/src/rooms/s1_absorb.rs";
        assert_eq!(lines(path, &format!("{room}{tests}")), [0; 0]);
        assert_eq!(lines(path, &format!("{room}\n{tests}")), [0]);
        assert_eq!(lines("machine-spec/src/frame.rs", &format!("{room}\n")), [0; 0]);
    }
}
