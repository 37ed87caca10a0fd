//! The frame: what all rooms share. It changes only through small verbs.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Deref;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::compact::Compactions;
use crate::config::{Candidate, DeferredCall, HookPoint, RunConfig};
use crate::digest::Digest;
use crate::doom::Doom;
use crate::effect::EffectKind;
use crate::estimate::fixed_tokens;
use crate::ids::{AttemptId, CallId, CandidateId, EffectId, HookId, RuleId, TaskId};
use crate::input::Spent;
use crate::ledger::Ledger;
use crate::message::{Entry, Image, Origin, Said};
use crate::model::{Failure, StopDetails, Usage};
use crate::terminal::Tried;
use crate::transcript::Transcript;

/// What all rooms share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    pub(crate) config: Sealed,
    pub(crate) transcript: Transcript,
    pub(crate) wire_ids: IdShelf,
    pub(crate) inbox: Vec<Waiting>,
    pub(crate) ledger: Ledger,
    pub(crate) counters: Counters,
    pub(crate) sweep: Sweep,
    pub(crate) guard: Guard,
    pub(crate) doom: Doom,
    pub(crate) compactions: Compactions,
    pub(crate) answer: AnswerSoFar,
    pub(crate) tasks: Vec<Task>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) stop: Stop,
    pub(crate) gauge: Option<Gauge>,
    pub(crate) deadline: Option<EffectId>,
}

/// Words that wait to be absorbed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Waiting {
    /// Whether they are the user's own, or a notification's.
    pub origin: Origin,
    /// The words.
    pub text: String,
    /// Images that stand behind them.
    #[serde(default)]
    pub images: Vec<Image>,
    /// The rules they trigger.
    pub rules: Vec<RuleId>,
}

impl Waiting {
    /// Words without images that trigger no rule.
    #[must_use]
    pub fn words(origin: Origin, text: impl Into<String>) -> Waiting {
        Waiting { origin, text: text.into(), images: Vec::new(), rules: Vec::new() }
    }
}

/// By hand, like [`Said`]: words alone keep their digest.
impl Serialize for Waiting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Waiting { origin, text, images, rules } = self;
        let fields = 3 + usize::from(!images.is_empty());
        let mut waiting = serializer.serialize_struct("Waiting", fields)?;
        waiting.serialize_field("origin", origin)?;
        waiting.serialize_field("text", text)?;
        if !images.is_empty() {
            waiting.serialize_field("images", images)?;
        }
        waiting.serialize_field("rules", rules)?;
        waiting.end()
    }
}

/// A background task that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// The task.
    pub task: TaskId,
    /// The effect its end answers.
    pub effect: EffectId,
    /// Name of the tool.
    pub tool: Arc<str>,
    /// The rules that its call does not have the arguments for.
    pub lacks: Vec<RuleId>,
}

/// A lasting grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grant {
    /// Name of the tool.
    pub tool: Arc<str>,
    /// The arguments it is limited to, as digest of their canonical form.
    pub canonical: Option<u64>,
}

/// What stops the turn at its next decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Nothing.
    #[default]
    Nothing,
    /// A hook said so (`continue: false`).
    Halted {
        /// Why.
        reason: String,
    },
    /// A call waits for a later run.
    Deferred {
        /// The call.
        call: DeferredCall,
    },
}

/// What a request really weighed: the estimate of a later one is held against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gauge {
    /// Our estimate of it.
    pub estimated: u64,
    /// What the provider counted.
    pub reported: u64,
}

