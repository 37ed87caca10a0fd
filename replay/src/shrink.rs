//! Shrinks a plan that breaks a law: smaller and smaller plans, as long as the same law breaks.
//!
//! It works on the plan, never on opaque choices. Every candidate is validated first, and a response
//! stays one that a decoder could have made, so no impossible plan survives.

use machine_spec::config::ToolKind;
use machine_spec::limits::Limits;
use machine_spec::model::{BlockEnd, BlockKind, ModelEvent};

use crate::arena::{How, Script};
use crate::boundary::{guarded, judge_recorded};
use crate::checkers::Breach;
use crate::faults::{Placed, Seam, SeamKind};
use crate::scenario::{Act, After, Answer, BadPlan, Library, Output, Scenario, What};

mod events;

use events::smaller_responses;

/// What a plan was shrunk to.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The smallest plan that was found.
    pub plan: Scenario,
    /// What it breaks.
    pub breach: Breach,
    /// Inputs until it breaks.
    pub inputs: u64,
    /// Candidates that were played.
    pub tried: u64,
}

/// What playing a plan comes to, as far as a shrinker cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Inputs that were stepped.
    pub inputs: u64,
    /// The first broken law.
    pub breach: Option<Breach>,
}

/// Plays a plan and judges it.
///
/// # Errors
///
/// The plan cannot be played.
pub fn judge(plan: &Scenario, library: &Library) -> Result<Judged, BadPlan> {
    plan.validate(library)?;
    let script = Script::compile(plan, library)?;
    Ok(match guarded(&script, &plan.faults, How::FULL) {
        Ok(outcome) => {
            let breach = outcome.breach.clone().or_else(|| judge_recorded(&script, &outcome));
            Judged { inputs: outcome.inputs, breach }
        }
        Err(breach) => Judged { inputs: script.progress(), breach: Some(breach) },
    })
}

/// Shrinks a plan; nothing if it breaks no law. At most so many candidates are played.
///
/// # Errors
///
/// The plan cannot be played.
pub fn shrink(
    plan: &Scenario,
    library: &Library,
    most_tried: u64,
) -> Result<Option<Shrunk>, BadPlan> {
    let judged = judge(plan, library)?;
    let Some(breach) = judged.breach else { return Ok(None) };
    let best = Shrunk { plan: plan.clone(), breach, inputs: judged.inputs, tried: 1 };
    let mut shrinking = Shrinking { library, most_tried, best };
    shrinking.speak_in_events();
    while shrinking.round() {}
    Ok(Some(shrinking.best))
}

struct Shrinking<'l> {
    library: &'l Library,
    most_tried: u64,
    best: Shrunk,
}

/// A way to make plans smaller: every plan that is one change away.
type Pass = fn(&Scenario) -> Vec<Scenario>;

const PASSES: &[Pass] = &[
    without_faults,
    without_answers,
    without_acts,
    without_configuration,
    without_plans,
    smaller_responses,
    shorter_texts,
    smaller_numbers,
    smaller_limits,
];

impl Shrinking<'_> {
    /// Whether anything became smaller.
    fn round(&mut self) -> bool {
        let mut any = false;
        for pass in PASSES {
            while self.improve(*pass) {
                any = true;
            }
        }
        any && self.best.tried < self.most_tried
    }

    fn improve(&mut self, pass: Pass) -> bool {
        for candidate in pass(&self.best.plan) {
            if self.best.tried >= self.most_tried {
                return false;
            }
            if self.accept(candidate) {
                return true;
            }
        }
        false
    }

    /// Takes a candidate if it is sound and breaks the same law.
    fn accept(&mut self, candidate: Scenario) -> bool {
        self.best.tried += 1;
        let Ok(judged) = judge(&candidate, self.library) else { return false };
        let Some(breach) = judged.breach else { return false };
        if breach.law != self.best.breach.law || judged.inputs > self.best.inputs {
            return false;
        }
        (self.best.plan, self.best.breach) = (candidate, breach);
        self.best.inputs = judged.inputs;
        true
    }

    /// Bodies become events wherever no fault needs their bytes: events can be left out one by one.
    fn speak_in_events(&mut self) {
        for n in 0..self.best.plan.answers.len() {
            let Ok(script) = Script::compile(&self.best.plan, self.library) else { return };
            let Some(said) = script.as_said(n as u32 + 1) else { continue };
            let mut candidate = self.best.plan.clone();
            candidate.answers[n] = said;
            self.accept(candidate);
        }
    }
}

