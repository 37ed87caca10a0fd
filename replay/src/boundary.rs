//! Every boundary: each fault at each byte, event, answer, run, question, input and frame of a run,
//! each of them as often as the budget for its repetition allows, and once more.
//!
//! A variant is judged by the laws of [`crate::checkers`]; one whose run nobody saw before is also
//! recorded, read back and replayed. Variants with equal runs are counted, and recorded once: a
//! recording is a function of its inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use machine_spec::model::ErrorClass;
use serde::Serialize;

use crate::arena::{How, Outcome, Script, play, record};
use crate::checkers::{Breach, breach};
use crate::faults::{Fault, Placed, Seam};
use crate::reader::Recording;
use crate::replayer::{Options, Verdict, replay};
use crate::scenario::{Afterwards, BadPlan, Library, Scenario, WhenCancelled};

/// How thoroughly boundaries are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// One of so many bytes is a boundary.
    pub every_byte: u64,
    /// One of so many inputs and frames is a boundary.
    pub every_input: usize,
    /// Most strikes of one fault.
    pub most_times: u32,
    /// Whether the runs that nobody saw before are recorded and replayed.
    pub replays: bool,
}

impl Profile {
    /// Every byte, every repetition.
    pub const FULL: Profile =
        Profile { every_byte: 1, every_input: 1, most_times: 6, replays: true };
    /// What every test run can afford.
    pub const SMALL: Profile =
        Profile { every_byte: 97, every_input: 3, most_times: 2, replays: true };
}

/// What came of all variants of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Variants played.
    pub variants: u64,
    /// Runs among them that are not equal.
    pub distinct: u64,
    /// Inputs stepped.
    pub inputs: u64,
    /// Variants in which no fault found its place.
    pub untouched: u64,
    /// Processes killed, in all variants.
    pub crashes: u64,
    /// Of the runs that were killed once: those that ended as if nothing had happened.
    pub ended_alike: u64,
    /// Variants by fault.
    pub faults: BTreeMap<&'static str, u64>,
    /// Variants by ending.
    pub endings: BTreeMap<String, u64>,
    /// What is broken.
    pub findings: Vec<Finding>,
}

/// A variant that breaks a law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The faults of the variant.
    pub faults: Vec<Placed>,
    /// What tools do that are told to stop, where the variant changes it.
    pub when_cancelled: Option<WhenCancelled>,
    /// What is broken.
    pub breach: Breach,
}

impl Finding {
    /// The whole plan of the variant.
    #[must_use]
    pub fn plan(&self, scenario: &Scenario) -> Scenario {
        let mut plan = benign(scenario);
        plan.faults = self.faults.clone();
        if let Some(when_cancelled) = self.when_cancelled {
            plan = cancelled(&plan, when_cancelled);
        }
        plan
    }
}

/// Most findings that are kept of one run; they are counted on.
const MOST_FINDINGS: usize = 32;

impl Tally {
    /// Adds what came of another run.
    pub fn merge(&mut self, other: Tally) {
        self.variants += other.variants;
        self.distinct += other.distinct;
        self.inputs += other.inputs;
        self.untouched += other.untouched;
        self.crashes += other.crashes;
        self.ended_alike += other.ended_alike;
        for (fault, count) in other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        for (ending, count) in other.endings {
            *self.endings.entry(ending).or_default() += count;
        }
        self.findings.extend(other.findings);
    }
}

/// Breaks a scenario at every boundary. `told` hears of the variants played so far, now and then.
///
/// # Errors
///
/// The scenario cannot be played.
pub fn every_boundary(
    scenario: &Scenario,
    library: &Library,
    profile: Profile,
    mut told: impl FnMut(u64),
) -> Result<Tally, BadPlan> {
    let base = benign(scenario);
    let mut trial = Trial { profile, tally: Tally::default(), seen: BTreeSet::new(), alike: None };
    let script = Script::compile(&base, library)?;
    trial.judge(&script, &[], None);
    let whole = match guarded(&script, &[], How::FULL) {
        Ok(outcome) => outcome,
        Err(_) => return Ok(trial.tally),
    };
    trial.alike = whole.state.terminal().map(|terminal| terminal.kind());
    for (n, faults) in variants(&script, &whole, profile).into_iter().enumerate() {
        trial.judge(&script, &faults, None);
        if n.is_multiple_of(4096) {
            told(trial.tally.variants);
        }
    }
    for when_cancelled in [WhenCancelled::Stops, WhenCancelled::GoesOn, WhenCancelled::IsSilent] {
        let other = cancelled(&base, when_cancelled);
        let script = Script::compile(&other, library)?;
        for faults in interrupts(&whole, profile) {
            trial.judge(&script, &faults, Some(when_cancelled));
        }
    }
    told(trial.tally.variants);
    Ok(trial.tally)
}

/// The scenario without faults, in a world that never runs out of answers.
fn benign(scenario: &Scenario) -> Scenario {
    let mut base = scenario.clone();
    base.faults.clear();
    if base.afterwards == Afterwards::Exhausted {
        base.afterwards = Afterwards::Text;
    }
    base
}

