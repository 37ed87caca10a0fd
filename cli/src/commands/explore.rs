//! `loopwright explore`: everything that a small configuration can reach, judged.

use std::io::Write;
use std::process::ExitCode;

use ::replay::fork::patched;
use machine_spec::explore::{Counterexample, Profile, Seen, explore, profiles};
use serde_json::json;

use crate::fault::Fault;

/// Arguments of `explore`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only profiles whose names contain this.
    #[arg(long, value_name = "WORDS", default_value = "")]
    profile: String,
    /// The profiles that take minutes instead of those of every test.
    #[arg(long)]
    large: bool,
    /// Members of the configuration of each profile, as a JSON merge patch or a file that holds one.
    #[arg(long, value_name = "JSON|FILE")]
    config: Option<String>,
    /// Stops a profile after so many states.
    #[arg(long, value_name = "N")]
    states: Option<u64>,
    /// One JSON object a profile, one a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let all = if args.large { profiles::large() } else { profiles::all() };
    let chosen: Vec<Profile> =
        all.into_iter().filter(|profile| profile.name.contains(&args.profile)).collect();
    if chosen.is_empty() {
        let text = format!("LW5002: no profile is called `{}`", args.profile);
        return Err(Fault::nothing(text));
    }
    let patch = args.config.as_deref().map(super::fork::json_or_file).transpose()?;
    let mut whole = Seen::default();
    for mut profile in chosen {
        if let Some(patch) = &patch {
            profile.config = patched(&profile.config, patch).map_err(Fault::usage)?;
        }
        profile.max_states = args.states.unwrap_or(profile.max_states);
        eprintln!("exploring {}", profile.name);
        match explore(&profile) {
            Ok(seen) => {
                tell(args, profile.name, &seen, out)?;
                whole.merge(seen);
            }
            Err(found) => return broken(args, &found, out),
        }
    }
    if !args.json {
        tell(args, "all of them", &whole, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(args: &Args, name: &str, seen: &Seen, out: &mut impl Write) -> Result<(), Fault> {
    let Seen { states, steps, refusals, cut_short, .. } = seen;
    if args.json {
        let json = json!({
            "profile": name,
            "states": states,
            "steps": steps,
            "refusals": refusals,
            "doors": seen.doors.len(),
            "cells": seen.cells.len(),
            "endings": seen.terminals.len(),
            "cut_short": cut_short,
        });
        writeln!(out, "{json}")?;
    } else {
        let end = if *cut_short { ", cut short" } else { "" };
        let (doors, cells) = (seen.doors.len(), seen.cells.len());
        writeln!(
            out,
            "{states:>8} states {steps:>9} steps {refusals:>9} refusals {doors:>3} doors \
             {cells:>3} cells{end} | {name}"
        )?;
    }
    Ok(())
}

fn broken(args: &Args, found: &Counterexample, out: &mut impl Write) -> Result<ExitCode, Fault> {
    if args.json {
        let json = json!({
            "profile": found.profile,
            "violation": found.violation,
            "inputs": found.inputs,
        });
        writeln!(out, "{json}")?;
    } else {
        write!(out, "{found}")?;
    }
    Ok(ExitCode::from(9))
}
