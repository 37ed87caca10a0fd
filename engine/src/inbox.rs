//! Every source of facts, linearised into one ordered queue.
//!
//! What the user says, what a model streams, what tools, hooks and timers report: all of it stands
//! in one line, in the order of arrival, and is taken one by one. A model that talks faster than
//! the machine listens has to wait in its own connection, so that an interrupt is never far back in
//! the line.

use std::collections::BTreeSet;
use std::sync::Arc;

use machine_spec::Input;
use machine_spec::ids::{CandidateId, EffectId};
use machine_spec::input::InterruptedBy;
use machine_spec::model::ModelEvent;
use replay::format::v1::BodyEnd;
use secrecy::SecretString;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wire::Images;

use crate::events::Event;
use crate::pictures::Pictures;

/// Pieces of one stream that may stand in the line at the same time.
const STREAM_ROOM: usize = 32;

/// Words of the user that may stand in the line at the same time.
const USER_ROOM: usize = 256;

/// Something that stands in the line. It gives its room free when it is dropped.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) what: What,
    _room: Option<OwnedSemaphorePermit>,
}

/// What a source has to say.
#[derive(Debug)]
pub(crate) enum What {
    /// The user said this and showed these.
    Words(String, Pictures),
    /// Somebody wants the run to stop.
    Interrupt(InterruptedBy),
    /// Nobody is left who could say anything.
    Deserted,
    /// An answer to an effect.
    Answer(Input),
    /// Raw bytes of the response to an effect, and its status; the events they decode to follow.
    Bytes(EffectId, u16, Vec<u8>),
    /// The raw response to an effect is over.
    BodyOver(EffectId, BodyEnd, Option<u16>),
    /// The bytes of images: for the connections and the recording, before an answer shows them.
    Images(Images),
    /// A credential that was looked up again: for the connection, and for nobody's eyes.
    Credential(CandidateId, SecretString),
    /// Something for observers alone.
    Tell(Event),
}

/// The outside end of the line: how an embedder speaks to a run.
#[derive(Clone, Debug)]
pub struct Handle {
    inner: Arc<Caller>,
}

#[derive(Debug)]
struct Caller {
    tx: UnboundedSender<Message>,
    room: Arc<Semaphore>,
}

/// The words could not be handed over; they come back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotHeard {
    /// The run is over.
    #[error("the run is over; begin a new one")]
    Over(String),
    /// More waits than will ever be read.
    #[error("too many messages wait already; say it again later")]
    Full(String),
}

impl Handle {
    /// Says something to the model. Before the run it is the prompt, later it joins in.
    ///
    /// # Errors
    ///
    /// The words, when nobody will hear them.
    pub fn say(&self, words: impl Into<String>) -> Result<(), NotHeard> {
        self.show(words, Pictures::none())
    }

    /// Says something to the model, and shows it images behind the words.
    ///
    /// # Errors
    ///
    /// The words, when nobody will hear them.
    pub fn show(&self, words: impl Into<String>, pictures: Pictures) -> Result<(), NotHeard> {
        let words = words.into();
        let Ok(room) = Arc::clone(&self.inner.room).try_acquire_owned() else {
            return Err(NotHeard::Full(words));
        };
        let message = Message { what: What::Words(words, pictures), _room: Some(room) };
        self.inner.tx.send(message).map_err(|refused| match refused.0.what {
            What::Words(words, _) => NotHeard::Over(words),
            What::Interrupt(_)
            | What::Deserted
            | What::Answer(_)
            | What::Bytes(..)
            | What::BodyOver(..)
            | What::Images(_)
            | What::Credential(..)
            | What::Tell(_) => NotHeard::Over(String::new()),
        })
    }

    /// Wants the run to stop. A second time it stops without waiting for anything.
    pub fn interrupt(&self, by: InterruptedBy) {
        // A run that is over is as interrupted as can be.
        let _ = self.inner.tx.send(Message { what: What::Interrupt(by), _room: None });
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let _ = self.tx.send(Message { what: What::Deserted, _room: None });
    }
}

/// The inside end of the line, not yet in use.
#[derive(Debug)]
pub struct Inputs {
    tx: UnboundedSender<Message>,
    rx: UnboundedReceiver<Message>,
}

