//! Somebody's word about a call that may not run without it.
//!
//! An [`Approver`] is asked about one call at a time, however many wait: people read one question
//! after the other. The time for an answer begins when the question is put. Nobody's silence is a
//! refusal, and nobody's absence is one either; each is told to the model in words of its own.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use machine_spec::ids::CallId;
use machine_spec::input::{Decision, GrantScope};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::assess::Assessor;
use crate::clock::within_ms;

mod absent;
mod terminal;

pub use absent::Absent;
pub use terminal::Terminal;

/// How long an answer may take when nothing else is said, in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u64 = 120_000;

/// What happens to calls that need somebody's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRules {
    /// What becomes of them when nobody is there.
    pub absent: Standing,
    /// How long an answer may take, in milliseconds.
    pub timeout_ms: u64,
    /// The file they are listed in for somebody to decide later; a usual one when absent.
    pub queue: Option<PathBuf>,
}

/// What becomes of a call when nobody is there whose word could be heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It does not run, and the model is told that nobody could be asked.
    #[default]
    Deny,
    /// It runs.
    Allow,
    /// It does not run and is put on a list for somebody to decide later.
    Queue,
    /// The run ends with it pending, and a later run takes it up.
    Defer,
}

impl std::str::FromStr for Standing {
    type Err = String;

    fn from_str(word: &str) -> Result<Standing, String> {
        match word {
            "deny" => Ok(Standing::Deny),
            "allow" => Ok(Standing::Allow),
            "queue" => Ok(Standing::Queue),
            "defer" => Ok(Standing::Defer),
            other => Err(format!("expected deny, allow, queue or defer, found `{other}`")),
        }
    }
}

/// A call that needs somebody's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The session it belongs to.
    pub session: String,
    /// The call.
    pub call: CallId,
    /// Name of the tool.
    pub tool: String,
    /// The arguments that would run, and no others, as JSON text.
    pub args: String,
    /// Why it is asked; empty when a rule says so.
    pub reason: String,
    /// The names of the runs from the outermost to the one whose call it is.
    pub lineage: Vec<String>,
}

/// What somebody says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// It may run, this once.
    Yes,
    /// It may run, and so may later ones.
    Always(GrantScope),
    /// It may run with these arguments instead: JSON text.
    Edit(String),
    /// It must not run, for this reason; may be empty.
    No(String),
    /// Not in this run: it ends with the call pending.
    Later,
    /// It is on a list, in this place.
    Queued(String),
    /// There is no answer; what went wrong, if anything did.
    Nothing(Option<String>),
}

/// The answer that is still awaited.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Word> + Send + 'a>>;

/// Somebody who decides about calls.
pub trait Approver: fmt::Debug + Send + Sync {
    /// Decides about a call. The question is withdrawn by dropping the answer.
    fn decide<'a>(&'a self, wanted: &'a Wanted) -> Answer<'a>;
}

/// Where questions are put, one after the other. Clones put theirs in the same line, so that a run
/// and its children share one person's attention.
#[derive(Clone, Debug)]
pub struct Approvals {
    approver: Arc<dyn Approver>,
    turn: Arc<Mutex<()>>,
}

impl Approvals {
    /// Questions to this approver.
    #[must_use]
    pub fn by(approver: impl Approver + 'static) -> Approvals {
        Approvals { approver: Arc::new(approver), turn: Arc::new(Mutex::new(())) }
    }

