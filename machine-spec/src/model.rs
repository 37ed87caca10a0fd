//! What a model says, in the neutral words that every dialect is translated to.
//!
//! The crate `wire` produces these from provider bytes; the engine adds what only the tools know
//! (schema verdict, safety). The machine sees nothing of a provider's own vocabulary.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::ids::RuleId;

/// One event of a response, in the order of the wire.
///
/// Blocks are numbered by the decoder from 0 without gaps, in order of first appearance, whatever
/// indexes the provider used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEvent {
    /// The provider named the model and the response. Either may be empty.
    Began {
        /// The model as the response names it.
        model: String,
        /// The provider's id of the response.
        response: String,
    },
    /// A new block opens; its number is the count of blocks before it.
    BlockBegan {
        /// Number of the block.
        block: u32,
        /// What the block holds.
        kind: BlockKind,
    },
    /// More of an open block: text, thinking, or the JSON text of a call's arguments.
    Delta {
        /// Number of the block.
        block: u32,
        /// The piece, to be appended.
        text: String,
    },
    /// The wire proved that a block is complete.
    BlockDone {
        /// Number of the block.
        block: u32,
        /// Which marker proved it.
        proof: Proof,
        /// What is known only at the end of the block.
        done: BlockEnd,
    },
    /// A usage report; the last report of a response wins, field by field.
    Usage(Usage),
    /// The provider said why it stopped. Nothing but usage follows.
    Finished {
        /// The reason in neutral words.
        reason: StopReason,
        /// The reason in the provider's own word.
        word: String,
        /// What it says about it beyond that word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<StopDetails>>,
    },
    /// The provider reported an error inside the stream.
    Failed(Failure),
}

impl ModelEvent {
    /// The end of a response of which the provider says no more than its word.
    #[must_use]
    pub fn finished(reason: StopReason, word: impl Into<String>) -> ModelEvent {
        ModelEvent::Finished { reason, word: word.into(), details: None }
    }
}

/// What a provider says about why a response stopped, beyond its word: why it refused, or why it
/// cut the output (B018).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StopDetails {
    /// Its category, in the provider's own word; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// Its explanation for people; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub explanation: String,
}

/// What a block holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Text for the user.
    Text,
    /// Thinking of the model.
    Thinking,
    /// A call of one of our tools.
    Call {
        /// The provider's id of the call; empty when it gave none.
        wire_id: String,
        /// Name of the tool as the model wrote it.
        name: String,
    },
    /// Something only its own provider understands (server tools, encrypted items). It is kept
    /// and sent back to the model that made it, untouched.
    Opaque,
}

/// What is known at the end of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockEnd {
    /// Text ended.
    Text,
    /// Thinking ended; `seal` is the provider's own JSON for the block, as it must go back (with
    /// signature), or empty when there is nothing to preserve.
    Thinking {
        /// JSON text, opaque to the machine.
        seal: String,
    },
    /// A call ended: what the edge found out about its arguments.
    Call(CallFacts),
    /// The provider's own JSON for the block.
    Opaque {
        /// JSON text, opaque to the machine.
        payload: String,
    },
}

/// Which marker of the wire proved a block complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// An explicit end of the block or item.
    BlockStop,
    /// The block came whole in one piece.
    WholePart,
    /// The next block began on a wire that sends blocks one after the other.
    NextBlock,
    /// The message ended with a finish reason.
    FinishReason,
}

/// What the edge found out about a complete call. Every verdict is an input, so it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallFacts {
    /// Whether the arguments may be used.
    pub args: ArgsVerdict,
    /// Whether this very call may run beside others.
    pub safety: Safety,
    /// What the configured permission rules say about this very call.
    #[serde(default, skip_serializing_if = "Permission::is_allow")]
    pub permission: Permission,
    /// The required-tool rules whose wanted arguments this call does not have: its success does
    /// not satisfy them (Part 7, decision 8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<RuleId>,
}

impl CallFacts {
    /// The facts of a call that no rule says anything about.
    #[must_use]
    pub const fn new(args: ArgsVerdict, safety: Safety) -> CallFacts {
        CallFacts { args, safety, permission: Permission::Allow, lacks: Vec::new() }
    }
}

/// What the permission rules say about a call: deny beats ask, ask beats allow. Rules read the
/// arguments, so they are judged at the edge and the verdict is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// It may run.
    #[default]
    Allow,
    /// Somebody must allow it first.
    Ask,
    /// It may not run.
    Deny {
        /// Why, for the model.
        reason: String,
    },
    /// The tool exists, but is not in the scope of this run.
    OutOfScope,
}

impl Permission {
    const fn is_allow(&self) -> bool {
        match self {
            Permission::Allow => true,
            Permission::Ask | Permission::Deny { .. } | Permission::OutOfScope => false,
        }
    }
}

/// Whether the arguments of a call may be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgsVerdict {
    /// They parse and satisfy the schema of the tool.
    Valid {
        /// Digest of the canonical form (sorted keys, no blanks): equal for equal arguments.
        canonical: u64,
    },
    /// They are not JSON.
    Malformed {
        /// Byte offset of the first fault in the argument text.
        at: u64,
        /// What is wrong, for the model.
        problem: String,
    },
    /// They are JSON but do not satisfy the schema of the tool.
    Invalid {
        /// JSON pointer of the first fault.
        path: String,
        /// What is wrong, for the model.
        problem: String,
    },
}

