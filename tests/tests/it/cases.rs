//! The page that tells where each field case is played tells the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tests::house;

/// What the page says about one case, by the head of the list.
type Told = BTreeMap<String, Vec<String>>;

/// The page, case by case.
fn page() -> BTreeMap<String, Told> {
    let text = fs::read_to_string(house::root().join("tests/CASES.md")).expect("the page");
    let mut cases: BTreeMap<String, Told> = BTreeMap::new();
    let (mut case, mut head) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            case = title.split(' ').next().unwrap_or_default().to_owned();
            let before = cases.insert(case.clone(), Told::new());
            assert_eq!(before, None, "{case} stands there twice");
        } else if let Some(list) = line.strip_prefix("* ").filter(|_| !case.is_empty()) {
            head = list.trim_end_matches(':').to_owned();
        } else if let Some(name) = line.strip_prefix("  * `") {
            let name = name.trim_end_matches('`').to_owned();
            cases.entry(case.clone()).or_default().entry(head.clone()).or_default().push(name);
        }
    }
    cases
}

/// The names of all functions under these folders.
fn functions(folders: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| house::root().join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of tests").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|word| word == "rs") {
                names.extend(functions_of(&path));
            }
        }
    }
    names
}

fn functions_of(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a file of tests");
    let name = |line: &str| {
        let begin = line.trim_start().trim_start_matches("async ");
        let (name, _) = begin.strip_prefix("fn ")?.split_once('(')?;
        Some(name.to_owned())
    };
    text.lines().filter_map(name).collect()
}

const CORE: &[&str] = &["tests/tests/it/in_core", "replay/tests", "wire/tests"];
const ENGINE: &[&str] = &["tests/tests/it/in_engine", "engine/src"];

#[test]
fn every_case_is_played_in_the_core_through_the_engine_and_on_record() {
    let page = page();
    let expected: Vec<String> = (1..=40).map(|n| format!("B{n:03}")).collect();
    assert_eq!(page.keys().cloned().collect::<Vec<_>>(), expected);
    for (case, told) in &page {
        for head in ["core", "engine", "fixtures"] {
            assert!(told.get(head).is_some_and(|names| !names.is_empty()), "{case}: {head}");
        }
        assert_eq!(told.len(), 3, "{case}");
    }
}

#[test]
fn every_test_and_every_fixture_of_the_page_exists() {
    let (core, engine) = (functions(CORE), functions(ENGINE));
    for (case, told) in page() {
        for (head, there) in [("core", &core), ("engine", &engine)] {
            for name in &told[head] {
                assert!(there.contains(name), "{case}: no test `{name}` in the {head}");
            }
        }
        for name in &told["fixtures"] {
            let folder = house::root().join("fixtures/runs").join(name);
            assert!(folder.join("run.jsonl").exists(), "{case}: no recording {name}");
            let story = fs::read_to_string(folder.join("story.md")).expect("a story");
            assert!(story.contains(&case), "{case}: the story of {name} does not name it");
        }
    }
}

#[test]
fn every_test_of_a_case_stands_on_the_page() {
    let told: BTreeSet<String> =
        page().into_values().flat_map(Told::into_values).flatten().collect();
    let is_of_a_case = |name: &str| {
        let mut letters = name.chars();
        letters.next() == Some('b') && letters.by_ref().take(3).all(|c| c.is_ascii_digit())
    };
    for folder in [&CORE[..1], &ENGINE[..1]] {
        for name in functions(folder).iter().filter(|name| is_of_a_case(name)) {
            assert!(told.contains(name), "`{name}` is missing in tests/CASES.md");
        }
    }
}
