//! The whole house, explored: every profile to its end, every step taken twice and judged.
//!
//! Observed must equal declared in both directions, and the numbers of states, steps and refusals
//! are pinned: a silent change of behaviour changes a number.

use machine_spec::explore::{Seen, differences, explore, profiles};

#[test]
fn the_house_is_as_planned() {
    let mut all = Seen::default();
    let mut counts = String::new();
    for profile in profiles::all() {
        let seen = explore(&profile).unwrap_or_else(|found| panic!("{found}"));
        assert!(!seen.cut_short, "profile {:?} did not come to its end", profile.name);
        counts += &format!(
            "{:>6} states {:>7} steps {:>7} refusals {:>2} calls {} doors | {}\n",
            seen.states,
            seen.steps,
            seen.refusals,
            seen.most_model_calls,
            seen.most_passages,
            profile.name
        );
        all.merge(seen);
    }
    counts += &format!(
        "{:>6} states {:>7} steps {:>7} refusals\n{} doors, {} cells, {} endings\n",
        all.states,
        all.steps,
        all.refusals,
        all.doors.len(),
        all.cells.len(),
        all.terminals.len()
    );
    assert_eq!(differences(&all), Vec::<String>::new(), "observed and declared differ");
    insta::assert_snapshot!("explored", counts);
}
