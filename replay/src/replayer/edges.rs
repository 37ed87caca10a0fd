//! Compares what a step means at the edges of the machine: bytes out and bytes in.

use machine_spec::effect::SealedRequest;
use machine_spec::ids::EffectId;
use machine_spec::input::InputKind;
use machine_spec::invariants::Invariant;
use machine_spec::{Effect, Input, RoomKind, Step};

use super::requests::{self, WHOLE};
use super::responses::Compared;
use super::tell::Recorded;
use super::{Replayer, Warning};
use crate::code::Code;
use crate::divergence::Divergence;

impl Replayer {
    /// Compares what the step means at the edges of the machine: bytes out and bytes in.
    pub(super) fn compare_edges(
        &mut self,
        recorded: &Recorded,
        step: &Step,
        room: RoomKind,
        sent: Option<&str>,
        closed: Option<EffectId>,
    ) -> Result<(), Box<Divergence>> {
        if self.options.responses {
            if let Some(id) = closed {
                let compared = self.responses.close(id, &self.bodies);
                self.judge_response(compared, recorded.seq, room)?;
            }
            for effect in &step.effects {
                let compared = self.responses.order(effect, &self.bodies);
                self.judge_response(compared, recorded.seq, room)?;
            }
        }
        if let Some(request) = ordered_request(step)
            && self.options.requests
        {
            self.judge_request(recorded, room, request, sent, step.state.frame().config())?;
        }
        Ok(())
    }

    /// Another conversation is only a digest to the machine. Where the request that was sent is
    /// kept, it tells what the model would read differently.
    pub(super) fn told_by_request(
        &mut self,
        mut divergence: Box<Divergence>,
        step: &Step,
        sent: Option<&str>,
    ) -> Box<Divergence> {
        if let Some(request) = ordered_request(step)
            && let Some(sent) = sent
            && divergence.path.contains(".view.")
            && let requests::Compared::Differs(found) =
                self.requests.compare(&self.header.config, request, sent, &self.bodies)
            && found.path != WHOLE
        {
            divergence.path = found.path;
            divergence.recorded = found.left;
            divergence.replayed = found.right;
        }
        divergence
    }

    fn judge_request(
        &mut self,
        recorded: &Recorded,
        room: RoomKind,
        request: &SealedRequest,
        sent: Option<&str>,
        config: &machine_spec::RunConfig,
    ) -> Result<(), Box<Divergence>> {
        let Some(sent) = sent else {
            self.report.requests.skipped += 1;
            return Ok(());
        };
        match self.requests.compare(config, request, sent, &self.bodies) {
            requests::Compared::Same => self.report.requests.compared += 1,
            requests::Compared::NotComparable => self.report.requests.skipped += 1,
            requests::Compared::Differs(difference) => {
                let why = "the machine orders the same request, but its bytes are not those that \
                           were sent: the encoder or its options have changed, and a provider \
                           would read something else";
                let (code, id) = (Code::RequestDiffers, Invariant::RequestSealed);
                return Err(self.diverged(code, recorded, room, difference, id, why));
            }
        }
        Ok(())
    }

    pub(super) fn judge_response(
        &mut self,
        compared: Option<Compared>,
        before: u64,
        room: RoomKind,
    ) -> Result<(), Box<Divergence>> {
        let (code, at, difference, why) = match compared {
            None => return Ok(()),
            Some(Compared::Same) => {
                self.report.responses.compared += 1;
                return Ok(());
            }
            Some(Compared::NotComparable) => {
                self.report.responses.skipped += 1;
                return Ok(());
            }
            Some(Compared::Missing(address)) => {
                self.report.responses.skipped += 1;
                self.report.warnings.push(Warning::BodyMissing { address, at: before });
                return Ok(());
            }
            Some(Compared::Differs(at, difference)) => {
                let why = "the same bytes of the provider are read differently: the decoder has \
                           changed, and a run of today would not be this run";
                (Code::StreamDiffers, at, difference, why)
            }
            Some(Compared::Altered(difference)) => {
                let why = "the raw bytes of a response are not those that came, so nothing can be \
                           proved with them";
                (Code::BodyAltered, before, difference, why)
            }
        };
        let recorded = Recorded::bare(at, Some(InputKind::ModelSaid));
        Err(self.diverged(code, &recorded, room, difference, Invariant::Deterministic, why))
    }
}

/// The request that a step ordered.
fn ordered_request(step: &Step) -> Option<&SealedRequest> {
    step.effects.iter().find_map(|effect| match effect {
        Effect::CallModel { request, .. } => Some(&**request),
        _ => None,
    })
}

/// The response that an input closes.
pub(super) fn closes(input: &Input) -> Option<EffectId> {
    match input {
        Input::ModelClosed { id, .. } => Some(*id),
        _ => None,
    }
}
