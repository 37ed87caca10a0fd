//! What the end of a response amounts to.

use crate::frame::Frame;
use crate::message::{Aside, Block, Entry, Reply};
use crate::model::StopReason;
use crate::rooms::Finding;

pub(super) fn is_cut(reason: StopReason) -> bool {
    match reason {
        StopReason::OutputLimit | StopReason::WindowExceeded => true,
        StopReason::EndOfTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Paused
        | StopReason::Refused
        | StopReason::Filtered
        | StopReason::Other => false,
    }
}

pub(super) fn is_refusal(reason: StopReason) -> bool {
    match reason {
        StopReason::Refused | StopReason::Filtered => true,
        StopReason::EndOfTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::OutputLimit
        | StopReason::WindowExceeded
        | StopReason::Paused
        | StopReason::Other => false,
    }
}

/// Whether what the model said about its end contradicts the calls it sent; the calls count (B017).
pub(super) fn contradicts(reason: StopReason, calls: u32) -> bool {
    match reason {
        StopReason::ToolUse => calls == 0,
        StopReason::EndOfTurn
        | StopReason::StopSequence
        | StopReason::Refused
        | StopReason::Filtered => calls > 0,
        StopReason::OutputLimit
        | StopReason::WindowExceeded
        | StopReason::Paused
        | StopReason::Other => false,
    }
}

/// Files a reply without calls where it belongs and says what it amounts to.
pub(super) fn conclude(reply: Reply, reason: StopReason, frame: &mut Frame) -> Finding {
    let text = reply.text();
    let thinking_only = reply.blocks.iter().any(|block| matches!(block, Block::Thinking(_)));
    let finding = match reason {
        StopReason::Refused => Finding::Refused,
        StopReason::Filtered => Finding::Filtered,
        StopReason::Paused => Finding::Paused,
        StopReason::EndOfTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::OutputLimit
        | StopReason::WindowExceeded
        | StopReason::Other => {
            if text.trim().is_empty() {
                Finding::Blank { thinking_only }
            } else if is_cut(reason) {
                Finding::Truncated
            } else {
                Finding::Said
            }
        }
    };
    let entry = match finding {
        Finding::Refused | Finding::Filtered => Entry::Aside(Aside::RefusedReply(reply)),
        Finding::Blank { .. } => Entry::Aside(Aside::BlankReply(reply)),
        Finding::Paused if reply.blocks.is_empty() => Entry::Aside(Aside::BlankReply(reply)),
        Finding::Paused
        | Finding::Truncated
        | Finding::Said
        | Finding::Results { .. }
        | Finding::Unusable { .. }
        | Finding::InPart { .. }
        | Finding::Checked(_)
        | Finding::Overdue
        | Finding::Hooks(_)
        | Finding::Over { .. } => Entry::Reply(reply),
    };
    // Blanks are no part of the answer that follows them (B013).
    if !matches!(finding, Finding::Blank { .. }) {
        frame.answer.text.push_str(&text);
    }
    frame.append(entry);
    finding
}
