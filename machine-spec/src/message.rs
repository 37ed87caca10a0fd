//! The entries of a transcript: what was said, by whom, and what came of each call.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::ids::{AttemptId, CallId, TaskId};
use crate::model::{CallFacts, StopReason, Usage, closed_enum};

/// One entry of the transcript. Entries are appended and never change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Words that reach the model in the user's role.
    Said(Said),
    /// A response of a model.
    Reply(Reply),
    /// The results of all calls of the reply before it, in call order.
    Results(Vec<CallResult>),
    /// Kept for people and for a later judge, never shown to a model.
    Aside(Aside),
    /// Where the conversation was compacted: the model sees a summary and the kept tail instead of
    /// what came before, which stays in the transcript.
    Boundary(Boundary),
}

impl Entry {
    /// The images that it shows.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let (said, results) = match self {
            Entry::Said(said) | Entry::Boundary(Boundary { said, .. }) => {
                (&said.images[..], &[][..])
            }
            Entry::Results(results) => (&[][..], &results[..]),
            Entry::Reply(_) | Entry::Aside(_) => (&[][..], &[][..]),
        };
        said.iter().chain(results.iter().flat_map(|result: &CallResult| &result.images))
    }
}

/// A compaction boundary.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Boundary {
    /// What the model reads instead of the head: the summary, and the current task word for word
    /// when it is not in the kept tail (B027).
    pub said: Said,
    /// Whether the head was summarised or cut away.
    pub kind: BoundaryKind,
    /// How many entries directly before the boundary stay visible.
    pub kept: u32,
    /// How many entries the model saw before and does not see any more.
    pub dropped: u32,
}

closed_enum! {
    /// What became of the head.
    BoundaryKind {
        /// It was summarised.
        Summarised = "summarised",
        /// It was cut away: the surfaced last resort.
        Truncated = "truncated",
    }
}

/// Words in the user's role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Said {
    /// Who really speaks.
    pub origin: Origin,
    /// The words.
    pub text: String,
    /// Images that stand behind the words.
    #[serde(default)]
    pub images: Vec<Image>,
    /// The caller asks that providers remember the conversation up to here, where they can.
    #[serde(default)]
    pub marked: bool,
}

impl Said {
    /// Words without images.
    #[must_use]
    pub fn words(origin: Origin, text: impl Into<String>) -> Said {
        Said { origin, text: text.into(), images: Vec::new(), marked: false }
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.images.is_empty()
    }
}

/// By hand, because a digest takes note of a field that is skipped: words alone keep the digest
/// that they have in recordings from before there were images.
impl Serialize for Said {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Said { origin, text, images, marked } = self;
        let fields = 2 + usize::from(!images.is_empty()) + usize::from(*marked);
        let mut said = serializer.serialize_struct("Said", fields)?;
        said.serialize_field("origin", origin)?;
        said.serialize_field("text", text)?;
        if !images.is_empty() {
            said.serialize_field("images", images)?;
        }
        if *marked {
            said.serialize_field("marked", marked)?;
        }
        said.end()
    }
}

/// An image, by where its bytes are: the transcript never holds them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// Its media type, such as `image/png`; empty where nobody said.
    pub media: String,
    /// Where the bytes are.
    pub place: ImagePlace,
}

/// Where the bytes of an image are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImagePlace {
    /// With the edge, under the digest of their content.
    Held(String),
    /// Behind an address that the model's provider fetches itself.
    Linked(String),
}

closed_enum! {
    /// Who speaks in the user's role.
    Origin {
        /// The user.
        User = "user",
        /// The user, while the turn was running.
        Steer = "steer",
        /// A notification of background work; never consent.
        Notification = "notification",
        /// A stop hook.
        HookFeedback = "hook_feedback",
        /// The engine asks for a repair of the output.
        Repair = "repair",
        /// The loop guard reminds of a required tool.
        Guard = "guard",
        /// The engine asks to go on where the output limit cut the text.
        Continuation = "continuation",
        /// A summary of what was compacted.
        Summary = "summary",
        /// What memory knows about the user's words; it leaves the history with its turn.
        Memory = "memory",
    }
}