/// A new line: the handle speaks, the inputs go to [`crate::run`].
#[must_use]
pub fn inputs() -> (Handle, Inputs) {
    let (tx, rx) = unbounded_channel();
    let room = Arc::new(Semaphore::new(USER_ROOM));
    let caller = Caller { tx: tx.clone(), room };
    (Handle { inner: Arc::new(caller) }, Inputs { tx, rx })
}

/// The inside end of the line, in use.
#[derive(Debug)]
pub(crate) struct Inbox {
    tx: UnboundedSender<Message>,
    rx: UnboundedReceiver<Message>,
    cut: BTreeSet<EffectId>,
}

impl Inbox {
    pub(crate) fn of(inputs: Inputs) -> Inbox {
        Inbox { tx: inputs.tx, rx: inputs.rx, cut: BTreeSet::new() }
    }

    /// A line for whatever carries out this effect.
    pub(crate) fn line(&self, id: EffectId) -> Line {
        Line { id, tx: self.tx.clone(), room: Arc::new(Semaphore::new(STREAM_ROOM)) }
    }

    /// What stands in front. Sources that were cut are not heard any more.
    pub(crate) async fn next(&mut self) -> Message {
        loop {
            // The line has an end of its own here, so it is never closed.
            let Some(message) = self.rx.recv().await else { std::future::pending().await };
            let from = match &message.what {
                What::Answer(input) => input.answers(),
                What::Bytes(id, ..) | What::BodyOver(id, ..) => Some(*id),
                What::Words(..)
                | What::Interrupt(_)
                | What::Deserted
                | What::Images(_)
                | What::Credential(..)
                | What::Tell(_) => None,
            };
            if !from.is_some_and(|id| self.cut.contains(&id)) {
                return message;
            }
        }
    }

    /// Cuts a source off: what it has said and nobody has heard yet was never said.
    pub(crate) fn cut(&mut self, id: EffectId) {
        self.cut.insert(id);
    }

    /// Closes the line and gives back the user's words that nobody has heard.
    pub(crate) fn close(mut self) -> Vec<String> {
        self.rx.close();
        let mut unheard = Vec::new();
        while let Ok(message) = self.rx.try_recv() {
            match message.what {
                What::Words(words, _) => unheard.push(words),
                What::Interrupt(_)
                | What::Deserted
                | What::Answer(_)
                | What::Bytes(..)
                | What::BodyOver(..)
                | What::Images(_)
                | What::Credential(..)
                | What::Tell(_) => {}
            }
        }
        unheard
    }
}

/// How what carries out an effect answers.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    id: EffectId,
    tx: UnboundedSender<Message>,
    room: Arc<Semaphore>,
}

impl Line {
    /// A line that leads to somebody else than the driver.
    pub(crate) fn private(id: EffectId) -> (Line, UnboundedReceiver<Message>) {
        let (tx, rx) = unbounded_channel();
        (Line { id, tx, room: Arc::new(Semaphore::new(STREAM_ROOM)) }, rx)
    }

    /// The effect.
    pub(crate) fn id(&self) -> EffectId {
        self.id
    }

    /// Says one thing of many, as soon as there is room for it.
    pub(crate) async fn said(&self, event: ModelEvent) {
        let input = Input::ModelSaid { id: self.id, event };
        self.patiently(What::Answer(input)).await;
    }

    /// Hands over raw bytes, as soon as there is room for them.
    pub(crate) async fn bytes(&self, status: u16, bytes: Vec<u8>) {
        self.patiently(What::Bytes(self.id, status, bytes)).await;
    }

    /// The raw response is over.
    pub(crate) fn body_over(&self, end: BodyEnd, status: Option<u16>) {
        self.put(What::BodyOver(self.id, end, status), None);
    }

    /// Gives the one and last answer.
    pub(crate) fn answer(&self, input: Input) {
        self.put(What::Answer(input), None);
    }

    /// Hands over the bytes of images that an answer is about to show.
    pub(crate) fn images(&self, held: Images) {
        if !held.is_empty() {
            self.put(What::Images(held), None);
        }
    }

    /// Hands over a credential that was looked up again.
    pub(crate) fn credential(&self, candidate: CandidateId, key: SecretString) {
        self.put(What::Credential(candidate, key), None);
    }

    /// Tells observers something.
    pub(crate) fn tell(&self, event: Event) {
        self.put(What::Tell(event), None);
    }

    async fn patiently(&self, what: What) {
        // The semaphore is never closed.
        let room = Arc::clone(&self.room).acquire_owned().await.ok();
        self.put(what, room);
    }