    /// What was decided, and what went wrong meanwhile.
    pub(crate) async fn decide(
        &self,
        wanted: &Wanted,
        timeout_ms: u64,
        assessor: &Assessor,
    ) -> (Decision, Option<String>) {
        let _turn = self.turn.lock().await;
        let Some(word) = within_ms(timeout_ms, self.approver.decide(wanted)).await else {
            return (Decision::TimedOut, None);
        };
        let decision = match word {
            Word::Yes => Decision::Allowed,
            Word::Always(scope) => Decision::AllowedAlways { scope },
            Word::Edit(args) => {
                let args = if args.trim().is_empty() { "{}".to_owned() } else { args };
                let facts = assessor.facts(&wanted.tool, &args);
                Decision::Edited { args, facts }
            }
            Word::No(reason) => Decision::Denied { reason },
            Word::Later => Decision::Deferred,
            Word::Queued(ticket) => Decision::Queued { ticket },
            Word::Nothing(problem) => return (Decision::NoVerdict, problem),
        };
        (decision, None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use machine_spec::ids::CallId;
    use machine_spec::input::{Decision, GrantScope};
    use machine_spec::model::ArgsVerdict;
    use tokio::sync::Notify;

    use super::{Answer, Approvals, Approver, Wanted, Word};
    use crate::assess::Assessor;

    /// Says what it was told to say; may wait for a sign first.
    #[derive(Debug, Default)]
    struct Says {
        words: std::sync::Mutex<Vec<Word>>,
        sign: Option<Arc<Notify>>,
        open: AtomicUsize,
        most: Arc<AtomicUsize>,
    }

    impl Says {
        fn at_once(words: impl IntoIterator<Item = Word>) -> Says {
            Says { words: std::sync::Mutex::new(words.into_iter().collect()), ..Says::default() }
        }
    }

    impl Approver for Says {
        fn decide<'a>(&'a self, _: &'a Wanted) -> Answer<'a> {
            Box::pin(async move {
                let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(open, Ordering::SeqCst);
                if let Some(sign) = &self.sign {
                    sign.notified().await;
                }
                tokio::task::yield_now().await;
                self.open.fetch_sub(1, Ordering::SeqCst);
                self.words.lock().expect("no test panics here").remove(0)
            })
        }
    }

    fn wanted() -> Wanted {
        Wanted {
            session: "s".into(),
            call: CallId(1),
            tool: "run".into(),
            args: "{}".into(),
            reason: String::new(),
            lineage: vec![],
        }
    }

    async fn decided(word: Word) -> Decision {
        let approvals = Approvals::by(Says::at_once([word]));
        approvals.decide(&wanted(), 60_000, &Assessor::default()).await.0
    }

    #[tokio::test]
    async fn every_word_is_a_decision() {
        let reason = "use the staging db".to_owned();
        let scope = GrantScope::Tool;
        assert_eq!(decided(Word::Yes).await, Decision::Allowed);
        assert_eq!(decided(Word::Always(scope)).await, Decision::AllowedAlways { scope });
        assert_eq!(decided(Word::No(reason.clone())).await, Decision::Denied { reason });
        assert_eq!(decided(Word::Later).await, Decision::Deferred);
        let ticket = "s:call-1".to_owned();
        assert_eq!(decided(Word::Queued(ticket.clone())).await, Decision::Queued { ticket });
        assert_eq!(decided(Word::Nothing(None)).await, Decision::NoVerdict);
        match decided(Word::Edit(" ".into())).await {
            Decision::Edited { args, facts } => {
                assert_eq!(args, "{}");
                assert!(matches!(facts.args, ArgsVerdict::Valid { .. }));
            }
            decision => panic!("{decision:?}"),
        }
    }

    #[tokio::test]
    async fn silence_is_no_refusal() {
        let sign = Some(Arc::new(Notify::new()));
        let approvals = Approvals::by(Says { sign, ..Says::default() });
        let decided = approvals.decide(&wanted(), 1, &Assessor::default()).await;
        assert_eq!(decided, (Decision::TimedOut, None));
    }

    #[tokio::test]
    async fn one_question_is_put_after_the_other_and_a_withdrawn_one_gives_way() {
        let says = Says::at_once([Word::Yes, Word::Later, Word::Yes]);
        let most = Arc::clone(&says.most);
        let approvals = Approvals::by(says);
        let ask = || {
            let approvals = approvals.clone();
            async move { approvals.decide(&wanted(), 60_000, &Assessor::default()).await.0 }
        };
        let all = tokio::join!(ask(), ask(), ask());
        assert_eq!(all, (Decision::Allowed, Decision::Deferred, Decision::Allowed));
        assert_eq!(most.load(Ordering::SeqCst), 1);

        let sign = Arc::new(Notify::new());
        let words = std::sync::Mutex::new(vec![Word::Yes]);
        let says = Says { words, sign: Some(Arc::clone(&sign)), ..Says::default() };
        let approvals = Approvals::by(says);
        let first = tokio::spawn({
            let approvals = approvals.clone();
            async move { approvals.decide(&wanted(), 60_000, &Assessor::default()).await }
        });
        tokio::task::yield_now().await;
        first.abort();
        sign.notify_one();
        let second = approvals.decide(&wanted(), 60_000, &Assessor::default()).await;
        assert_eq!(second.0, Decision::Allowed);
    }
}