impl Origin {
    /// Whether words of this origin are the engine's own and leave the history with their turn
    /// (T13): they were scaffolding, not conversation.
    #[must_use]
    pub const fn is_scaffolding(self) -> bool {
        match self {
            Origin::Repair | Origin::Guard | Origin::Continuation | Origin::Memory => true,
            Origin::User
            | Origin::Steer
            | Origin::Notification
            | Origin::HookFeedback
            | Origin::Summary => false,
        }
    }

    /// Whether words of this origin come from a person.
    #[must_use]
    pub const fn is_user(self) -> bool {
        match self {
            Origin::User | Origin::Steer => true,
            Origin::Notification
            | Origin::HookFeedback
            | Origin::Repair
            | Origin::Guard
            | Origin::Continuation
            | Origin::Memory
            | Origin::Summary => false,
        }
    }
}

/// A response of a model, as far as it was kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reply {
    /// The candidate that said it (`name/model`): private parts go back to it alone.
    pub by: Arc<str>,
    /// The attempt it came from.
    pub attempt: AttemptId,
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
    /// Whether it is whole.
    pub wholeness: Wholeness,
    /// Why the model stopped; absent when the stream died.
    pub stop: Option<StopReason>,
    /// What it cost, as reported.
    pub usage: Usage,
}

impl Reply {
    /// All text blocks, joined without separator.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            if let Block::Text(part) = block {
                text.push_str(part);
            }
        }
        text
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text(_) | Block::Thinking(_) | Block::Opaque(_) => None,
        })
    }
}

closed_enum! {
    /// Whether a reply is whole.
    Wholeness {
        /// The message was completed by the provider.
        Whole = "whole",
        /// The stream died; the completed blocks were kept because a call of it had started.
        Sealed = "sealed",
        /// The user interrupted; the completed blocks were kept because a call had started.
        Interrupted = "interrupted",
    }
}

/// A complete block of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Text for the user.
    Text(String),
    /// Thinking.
    Thinking(Thinking),
    /// A call of one of our tools.
    Call(Call),
    /// The provider's own JSON; goes back to its maker alone.
    Opaque(String),
}

/// A complete thinking block.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Thinking {
    /// The readable text; may be empty.
    pub text: String,
    /// The provider's own JSON for the block, or empty.
    pub seal: String,
}

/// A complete call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// Our own identity of the call.
    pub id: CallId,
    /// The id sent on the wire: the provider's own where it is usable and new in this session,
    /// else one minted from our identity (B009).
    pub wire_id: Arc<str>,
    /// Name of the tool as the model wrote it.
    pub name: Arc<str>,
    /// The arguments as JSON text; `{}` where the model sent none (B008). Malformed text stays as
    /// it came and is never executed.
    pub args: Arc<str>,
    /// What the edge found out about it.
    pub facts: CallFacts,
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct CallResult {
    /// The call it answers.
    pub call: CallId,
    /// The id of the call on the wire.
    pub wire_id: Arc<str>,
    /// Name of the tool as the model wrote it.
    pub name: Arc<str>,
    /// What came of it.
    pub outcome: Outcome,
    /// The arguments it ran with, where somebody changed them; the model is told.
    #[serde(default)]
    pub edited: Option<Arc<str>>,
    /// Images that stand beside its output.
    #[serde(default)]
    pub images: Vec<Image>,
}

/// By hand, like [`Said`]: a result without images keeps its digest.
impl Serialize for CallResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CallResult { call, wire_id, name, outcome, edited, images } = self;
        let fields = 4 + usize::from(edited.is_some()) + usize::from(!images.is_empty());
        let mut result = serializer.serialize_struct("CallResult", fields)?;
        result.serialize_field("call", call)?;
        result.serialize_field("wire_id", wire_id)?;
        result.serialize_field("name", name)?;
        result.serialize_field("outcome", outcome)?;
        match edited {
            Some(_) => result.serialize_field("edited", edited)?,
            None => result.skip_field("edited")?,
        }
        if !images.is_empty() {
            result.serialize_field("images", images)?;
        }
        result.end()
    }
}