/// The counters of the run. Each belongs to one owner and none consumes another's (T7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counters {
    /// Requests sent to models; never reset.
    pub model_calls: u32,
    /// Complete or sealed responses.
    pub responses: u32,
    /// Calls seen, the source of call ids.
    pub calls: u32,
    /// User messages accepted.
    pub user_messages: u32,
    /// Rounds in which a call was usable.
    pub tool_rounds: u32,
    /// Rounds in a row in which no call was usable.
    pub malformed_streak: u32,
    /// Nudges given.
    pub blank_nudges: u32,
    /// Continuations of a cut output.
    pub continuations: u32,
    /// Resumptions of a paused response.
    pub pauses: u32,
    /// Forced continuations by stop hooks since the user spoke last.
    pub hook_blocks: u32,
    /// Failures in a row, by hook.
    pub hook_failures: Vec<u32>,
    /// Token usage of all requests, as reported.
    pub usage: Usage,
    /// What was spent on models, children included: reported, or estimated where nothing was.
    pub spent: Spent,
    /// Background tasks started.
    pub tasks: u32,
    /// Requests for the wanted shape.
    pub structured_retries: u32,
    /// Rounds in a row that went wrong, whoever owned them.
    pub anomalies: u32,
    /// Requests for a last word at the tool-round limit.
    pub wrap_ups: u32,
}

/// The walk through the fallback chain. It is sticky within the turn (Part 7, decision 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sweep {
    /// The candidate in use.
    pub at: CandidateId,
    /// Switches so far.
    pub hops: u32,
    /// Requests to the candidate in use since its last complete response.
    pub attempts: u32,
    /// Repetitions owned by `HttpRetry` since its last complete response.
    pub http_retries: u32,
    /// Repetitions owned by `StreamReissue` after a break, likewise.
    pub reissues: u32,
    /// Repetitions owned by `StreamReissue` after silence, likewise.
    pub stalls: u32,
    /// Compactions the provider asked for, likewise.
    pub overflows: u32,
    /// Times that fewer output tokens were asked for because the provider refused, likewise.
    pub shrinks: u32,
    /// Look-ups of the credential, likewise.
    pub refreshes: u32,
    /// Requests for a response in one piece, likewise.
    pub whole: u32,
    /// Output tokens that are asked for, when they are fewer than the candidate's limit.
    pub max_output: Option<u64>,
    /// The most telling failure of the candidate in use since its last complete response (B021).
    pub decisive: Option<Failure>,
    /// What is left out of the requests, by candidate: it is remembered for the run (B040).
    pub left_out: Vec<Vec<Arc<str>>>,
    /// The decisive failure of every candidate that was left behind.
    pub tried: Vec<Tried>,
}

/// The loop guard: which requirements are active, and what satisfied them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guard {
    /// Active rules, in the order in which they became active.
    pub active: Vec<ActiveRule>,
    /// Required tools that were called successfully in this turn, by rule.
    pub succeeded: BTreeSet<(RuleId, Arc<str>)>,
}

/// A requirement in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ActiveRule {
    /// Which one.
    pub rule: RuleId,
    /// Reminders given.
    pub reminders: u32,
}

/// The answer of the turn as it grows: a text that was cut or paused is continued, so the answer is
/// the sum of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AnswerSoFar {
    /// The text of its parts.
    pub text: String,
    /// The provider's word for why the last part ended.
    pub stop: String,
    /// What it said about it beyond that word.
    pub details: Option<Box<StopDetails>>,
}

impl Frame {
    pub(crate) fn new(mut config: RunConfig) -> Frame {
        config.tools.sort_by(|a, b| a.name.cmp(&b.name));
        let transcript = config.history.clone();
        let mut wire_ids = IdShelf::default();
        let used = transcript.newest_first().flat_map(|entry| match entry {
            Entry::Reply(reply) => reply.calls().map(|call| call.wire_id.clone()).collect(),
            Entry::Said(_) | Entry::Results(_) | Entry::Aside(_) | Entry::Boundary(_) => Vec::new(),
        });
        for id in used {
            wire_ids.add(&id);
        }
        let hooks = config.hooks().count();
        let candidates = config.candidates.len();
        Frame {
            config: Sealed::new(config),
            transcript,
            wire_ids,
            inbox: Vec::new(),
            ledger: Ledger::default(),
            counters: Counters { hook_failures: vec![0; hooks], ..Counters::default() },
            sweep: Sweep {
                at: CandidateId(0),
                hops: 0,
                attempts: 0,
                http_retries: 0,
                reissues: 0,
                stalls: 0,
                overflows: 0,
                shrinks: 0,
                refreshes: 0,
                whole: 0,
                max_output: None,
                decisive: None,
                left_out: vec![Vec::new(); candidates],
                tried: Vec::new(),
            },
            guard: Guard::default(),
            doom: Doom::default(),
            compactions: Compactions::default(),
            answer: AnswerSoFar::default(),
            tasks: Vec::new(),
            grants: Vec::new(),
            stop: Stop::Nothing,
            gauge: None,
            deadline: None,
        }
    }