/// The scenario in which every tool that is told to stop does this.
fn cancelled(scenario: &Scenario, when_cancelled: WhenCancelled) -> Scenario {
    let mut scenario = scenario.clone();
    for plan in scenario.tools.values_mut() {
        for run in &mut plan.runs {
            run.when_cancelled = when_cancelled;
        }
    }
    scenario
}

/// Plays a script; a panic of the machine is a breach like any other.
pub(crate) fn guarded(script: &Script<'_>, faults: &[Placed], how: How) -> Result<Outcome, Breach> {
    catch_unwind(AssertUnwindSafe(|| play(script, faults, how))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let text = text.unwrap_or_default();
        // An assertion of the machine begins with the id of what it asserts.
        let law = text.split_once(": ").map(|(law, _)| law).filter(|law| is_law(law));
        breach(law.unwrap_or("X01"), 0, text.clone())
    })
}

fn is_law(word: &str) -> bool {
    let mut letters = word.chars();
    word.len() == 3
        && letters.next().is_some_and(|letter| letter.is_ascii_uppercase())
        && letters.all(|digit| digit.is_ascii_digit())
}

struct Trial {
    profile: Profile,
    tally: Tally,
    /// The runs that were seen, by what they come to.
    seen: BTreeSet<(machine_spec::Digest, u64)>,
    /// How the run ends if nothing goes wrong.
    alike: Option<machine_spec::TerminalKind>,
}

impl Trial {
    fn judge(
        &mut self,
        script: &Script<'_>,
        faults: &[Placed],
        when_cancelled: Option<WhenCancelled>,
    ) {
        self.tally.variants += 1;
        for placed in faults {
            *self.tally.faults.entry(placed.fault.word()).or_default() += 1;
        }
        let breach = match guarded(script, faults, How::FULL) {
            Err(breach) => Some(breach),
            Ok(outcome) => self.note(script, faults, &outcome),
        };
        if let Some(breach) = breach {
            *self.tally.endings.entry(format!("broken {}", breach.law)).or_default() += 1;
            if self.tally.findings.len() < MOST_FINDINGS {
                let faults = faults.to_vec();
                self.tally.findings.push(Finding { faults, when_cancelled, breach });
            }
        }
    }

    fn note(
        &mut self,
        script: &Script<'_>,
        faults: &[Placed],
        outcome: &Outcome,
    ) -> Option<Breach> {
        self.tally.inputs += outcome.inputs;
        if outcome.breach.is_some() {
            return outcome.breach.clone();
        }
        let kind = outcome.state.terminal().map(|terminal| terminal.kind());
        let ending = match (kind, &outcome.trouble) {
            (Some(kind), _) => kind.to_string(),
            (None, Some(trouble)) => trouble.to_string(),
            (None, None) => "none".into(),
        };
        *self.tally.endings.entry(ending).or_default() += 1;
        self.tally.untouched += u64::from(!faults.is_empty() && outcome.struck == 0);
        let killed =
            |placed: &&Placed| matches!(placed.fault, Fault::CrashAt | Fault::TornWrite { .. });
        let crashes = faults.iter().filter(killed).count() as u64;
        self.tally.crashes += crashes;
        self.tally.ended_alike += u64::from(crashes == 1 && kind == self.alike);
        if !self.seen.insert((outcome.state.digest(), outcome.inputs)) {
            return None;
        }
        self.tally.distinct += 1;
        if self.profile.replays { judge_recorded(script, outcome) } else { None }
    }
}

/// Records a run, reads it back and replays it.
pub(crate) fn judge_recorded(script: &Script<'_>, outcome: &Outcome) -> Option<Breach> {
    let sink = record(script, &outcome.tape);
    let recording = match Recording::from_memory(&sink) {
        Ok(recording) => recording,
        Err(error) => return Some(breach("R01", outcome.inputs, error.to_string())),
    };
    let options = Options { requests: false, responses: false, invariants: true };
    let report = replay(&recording, options);
    if let Some(divergence) = report.divergence() {
        return Some(breach("R01", divergence.at, divergence.to_string()));
    }
    if let Verdict::Unreadable(error) = &report.verdict {
        return Some(breach("R01", outcome.inputs, error.to_string()));
    }
    let same = report.terminal.as_ref() == outcome.state.terminal()
        && recording.frames.len() as u64 == outcome.inputs + 1;
    match same {
        true => None,
        // Killed or not, the run is the one that its inputs tell.
        false => Some(breach("R02", outcome.inputs, "the recording tells of another run")),
    }
}

/// Every fault at every boundary of a run.
fn variants(script: &Script<'_>, whole: &Outcome, profile: Profile) -> Vec<Vec<Placed>> {
    let limits = &script.scenario.config.limits;
    let candidates = script.scenario.config.candidates.len() as u32;
    let most = |budget: u32| (budget + 1).saturating_mul(candidates.max(1)).min(profile.most_times);
    let mut all = Vec::new();
    let answers = u32::try_from(script.scenario.answers.len()).unwrap_or(u32::MAX);
    for answer in 1..=answers {
        let (bytes, events) = script.size(answer);
        for times in 1..=most(limits.stream_reissues.max(limits.stall_reissues)) {
            at_bytes(answer, bytes, times, profile, &mut all);
            at_events(answer, events, times, &mut all);
        }
        for times in 1..=most(limits.http_retries) {
            at_answers(answer, times, &mut all);
        }
    }
    at_effects(whole, &mut all);
    at_inputs(whole, profile, &mut all);
    at_frames(whole, profile, &mut all);
    all
}