/// What came of a call. Three truths are kept apart: it ran, it may have run, it did not run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran and succeeded.
    Succeeded {
        /// Output for the model.
        output: String,
    },
    /// It ran and failed.
    Failed {
        /// Output for the model.
        output: String,
    },
    /// It was stopped at its time limit; it may have had effects.
    TimedOut {
        /// Output so far.
        output: String,
    },
    /// It was running when the run was interrupted; it may have had effects.
    Unknown {
        /// Output so far.
        output: String,
    },
    /// It was begun in the background: this is an acknowledgement and no completion.
    Acknowledged {
        /// The task.
        task: TaskId,
    },
    /// It ended before its work was done; what it has is marked as a part.
    Partial {
        /// Output so far.
        output: String,
    },
    /// It did not run, because nobody allowed it.
    NotApproved {
        /// How that came.
        how: NotApproved,
    },
    /// It was not started.
    NotStarted {
        /// Why not.
        why: NotStarted,
    },
    /// It was refused at the gate and did not run; the model is told what to mend.
    Refused {
        /// Why it was refused.
        why: GateRefusal,
    },
}

impl Outcome {
    /// Whether the call did what it was asked to.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        match self {
            Outcome::Succeeded { .. } => true,
            Outcome::Acknowledged { .. }
            | Outcome::Partial { .. }
            | Outcome::NotApproved { .. }
            | Outcome::Failed { .. }
            | Outcome::TimedOut { .. }
            | Outcome::Unknown { .. }
            | Outcome::NotStarted { .. }
            | Outcome::Refused { .. } => false,
        }
    }
}

closed_enum! {
    /// Why a call was not started.
    NotStarted {
        /// The run was interrupted before its turn came.
        Interrupted = "interrupted",
        /// The output limit cut the response at this call.
        OutputLimit = "output_limit",
        /// It would have gone on with a cycle that was seen three times.
        DoomLoop = "doom_loop",
        /// Another call of its response was denied, and the policy stops the batch then.
        BatchDenied = "batch_denied",
        /// A hook wants everything to stop.
        Halted = "halted",
        /// It waits for a later run.
        Deferred = "deferred",
    }
}

/// How a call came to be without anybody's yes. The model is told in different words.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotApproved {
    /// Somebody said no.
    Denied {
        /// Why, word for word; may be empty.
        reason: String,
    },
    /// Nobody answered in time, which is not a no.
    TimedOut,
    /// It is on a list for somebody to decide later: neither refused nor failed.
    Queued {
        /// Its place there.
        ticket: String,
    },
    /// There was nobody to ask.
    NoVerdict,
}

/// Why the gate refused a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateRefusal {
    /// No tool has this name.
    UnknownTool {
        /// The closest declared names, best first.
        nearest: Vec<String>,
    },
    /// The tool exists, but is not in the scope of this run.
    OutOfScope,
    /// A required tool must be called successfully first.
    OutOfOrder {
        /// Which one.
        first: String,
    },
    /// A permission rule or a hook forbids it.
    Denied {
        /// Why.
        reason: String,
    },
    /// As many background tasks run, or have run, as may.
    TooManyTasks {
        /// The limit.
        limit: u32,
    },
    /// Child runs may not stand deeper.
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// The arguments are not JSON.
    MalformedArgs {
        /// Byte offset of the fault.
        at: u64,
        /// What is wrong.
        problem: String,
    },
    /// The arguments do not satisfy the schema.
    InvalidArgs {
        /// JSON pointer of the fault.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

/// Kept for people, never shown to a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aside {
    /// A response with nothing to show: only thinking, or nothing, or blanks (B013).
    BlankReply(Reply),
    /// A response that the model refused to give; a later run may leave the exchange out (B018).
    RefusedReply(Reply),
    /// Background tasks that the run ended before.
    Orphans(Vec<Orphan>),
}

/// A background task that the run ended before.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Orphan {
    /// The task.
    pub task: TaskId,
    /// Name of the tool.
    pub tool: Arc<str>,
    /// What became of it.
    pub fate: Fate,
}

closed_enum! {
    /// What became of a background task that the run ended before.
    Fate {
        /// It was told to stop; what it did until then is not known.
        Cancelled = "cancelled",
        /// It runs on, and nobody will hear how it ends.
        Detached = "detached",
    }
}