    fn put(&self, what: What, room: Option<OwnedSemaphorePermit>) {
        // Nobody listens any more once the run is over.
        let _ = self.tx.send(Message { what, _room: room });
    }
}

/// The last word of something that answers exactly once, whatever happens to it. Should it break
/// down before it has answered, this is its answer: a run never waits for the dead.
#[derive(Debug)]
pub(crate) struct Owed {
    line: Line,
    answer: Option<Input>,
}

impl Owed {
    /// On this line, this answer is owed unless a better one comes.
    pub(crate) fn new(line: Line, answer: Input) -> Owed {
        Owed { line, answer: Some(answer) }
    }

    /// Gives the better answer.
    pub(crate) fn pay(mut self, answer: Input) {
        self.answer = Some(answer);
    }

    /// The answer was given by other means.
    pub(crate) fn paid(mut self) {
        self.answer = None;
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            self.line.answer(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use machine_spec::Input;
    use machine_spec::ids::EffectId;
    use machine_spec::input::InterruptedBy;
    use machine_spec::model::ModelEvent;

    use super::{Inbox, NotHeard, Owed, STREAM_ROOM, USER_ROOM, What, inputs};

    fn piece(n: usize) -> ModelEvent {
        ModelEvent::Delta { block: 0, text: n.to_string() }
    }

    #[tokio::test]
    async fn a_stream_that_floods_keeps_no_interrupt_waiting() {
        let (handle, inputs) = inputs();
        let mut inbox = Inbox::of(inputs);
        let line = inbox.line(EffectId(0));
        let flood = tokio::spawn(async move {
            for n in 0.. {
                line.said(piece(n)).await;
            }
        });
        tokio::task::yield_now().await;
        handle.interrupt(InterruptedBy::User);
        let mut before = 0;
        while let What::Answer(_) = inbox.next().await.what {
            before += 1;
            tokio::task::yield_now().await;
        }
        assert_eq!(before, STREAM_ROOM, "the interrupt stands behind one room of pieces");
        flood.abort();
    }

    #[tokio::test]
    async fn order_of_arrival_is_kept_and_cut_sources_are_not_heard() {
        let (handle, inputs) = inputs();
        let mut inbox = Inbox::of(inputs);
        let (first, second) = (inbox.line(EffectId(1)), inbox.line(EffectId(2)));
        first.said(piece(1)).await;
        handle.say("one").expect("somebody listens");
        second.said(piece(2)).await;
        first.answer(Input::TimerFired { id: EffectId(1) });
        handle.interrupt(InterruptedBy::Parent);
        inbox.cut(EffectId(1));
        assert!(matches!(inbox.next().await.what, What::Words(words, _) if words == "one"));
        assert!(matches!(inbox.next().await.what, What::Answer(_)));
        assert!(matches!(inbox.next().await.what, What::Interrupt(InterruptedBy::Parent)));
        drop(handle);
        assert!(matches!(inbox.next().await.what, What::Deserted));
    }

    #[tokio::test]
    async fn words_nobody_hears_come_back() {
        let (handle, inputs) = inputs();
        for _ in 0..USER_ROOM {
            handle.say("again").expect("there is room");
        }
        assert_eq!(handle.say("one more"), Err(NotHeard::Full("one more".into())));
        let unheard = Inbox::of(inputs).close();
        assert_eq!(unheard.len(), USER_ROOM);
        assert_eq!(handle.say("late"), Err(NotHeard::Over("late".into())));
    }

    #[tokio::test]
    async fn what_breaks_down_still_answers() {
        let (_handle, inputs) = inputs();
        let mut inbox = Inbox::of(inputs);
        let (first, second) = (EffectId(1), EffectId(2));
        let owed = Owed::new(inbox.line(first), Input::TimerFired { id: first });
        let broken = tokio::spawn(async move {
            let _owed = owed;
            panic!("on purpose");
        });
        assert!(broken.await.is_err());
        let answer = inbox.next().await.what;
        assert!(matches!(answer, What::Answer(Input::TimerFired { id }) if id == first));
        Owed::new(inbox.line(second), Input::TimerFired { id: second }).paid();
        Owed::new(inbox.line(first), Input::TimerFired { id: first })
            .pay(Input::TimerFired { id: second });
        let answer = inbox.next().await.what;
        assert!(matches!(answer, What::Answer(Input::TimerFired { id }) if id == second));
    }
}
