//! The frame: what all rooms share. It changes only through small verbs.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::compact::Compactions;
use crate::config::{Candidate, RunConfig};
use crate::digest::Digest;
use crate::doom::Doom;
use crate::effect::EffectKind;
use crate::estimate::text_tokens;
use crate::ids::{AttemptId, CallId, CandidateId, EffectId, HookId, RuleId};
use crate::ledger::Ledger;
use crate::message::{Entry, Origin, Said};
use crate::model::{Failure, Usage};
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
}

/// A user message that waits to be absorbed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waiting {
    /// The words.
    pub text: String,
    /// The rules they trigger.
    pub rules: Vec<RuleId>,
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
    /// The decisive failure of every candidate that was left behind.
    pub tried: Vec<Tried>,
}

/// The loop guard: which requirements are active, and what satisfied them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guard {
    /// Active rules, in the order in which they became active.
    pub active: Vec<ActiveRule>,
    /// Required tools that were called successfully in this turn.
    pub succeeded: BTreeSet<Arc<str>>,
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
        let hooks = config.stop_hooks.len();
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
                tried: Vec::new(),
            },
            guard: Guard::default(),
            doom: Doom::default(),
            compactions: Compactions::default(),
            answer: AnswerSoFar::default(),
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

    /// User messages that wait to be absorbed.
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
    pub(crate) fn count_response(&mut self, usage: &Usage) {
        self.counters.responses += 1;
        self.counters.usage.add(usage);
        self.sweep.attempts = 0;
        self.sweep.http_retries = 0;
        self.sweep.reissues = 0;
        self.sweep.stalls = 0;
        self.sweep.overflows = 0;
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
        self.sweep.attempts = 0;
        self.sweep.http_retries = 0;
        self.sweep.reissues = 0;
        self.sweep.stalls = 0;
        self.sweep.overflows = 0;
    }

    /// Stop hooks that are still asked in this turn.
    pub(crate) fn hooks_in_force(&self) -> impl Iterator<Item = HookId> + '_ {
        let limit = self.config.limits.hook_failures;
        let failures = self.counters.hook_failures.iter().enumerate();
        failures.filter(move |(_, n)| **n < limit).map(|(i, _)| HookId(i as u16))
    }

    /// The tools a rule still misses.
    pub(crate) fn missing(&self, rule: RuleId) -> Vec<String> {
        let Some(rule) = self.config.rules.get(usize::from(rule.0)) else { return Vec::new() };
        let missing = |tool: &&String| !self.guard.succeeded.contains(tool.as_str());
        rule.tools.iter().filter(missing).cloned().collect()
    }
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
        let tools = config.tools.iter().map(|tool| {
            let schema = text_tokens(&tool.input_schema);
            text_tokens(&tool.name) + text_tokens(&tool.description) + schema
        });
        let fixed_tokens = text_tokens(&config.system) + tools.sum::<u64>();
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
