//! Carries out the order to summarise the head of a conversation.
//!
//! The deterministic summary of the machine's own crate needs nobody. A summary by a model is one
//! request to the candidate in use, without tools, and only a complete answer counts: half a summary
//! would silently lose what the other half said. Nothing is repeated; whether to try again is the
//! machine's decision.

use std::sync::Arc;

use machine_spec::config::RunConfig;
use machine_spec::effect::{SealedRequest, ToolChoice, Transport};
use machine_spec::ids::{AttemptId, CandidateId};
use machine_spec::input::Compaction;
use machine_spec::message::{Entry, Origin, Said};
use machine_spec::model::{BlockKind, Closure, ErrorClass, Failure, ModelEvent, StopReason};
use machine_spec::view::{Seen, View};
use machine_spec::{Input, because::Owner};

use crate::inbox::{Message, What};
use tokio::sync::mpsc::UnboundedReceiver;

/// What the model is asked for.
const REQUEST: &str = "Summarise the conversation so far for yourself: you will go on from your \
summary alone. Tell what the user wants, word for word where it matters; what was decided and why; \
what was done, with names of files, commands and their results; what is still open. Answer with the \
summary only and call no tool.";

/// What a conversation begins with whose beginning was left out. The user speaks first, or some
/// providers do not listen.
const BEHEADED: &str = "(The beginning of this conversation is left out.)";

/// The request that asks a model for a summary of this head, without what its endpoint was found
/// not to know.
pub(crate) fn request(
    head: &View,
    candidate: CandidateId,
    left_out: Vec<Arc<str>>,
) -> SealedRequest {
    let mut transcript = match head.messages().first() {
        Some(Seen::Reply(_)) => {
            let beheaded = Entry::Said(Said::words(Origin::Continuation, BEHEADED));
            let rest = head.transcript().entries().into_iter().cloned();
            std::iter::once(beheaded).chain(rest).collect()
        }
        Some(Seen::Said(_) | Seen::Results(_)) | None => head.transcript().clone(),
    };
    transcript.append(Entry::Said(Said::words(Origin::Continuation, REQUEST)));
    SealedRequest {
        // It is no attempt of the machine: its answer comes back as a summary.
        attempt: AttemptId(0),
        candidate,
        owner: Owner::ContextCompact,
        view: View::of(&transcript),
        tools: ToolChoice::None,
        transport: Transport::Stream,
        max_output: None,
        left_out,
    }
}

/// The configuration under which a summary is asked for: no tool is offered.
pub(crate) fn config(of: &RunConfig) -> RunConfig {
    RunConfig { tools: Vec::new(), force_tool: String::new(), ..of.clone() }
}

/// Listens to the answer to such a request, down to its end.
pub(crate) async fn listen(mut answer: UnboundedReceiver<Message>) -> Compaction {
    let mut draft = Draft::default();
    loop {
        let Some(message) = answer.recv().await else {
            break failed("the request was given up");
        };
        match message.what {
            What::Answer(Input::ModelSaid { event, .. }) => {
                if let Some(failure) = draft.hear(event) {
                    break refused(failure);
                }
            }
            What::Answer(Input::ModelClosed { closure, .. }) => break draft.close(closure),
            What::Answer(_)
            | What::Words(..)
            | What::Images(_)
            | What::Interrupt(_)
            | What::Deserted
            | What::Bytes(..)
            | What::BodyOver(..)
            | What::Credential(..)
            | What::Tell(_) => {}
        }
    }
}

/// A head that is too long for the model that should sum it up is tried again shorter.
fn refused(failure: Failure) -> Compaction {
    let too_long = [ErrorClass::ContextOverflow, ErrorClass::PayloadTooLarge];
    let problem = failure.message;
    match too_long.contains(&failure.class) {
        true => Compaction::TooLong { problem },
        false => Compaction::Failed { problem },
    }
}

fn failed(problem: &str) -> Compaction {
    Compaction::Failed { problem: problem.to_owned() }
}

/// A summary as it comes.
#[derive(Debug, Default)]
struct Draft {
    text: String,
    /// Blocks that hold text for people, by number.
    texts: Vec<u32>,
    stop: Option<StopReason>,
}