    /// The configuration of the run.
    #[must_use]
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// What was said.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// What is open.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The walk through the fallback chain.
    #[must_use]
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The loop guard.
    #[must_use]
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// The compactions so far.
    #[must_use]
    pub fn compactions(&self) -> &Compactions {
        &self.compactions
    }

    /// The doom breaker.
    #[must_use]
    pub fn doom(&self) -> &Doom {
        &self.doom
    }

    /// Background tasks that run.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Lasting grants.
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// Words that wait to be absorbed.
    #[must_use]
    pub fn inbox(&self) -> &[Waiting] {
        &self.inbox
    }

    /// The ceiling of requests to models: configured, or the closed-form bound.
    #[must_use]
    pub fn model_call_limit(&self) -> u32 {
        match self.config.limits.model_calls {
            0 => crate::bound::model_calls(&self.config).unwrap_or(u32::MAX),
            set => set,
        }
    }

    pub(crate) fn candidate(&self) -> Option<&Candidate> {
        self.config.candidates.get(usize::from(self.sweep.at.0))
    }

    pub(crate) fn append(&mut self, entry: Entry) {
        self.transcript.append(entry);
    }

    pub(crate) fn say(&mut self, origin: Origin, text: impl Into<String>) {
        self.append(Entry::Said(Said::words(origin, text)));
    }

    pub(crate) fn open(&mut self, kind: EffectKind) -> EffectId {
        self.ledger.open(kind)
    }

    pub(crate) fn close(&mut self, id: EffectId) {
        self.ledger.close(id);
    }

    pub(crate) fn mint_call(&mut self) -> CallId {
        self.counters.calls += 1;
        CallId(self.counters.calls)
    }

    pub(crate) fn mint_attempt(&mut self) -> AttemptId {
        self.counters.model_calls += 1;
        self.sweep.attempts += 1;
        AttemptId(self.counters.model_calls)
    }

    /// A response came to its end: its owners start afresh with the next request.
    pub(crate) fn count_response(&mut self, usage: &Usage, said: u64) {
        self.counters.responses += 1;
        self.weigh(usage);
        self.charge(usage, said);
        self.sweep.start_afresh();
    }

    /// Counts what a response used, or a part of one that was discarded. Where the provider reported
    /// nothing, the estimate counts: a budget is never under by design.
    pub(crate) fn charge(&mut self, usage: &Usage, said: u64) {
        self.counters.usage.add(usage);
        let input = usage.whole_input().unwrap_or_else(|| self.request_tokens(&self.transcript));
        let output = usage.output.unwrap_or(said);
        let price = self.candidate().and_then(|candidate| candidate.price).unwrap_or_default();
        let priced = Usage {
            input: usage.input.or_else(|| usage.whole_input().is_none().then_some(input)),
            output: Some(output),
            ..*usage
        };
        self.spend(Spent { tokens: input.saturating_add(output), nanos: price.of(&priced) });
    }

    /// Counts what was spent, here or by a child.
    pub(crate) fn spend(&mut self, spent: Spent) {
        let total = &mut self.counters.spent;
        total.tokens = total.tokens.saturating_add(spent.tokens);
        total.nanos = total.nanos.saturating_add(spent.nanos);
    }

