//! Regressions: plans that once broke a law. Their numbers never change, and a fixed defect's plan
//! stays: it is played in every test.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::scenario::{BadPlan, Library, Scenario};
use crate::shrink::{Judged, judge};

/// A plan that once broke a law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// The law it broke.
    pub law: String,
    /// How it was found: seed, commit, recording. Provenance alone; nothing is made of it.
    pub found: String,
    /// The planted defect that breaks it, if it was planted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defect: Option<String>,
    /// The plan.
    pub scenario: Scenario,
}

/// A regression on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Its folder.
    pub folder: PathBuf,
    /// What is in it.
    pub regression: Regression,
}

/// Reads every regression of a folder, in the order of their numbers.
///
/// # Errors
///
/// A folder without a sound plan, without a story, or whose name is no number and slug.
pub fn load(folder: &Path) -> Result<Vec<Kept>, BadPlan> {
    let bad = |path: &Path, problem: String| BadPlan::new(path.display().to_string(), problem);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return Err(bad(folder, error.to_string())),
    };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    let mut all = Vec::new();
    for (n, folder) in (1..).zip(folders) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(&format!("{n:04}-")) {
            return Err(bad(&folder, format!("expected a name that begins with {n:04}-")));
        }
        let story = fs::read_to_string(folder.join("story.md")).unwrap_or_default();
        if story.trim().is_empty() {
            return Err(bad(&folder, "expected a story.md".into()));
        }
        let path = folder.join("plan.json");
        let bytes = fs::read(&path).map_err(|error| bad(&path, error.to_string()))?;
        let regression = read(&bytes).map_err(|error| bad(&path, error.to_string()))?;
        all.push(Kept { folder, regression });
    }
    Ok(all)
}

/// Reads a regression.
///
/// # Errors
///
/// What is wrong with it, and where.
pub fn read(bytes: &[u8]) -> Result<Regression, BadPlan> {
    let regression: Regression = serde_json::from_slice(bytes).map_err(|error| {
        let at = format!("line {}, column {}", error.line(), error.column());
        BadPlan::new(at, error.to_string())
    })?;
    regression.scenario.validate(&Library::new())?;
    Ok(regression)
}

/// Plays a regression.
///
/// # Errors
///
/// Its plan cannot be played.
pub fn play(regression: &Regression) -> Result<Judged, BadPlan> {
    judge(&regression.scenario, &Library::new())
}

/// Keeps a plan under the next number.
///
/// # Errors
///
/// The folder cannot be written.
pub fn keep(
    folder: &Path,
    slug: &str,
    regression: &Regression,
    story: &str,
) -> Result<PathBuf, BadPlan> {
    let bad = |path: &Path, problem: String| BadPlan::new(path.display().to_string(), problem);
    fs::create_dir_all(folder).map_err(|error| bad(folder, error.to_string()))?;
    let next = load(folder)?.len() + 1;
    let path = folder.join(format!("{next:04}-{slug}"));
    fs::create_dir(&path).map_err(|error| bad(&path, error.to_string()))?;
    let mut text =
        serde_json::to_string_pretty(regression).map_err(|error| bad(&path, error.to_string()))?;
    text.push('\n');
    for (name, text) in [("plan.json", text), ("story.md", format!("{}\n", story.trim()))] {
        let path = path.join(name);
        fs::write(&path, text).map_err(|error| bad(&path, error.to_string()))?;
    }
    Ok(path)
}
