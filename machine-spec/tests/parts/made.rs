//! Entries that several tests are about.

use machine_spec::ids::{AttemptId, CallId};
use machine_spec::message::{Block, Call, CallResult, Outcome, Reply, Wholeness};
use machine_spec::model::{ArgsVerdict, CallFacts, Safety, Usage};

pub(crate) fn reply(blocks: Vec<Block>) -> Reply {
    Reply {
        by: "a/m".into(),
        attempt: AttemptId(1),
        blocks,
        wholeness: Wholeness::Whole,
        stop: None,
        usage: Usage::default(),
    }
}

/// A call of `read` without arguments worth naming.
pub(crate) fn call(id: u32) -> Call {
    let facts = CallFacts::new(ArgsVerdict::Valid { canonical: 0 }, Safety::Exclusive);
    let (wire_id, name, args) = (format!("c{id}").into(), "read".into(), "{}".into());
    Call { id: CallId(id), wire_id, name, args, facts }
}

/// What came of such a call.
pub(crate) fn result(id: u32, outcome: Outcome) -> CallResult {
    let Call { id: call, wire_id, name, .. } = call(id);
    CallResult { call, wire_id, name, outcome, edited: None, images: Vec::new() }
}
