//! `cargo xtask swarm`: a range of seeds, twice in this process and once in another one.

use std::ops::Range;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use machine_spec::TerminalKind;
use replay::faults::Fault;
use replay::swarm::{Flight, fly};

/// Seeds that a thread takes at once.
const AT_ONCE: u64 = 512;

/// Flies over these seeds twice, and lets another process fly once more.
///
/// # Errors
///
/// A broken law, a fault that never struck, or digests that differ.
pub fn lane(from: u64, count: u64) -> Result<(), String> {
    let seeds = from..from.saturating_add(count);
    let first = flown(&seeds)?;
    tell(&seeds, &first);
    unseen(&first)?;
    let again = flown(&seeds)?;
    if again != first {
        return Err("expected the second flight to be the first one, found another".into());
    }
    let program = std::env::current_exe().map_err(|problem| problem.to_string())?;
    let words = ["swarm-once".to_owned(), from.to_string(), count.to_string()];
    let other = Command::new(program).args(words).output().map_err(|error| error.to_string())?;
    let digest = String::from_utf8_lossy(&other.stdout).trim().to_owned();
    let expected = format!("{:016x}", first.digest);
    if digest != expected {
        return Err(format!("expected {expected} of another process, found `{digest}`"));
    }
    println!("twice in this process and once in another one: digest {expected}");
    Ok(())
}

/// Flies once and prints the digest.
///
/// # Errors
///
/// A broken law.
pub fn once(from: u64, count: u64) -> Result<(), String> {
    let flight = flown(&(from..from.saturating_add(count)))?;
    println!("{:016x}", flight.digest);
    Ok(())
}

/// A flight is green only if every ending and every fault was seen (I15).
fn unseen(flight: &Flight) -> Result<(), String> {
    let endings = TerminalKind::ALL.iter().map(|kind| kind.word());
    let endings = endings.filter(|word| !flight.endings.contains_key(*word));
    let faults = Fault::ALL.iter().map(|fault| fault.word());
    let faults = faults.filter(|word| !flight.struck.contains_key(*word));
    let missing: Vec<&str> = endings.chain(faults).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("never seen in {} runs: {}", flight.runs, missing.join(", "))),
    }
}

fn tell(seeds: &Range<u64>, flight: &Flight) {
    println!(
        "seeds {} to {}: {} runs, {} inputs, every law held",
        seeds.start,
        seeds.end - 1,
        flight.runs,
        flight.inputs
    );
    for (what, counts) in [("endings", &flight.endings), ("faults that struck", &flight.struck)] {
        let words: Vec<String> = counts.iter().map(|(word, n)| format!("{word} {n}")).collect();
        println!("{what}: {}", words.join(", "));
    }
}

fn flown(seeds: &Range<u64>) -> Result<Flight, String> {
    let flight = all(seeds);
    if let Some((seed, bad)) = flight.unsound.first() {
        return Err(format!("seed {seed} makes no sound plan: {bad}"));
    }
    if flight.findings.is_empty() {
        return Ok(flight);
    }
    for (seed, breach) in flight.findings.iter().take(20) {
        println!("seed {seed}: {breach}\n  reproduce  loopwright shrink --seed {seed}");
    }
    Err(format!("{} of {} runs break a law", flight.findings.len(), flight.runs))
}

/// What the seeds come to does not depend on who plays them in which order.
fn all(seeds: &Range<u64>) -> Flight {
    let next = AtomicU64::new(seeds.start);
    let flights = Mutex::new(Flight::default());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(AT_ONCE, Ordering::Relaxed);
                    if from >= seeds.end {
                        return;
                    }
                    let flight = fly(from..(from + AT_ONCE).min(seeds.end));
                    if let Ok(mut flights) = flights.lock() {
                        flights.merge(flight);
                    }
                }
            });
        }
    });
    let mut flight = flights.into_inner().unwrap_or_default();
    flight.findings.sort_by_key(|(seed, _)| *seed);
    flight
}
