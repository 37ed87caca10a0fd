//! What endings are called elsewhere.

use std::fmt::Write as _;

use machine_spec::TerminalKind;

#[test]
fn every_ending_has_its_class_its_exit_code_and_its_published_subtype() {
    let mut told = String::new();
    for kind in TerminalKind::ALL {
        let (class, code, subtype) = (kind.class(), kind.exit_code(), kind.result_subtype());
        let resumable = if kind.resumable() { "resumable" } else { "" };
        writeln!(told, "{kind} {class} {code} {subtype} {resumable}").expect("text");
    }
    insta::assert_snapshot!(told);
}
