//! Faults: a closed list of what may go wrong, and the seam at which each of them strikes.
//!
//! A fault is data of a plan, placed by number: the third byte, the second event, the first run of
//! a tool. Adding a variant breaks the build until it has a seam and a place in the swarm.

use std::fmt;

use machine_spec::model::ErrorClass;
use serde::{Deserialize, Serialize};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The body ends before this byte, cleanly.
    StreamCut,
    /// The connection breaks before this byte.
    StreamReset,
    /// Nothing comes from this byte on, and the connection stays open.
    StreamStall,
    /// This byte is another one.
    ByteGarbled,
    /// The event comes twice.
    EventDuplicated,
    /// The event never comes.
    EventDropped,
    /// The event changes places with the one behind it.
    EventSwapped,
    /// Something comes instead of the event that its dialect does not allow.
    EventMalformed,
    /// The server reports an error instead of the event, and says nothing more.
    ErrorInStream,
    /// Too many requests.
    RateLimited {
        /// The wait the server asks for, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The server fails.
    ServerError,
    /// The server says that the request does not fit its window.
    ContextOverflow,
    /// The request fails like this.
    RequestFails(ErrorClass),
    /// The tool is stopped at its time limit.
    ToolTimeout,
    /// The tool breaks down.
    ToolCrash,
    /// Nobody knows what the tool did.
    ToolUnknown,
    /// The tool takes longer than planned.
    ToolLate {
        /// By so many milliseconds.
        by_ms: u64,
    },
    /// The hook does not answer in time.
    HookHang,
    /// The hook breaks down.
    HookFail,
    /// Nobody decides about the call in time.
    ApprovalHang,
    /// Somebody decides later than planned.
    ApprovalLate {
        /// By so many milliseconds.
        by_ms: u64,
    },
    /// What should be put aside cannot be.
    StoreFails,
    /// The conversation cannot be summarised.
    CompactionFails,
    /// The answer comes a second time.
    AnswerRepeated,
    /// The answer comes later than planned, behind others.
    AnswerLate {
        /// Behind so many.
        behind: u32,
    },
    /// Somebody answers what nobody ordered.
    AnswerForged,
    /// The user interrupts before this input.
    Interrupt,
    /// The user says something before this input.
    Speech,
    /// The process is killed when this frame is written, and resumed.
    CrashAt,
    /// The process is killed while this frame is written, and resumed.
    TornWrite {
        /// So many bytes of the line reach the disk.
        bytes: u64,
    },
    /// Nothing is stored from this frame on.
    DiskFull,
}

/// Where a fault strikes. Requests, events, runs and inputs are counted from 1, bytes and frames
/// from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Seam {
    /// Before a byte of the body of a planned answer.
    Byte {
        /// The answer.
        answer: u32,
        /// The byte.
        byte: u64,
    },
    /// At an event of a planned answer.
    Event {
        /// The answer.
        answer: u32,
        /// The event.
        event: u32,
    },
    /// Instead of a planned answer.
    Answer(u32),
    /// At a run of a tool, whatever its name.
    Tool(u32),
    /// At a question to a hook.
    Hook(u32),
    /// At a question whether a call may run.
    Approval(u32),
    /// At something that is put aside.
    Store(u32),
    /// At a compaction.
    Compaction(u32),
    /// At an input of the run.
    Input(u32),
    /// At a frame of the recording.
    Frame(u32),
}

/// The kinds of seams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeamKind {
    /// See [`Seam::Byte`].
    Byte,
    /// See [`Seam::Event`].
    Event,
    /// See [`Seam::Answer`].
    Answer,
    /// See [`Seam::Tool`].
    Tool,
    /// See [`Seam::Hook`].
    Hook,
    /// See [`Seam::Approval`].
    Approval,
    /// See [`Seam::Store`].
    Store,
    /// See [`Seam::Compaction`].
    Compaction,
    /// See [`Seam::Input`].
    Input,
    /// See [`Seam::Frame`].
    Frame,
}

/// A fault at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// What goes wrong.
    pub fault: Fault,
    /// Where.
    pub at: Seam,
    /// How often: an answer that is asked for again because of the fault is struck again.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
}

const fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_once(times: &u32) -> bool {
    *times == 1
}

impl Placed {
    /// A fault that strikes once.
    #[must_use]
    pub const fn new(fault: Fault, at: Seam) -> Placed {
        Placed { fault, at, times: 1 }
    }

