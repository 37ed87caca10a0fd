//! Plans are hostile input: what cannot be played is refused with its place and the reason.

use std::fmt;

use machine_spec::bound;
use serde::Serialize;

use super::{Answer, Library, Patience, Scenario, What};
use crate::code::Code;
use crate::faults::{Fault, Placed, Seam};

/// A plan that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadPlan {
    /// Where: a path such as `faults[2].at`, or a line and a column.
    pub at: String,
    /// What was expected there and what was found.
    pub problem: String,
}

impl BadPlan {
    /// What is wrong at a place.
    #[must_use]
    pub fn new(at: impl Into<String>, problem: impl Into<String>) -> BadPlan {
        BadPlan { at: at.into(), problem: problem.into() }
    }

    /// Its code.
    #[must_use]
    pub const fn code(&self) -> Code {
        Code::BadScenario
    }
}

impl fmt::Display for BadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.code(), self.at, self.problem)
    }
}

impl std::error::Error for BadPlan {}

/// The bounds of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanLimits;

impl PlanLimits {
    /// Most bytes of a plan.
    pub const BYTES: usize = 64 << 20;
    /// Most faults.
    pub const FAULTS: usize = 64;
    /// Most strikes of one fault.
    pub const TIMES: u32 = 1_000;
    /// Most inputs of a run.
    pub const INPUTS: u64 = 10_000_000;
    /// Most answers, runs, acts and the like.
    pub const ITEMS: usize = 100_000;
    /// Longest time, in milliseconds: some thirty years, so that sums stay numbers.
    pub const MS: u64 = 1 << 40;
}

type Judged = Result<(), BadPlan>;

fn ensure(holds: bool, at: impl Into<String>, problem: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(BadPlan::new(at, problem())) }
}

impl Scenario {
    /// Reads a plan and judges it.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn read(bytes: &[u8]) -> Result<Scenario, BadPlan> {
        ensure(bytes.len() <= PlanLimits::BYTES, "plan", || {
            format!("expected at most {} bytes, found {}", PlanLimits::BYTES, bytes.len())
        })?;
        let scenario: Scenario = serde_json::from_slice(bytes).map_err(|error| {
            let at = format!("line {}, column {}", error.line(), error.column());
            // The position stands before the words already.
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or_default().to_owned();
            BadPlan::new(at, words)
        })?;
        scenario.validate(&Library::new())?;
        Ok(scenario)
    }

    /// Judges a plan.
    ///
    /// # Errors
    ///
    /// What cannot be played, and where it stands.
    pub fn validate(&self, library: &Library) -> Judged {
        self.judge_counts()?;
        self.judge_times()?;
        ensure(self.providers.len() >= self.config.candidates.len(), "providers", || {
            let (found, wanted) = (self.providers.len(), self.config.candidates.len());
            format!("expected one for each of {wanted} candidates, found {found}")
        })?;
        for (n, placed) in self.faults.iter().enumerate() {
            self.judge_fault(&format!("faults[{n}]"), placed, library)?;
        }
        for (n, pair) in self.faults.windows(2).enumerate() {
            judge_order(&format!("faults[{}]", n + 1), &pair[0], &pair[1])?;
        }
        self.judge_reach()
    }

    fn judge_counts(&self) -> Judged {
        let most = PlanLimits::ITEMS;
        let runs: usize = self.tools.values().map(|plan| plan.runs.len()).sum();
        for (at, found) in [
            ("answers", self.answers.len()),
            ("tools", runs),
            ("hooks", self.hooks.iter().map(|plan| plan.answers.len()).sum()),
            ("compactions", self.compactions.len()),
            ("approvals", self.approvals.len()),
            ("recalls", self.recalls.len()),
            ("refreshes", self.refreshes.len()),
            ("shapes", self.shapes.len()),
            ("stores", self.stores.len()),
            ("user", self.user.len()),
            ("verdicts", self.verdicts.len()),
        ] {
            ensure(found <= most, at, || format!("expected at most {most}, found {found}"))?;
        }
        let (most, found) = (PlanLimits::FAULTS, self.faults.len());
        ensure(found <= most, "faults", || format!("expected at most {most}, found {found}"))?;
        let (most, found) = (PlanLimits::INPUTS, self.most_inputs);
        ensure((1..=most).contains(&found), "most_inputs", || {
            format!("expected 1 to {most}, found {found}")
        })
    }

    fn judge_times(&self) -> Judged {
        let short = |at: String, ms: u64| {
            let most = PlanLimits::MS;
            ensure(ms <= most, at, || format!("expected at most {most} ms, found {ms}"))
        };
        for (n, answer) in self.answers.iter().enumerate() {
            short(format!("answers[{n}].after_ms"), answer.after_ms)?;
            let pauses = answer.body.iter().flat_map(|plan| plan.pauses_ms.values());
            short(format!("answers[{n}].body.pauses_ms"), pauses.copied().max().unwrap_or(0))?;
        }
        for (name, plan) in &self.tools {
            let longest = plan.runs.iter().map(|run| run.delay_ms).max();
            short(format!("tools.{name}.runs"), longest.unwrap_or(0))?;
        }
        for (n, plan) in self.hooks.iter().enumerate() {
            let longest = plan.delays_ms.iter().copied().max().unwrap_or(0).max(plan.delay_ms);
            short(format!("hooks[{n}].delay_ms"), longest)?;
        }
        for (n, approval) in self.approvals.iter().enumerate() {
            short(format!("approvals[{n}].delay_ms"), approval.delay_ms)?;
        }
        for (n, act) in self.user.iter().enumerate() {
            short(format!("user[{n}].plus_ms"), act.plus_ms)?;
        }
        let Patience { request_ms, idle_ms, linger_ms } = self.patience;
        short("patience".into(), request_ms.max(idle_ms).max(linger_ms))?;
        short("start_unix_ms".into(), self.start_unix_ms / 4)
    }

    fn judge_fault(&self, at: &str, placed: &Placed, library: &Library) -> Judged {
        let (fault, seam) = (placed.fault, placed.at);
        ensure(fault.seam() == seam.kind(), format!("{at}.at"), || {
            format!("{} strikes at {}, found {}", fault.word(), fault.seam(), seam.kind())
        })?;
        ensure((1..=PlanLimits::TIMES).contains(&placed.times), format!("{at}.times"), || {
            format!("expected 1 to {}, found {}", PlanLimits::TIMES, placed.times)
        })?;
        let wait = match fault {
            Fault::ToolLate { by_ms } | Fault::ApprovalLate { by_ms } => by_ms,
            Fault::RateLimited { retry_after_ms } => retry_after_ms.unwrap_or(0),
            Fault::AnswerLate { behind } => u64::from(behind),
            Fault::TornWrite { bytes } => bytes,
            _ => 0,
        };
        ensure(wait <= PlanLimits::MS, format!("{at}.fault"), || {
            format!("expected at most {}, found {wait}", PlanLimits::MS)
        })?;
        self.judge_seam(&format!("{at}.at"), seam, library)
    }

    fn judge_seam(&self, at: &str, seam: Seam, library: &Library) -> Judged {
        let within = |n: u64, from: u64, to: u64| {
            ensure((from..=to).contains(&n), at, || {
                format!("expected {from} to {to}, found {n}: {seam} is out of range")
            })
        };
        if let Some(n) = seam.answer() {
            within(u64::from(n), 1, self.answers.len() as u64)?;
        }
        let most = self.most_inputs;
        let worst = bound::certificate(&self.config);
        match seam {
            Seam::Byte { answer, byte } => {
                let length = self.answers.get(answer as usize - 1).map(|a| a.length(library));
                within(byte, 0, length.unwrap_or(0))
            }
            Seam::Event { answer, event } => {
                let events = self.answers.get(answer as usize - 1).map(|a| a.most_events(library));
                within(u64::from(event), 1, events.unwrap_or(0))
            }
            Seam::Answer(_) => Ok(()),
            Seam::Tool(n) => within(u64::from(n), 1, worst.tool_executions.max(1)),
            Seam::Hook(n) => within(u64::from(n), 1, worst.hook_runs.max(1)),
            Seam::Compaction(n) => within(u64::from(n), 1, worst.compactions.max(1)),
            Seam::Approval(n) | Seam::Store(n) | Seam::Input(n) => within(u64::from(n), 1, most),
            Seam::Frame(n) => within(u64::from(n), 0, most),
        }
    }

    /// Whether each fault can be reached: nothing comes behind the end of a stream.
    fn judge_reach(&self) -> Judged {
        for (n, later) in self.faults.iter().enumerate() {
            let earlier = self.faults[..n].iter().find(|earlier| {
                earlier.answer().is_some() && earlier.answer() == later.answer() && ends(earlier)
            });
            if let Some(earlier) = earlier {
                let problem = format!("impossible order: {later} cannot strike behind {earlier}");
                return Err(BadPlan::new(format!("faults[{n}]"), problem));
            }
        }
        Ok(())
    }
}

