//! Room 4, Freeze: with what exactly? The request is sealed; Parse, Batch and the recording refer
//! to it (I08). Door: Parse.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use super::{Next, Out, Parse, Room};
use crate::because::{Because, Owner};
use crate::config::ANY_TOOL;
use crate::effect::{Effect, EffectKind, SealedRequest, ToolChoice, Transport};
use crate::frame::Frame;
use crate::view::View;

/// With what exactly?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Freeze {
    /// Who orders the request.
    pub owner: Owner,
    /// What the model sees.
    pub view: View,
}

impl Freeze {
    pub(crate) fn pass(self, frame: &mut Frame, out: &mut Out) -> Next {
        let attempt = frame.mint_attempt();
        let candidate = frame.sweep.at;
        let left_out = frame.sweep.left_out.get(usize::from(candidate.0)).cloned();
        let request = SealedRequest {
            attempt,
            candidate,
            owner: self.owner,
            view: self.view,
            tools: tool_choice(frame),
            transport: if frame.sweep.whole > 0 { Transport::Whole } else { Transport::Stream },
            max_output: frame.sweep.max_output,
            left_out: left_out.unwrap_or_default(),
        };
        let id = frame.open(EffectKind::CallModel);
        let parse = Parse::new(id, attempt);
        out.emit(Effect::CallModel { id, request: Box::new(request) });
        Next::go(Room::Parse(Box::new(parse)), Because::RequestSealed)
    }
}

/// A forced tool is forced until the first response, never longer (B033). The last word after the
/// tool-round limit is spoken without tools (B031).
fn tool_choice(frame: &Frame) -> ToolChoice {
    let config = &frame.config;
    if config.tools.is_empty() || config.limits.tool_rounds == 0 || frame.is_wrapping_up() {
        ToolChoice::None
    } else if config.force_tool.is_empty() || frame.counters.responses > 0 {
        ToolChoice::Auto
    } else if config.force_tool == ANY_TOOL {
        ToolChoice::Any
    } else {
        ToolChoice::Force { tool: config.force_tool.clone() }
    }
}
