//! Chaos: derived scenarios, faults, checkers, shrinking, schedules.

mod boundaries;
mod crashes;
mod derived;
mod fixtures;
mod forks;
mod plans;
mod properties;
mod regressions;
mod schedules;
mod swarm;