/// Whether a call may run beside others. Judged per call: tool and arguments together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Safety {
    /// May overlap with its neighbours.
    Concurrent,
    /// Runs alone: waits for all earlier calls and holds back all later ones.
    Exclusive,
}

closed_enum! {
    /// Why the model stopped.
    StopReason {
        /// It had said everything.
        EndOfTurn = "end_of_turn",
        /// It wants tools to run.
        ToolUse = "tool_use",
        /// A stop sequence of the request was met.
        StopSequence = "stop_sequence",
        /// The output limit was reached; the last block may be cut.
        OutputLimit = "output_limit",
        /// The context window was exceeded while generating; like `OutputLimit`, the end is cut.
        WindowExceeded = "window_exceeded",
        /// The provider paused a long turn and wants it sent back.
        Paused = "paused",
        /// The model refused.
        Refused = "refused",
        /// A filter of the provider cut the output.
        Filtered = "filtered",
        /// A word nobody has seen yet; the raw word stands beside it.
        Other = "other",
    }
}

/// Token counts as the provider reported them. `None` is not reported, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, without those read from or written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Output tokens, including reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Input tokens read from the prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input tokens written to the prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// The part of `output` that was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Takes over what `later` reports; what it leaves out stays as it was (B023).
    pub fn update(&mut self, later: &Usage) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cache_read = later.cache_read.or(self.cache_read);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.reasoning = later.reasoning.or(self.reasoning);
    }

    /// All tokens of the input, however they were read; `None` when nothing was reported.
    #[must_use]
    pub fn whole_input(&self) -> Option<u64> {
        let parts = [self.input, self.cache_read, self.cache_write];
        let known = parts.iter().any(Option::is_some);
        known.then(|| parts.iter().flatten().fold(0, |sum: u64, n| sum.saturating_add(*n)))
    }

    /// Adds another request's report; unknown plus known is known.
    pub fn add(&mut self, other: &Usage) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.input = sum(self.input, other.input);
        self.output = sum(self.output, other.output);
        self.cache_read = sum(self.cache_read, other.cache_read);
        self.cache_write = sum(self.cache_write, other.cache_write);
        self.reasoning = sum(self.reasoning, other.reasoning);
    }
}

/// How a response ended on the transport.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closure {
    /// The body ended. Whether the message was complete is for the machine to judge.
    Ended,
    /// No usable response, or the transport failed on the way.
    Failed(Failure),
}

/// A failure of a provider or of the way to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure it is.
    pub class: ErrorClass,
    /// HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's own code or type; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The message for people.
    pub message: String,
    /// How long the server asked us to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// A limit the text names, for example the context window in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The actual size the text names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
    /// What the edge can leave out of a request so that this failure does not come again; empty
    /// when it knows nothing. The word is the edge's own (B040).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

impl Failure {
    /// A failure with nothing but its class and a message.
    #[must_use]
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Failure {
        Failure {
            class,
            status: None,
            code: String::new(),
            message: message.into(),
            retry_after_ms: None,
            limit: None,
            actual: None,
            remedy: String::new(),
        }
    }
}

macro_rules! closed_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Every variant, in declaration order.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The fixed word used in recordings, events and drawings.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
pub(crate) use closed_enum;

closed_enum! {
    /// The kinds of failure that a policy may tell apart.
    ErrorClass {
        /// Too many requests for the moment (429, slow down).
        Throttled = "throttled",
        /// A quota or spend limit is used up; waiting does not help soon.
        QuotaExhausted = "quota_exhausted",
        /// The service is overloaded (503, 529).
        Overloaded = "overloaded",
        /// The service failed (5xx).
        ServerError = "server_error",
        /// No connection in time.
        ConnectTimeout = "connect_timeout",
        /// No answer within the time of the whole request.
        RequestTimeout = "request_timeout",
        /// The stream went silent.
        IdleTimeout = "idle_timeout",
        /// The connection could not be made or broke.
        Transport = "transport",
        /// The certificate was not accepted.
        Tls = "tls",
        /// The key is missing, wrong or not allowed.
        Auth = "auth",
        /// The account must be paid.
        Billing = "billing",
        /// The request has too many bytes.
        PayloadTooLarge = "payload_too_large",
        /// The request has too many tokens for the window.
        ContextOverflow = "context_overflow",
        /// The endpoint does not know a parameter.
        ParamRejected = "param_rejected",
        /// The endpoint does not know the model.
        ModelNotFound = "model_not_found",
        /// The request is wrong.
        BadRequest = "bad_request",
        /// The input was refused by a content policy before anything was generated.
        ContentRefused = "content_refused",
        /// Success status, but not the API's own body.
        NonApiBody = "non_api_body",
        /// The stream ended before the message was complete.
        Incomplete = "incomplete",
        /// The stream said something that its own dialect does not allow.
        Garbled = "garbled",
        /// None of the above.
        Unknown = "unknown",
    }
}

closed_enum! {
    /// How far a response had come when something happened to it.
    StreamPhase {
        /// A: nothing of the response was seen.
        BeforeFirst = "before_first",
        /// B: something was seen, but no block is complete.
        Partial = "partial",
        /// C: thinking is complete; no text and no call has begun.
        ThinkingDone = "thinking_done",
        /// D: a text or call block is complete, or one began after complete thinking.
        BlockCommitted = "block_committed",
        /// E: the message is complete.
        MessageDone = "message_done",
    }
}
