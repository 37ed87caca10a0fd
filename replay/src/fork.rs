//! What if: a recorded run is driven again in the scripted world, and from a frame on under another
//! limit or policy, another answer of a hook, another result of a tool or a compaction.
//!
//! A run cannot be taken apart: its configuration is sealed at the start. So the whole run is driven
//! again under the change, and what came before the fork must still be as it was recorded. Where the
//! change shows earlier than that, it is refused with the frame at which it does.

use machine_spec::ids::EffectId;
use machine_spec::input::HookAnswer;
use machine_spec::{Effect, Input, RunConfig};
use serde_json::Value;

use crate::arena::{How, Script, play, record};
use crate::checkers::Breach;
use crate::reader::Recording;
use crate::scenario::{BadPlan, Library, Output, Scenario, ToolRun, derive};

/// What is changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Members of the configuration, as a JSON merge patch.
    pub config: Option<Value>,
    /// Answers that come instead of the recorded ones, each to the effect it names.
    pub answers: Vec<Input>,
}

/// Two stories of one run.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The run as it goes under the change.
    pub recording: Recording,
    /// The first frame that is not as it was recorded; nothing if the change shows nowhere.
    pub differs_at: Option<u64>,
    /// What the changed run breaks, if anything.
    pub breach: Option<Breach>,
    /// The plan of the changed run.
    pub plan: Scenario,
}

/// Drives a recording again, changed from this frame on.
///
/// # Errors
///
/// The change does not fit the recording, or shows before the frame.
pub fn fork(recording: &Recording, at: u64, change: &Change) -> Result<Fork, BadPlan> {
    let frames = recording.frames.len() as u64;
    if at >= frames {
        let problem = format!("expected a frame from 0 to {}, found {at}", frames.max(1) - 1);
        return Err(BadPlan::new("--at", problem));
    }
    let mut plan = derive(recording)?;
    if let Some(patch) = &change.config {
        plan.config = patched(&plan.config, patch)?;
    }
    for (n, answer) in change.answers.iter().enumerate() {
        replace(&mut plan, recording, at, answer)
            .map_err(|problem| BadPlan::new(format!("--answer {}", n + 1), problem))?;
    }
    plan.validate(&Library::new())?;
    let script = Script::compile(&plan, &Library::new())?;
    let outcome = play(&script, &[], How::FULL);
    let sink = record(&script, &outcome.tape);
    let other = Recording::from_memory(&sink)
        .map_err(|error| BadPlan::new("recording", error.to_string()))?;
    let differs_at = first_difference(recording, &other);
    if let Some(early) = differs_at.filter(|frame| *frame <= at) {
        let problem =
            format!("the change shows at frame {early} already, which is not behind {at}");
        return Err(BadPlan::new("--at", problem));
    }
    Ok(Fork { recording: other, differs_at, breach: outcome.breach, plan })
}

/// The first frame whose input, orders or doors are not those of the other recording.
fn first_difference(recorded: &Recording, other: &Recording) -> Option<u64> {
    let pairs = recorded.frames.iter().zip(&other.frames);
    let differing = pairs
        .clone()
        .find(|(a, b)| (&a.input, &a.effects, &a.trail) != (&b.input, &b.effects, &b.trail));
    let shorter = recorded.frames.len().min(other.frames.len()) as u64;
    let longer = recorded.frames.len().max(other.frames.len()) as u64;
    differing.map(|(frame, _)| frame.seq).or((shorter < longer).then_some(shorter))
}

/// The configuration with the members of a patch (RFC 7396).
///
/// # Errors
///
/// The result is no configuration.
pub fn patched(config: &RunConfig, patch: &Value) -> Result<RunConfig, BadPlan> {
    let bad = |error: serde_json::Error| BadPlan::new("--config", error.to_string());
    let mut whole = serde_json::to_value(config).map_err(bad)?;
    merge(&mut whole, patch);
    serde_json::from_value(whole).map_err(bad)
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, member) in members {
        match member {
            Value::Null => {
                target.remove(name);
            }
            _ => merge(target.entry(name.clone()).or_insert(Value::Null), member),
        }
    }
}

/// Puts an answer into the plan, in the place of the recorded one.
fn replace(
    plan: &mut Scenario,
    recording: &Recording,
    at: u64,
    answer: &Input,
) -> Result<(), String> {
    let Some(id) = answer.answers() else {
        return Err(format!("expected an answer to an effect, found {}", answer.kind()));
    };
    let answered = recording.frames.iter().find(|frame| {
        let input = frame.input.as_ref();
        input.is_some_and(|input| input.answers() == Some(id) && input.kind() == answer.kind())
    });
    let Some(answered) = answered else {
        return Err(format!("the recording holds no {} for {id}", answer.kind()));
    };
    if answered.seq <= at {
        let seq = answered.seq;
        return Err(format!("{id} is answered at frame {seq}, which is not behind {at}"));
    }
    if let Input::ToolReturned { report, .. } = answer {
        let (name, nth) = started(recording, id).ok_or("its start is not recorded")?;
        let runs = plan.tools.get_mut(&name).map(|tool| &mut tool.runs);
        let run = runs.and_then(|runs| runs.get_mut(nth)).ok_or("its run is not planned")?;
        let output = Output::Text(report.output.clone());
        let images = report.images.clone();
        *run = ToolRun { status: report.status, output, images, ..run.clone() };
        Ok(())
    } else if let Input::HookAnswered { answer, .. } = answer {
        let (hook, nth) = asked(recording, id).ok_or("its question is not recorded")?;
        let answers = plan.hooks.get_mut(hook).map(|plan| &mut plan.answers);
        let answers = answers.ok_or("its hook is not planned")?;
        // What the hook says later stays what it said then.
        answers.resize(answers.len().max(nth + 1), HookAnswer::Allowed);
        answers[nth] = answer.clone();
        Ok(())
    } else if let Input::Compacted { result, .. } = answer {
        let nth = compactions_before(recording, id);
        match plan.compactions.get_mut(nth) {
            Some(planned) => *planned = result.clone(),
            None => plan.compactions.push(result.clone()),
        }
        Ok(())
    } else {
        Err(format!("expected tool_returned, hook_answered or compacted, found {}", answer.kind()))
    }
}

fn effects(recording: &Recording) -> impl Iterator<Item = &Effect> {
    recording.frames.iter().flat_map(|frame| &frame.effects)
}

/// The tool that an effect runs, and which run of it this is, from 0.
fn started(recording: &Recording, wanted: EffectId) -> Option<(String, usize)> {
    let name = effects(recording).find_map(|effect| match effect {
        Effect::RunTool { id, name, .. } if *id == wanted => Some(name),
        _ => None,
    })?;
    let earlier = effects(recording).filter(|effect| {
        matches!(effect, Effect::RunTool { id, name: other, .. } if other == name && *id < wanted)
    });
    Some((name.to_string(), earlier.count()))
}

/// The hook that an effect asks, and which question to it this is, from 0.
fn asked(recording: &Recording, wanted: EffectId) -> Option<(usize, usize)> {
    let hook = effects(recording).find_map(|effect| match effect {
        Effect::AskHook { id, hook, .. } if *id == wanted => Some(*hook),
        _ => None,
    })?;
    let earlier = effects(recording).filter(|effect| {
        matches!(effect, Effect::AskHook { id, hook: other, .. } if *other == hook && *id < wanted)
    });
    Some((usize::from(hook.0), earlier.count()))
}

fn compactions_before(recording: &Recording, wanted: EffectId) -> usize {
    effects(recording)
        .filter(|effect| matches!(effect, Effect::Compact { id, .. } if *id < wanted))
        .count()
}