    /// The same fault, so often.
    #[must_use]
    pub const fn times(self, times: u32) -> Placed {
        Placed { times, ..self }
    }

    /// The answer whose coming it spoils.
    #[must_use]
    pub fn answer(&self) -> Option<u32> {
        self.at.answer()
    }
}

impl Fault {
    /// One of each, with the smallest of what it carries.
    pub const ALL: &[Fault] = &[
        Fault::StreamCut,
        Fault::StreamReset,
        Fault::StreamStall,
        Fault::ByteGarbled,
        Fault::EventDuplicated,
        Fault::EventDropped,
        Fault::EventSwapped,
        Fault::EventMalformed,
        Fault::ErrorInStream,
        Fault::RateLimited { retry_after_ms: None },
        Fault::ServerError,
        Fault::ContextOverflow,
        Fault::RequestFails(ErrorClass::Transport),
        Fault::ToolTimeout,
        Fault::ToolCrash,
        Fault::ToolUnknown,
        Fault::ToolLate { by_ms: 1 },
        Fault::HookHang,
        Fault::HookFail,
        Fault::ApprovalHang,
        Fault::ApprovalLate { by_ms: 1 },
        Fault::StoreFails,
        Fault::CompactionFails,
        Fault::AnswerRepeated,
        Fault::AnswerLate { behind: 1 },
        Fault::AnswerForged,
        Fault::Interrupt,
        Fault::Speech,
        Fault::CrashAt,
        Fault::TornWrite { bytes: 1 },
        Fault::DiskFull,
    ];

    /// Where it may strike.
    #[must_use]
    pub const fn seam(self) -> SeamKind {
        match self {
            Fault::StreamCut | Fault::StreamReset | Fault::StreamStall | Fault::ByteGarbled => {
                SeamKind::Byte
            }
            Fault::EventDuplicated
            | Fault::EventDropped
            | Fault::EventSwapped
            | Fault::EventMalformed
            | Fault::ErrorInStream => SeamKind::Event,
            Fault::RateLimited { .. }
            | Fault::ServerError
            | Fault::ContextOverflow
            | Fault::RequestFails(_) => SeamKind::Answer,
            Fault::ToolTimeout | Fault::ToolCrash | Fault::ToolUnknown | Fault::ToolLate { .. } => {
                SeamKind::Tool
            }
            Fault::HookHang | Fault::HookFail => SeamKind::Hook,
            Fault::ApprovalHang | Fault::ApprovalLate { .. } => SeamKind::Approval,
            Fault::StoreFails => SeamKind::Store,
            Fault::CompactionFails => SeamKind::Compaction,
            Fault::AnswerRepeated
            | Fault::AnswerLate { .. }
            | Fault::AnswerForged
            | Fault::Interrupt
            | Fault::Speech => SeamKind::Input,
            Fault::CrashAt | Fault::TornWrite { .. } | Fault::DiskFull => SeamKind::Frame,
        }
    }

    /// The fixed word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Fault::StreamCut => "stream_cut",
            Fault::StreamReset => "stream_reset",
            Fault::StreamStall => "stream_stall",
            Fault::ByteGarbled => "byte_garbled",
            Fault::EventDuplicated => "event_duplicated",
            Fault::EventDropped => "event_dropped",
            Fault::EventSwapped => "event_swapped",
            Fault::EventMalformed => "event_malformed",
            Fault::ErrorInStream => "error_in_stream",
            Fault::RateLimited { .. } => "rate_limited",
            Fault::ServerError => "server_error",
            Fault::ContextOverflow => "context_overflow",
            Fault::RequestFails(_) => "request_fails",
            Fault::ToolTimeout => "tool_timeout",
            Fault::ToolCrash => "tool_crash",
            Fault::ToolUnknown => "tool_unknown",
            Fault::ToolLate { .. } => "tool_late",
            Fault::HookHang => "hook_hang",
            Fault::HookFail => "hook_fail",
            Fault::ApprovalHang => "approval_hang",
            Fault::ApprovalLate { .. } => "approval_late",
            Fault::StoreFails => "store_fails",
            Fault::CompactionFails => "compaction_fails",
            Fault::AnswerRepeated => "answer_repeated",
            Fault::AnswerLate { .. } => "answer_late",
            Fault::AnswerForged => "answer_forged",
            Fault::Interrupt => "interrupt",
            Fault::Speech => "speech",
            Fault::CrashAt => "crash_at",
            Fault::TornWrite { .. } => "torn_write",
            Fault::DiskFull => "disk_full",
        }
    }
}

