//! Which call a fragment belongs to, and when a call is complete.
//!
//! The wire numbers calls by `index`, but vendors leave it out, use one for all, repeat headers,
//! send ids late or never. So a fragment is placed by index, then by id, then by what is plausible;
//! nothing is lost and nothing lands in two calls.

use machine_spec::model::Proof;

use super::chunk::{CallDelta, FunctionDelta};
use crate::args::is_complete_object;
use crate::assembly::{Assembly, Fault};
use crate::json::Node;

/// The calls of a response.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Clone, Debug, Default)]
struct Call {
    index: Option<i64>,
    id: String,
    name: String,
    /// Fragments that came before the call could be announced.
    early: String,
    /// Members of the call that must go back with it.
    extra: String,
    block: Option<u32>,
}

impl Calls {
    /// Takes a fragment, and says to which block it was added, if the call was announced before.
    pub(super) fn take(
        &mut self,
        delta: CallDelta<'_>,
        assembly: &mut Assembly,
    ) -> Result<Option<u32>, Fault> {
        let function = delta.function.as_ref();
        let name = function.and_then(|function| function.name.text()).unwrap_or_default();
        let args = function.map(FunctionDelta::arguments).transpose()?.unwrap_or_default();
        let place = Place { index: delta.index.0, id: delta.id.or_empty(), name, args: &args };
        let at = match self.find(&place, assembly) {
            Some(at) => at,
            None => self.begin(place.index, assembly)?,
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id.push_str(place.id);
        }
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        if let Some(extra) = delta.extra_content {
            call.extra = extra.get().to_owned();
        }
        match call.block {
            Some(block) => {
                assembly.delta(block, args)?;
                return Ok(Some(block));
            }
            None => {
                call.early.push_str(&args);
                // The id may still come; the name must be there.
                let ready = !call.id.is_empty() || !call.early.is_empty();
                if ready && !call.name.is_empty() {
                    self.announce_to(at, assembly)?;
                }
            }
        }
        Ok(None)
    }

    /// Whether a call waits for the proof that it is complete.
    pub(super) fn any_open(&self, assembly: &Assembly) -> bool {
        self.calls.iter().any(|call| call.block.is_none_or(|block| assembly.is_open(block)))
    }

    /// The message ended: every call is complete, but for the last one if the output was cut.
    pub(super) fn finish(&mut self, cut: bool, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(last) = self.calls.len().checked_sub(1) else { return Ok(()) };
        self.announce_to(last, assembly)?;
        for (at, call) in self.calls.iter().enumerate() {
            match call.block {
                Some(block) if cut && at == last => {
                    assembly.close_cut_call(block, Proof::FinishReason);
                }
                Some(block) => assembly.close_call(block, Proof::FinishReason),
                None => {}
            }
        }
        Ok(())
    }

    /// The call a fragment belongs to; none if it begins one.
    fn find(&self, place: &Place<'_>, assembly: &Assembly) -> Option<usize> {
        let same_id = |call: &Call| !place.id.is_empty() && call.id == place.id;
        let at = match place.index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index))?,
            // No index: the id decides, then a name begins a call
            // (mistral/oinf-test-synchronous-streaming-chat-completions-with-tool-ca-b157c).
            None => match self.calls.iter().rposition(same_id) {
                Some(at) => return Some(at),
                None if place.name.is_empty() => self.calls.len().checked_sub(1)?,
                None => return None,
            },
        };
        let call = &self.calls[at];
        let other_id = !place.id.is_empty() && !call.id.is_empty() && place.id != call.id;
        let begins = !place.name.is_empty()
            && !same_id(call)
            && (other_id || (!place.args.is_empty() && is_complete_object(call.text(assembly))));
        (!begins).then_some(at)
    }

    /// A new call begins; the one before it is complete if its arguments are. On this wire that
    /// is not certain otherwise: fragments may come interleaved (B007).
    fn begin(&mut self, index: Option<i64>, assembly: &mut Assembly) -> Result<usize, Fault> {
        if self.calls.len() >= assembly.limits().blocks as usize {
            let limit = assembly.limits().blocks;
            return Err(Fault(format!("a response may hold {limit} calls, this one holds more")));
        }
        if let Some(last) = self.calls.len().checked_sub(1) {
            self.announce_to(last, assembly)?;
            if let Some(block) = self.calls[last].block
                && is_complete_object(assembly.text(block))
            {
                assembly.close_call(block, Proof::NextBlock);
            }
        }
        self.calls.push(Call { index, ..Call::default() });
        Ok(self.calls.len() - 1)
    }

    /// Announces every call up to `last` that has a name, in order of appearance.
    fn announce_to(&mut self, last: usize, assembly: &mut Assembly) -> Result<(), Fault> {
        for call in &mut self.calls[..=last] {
            if call.block.is_some() || call.name.is_empty() {
                continue;
            }
            if !call.extra.is_empty() {
                assembly.adorn("extra_content", Node::Json(std::mem::take(&mut call.extra)))?;
            }
            let block = assembly.open_call(&call.id, &call.name)?;
            assembly.delta(block, std::mem::take(&mut call.early).into())?;
            call.block = Some(block);
        }
        Ok(())
    }
}

/// What a fragment says about its place.
struct Place<'a> {
    index: Option<i64>,
    id: &'a str,
    name: &'a str,
    args: &'a str,
}

impl Call {
    fn text<'a>(&'a self, assembly: &'a Assembly) -> &'a str {
        self.block.map_or(self.early.as_str(), |block| assembly.text(block))
    }
}