    /// Takes down what the request really weighed, for the estimates that follow. A report of less
    /// than a third of the estimate is not believed: no text packs so tightly, so it left something
    /// out (some vendors do not count what they read from a cache).
    fn weigh(&mut self, usage: &Usage) {
        let Some(reported) = usage.whole_input() else { return };
        let estimated = self.estimate(&self.transcript);
        if reported.saturating_mul(3) >= estimated {
            self.gauge = Some(Gauge { estimated, reported });
        }
    }

    /// Estimated tokens of a whole request: messages, system prompt and tool schemas. What the
    /// provider counted for the last one replaces our estimate of that part; where the provider
    /// counted more than we did, what is new is scaled up alike. Never under by design.
    pub(crate) fn request_tokens(&self, transcript: &Transcript) -> u64 {
        let raw = self.estimate(transcript);
        match self.gauge {
            None => raw,
            Some(Gauge { estimated, reported }) if raw >= estimated => {
                reported.saturating_add(scaled(raw - estimated, estimated, reported))
            }
            Some(Gauge { estimated, reported }) => scaled(raw, estimated, reported),
        }
    }

    /// As many of our own tokens as these are of the provider's, where it counts more than we do.
    pub(crate) fn as_estimated(&self, tokens: u64) -> u64 {
        match self.gauge {
            Some(Gauge { estimated, reported }) if reported > estimated => {
                let ours = u128::from(tokens) * u128::from(estimated) / u128::from(reported);
                u64::try_from(ours).unwrap_or(tokens)
            }
            Some(_) | None => tokens,
        }
    }

    /// Our own estimate of a whole request, whatever any provider counted.
    pub(crate) fn estimate(&self, transcript: &Transcript) -> u64 {
        transcript.tokens().saturating_add(self.config.fixed_tokens())
    }

    /// Leaves the candidate in use behind, with what decided against it.
    pub(crate) fn leave_candidate(&mut self, to: CandidateId, failure: Failure) {
        self.sweep.tried.push(Tried {
            candidate: self.sweep.at,
            attempts: self.sweep.attempts,
            failure,
        });
        self.sweep.at = to;
        self.sweep.hops += 1;
        self.sweep.max_output = None;
        self.sweep.start_afresh();
        // Another model counts otherwise.
        self.gauge = None;
    }

    /// Hooks of a kind that are still asked in this turn.
    pub(crate) fn hooks_in_force(&self, point: HookPoint) -> Vec<HookId> {
        let limit = self.config.limits.hook_failures;
        let failures = self.counters.hook_failures.iter();
        self.config
            .hooks()
            .zip(failures)
            .filter(|((_, at, _), failures)| *at == point && **failures < limit)
            .map(|((id, _, _), _)| id)
            .collect()
    }

    /// The tools a rule still misses, in its order.
    pub(crate) fn missing(&self, rule: RuleId) -> Vec<String> {
        let Some(spec) = self.config.rules.get(usize::from(rule.0)) else { return Vec::new() };
        let done = |tool: &String| {
            self.guard.succeeded.iter().any(|(of, name)| *of == rule && **name == **tool)
        };
        spec.tools.iter().filter(|tool| !done(tool)).cloned().collect()
    }

    /// Only a successful call satisfies a requirement, and only one with the wanted arguments (Part
    /// 7, decision 8).
    pub(crate) fn note_success(&mut self, tool: &Arc<str>, lacks: &[RuleId]) {
        for (at, rule) in self.config.config.rules.iter().enumerate() {
            let id = RuleId(at as u16);
            if rule.tools.iter().any(|wanted| **wanted == **tool) && !lacks.contains(&id) {
                self.guard.succeeded.insert((id, Arc::clone(tool)));
            }
        }
    }

