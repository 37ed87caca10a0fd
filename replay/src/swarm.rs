//! The swarm: a scenario and a mix of faults for every seed.
//!
//! The chooser's choices are decoded into a [`Scenario`] first, faults included, and only the
//! scenario is played: a finding is kept as a plan, and no change of this generator ever gives an
//! old plan another meaning. Each run draws its own mix: some faults are off, some are frequent.
//! First the faults strike (safety: every law after every step), then they are used up and the
//! world is benign (liveness: an end must come).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use crate::arena::{How, Script};
use crate::boundary::{guarded, judge_recorded};
use crate::checkers::Breach;
use crate::chooser::Chooser;
use crate::scenario::{Afterwards, Library, Scenario};

mod configuration;
mod mix;
mod responses;

/// How large the scenarios of a generator are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Most planned answers.
    pub answers: u32,
    /// Most calls of one response.
    pub calls: u32,
    /// Most pieces of one text.
    pub pieces: u32,
    /// Most faults.
    pub faults: u32,
    /// Whether limits, policies, hooks, rules and windows are drawn as well.
    pub configuration: bool,
}

impl Size {
    /// What nights are made of.
    pub const NIGHT: Size =
        Size { answers: 5, calls: 3, pieces: 4, faults: 4, configuration: true };
    /// Small enough to be enumerated whole.
    pub const TINY: Size =
        Size { answers: 1, calls: 1, pieces: 1, faults: 1, configuration: false };
}

/// Decodes choices into a scenario.
#[must_use]
pub fn scenario(chooser: &mut Chooser, size: Size) -> Scenario {
    let mut scenario = configuration::draw(chooser, size);
    responses::draw(chooser, size, &mut scenario);
    configuration::draw_world(chooser, size, &mut scenario);
    mix::draw(chooser, size, &mut scenario);
    scenario
}

/// The scenario of a seed.
#[must_use]
pub fn scenario_of(seed: u64) -> Scenario {
    scenario(&mut Chooser::seeded(seed), Size::NIGHT)
}

/// A scenario with the mix of faults of a seed, in a world that never runs out of answers.
#[must_use]
pub fn mixed_into(base: &Scenario, seed: u64) -> Scenario {
    let mut plan = base.clone();
    plan.faults.clear();
    if plan.afterwards == Afterwards::Exhausted {
        plan.afterwards = Afterwards::Text;
    }
    mix::draw(&mut Chooser::seeded(seed), Size::NIGHT, &mut plan);
    plan
}

/// What a range of seeds came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flight {
    /// Runs played.
    pub runs: u64,
    /// Inputs stepped.
    pub inputs: u64,
    /// What all runs came to, in one number that does not depend on their order.
    pub digest: u64,
    /// Runs by ending.
    pub endings: BTreeMap<String, u64>,
    /// Faults that struck, by word.
    pub struck: BTreeMap<String, u64>,
    /// Broken laws, by seed.
    pub findings: Vec<(u64, Breach)>,
    /// Seeds whose scenario could not be played, which is a fault of the generator.
    pub unsound: Vec<(u64, String)>,
}

impl Flight {
    /// Adds what other seeds came to.
    pub fn merge(&mut self, other: Flight) {
        self.runs += other.runs;
        self.inputs += other.inputs;
        self.digest = self.digest.wrapping_add(other.digest);
        for (ending, n) in other.endings {
            *self.endings.entry(ending).or_default() += n;
        }
        for (fault, n) in other.struck {
            *self.struck.entry(fault).or_default() += n;
        }
        self.findings.extend(other.findings);
        self.unsound.extend(other.unsound);
    }
}

/// One of so many seeds is also judged by the machine's own invariants, recorded and replayed.
const FULL_EVERY: u64 = 16;

/// Plays every seed of a range.
#[must_use]
pub fn fly(seeds: Range<u64>) -> Flight {
    let mut flight = Flight::default();
    for seed in seeds {
        one(seed, &scenario_of(seed), &mut flight);
    }
    flight
}

/// Plays a scenario with the mix of faults of every seed of a range.
#[must_use]
pub fn fly_over(base: &Scenario, seeds: Range<u64>) -> Flight {
    let mut flight = Flight::default();
    for seed in seeds {
        one(seed, &mixed_into(base, seed), &mut flight);
    }
    flight
}

fn one(seed: u64, plan: &Scenario, flight: &mut Flight) {
    let script = match plan
        .validate(&Library::new())
        .and_then(|()| Script::compile(plan, &Library::new()))
    {
        Ok(script) => script,
        Err(bad) => return flight.unsound.push((seed, bad.to_string())),
    };
    let full = seed.is_multiple_of(FULL_EVERY);
    let how = if full { How::FULL } else { How::FAST };
    flight.runs += 1;
    let outcome = match guarded(&script, &plan.faults, how) {
        Ok(outcome) => outcome,
        Err(breach) => return flight.findings.push((seed, breach)),
    };
    flight.inputs += outcome.inputs;
    for (at, placed) in plan.faults.iter().enumerate() {
        if outcome.struck & (1 << at) != 0 {
            *flight.struck.entry(placed.fault.word().to_owned()).or_default() += 1;
        }
    }
    let breach = outcome.breach.clone();
    let breach = breach.or_else(|| if full { judge_recorded(&script, &outcome) } else { None });
    if let Some(breach) = breach {
        return flight.findings.push((seed, breach));
    }
    let ending = match (outcome.state.terminal(), &outcome.trouble) {
        (Some(terminal), _) => terminal.kind().to_string(),
        (None, Some(trouble)) => trouble.to_string(),
        (None, None) => "none".into(),
    };
    *flight.endings.entry(ending).or_default() += 1;
    flight.digest =
        flight.digest.wrapping_add(mixed(seed, outcome.state.digest().0, outcome.inputs));
}

/// One number of three, in which each of them shows.
fn mixed(seed: u64, state: u64, inputs: u64) -> u64 {
    let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ state.rotate_left(17) ^ inputs;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
