//! Dependencies point one way, and some crates may never be built from some others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::Report;

/// Our crates, and which of ours each may be built from.
const MAY_USE: [(&str, &[&str]); 7] = [
    ("machine-spec", &[]),
    ("wire", &["machine-spec"]),
    ("replay", &["machine-spec", "wire"]),
    ("engine", &["machine-spec", "wire", "replay"]),
    ("loopwright", &["machine-spec", "wire", "replay", "engine"]),
    ("tests", &["machine-spec", "wire", "replay", "engine"]),
    ("xtask", &["machine-spec", "wire", "replay", "engine", "tests"]),
];

const NO_IO: &[&str] = &["tokio", "hyper", "reqwest", "mio"];
const NO_FOREIGN_TLS: &[&str] =
    &["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls"];

/// What may be nowhere beneath a crate, however far down.
const NEVER: [(&str, &[&str]); 4] = [
    ("wire", NO_IO),
    ("replay", NO_IO),
    ("engine", NO_FOREIGN_TLS),
    ("loopwright", NO_FOREIGN_TLS),
];

pub(super) fn check(metadata: &Value, report: &mut Report) {
    let graph = Graph::read(metadata);
    let mut tell = |says: String| report.note(Path::new("Cargo.toml"), 0, says);
    let declared: BTreeSet<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    for name in &graph.ours {
        if !declared.contains(name.as_str()) {
            tell(format!("the member `{name}` has no place in the order of crates"));
        }
    }
    for (name, allowed) in MAY_USE {
        for used in graph.direct(name) {
            if graph.ours.contains(used) && !allowed.contains(&used) {
                tell(format!("`{name}` is built from `{used}`; expected one of {allowed:?}"));
            }
            if name == "machine-spec" && used != "serde" {
                tell(format!("`machine-spec` is built from `{used}`; expected serde alone"));
            }
        }
    }
    for (name, banned) in NEVER {
        let beneath = graph.beneath(name);
        for found in banned.iter().filter(|banned| beneath.contains(**banned)) {
            tell(format!("`{found}` is somewhere beneath `{name}`; expected never"));
        }
    }
}

/// Which crate is built from which, by name. What only tests and benches use is left out.
struct Graph {
    ours: BTreeSet<String>,
    built_from: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn read(metadata: &Value) -> Graph {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut names = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            names.insert(text(&package["id"]), text(&package["name"]));
        }
        let name = |id: &Value| names.get(&text(id)).cloned().unwrap_or_default();
        let ours = list(&metadata["workspace_members"]).iter().map(&name).collect();
        let mut built_from: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let used = built_from.entry(name(&node["id"])).or_default();
            for dependency in list(&node["deps"]) {
                if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev") {
                    used.insert(name(&dependency["pkg"]));
                }
            }
        }
        Graph { ours, built_from }
    }

    fn direct(&self, name: &str) -> impl Iterator<Item = &str> {
        self.built_from.get(name).into_iter().flatten().map(String::as_str)
    }

    fn beneath(&self, name: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&str> = self.direct(name).collect();
        while let Some(name) = next.pop() {
            if seen.insert(name) {
                next.extend(self.direct(name));
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Report;
    use super::check;

    fn told(uses: &[(&str, &str, &str)]) -> Vec<String> {
        let mut names: Vec<&str> = uses.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        names.sort_unstable();
        names.dedup();
        let ours = ["machine-spec", "wire", "replay", "engine", "loopwright", "newcomer"];
        let members: Vec<&&str> = names.iter().filter(|name| ours.contains(name)).collect();
        let packages: Vec<Value> = names.iter().map(|n| json!({"id": n, "name": n})).collect();
        let nodes: Vec<Value> = uses
            .iter()
            .map(|(from, to, kind)| {
                let kind = if kind.is_empty() { Value::Null } else { json!(kind) };
                json!({"id": from, "deps": [{"pkg": to, "dep_kinds": [{"kind": kind}]}]})
            })
            .collect();
        let metadata = json!({
            "packages": packages, "workspace_members": members, "resolve": {"nodes": nodes}
        });
        let mut report = Report::default();
        check(&metadata, &mut report);
        report.findings.into_iter().map(|finding| finding.says).collect()
    }

    #[test]
    fn the_order_of_crates_is_kept() {
        let good = [("machine-spec", "serde", ""), ("wire", "machine-spec", "")];
        assert!(told(&good).is_empty());
        assert!(told(&[("machine-spec", "criterion", "dev")]).is_empty());
        assert_eq!(told(&[("machine-spec", "wire", "")]).len(), 2);
        assert_eq!(told(&[("machine-spec", "rand", "")]).len(), 1);
        assert_eq!(told(&[("wire", "replay", "build")]).len(), 1);
        assert_eq!(told(&[("newcomer", "serde", "")]).len(), 1);
    }

    #[test]
    fn what_may_never_be_beneath_is_found_at_any_depth() {
        assert_eq!(told(&[("replay", "x", ""), ("x", "tokio", "")]).len(), 1);
        assert_eq!(told(&[("engine", "reqwest", ""), ("reqwest", "aws-lc-sys", "")]).len(), 1);
        assert!(told(&[("engine", "reqwest", "")]).is_empty());
    }
}