/// A plan that is the same but for one change.
fn changed(plan: &Scenario, change: impl FnOnce(&mut Scenario)) -> Scenario {
    let mut plan = plan.clone();
    change(&mut plan);
    plan
}

fn without_faults(plan: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    for n in 0..plan.faults.len() {
        all.push(changed(plan, |plan| {
            plan.faults.remove(n);
        }));
        if plan.faults[n].times > 1 {
            all.push(changed(plan, |plan| plan.faults[n].times = 1));
            all.push(changed(plan, |plan| plan.faults[n].times -= 1));
        }
    }
    all
}

fn without_answers(plan: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    for n in 0..plan.answers.len() {
        let struck = |placed: &Placed| placed.answer() == Some(n as u32 + 1);
        if plan.faults.iter().any(struck) {
            continue;
        }
        all.push(changed(plan, |plan| {
            plan.answers.remove(n);
            for placed in &mut plan.faults {
                // The answers behind the one that is gone move up.
                if let Some(answer) = placed.at.answer_mut()
                    && *answer > n as u32 + 1
                {
                    *answer -= 1;
                }
            }
        }));
    }
    all
}

fn without_acts(plan: &Scenario) -> Vec<Scenario> {
    let mut all: Vec<Scenario> = (0..plan.user.len())
        .map(|n| {
            changed(plan, |plan| {
                plan.user.remove(n);
            })
        })
        .collect();
    for n in 0..plan.user.len() {
        if plan.user[n].plus_ms > 0 {
            all.push(changed(plan, |plan| plan.user[n].plus_ms = 0));
        }
        if let After::Inputs(inputs) = plan.user[n].after
            && inputs > 0
        {
            for fewer in [inputs / 2, inputs - 1] {
                all.push(changed(plan, |plan| plan.user[n].after = After::Inputs(fewer)));
            }
        }
    }
    for n in 0..plan.faults.len() {
        for at in earlier(plan.faults[n].at) {
            all.push(changed(plan, |plan| plan.faults[n].at = at));
        }
    }
    all
}

/// Earlier places of the same kind.
fn earlier(at: Seam) -> Vec<Seam> {
    let fewer = |n: u32| [n / 2, n.saturating_sub(1)].into_iter().filter(move |less| *less < n);
    match at {
        Seam::Input(n) => fewer(n).map(Seam::Input).collect(),
        Seam::Frame(n) => fewer(n).map(Seam::Frame).collect(),
        Seam::Tool(n) => fewer(n).map(Seam::Tool).collect(),
        Seam::Hook(n) => fewer(n).map(Seam::Hook).collect(),
        Seam::Approval(n) => fewer(n).map(Seam::Approval).collect(),
        Seam::Store(n) => fewer(n).map(Seam::Store).collect(),
        Seam::Compaction(n) => fewer(n).map(Seam::Compaction).collect(),
        Seam::Answer(n) => fewer(n).map(Seam::Answer).collect(),
        Seam::Event { answer, event } => {
            fewer(event).map(|event| Seam::Event { answer, event }).collect()
        }
        Seam::Byte { answer, byte } => [byte / 2, byte.saturating_sub(1)]
            .into_iter()
            .filter(|less| *less < byte)
            .map(|byte| Seam::Byte { answer, byte })
            .collect(),
    }
}

fn without_configuration(plan: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let config = &plan.config;
    if !config.history.is_empty() {
        all.push(changed(plan, |plan| plan.config.history = Default::default()));
    }
    if !config.system.is_empty() {
        all.push(changed(plan, |plan| plan.config.system.clear()));
    }
    if !config.output_schema.is_empty() {
        all.push(changed(plan, |plan| plan.config.output_schema.clear()));
    }
    if config.deferred.is_some() {
        all.push(changed(plan, |plan| plan.config.deferred = None));
    }
    for n in 0..config.tools.len() {
        if config.tools[n].kind != ToolKind::Plain {
            all.push(changed(plan, |plan| plan.config.tools[n].kind = ToolKind::Plain));
        }
    }
    if !config.force_tool.is_empty() {
        all.push(changed(plan, |plan| plan.config.force_tool.clear()));
    }
    for n in 0..config.tools.len() {
        all.push(changed(plan, |plan| {
            plan.config.tools.remove(n);
        }));
    }
    for n in 0..config.rules.len() {
        all.push(changed(plan, |plan| {
            plan.config.rules.remove(n);
        }));
    }
    for n in 0..config.stop_hooks.len() {
        all.push(changed(plan, |plan| {
            plan.config.stop_hooks.remove(n);
            if n < plan.hooks.len() {
                plan.hooks.remove(n);
            }
        }));
    }
    for n in 1..config.candidates.len() {
        all.push(changed(plan, |plan| {
            plan.config.candidates.remove(n);
            if n < plan.providers.len() {
                plan.providers.remove(n);
            }
        }));
    }
    all
}

