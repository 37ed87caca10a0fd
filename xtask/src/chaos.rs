//! `cargo xtask chaos`: every boundary of every recorded run, on as many cores as there are.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use replay::Recording;
use replay::boundary::{Profile, Tally, every_boundary};
use replay::scenario::{Library, derive};

/// Breaks every run of `fixtures/runs` everywhere and tells what was seen.
///
/// # Errors
///
/// A run that cannot be read, or a broken law.
pub fn boundaries(root: &Path) -> Result<(), String> {
    let folder = root.join("fixtures/runs");
    let entries = std::fs::read_dir(&folder).map_err(|problem| problem.to_string())?;
    let mut runs: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    runs.sort();
    let mut whole = Tally::default();
    for (name, tally) in all(&runs) {
        let tally = tally?;
        println!("{:>8} variants {:>7} distinct | {name}", tally.variants, tally.distinct);
        for finding in &tally.findings {
            let faults: Vec<String> = finding.faults.iter().map(ToString::to_string).collect();
            println!("         {} | {}", finding.breach, faults.join(", "));
        }
        whole.merge(tally);
    }
    tell(&whole);
    match whole.findings.len() {
        0 => Ok(()),
        n => Err(format!("expected every law to hold, found {n} variants that break one")),
    }
}

fn tell(whole: &Tally) {
    println!(
        "{:>8} variants {:>7} distinct, {} inputs; {} without a place; {} kills, {} single ones \
         ended as if nothing had happened",
        whole.variants,
        whole.distinct,
        whole.inputs,
        whole.untouched,
        whole.crashes,
        whole.ended_alike
    );
    for (what, counts) in [
        ("faults", whole.faults.iter().map(|(word, n)| format!("{word} {n}")).collect::<Vec<_>>()),
        ("endings", whole.endings.iter().map(|(word, n)| format!("{word} {n}")).collect()),
    ] {
        println!("{what}: {}", counts.join(", "));
    }
}

type Found = Vec<(String, Result<Tally, String>)>;

/// Each run is broken by one thread; the order of the answers is that of the runs.
fn all(runs: &[std::path::PathBuf]) -> Found {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((at, run)) = take(&next, runs) {
                    let tally = broken(run);
                    if let Ok(mut answers) = answers.lock() {
                        answers.push((at, name_of(run), tally));
                    }
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_default();
    answers.sort_by_key(|(at, ..)| *at);
    answers.into_iter().map(|(_, name, tally)| (name, tally)).collect()
}

fn take<'a>(
    next: &AtomicUsize,
    runs: &'a [std::path::PathBuf],
) -> Option<(usize, &'a std::path::PathBuf)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    runs.get(at).map(|run| (at, run))
}

fn broken(run: &Path) -> Result<Tally, String> {
    let recording = Recording::read(&run.join("run.jsonl")).map_err(|error| error.to_string())?;
    let scenario = derive(&recording).map_err(|bad| bad.to_string())?;
    every_boundary(&scenario, &Library::new(), Profile::FULL, |_| {}).map_err(|bad| bad.to_string())
}

fn name_of(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