/// Whether nothing more of an answer comes behind this fault.
const fn ends(placed: &Placed) -> bool {
    match placed.fault {
        Fault::StreamCut
        | Fault::StreamReset
        | Fault::StreamStall
        | Fault::ErrorInStream
        | Fault::RateLimited { .. }
        | Fault::ServerError
        | Fault::ContextOverflow
        | Fault::RequestFails(_) => true,
        Fault::ByteGarbled
        | Fault::EventDuplicated
        | Fault::EventDropped
        | Fault::EventSwapped
        | Fault::EventMalformed
        | Fault::ToolTimeout
        | Fault::ToolCrash
        | Fault::ToolUnknown
        | Fault::ToolLate { .. }
        | Fault::HookHang
        | Fault::HookFail
        | Fault::ApprovalHang
        | Fault::ApprovalLate { .. }
        | Fault::StoreFails
        | Fault::CompactionFails
        | Fault::AnswerRepeated
        | Fault::AnswerLate { .. }
        | Fault::AnswerForged
        | Fault::Interrupt
        | Fault::Speech
        | Fault::CrashAt
        | Fault::TornWrite { .. }
        | Fault::DiskFull => false,
    }
}

/// Faults of the same kind of seam stand in the order in which they strike.
fn judge_order(at: &str, earlier: &Placed, later: &Placed) -> Judged {
    let same = earlier.at.kind() == later.at.kind();
    let (first, second) = ((earlier.at, earlier.fault), (later.at, later.fault));
    ensure(!same || first < second, at, || {
        format!("impossible order: {later} stands behind {earlier}")
    })
}

impl Answer {
    /// Bytes of its body; of a file that the library does not have nothing is known.
    fn length(&self, library: &Library) -> u64 {
        match &self.what {
            What::File(name) => library.get(name).map_or(u64::MAX, |file| file.body.len() as u64),
            What::Stream(body) | What::Http { body, .. } => body.len() as u64,
            What::Fault(_) | What::Said(_) => 0,
        }
    }

    /// No body holds more events than bytes.
    fn most_events(&self, library: &Library) -> u64 {
        match &self.what {
            What::Said(events) => events.len() as u64,
            What::File(_) | What::Stream(_) | What::Http { .. } | What::Fault(_) => {
                self.length(library)
            }
        }
    }
}
