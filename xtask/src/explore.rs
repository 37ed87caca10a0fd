//! `cargo explore`: the large exploration, on as many cores as there are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use machine_spec::explore::{Counterexample, Profile, Seen, explore, profiles};

/// What the large exploration must come to.
const FLOOR: u64 = 1_000_000;

/// Explores every large profile and tells what was seen.
///
/// # Errors
///
/// The first counterexample, or fewer states than the lane promises.
pub fn large() -> Result<(), String> {
    let found = all(&profiles::large());
    let mut whole = Seen::default();
    for (profile, came_to) in found {
        let seen = came_to.map_err(|counterexample| counterexample.to_string())?;
        let reached = if seen.cut_short { "to its cap" } else { "to its end" };
        println!(
            "{:>8} states {:>9} steps {:>9} refusals, {reached} | {profile}",
            seen.states, seen.steps, seen.refusals
        );
        whole.merge(seen);
    }
    println!(
        "{:>8} states {:>9} steps {:>9} refusals, every invariant held on each",
        whole.states, whole.steps, whole.refusals
    );
    if whole.states < FLOOR {
        return Err(format!("expected at least {FLOOR} distinct states, saw {}", whole.states));
    }
    Ok(())
}

type Found = Vec<(&'static str, Result<Seen, Counterexample>)>;

/// Each profile is explored by one thread; the order of the answers is that of the profiles.
fn all(profiles: &[Profile]) -> Found {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((at, profile)) = take(&next, profiles) {
                    let came_to = explore(profile);
                    if let Ok(mut answers) = answers.lock() {
                        answers.push((at, profile.name, came_to));
                    }
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_default();
    answers.sort_by_key(|(at, ..)| *at);
    answers.into_iter().map(|(_, name, came_to)| (name, came_to)).collect()
}

fn take<'a>(next: &AtomicUsize, profiles: &'a [Profile]) -> Option<(usize, &'a Profile)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    profiles.get(at).map(|profile| (at, profile))
}
