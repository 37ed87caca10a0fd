//! `cargo xtask bless regression`: keeps a plan that broke a law under the next number.

use std::path::Path;

use replay::regressions::{Regression, keep};
use replay::scenario::Scenario;

/// Keeps a plan in `fixtures/regressions`.
///
/// # Errors
///
/// The plan is not sound, or the folder cannot be written.
pub fn regression(
    root: &Path,
    plan: &Path,
    slug: &str,
    law: &str,
    found: &str,
) -> Result<(), String> {
    let bytes = std::fs::read(plan).map_err(|error| format!("{}: {error}", plan.display()))?;
    let scenario = Scenario::read(&bytes).map_err(|bad| bad.to_string())?;
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    if slug.is_empty() || !slug.chars().all(|letter| plain(letter) || letter == '-') {
        return Err(format!("expected a slug of small letters and hyphens, found `{slug}`"));
    }
    let (law, found) = (law.to_owned(), found.to_owned());
    let regression = Regression { law: law.clone(), found, defect: None, scenario };
    let story = format!("{law} was broken. Say here by what, and what was mended.");
    let folder = root.join("fixtures/regressions");
    let kept = keep(&folder, slug, &regression, &story).map_err(|bad| bad.to_string())?;
    println!("kept {}; tell its story in story.md", kept.display());
    Ok(())
}
