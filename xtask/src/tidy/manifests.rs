//! Every member takes the lints of the workspace, and those forbid unsafe code.

use super::{Report, Source};

pub(super) fn check(source: &Source, report: &mut Report) {
    let is_root = source.path.components().count() == 1;
    if is_root {
        if value(&source.text, "[workspace.lints.rust]", "unsafe_code") != Some("\"forbid\"") {
            report.tell(source, 0, "expected unsafe_code = \"forbid\" for the workspace".into());
        }
        return;
    }
    // The fuzz targets and the rivals of the bench are workspaces of their own.
    let is_member = !["fuzz", "rivals"].iter().any(|apart| source.path.starts_with(apart));
    if is_member && value(&source.text, "[lints]", "workspace") != Some("true") {
        report.tell(source, 0, "expected [lints] workspace = true".into());
    }
}

/// The value of a key in a table, both as they are written.
fn value<'a>(manifest: &'a str, table: &str, key: &str) -> Option<&'a str> {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != table).skip(1);
    let mut own = lines.by_ref().take_while(|line| !line.starts_with('['));
    own.find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::super::lines_told;
    use super::check;

    #[test]
    fn a_member_outside_of_the_lints_is_told() {
        let good = "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n";
        assert_eq!(lines_told("x/Cargo.toml", good, check), [0; 0]);
        assert_eq!(lines_told("x/Cargo.toml", "[package]\nworkspace = true\n", check), [0]);
        assert_eq!(lines_told("x/Cargo.toml", "[lints]\n[x]\nworkspace = true\n", check), [0]);
        let root = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
        assert_eq!(lines_told("Cargo.toml", root, check), [0; 0]);
        assert_eq!(lines_told("Cargo.toml", &root.replace("forbid", "warn"), check), [0]);
    }
}