impl Seam {
    /// The answer whose coming is struck there.
    #[must_use]
    pub fn answer(mut self) -> Option<u32> {
        self.answer_mut().copied()
    }

    /// Likewise, to give it another number.
    pub(crate) const fn answer_mut(&mut self) -> Option<&mut u32> {
        match self {
            Seam::Byte { answer, .. } | Seam::Event { answer, .. } | Seam::Answer(answer) => {
                Some(answer)
            }
            Seam::Tool(_)
            | Seam::Hook(_)
            | Seam::Approval(_)
            | Seam::Store(_)
            | Seam::Compaction(_)
            | Seam::Input(_)
            | Seam::Frame(_) => None,
        }
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(self) -> SeamKind {
        match self {
            Seam::Byte { .. } => SeamKind::Byte,
            Seam::Event { .. } => SeamKind::Event,
            Seam::Answer(_) => SeamKind::Answer,
            Seam::Tool(_) => SeamKind::Tool,
            Seam::Hook(_) => SeamKind::Hook,
            Seam::Approval(_) => SeamKind::Approval,
            Seam::Store(_) => SeamKind::Store,
            Seam::Compaction(_) => SeamKind::Compaction,
            Seam::Input(_) => SeamKind::Input,
            Seam::Frame(_) => SeamKind::Frame,
        }
    }
}

impl fmt::Display for SeamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SeamKind::Byte => "a byte of an answer",
            SeamKind::Event => "an event of an answer",
            SeamKind::Answer => "an answer",
            SeamKind::Tool => "a run of a tool",
            SeamKind::Hook => "a question to a hook",
            SeamKind::Approval => "a question whether a call may run",
            SeamKind::Store => "something put aside",
            SeamKind::Compaction => "a compaction",
            SeamKind::Input => "an input",
            SeamKind::Frame => "a frame",
        })
    }
}

impl fmt::Display for Seam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seam::Byte { answer, byte } => write!(f, "byte {byte} of answer {answer}"),
            Seam::Event { answer, event } => write!(f, "event {event} of answer {answer}"),
            Seam::Answer(n) => write!(f, "answer {n}"),
            Seam::Tool(n) => write!(f, "run {n} of a tool"),
            Seam::Hook(n) => write!(f, "question {n} to a hook"),
            Seam::Approval(n) => write!(f, "question {n} whether a call may run"),
            Seam::Store(n) => write!(f, "the {n}. thing put aside"),
            Seam::Compaction(n) => write!(f, "compaction {n}"),
            Seam::Input(n) => write!(f, "input {n}"),
            Seam::Frame(n) => write!(f, "frame {n}"),
        }
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.fault.word(), self.at)?;
        match self.times {
            1 => Ok(()),
            n => write!(f, ", {n} times"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Placed, Seam};
    use std::collections::BTreeSet;

    #[test]
    fn every_fault_has_a_word_of_its_own_that_its_json_begins_with() {
        let words: BTreeSet<&str> = Fault::ALL.iter().map(|fault| fault.word()).collect();
        assert_eq!(words.len(), Fault::ALL.len());
        for fault in Fault::ALL {
            let json = serde_json::to_string(fault).expect("a fault is JSON");
            assert!(json.contains(&format!("\"{}\"", fault.word())), "{json}");
            assert_eq!(serde_json::from_str::<Fault>(&json).expect("it reads back"), *fault);
        }
    }

    #[test]
    fn a_placed_fault_reads_like_a_sentence() {
        let placed = Placed::new(Fault::StreamCut, Seam::Byte { answer: 1, byte: 300 });
        let json = r#"{"fault":"stream_cut","at":{"byte":{"answer":1,"byte":300}}}"#;
        assert_eq!(serde_json::to_string(&placed).expect("JSON"), json);
        assert_eq!(placed.times(3).to_string(), "stream_cut at byte 300 of answer 1, 3 times");
        serde_json::from_str::<Placed>(r#"{"fault":"earthquake","at":{"tool":1}}"#)
            .expect_err("no such fault");
    }
}