fn at_bytes(answer: u32, bytes: u64, times: u32, profile: Profile, all: &mut Vec<Vec<Placed>>) {
    if bytes == 0 {
        return;
    }
    let step = usize::try_from(profile.every_byte).unwrap_or(1).max(1);
    for byte in (0..=bytes).step_by(step) {
        let at = Seam::Byte { answer, byte };
        for fault in [Fault::StreamCut, Fault::StreamReset, Fault::StreamStall, Fault::ByteGarbled]
        {
            all.push(vec![Placed::new(fault, at).times(times)]);
        }
    }
}

fn at_events(answer: u32, events: u32, times: u32, all: &mut Vec<Vec<Placed>>) {
    for event in 1..=events {
        let at = Seam::Event { answer, event };
        for fault in [
            Fault::EventDuplicated,
            Fault::EventDropped,
            Fault::EventSwapped,
            Fault::EventMalformed,
            Fault::ErrorInStream,
        ] {
            all.push(vec![Placed::new(fault, at).times(times)]);
        }
    }
}

fn at_answers(answer: u32, times: u32, all: &mut Vec<Vec<Placed>>) {
    let waits = [None, Some(1_500), Some(1 << 30)];
    let limited = waits.map(|retry_after_ms| Fault::RateLimited { retry_after_ms });
    let classes = ErrorClass::ALL.iter().map(|class| Fault::RequestFails(*class));
    let faults = limited.into_iter().chain([Fault::ServerError, Fault::ContextOverflow]);
    for fault in faults.chain(classes) {
        all.push(vec![Placed::new(fault, Seam::Answer(answer)).times(times)]);
    }
}

fn at_effects(whole: &Outcome, all: &mut Vec<Vec<Placed>>) {
    let late = [1, 10, 10_000].map(|by_ms| Fault::ToolLate { by_ms });
    for run in 1..=whole.executions as u32 {
        let faults = [Fault::ToolTimeout, Fault::ToolCrash, Fault::ToolUnknown];
        for fault in faults.into_iter().chain(late) {
            all.push(vec![Placed::new(fault, Seam::Tool(run))]);
        }
    }
    for question in 1..=whole.hooks {
        for fault in [Fault::HookHang, Fault::HookFail] {
            all.push(vec![Placed::new(fault, Seam::Hook(question))]);
        }
    }
    let late = [1, 10, 10_000].map(|by_ms| Fault::ApprovalLate { by_ms });
    for question in 1..=whole.approvals {
        for fault in [Fault::ApprovalHang].into_iter().chain(late) {
            all.push(vec![Placed::new(fault, Seam::Approval(question))]);
        }
    }
    for thing in 1..=whole.stores {
        all.push(vec![Placed::new(Fault::StoreFails, Seam::Store(thing))]);
    }
    for compaction in 1..=whole.compactions {
        all.push(vec![Placed::new(Fault::CompactionFails, Seam::Compaction(compaction))]);
    }
}

fn at_inputs(whole: &Outcome, profile: Profile, all: &mut Vec<Vec<Placed>>) {
    for input in (1..=whole.inputs as u32).step_by(profile.every_input.max(1)) {
        let at = Seam::Input(input);
        let late = [1, 2, 5, 20].map(|behind| Fault::AnswerLate { behind });
        let faults = [Fault::AnswerRepeated, Fault::AnswerForged, Fault::Speech];
        for fault in faults.into_iter().chain(late) {
            all.push(vec![Placed::new(fault, at)]);
        }
    }
}

fn interrupts(whole: &Outcome, profile: Profile) -> Vec<Vec<Placed>> {
    let mut all = Vec::new();
    for input in (1..=whole.inputs as u32).step_by(profile.every_input.max(1)) {
        let once = Placed::new(Fault::Interrupt, Seam::Input(input));
        all.push(vec![once]);
        all.push(vec![once.times(2)]);
        all.push(vec![once, Placed::new(Fault::Interrupt, Seam::Input(input + 2))]);
    }
    all
}

fn at_frames(whole: &Outcome, profile: Profile, all: &mut Vec<Vec<Placed>>) {
    for frame in (0..whole.inputs as u32).step_by(profile.every_input.max(1)) {
        let at = Seam::Frame(frame);
        all.push(vec![Placed::new(Fault::CrashAt, at)]);
        all.push(vec![Placed::new(Fault::DiskFull, at)]);
        let again = Placed::new(Fault::CrashAt, Seam::Frame(frame + 1));
        all.push(vec![Placed::new(Fault::CrashAt, at), again]);
        for bytes in [0, 7, 30, 60, u64::from(u32::MAX)] {
            let torn = Placed::new(Fault::TornWrite { bytes }, Seam::Frame(frame + 1));
            all.push(vec![torn]);
        }
    }
}