fn without_plans(plan: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    for name in plan.tools.keys() {
        all.push(changed(plan, |plan| {
            plan.tools.remove(name);
        }));
        if plan.tools[name].runs.len() > 1 {
            all.push(changed(plan, |plan| {
                if let Some(tool) = plan.tools.get_mut(name) {
                    tool.runs.pop();
                }
            }));
        }
    }
    for n in 0..plan.hooks.len() {
        if !plan.hooks[n].answers.is_empty() {
            all.push(changed(plan, |plan| {
                plan.hooks[n].answers.pop();
            }));
        }
        if !plan.hooks[n].delays_ms.is_empty() {
            all.push(changed(plan, |plan| plan.hooks[n].delays_ms.clear()));
        }
    }
    all.extend(without_last(plan));
    if !plan.verdicts.is_empty() {
        all.push(changed(plan, |plan| plan.verdicts.clear()));
        all.push(changed(plan, |plan| {
            plan.verdicts.pop();
        }));
    }
    all
}

/// Plans without the last of what is answered in order.
fn without_last(plan: &Scenario) -> Vec<Scenario> {
    let popped = |any: bool, pop: fn(&mut Scenario)| any.then(|| changed(plan, pop));
    let all = [
        popped(!plan.compactions.is_empty(), |plan| drop(plan.compactions.pop())),
        popped(!plan.approvals.is_empty(), |plan| drop(plan.approvals.pop())),
        popped(!plan.recalls.is_empty(), |plan| drop(plan.recalls.pop())),
        popped(!plan.refreshes.is_empty(), |plan| drop(plan.refreshes.pop())),
        popped(!plan.shapes.is_empty(), |plan| drop(plan.shapes.pop())),
        popped(!plan.stores.is_empty(), |plan| drop(plan.stores.pop())),
    ];
    all.into_iter().flatten().collect()
}

fn shorter_texts(plan: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    for n in 0..plan.user.len() {
        if let Act::Says { text, .. } = &plan.user[n].act
            && text.len() > 1
        {
            all.push(changed(plan, |plan| {
                if let Act::Says { text, .. } = &mut plan.user[n].act {
                    *text = "a".into();
                }
            }));
        }
    }
    for (name, tool) in &plan.tools {
        for n in 0..tool.runs.len() {
            if tool.runs[n].output != Output::default() {
                all.push(changed(plan, |plan| {
                    if let Some(tool) = plan.tools.get_mut(name) {
                        tool.runs[n].output = Output::default();
                    }
                }));
            }
        }
    }
    for n in 0..plan.config.tools.len() {
        if !plan.config.tools[n].description.is_empty() {
            all.push(changed(plan, |plan| plan.config.tools[n].description.clear()));
        }
    }
    all
}

fn smaller_numbers(plan: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    for n in 0..plan.answers.len() {
        let struck = |placed: &Placed| {
            placed.answer() == Some(n as u32 + 1) && placed.at.kind() == SeamKind::Byte
        };
        if plan.answers[n].after_ms > 0 {
            all.push(changed(plan, |plan| plan.answers[n].after_ms = 0));
        }
        if plan.answers[n].body.is_some() && !plan.faults.iter().any(struck) {
            all.push(changed(plan, |plan| plan.answers[n].body = None));
        }
    }
    for (name, tool) in &plan.tools {
        for n in 0..tool.runs.len() {
            for fewer in [0, tool.runs[n].delay_ms / 2] {
                if fewer < tool.runs[n].delay_ms {
                    all.push(changed(plan, |plan| {
                        if let Some(tool) = plan.tools.get_mut(name) {
                            tool.runs[n].delay_ms = fewer;
                        }
                    }));
                }
            }
        }
    }
    all
}

/// Plans with the usual limits, where they are not needed as they are.
fn smaller_limits(plan: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    if plan.config.limits != Limits::default() {
        all.push(changed(plan, |plan| plan.config.limits = Limits::default()));
    }
    if plan.config.policy != Default::default() {
        all.push(changed(plan, |plan| plan.config.policy = Default::default()));
    }
    all
}

/// The events of an answer, if it is told in events.
fn said(answer: &Answer) -> Option<&[ModelEvent]> {
    match &answer.what {
        What::Said(events) => Some(events),
        What::File(_) | What::Stream(_) | What::Http { .. } | What::Fault(_) => None,
    }
}