    /// Whether a lasting grant covers this call.
    pub(crate) fn is_granted(&self, tool: &str, canonical: u64) -> bool {
        let covers = |grant: &Grant| grant.canonical.is_none_or(|only| only == canonical);
        self.grants.iter().any(|grant| *grant.tool == *tool && covers(grant))
    }

    /// Closes everything that the turn has open and names it, oldest first. Background tasks and the
    /// time budget outlive the turn's own work.
    pub(crate) fn close_turn(&mut self) -> Vec<EffectId> {
        let keeps: Vec<EffectId> =
            self.tasks.iter().map(|task| task.effect).chain(self.deadline).collect();
        let open: Vec<EffectId> =
            self.ledger.iter().map(|(id, _)| id).filter(|id| !keeps.contains(id)).collect();
        open.iter().for_each(|id| self.ledger.close(*id));
        open
    }

    /// Whether the last word after the tool-round limit is being spoken.
    pub(crate) fn is_wrapping_up(&self) -> bool {
        self.counters.wrap_ups > 0
    }
}

impl Sweep {
    fn start_afresh(&mut self) {
        self.attempts = 0;
        self.http_retries = 0;
        self.reissues = 0;
        self.stalls = 0;
        self.overflows = 0;
        self.shrinks = 0;
        self.refreshes = 0;
        self.whole = 0;
        self.decisive = None;
    }
}

/// `part` scaled by how much more the provider counted than we estimated; never scaled down.
fn scaled(part: u64, estimated: u64, reported: u64) -> u64 {
    if estimated == 0 || reported <= estimated {
        return part;
    }
    let scaled = u128::from(part) * u128::from(reported);
    u64::try_from(scaled.div_ceil(u128::from(estimated))).unwrap_or(u64::MAX)
}

/// The configuration, sealed at the start and shared by all states of a run. In the canonical
/// digest it counts as its own digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sealed {
    digest: Digest,
    fixed_tokens: u64,
    config: Arc<RunConfig>,
}

impl Sealed {
    fn new(config: RunConfig) -> Sealed {
        let fixed_tokens = fixed_tokens(&config);
        Sealed { digest: Digest::of(&config), fixed_tokens, config: Arc::new(config) }
    }

    /// Estimated tokens of what every request carries: system prompt and tool schemas.
    pub(crate) fn fixed_tokens(&self) -> u64 {
        self.fixed_tokens
    }
}

impl Deref for Sealed {
    type Target = RunConfig;
    fn deref(&self) -> &RunConfig {
        &self.config
    }
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.config.serialize(serializer)
        } else {
            self.digest.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sealed, D::Error> {
        Box::<RunConfig>::deserialize(deserializer).map(|config| Sealed::new(*config))
    }
}

/// The call ids used in a session, as digests. It shares its parts with its clones: a handful of
/// sorted runs whose lengths double, so adding and asking cost the logarithm of the session.
///
/// Two different ids with one digest would only make us mint an id where none was needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IdShelf {
    digest: Digest,
    runs: Vec<Arc<[u64]>>,
}

/// In full for people, as its rolling digest for the canonical digest.
impl Serialize for IdShelf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            (self.digest, &self.runs).serialize(serializer)
        } else {
            self.digest.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for IdShelf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IdShelf, D::Error> {
        let (digest, runs) = Deserialize::deserialize(deserializer)?;
        Ok(IdShelf { digest, runs })
    }
}

impl IdShelf {
    pub(crate) fn add(&mut self, id: &str) {
        self.digest = self.digest.chain(id);
        let mut run = vec![Digest::of(id).0];
        while let Some(last) = self.runs.last().filter(|last| last.len() <= run.len()) {
            run.extend_from_slice(last);
            self.runs.pop();
        }
        run.sort_unstable();
        self.runs.push(run.into());
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        let digest = Digest::of(id).0;
        self.runs.iter().any(|run| run.binary_search(&digest).is_ok())
    }
}