impl Draft {
    /// Takes an event down; gives a failure that it tells.
    fn hear(&mut self, event: ModelEvent) -> Option<Failure> {
        match event {
            ModelEvent::BlockBegan { block, kind: BlockKind::Text } => self.texts.push(block),
            ModelEvent::Delta { block, text } if self.texts.contains(&block) => {
                self.text.push_str(&text);
            }
            ModelEvent::Finished { reason, .. } => self.stop = Some(reason),
            ModelEvent::Failed(failure) if self.stop.is_none() => return Some(failure),
            ModelEvent::Began { .. }
            | ModelEvent::BlockBegan { .. }
            | ModelEvent::Delta { .. }
            | ModelEvent::BlockDone { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Failed(_) => {}
        }
        None
    }

    fn close(self, closure: Closure) -> Compaction {
        match (self.stop, closure) {
            (Some(StopReason::EndOfTurn | StopReason::StopSequence), _) => {
                let text = self.text.trim().to_owned();
                Compaction::Summarised { text, archive: String::new() }
            }
            (Some(other), _) => failed(&format!("the model stopped with `{other}`")),
            (None, Closure::Failed(failure)) => refused(failure),
            (None, Closure::Ended) => failed("the stream ended before the summary was complete"),
        }
    }
}

#[cfg(test)]
mod tests {
    use machine_spec::Input;
    use machine_spec::Transcript;
    use machine_spec::ids::{AttemptId, CandidateId, EffectId};
    use machine_spec::input::Compaction;
    use machine_spec::message::{Block, Entry, Origin, Reply, Said, Wholeness};
    use machine_spec::model::{
        BlockKind, Closure, ErrorClass, Failure, ModelEvent, StopReason, Usage,
    };
    use machine_spec::view::{Seen, View};
    use rstest::rstest;

    use super::{BEHEADED, REQUEST, listen, request};
    use crate::inbox::Line;

    const ID: EffectId = EffectId(4);

    fn finished(reason: StopReason) -> ModelEvent {
        ModelEvent::finished(reason, "")
    }

    fn broken() -> Closure {
        Closure::Failed(Failure::new(ErrorClass::Transport, "reset"))
    }

    #[rstest]
    #[case::complete(Some(StopReason::EndOfTurn), Closure::Ended, Ok("the gist"))]
    #[case::complete_then_broken(Some(StopReason::EndOfTurn), broken(), Ok("the gist"))]
    #[case::cut(
        Some(StopReason::OutputLimit),
        Closure::Ended,
        Err("the model stopped with `output_limit`")
    )]
    #[case::incomplete(
        None,
        Closure::Ended,
        Err("the stream ended before the summary was complete")
    )]
    #[case::broken_stream(None, broken(), Err("reset"))]
    #[tokio::test]
    async fn only_a_complete_summary_counts(
        #[case] stop: Option<StopReason>,
        #[case] closure: Closure,
        #[case] told: Result<&str, &str>,
    ) {
        let (line, answer) = Line::private(ID);
        let delta = |block, text: &str| ModelEvent::Delta { block, text: text.into() };
        for event in [
            ModelEvent::BlockBegan { block: 0, kind: BlockKind::Thinking },
            delta(0, "hm"),
            ModelEvent::BlockBegan { block: 1, kind: BlockKind::Text },
            delta(1, "the "),
            delta(1, "gist\n"),
        ]
        .into_iter()
        .chain(stop.map(finished))
        {
            line.said(event).await;
        }
        line.answer(Input::ModelClosed { id: ID, closure });
        let result = match told {
            Ok(text) => Compaction::Summarised { text: text.into(), archive: String::new() },
            Err(problem) => Compaction::Failed { problem: problem.into() },
        };
        assert_eq!(listen(answer).await, result);
    }

    #[test]
    fn a_head_that_begins_with_a_reply_is_introduced() {
        let reply = Reply {
            by: "a/m".into(),
            attempt: AttemptId(1),
            blocks: vec![Block::Text("as I said".into())],
            wholeness: Wholeness::Whole,
            stop: None,
            usage: Usage::default(),
        };
        let head = View::of(&Transcript::from_iter([Entry::Reply(reply)]));
        let request = request(&head, CandidateId(0), Vec::new());
        let messages = request.view.messages();
        assert!(
            matches!(messages[..], [Seen::Said(first), Seen::Reply(_), Seen::Said(_)] if first.text == BEHEADED)
        );
    }

    #[test]
    fn the_request_stands_behind_the_head_and_offers_no_tool() {
        let said = Said::words(Origin::User, "hello");
        let head = View::of(&Transcript::from_iter([Entry::Said(said)]));
        let request = request(&head, CandidateId(1), vec!["cache_marks".into()]);
        let messages = request.view.messages();
        assert!(matches!(messages[..], [Seen::Said(_), Seen::Said(last)] if last.text == REQUEST));
        assert_eq!(request.tools, machine_spec::effect::ToolChoice::None);
    }
}
