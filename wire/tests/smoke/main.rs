//! The targets of the fuzzer without a fuzzer: over every fixture, and over changes of them that
//! are drawn from a fixed seed. It finds what breaks plainly; `fuzz/README.md` tells how to find
//! the rest.

#[expect(unreachable_pub, reason = "the targets are a library for the fuzzer")]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use std::path::{Path, PathBuf};

/// Changes that are tried of each seed by each target.
const CHANGES: usize = 24;

/// Longest input: what a fuzzer tries too.
const LENGTH: usize = 600;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wire")
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// What fixtures say, as inputs: their beginnings and their ends. The bytes in front choose bounds,
/// pieces, dialects and the like.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for path in files(&fixtures()) {
        if path.extension().is_some_and(|ending| ending == "snap" || ending == "md") {
            continue;
        }
        let body = std::fs::read(&path).expect("a fixture");
        for part in [&body[..body.len().min(LENGTH)], &body[body.len().saturating_sub(LENGTH)..]] {
            let front = seeds.len() as u8;
            seeds.push([&[front], part].concat());
        }
    }
    let written = [
        "<tool_call>{\"name\":\"now\",\"arguments\":{\"n\":1}}</tool_call>",
        "<function=read><parameter=n>\n 5\n</parameter></function>",
        "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{\"a\":1}<｜tool▁call▁end｜>",
        "[TOOL_CALLS] [{\"name\":\"now\",\"arguments\":{\"a\":1}}]",
        "[read(n='it\\'s \"a\"', deep={'x': [1, 2.5, None, True,]})]",
        "{\"a\":[1,2.5,null,true,\"\\u00e9\"],\"b\":{\"c\":-1e5}}",
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]}",
    ];
    seeds.extend(written.iter().map(|text| [&[6], text.as_bytes()].concat()));
    seeds
}

/// A small generator with nothing in it but arithmetic (xorshift), so that a seed says everything.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

/// Words that matter to some reader, to be put anywhere.
const WORDS: &[&str] = &[
    "\n\n",
    "\r",
    "data: ",
    "event: error\n",
    "[DONE]",
    "{}",
    "null",
    "-1",
    "1e999",
    "\"",
    "\\ud83d",
    "\\u0000",
    "[",
    "{\"",
    "}",
    "\u{feff}",
    "<think>",
    "</think>",
    "```",
    "99999999999999999999",
];

/// One change: a byte flipped, a stretch dropped, doubled or taken from elsewhere, a word put in.
fn change(input: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.roll(input.len());
    let end = (at + 1 + dice.roll(40)).min(input.len());
    match dice.roll(6) {
        0 => input[at] ^= 1 << dice.roll(8),
        1 => drop(input.drain(at..end)),
        2 => {
            let twice = input[at..end].to_vec();
            input.splice(at..at, twice);
        }
        3 => {
            let from = dice.roll(other.len());
            let taken = &other[from..(from + 60).min(other.len())];
            input.splice(at..end, taken.iter().copied());
        }
        4 => input.truncate(at),
        _ => {
            let word = WORDS[dice.roll(WORDS.len())];
            input.splice(at..at, word.bytes());
        }
    }
    input.truncate(LENGTH);
}

/// Runs a target; the input that broke it is part of the message.
fn run(target: fuzz::Target, name: &str, input: &[u8]) {
    let survived = std::panic::catch_unwind(|| target(input));
    assert!(survived.is_ok(), "{name} broke on {:?}", String::from_utf8_lossy(input));
}

#[test]
fn every_target_survives_fixtures_and_changes_of_them() {
    let seeds = seeds();
    assert!(seeds.len() > 100, "only {} seeds", seeds.len());
    let mut runs = 0;
    for (name, target) in fuzz::TARGETS {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for seed in &seeds {
            run(*target, name, seed);
            for _ in 0..CHANGES {
                let mut input = seed.clone();
                for _ in 0..=dice.roll(4) {
                    if !input.is_empty() {
                        change(&mut input, &seeds[dice.roll(seeds.len())], &mut dice);
                    }
                }
                run(*target, name, &input);
                runs += 1;
            }
        }
    }
    println!("{runs} changed inputs of {} targets survived", fuzz::TARGETS.len());
}

/// What a fuzzer once found stays found. The name of a file begins with the target that broke.
#[test]
fn what_was_found_stays_mended() {
    let found = files(&fixtures().join("found"));
    assert!(!found.is_empty(), "nothing was kept");
    for path in found {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let (target, what) = name.split_once("--").expect("target--what");
        assert!(!what.is_empty(), "{name}");
        fuzz::run(target, &std::fs::read(&path).expect("a file"));
    }
}
