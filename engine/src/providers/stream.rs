//! One request and its response: sent, watched, decoded, judged, and closed.
//!
//! Two watchdogs guard a response that has begun. Any byte feeds the first, so keep-alives prove
//! that the connection lives; only what says more feeds the second, so keep-alives alone do not
//! last for ever. Whoever drops the future of [`Call::run`] closes the connection.

use std::sync::Arc;

use machine_spec::Input;
use machine_spec::effect::Transport;
use machine_spec::model::{Closure, ErrorClass, Failure, ModelEvent, Proof};
use replay::format::v1::BodyEnd;
use reqwest::Response;
use reqwest::header::HeaderMap;
use tokio::select;
use wire::{Degradation, Dialect, EncodeOptions, ResponseReader, classify};

use super::Outgoing;
use super::fault::{self, Stage};
use crate::assess::{Assessor, Follower};
use crate::clock::{Clock, Deadline, within_ms};
use crate::inbox::Line;
use crate::setup::Patience;

/// The most bytes of an error body that are read.
const ERROR_BODY: usize = 256 * 1024;

/// One request on its way.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) outgoing: Outgoing,
    pub(crate) line: Line,
    pub(crate) assessor: Arc<Assessor>,
    pub(crate) clock: Clock,
}

/// How reading a body came to its end.
enum Over {
    /// Nothing more will come, or nothing more is wanted.
    Closed(Closure, BodyEnd),
    /// The response said itself that it failed; the machine has heard it.
    Said(BodyEnd),
}

impl Call {
    /// Sends the request and reports the response, down to its end.
    pub(crate) async fn run(self) {
        let Call { outgoing, line, assessor, clock } = self;
        let Outgoing { dialect, reader, client, url, headers, body, patience, transport, options } =
            outgoing;
        let sent = client.post(url).headers(headers).body(body).send();
        let response = match within_ms(patience.request_ms, sent).await {
            Some(Ok(response)) => response,
            Some(Err(error)) => {
                return close(&line, failed(fault::of(&error, Stage::Sending, &patience)));
            }
            None => {
                let message = format!("no response within {} ms", patience.request_ms);
                return close(&line, failed(Failure::new(ErrorClass::RequestTimeout, message)));
            }
        };
        let status = response.status().as_u16();
        let watch = Watch {
            idle: Deadline::after_ms(patience.idle_ms),
            progress: Deadline::after_ms(patience.progress_ms),
        };
        let mut reading = Reading {
            dialect,
            status,
            headers: told(response.headers()),
            response,
            line,
            watch,
            clock,
        };
        let over = match (response_is_error(status), transport) {
            (true, _) => reading.error_body(&options).await,
            (false, Transport::Stream) => reading.stream(reader, &assessor, &patience).await,
            (false, Transport::Whole) => reading.whole(reader, &assessor, &patience).await,
        };
        match over {
            Over::Closed(closure, end) => {
                reading.line.body_over(end, Some(status));
                close(&reading.line, closure);
            }
            Over::Said(end) => reading.line.body_over(end, Some(status)),
        }
    }
}

fn response_is_error(status: u16) -> bool {
    !(200..300).contains(&status)
}

fn failed(failure: Failure) -> Closure {
    Closure::Failed(failure)
}

fn close(line: &Line, closure: Closure) {
    line.answer(Input::ModelClosed { id: line.id(), closure });
}

/// The headers of a response as the judge of errors wants them.
fn told(headers: &HeaderMap) -> Vec<(String, String)> {
    let pair = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    };
    headers.iter().map(pair).collect()
}

struct Watch {
    idle: Deadline,
    progress: Deadline,
}

/// A response that is being read.
struct Reading {
    dialect: Dialect,
    status: u16,
    headers: Vec<(String, String)>,
    response: Response,
    line: Line,
    watch: Watch,
    clock: Clock,
}

/// What the next piece of a body is.
enum Piece {
    Bytes(Vec<u8>),
    End,
    Broken(reqwest::Error),
    /// No byte came for too long.
    Idle,
    /// Bytes came, but nothing that says more.
    NoProgress,
}

impl Reading {
    async fn next(&mut self) -> Piece {
        let piece = select! {
            biased;
            // First, or a stream of nothing but keep-alives would never be given up; behind what
            // has come, silence is no silence.
            () = &mut self.watch.progress => return Piece::NoProgress,
            piece = self.response.chunk() => piece,
            () = &mut self.watch.idle => return Piece::Idle,
        };
        match piece {
            Ok(Some(bytes)) => {
                self.watch.idle.restart();
                Piece::Bytes(bytes.to_vec())
            }
            Ok(None) => Piece::End,
            Err(error) => Piece::Broken(error),
        }
    }

    /// Reads a stream of events.
    async fn stream(
        &mut self,
        mut reader: ResponseReader,
        assessor: &Assessor,
        patience: &Patience,
    ) -> Over {
        let mut follower = Follower::default();
        let mut events = Vec::new();
        loop {
            let piece = self.next().await;
            let bytes = match piece {
                Piece::Bytes(bytes) => bytes,
                Piece::End | Piece::Broken(_) | Piece::Idle | Piece::NoProgress => {
                    reader.finish(&mut events);
                    if self.say(&mut events, &mut follower, assessor).await == Heard::Failure {
                        return Over::Said(BodyEnd::Cancelled);
                    }
                    return ended(piece, patience);
                }
            };
            reader.push(&bytes, &mut events);
            self.line.bytes(self.status, bytes).await;
            match self.say(&mut events, &mut follower, assessor).await {
                Heard::Failure => return Over::Said(BodyEnd::Cancelled),
                _ if reader.is_over() => return Over::Closed(Closure::Ended, BodyEnd::Ended),
                _ if reader.holds_an_end() => {
                    return self.linger(reader, follower, assessor, patience).await;
                }
                Heard::End => return self.linger(reader, follower, assessor, patience).await,
                Heard::Progress => self.watch.progress.restart(),
                Heard::Nothing => {}
            }
        }
    }

    /// The message is complete. What may still come is usage, or a last call of a vendor that
    /// says so too early; neither need be waited for long.
    async fn linger(
        &mut self,
        mut reader: ResponseReader,
        mut follower: Follower,
        assessor: &Assessor,
        patience: &Patience,
    ) -> Over {
        let mut events = Vec::new();
        let mut patience = Deadline::after_ms(patience.linger_ms);
        let end = loop {
            let piece = select! {
                piece = self.next() => piece,
                () = &mut patience => break BodyEnd::Cancelled,
            };
            match piece {
                Piece::Bytes(bytes) => {
                    reader.push(&bytes, &mut events);
                    self.line.bytes(self.status, bytes).await;
                    match self.say(&mut events, &mut follower, assessor).await {
                        Heard::Failure => return Over::Said(BodyEnd::Cancelled),
                        Heard::Progress | Heard::End => patience.restart(),
                        Heard::Nothing => {}
                    }
                    if reader.is_over() {
                        break BodyEnd::Ended;
                    }
                }
                Piece::End => break BodyEnd::Ended,
                Piece::Broken(_) => break BodyEnd::Broken,
                Piece::Idle | Piece::NoProgress => break BodyEnd::Silent,
            }
        };
        reader.finish(&mut events);
        self.say(&mut events, &mut follower, assessor).await;
        Over::Closed(Closure::Ended, end)
    }

    /// Reads a response in one piece: nothing of it is said before all of it is there.
    async fn whole(
        &mut self,
        mut reader: ResponseReader,
        assessor: &Assessor,
        patience: &Patience,
    ) -> Over {
        let limits = reader.limits();
        let mut body = Vec::new();
        let piece = loop {
            match self.next().await {
                // What is longer than any message may be is judged as it is.
                Piece::Bytes(bytes) if body.len() <= limits.event_bytes => {
                    body.extend_from_slice(&bytes);
                    self.line.bytes(self.status, bytes).await;
                    self.watch.progress.restart();
                }
                Piece::Bytes(_) => break Piece::End,
                end => break end,
            }
        };
        let is_end = matches!(piece, Piece::End);
        let mut events = reader.read_whole(&body, is_end);
        match self.say(&mut events, &mut Follower::default(), assessor).await {
            Heard::Failure if is_end => Over::Said(BodyEnd::Ended),
            Heard::Failure => Over::Said(BodyEnd::Cancelled),
            Heard::Nothing | Heard::Progress | Heard::End => ended(piece, patience),
        }
    }

    /// Says the events and tells what the most telling of them was.
    async fn say(
        &self,
        events: &mut Vec<ModelEvent>,
        follower: &mut Follower,
        assessor: &Assessor,
    ) -> Heard {
        let mut heard = Heard::Nothing;
        for event in events.drain(..) {
            heard = heard.max(Heard::of(&event));
            self.line.said(follower.refine(event, assessor)).await;
            if heard == Heard::Failure {
                break;
            }
        }
        events.clear();
        heard
    }

    /// Reads the body of an error, and judges it.
    async fn error_body(&mut self, options: &EncodeOptions) -> Over {
        let mut body = Vec::new();
        let mut end = BodyEnd::Cancelled;
        while body.len() < ERROR_BODY {
            match self.next().await {
                Piece::Bytes(bytes) => {
                    self.line.bytes(self.status, bytes.clone()).await;
                    body.extend_from_slice(&bytes);
                    continue;
                }
                Piece::End => end = BodyEnd::Ended,
                // The status was said; half an explanation is better than none.
                Piece::Broken(_) => end = BodyEnd::Broken,
                Piece::Idle | Piece::NoProgress => end = BodyEnd::Silent,
            }
            break;
        }
        let now = Some(self.clock.unix_ms());
        let mut failure = classify(self.dialect, self.status, &self.headers, &body, now);
        let mends = Degradation::of_word(&failure.remedy).is_some_and(|d| options.can_leave_out(d));
        if !mends {
            failure.remedy.clear();
        }
        Over::Closed(failed(failure), end)
    }
}

/// What was heard, from the least to the most telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Heard {
    /// Nothing, or what keeps a connection alive.
    Nothing,
    /// More of the message.
    Progress,
    /// The message is complete, as far as can be seen.
    End,
    /// The response failed.
    Failure,
}

impl Heard {
    fn of(event: &ModelEvent) -> Heard {
        match event {
            // On a wire whose last word is held back until it is certain, a block that was closed by
            // the finish reason is the first sign of it.
            ModelEvent::Finished { .. }
            | ModelEvent::BlockDone { proof: Proof::FinishReason, .. } => Heard::End,
            ModelEvent::Began { .. }
            | ModelEvent::BlockBegan { .. }
            | ModelEvent::Delta { .. }
            | ModelEvent::BlockDone { .. }
            | ModelEvent::Usage(_) => Heard::Progress,
            ModelEvent::Failed(_) => Heard::Failure,
        }
    }
}

/// How a stream ended that did not say so itself.
fn ended(piece: Piece, patience: &Patience) -> Over {
    let (failure, end) = match piece {
        Piece::Bytes(_) | Piece::End => return Over::Closed(Closure::Ended, BodyEnd::Ended),
        Piece::Broken(error) => (fault::of(&error, Stage::Reading, patience), BodyEnd::Broken),
        Piece::Idle => {
            let message = format!("the stream was silent for {} ms", patience.idle_ms);
            (Failure::new(ErrorClass::IdleTimeout, message), BodyEnd::Silent)
        }
        Piece::NoProgress => {
            let ms = patience.progress_ms;
            let message = format!("the stream said nothing but keep-alives for {ms} ms");
            (Failure::new(ErrorClass::IdleTimeout, message), BodyEnd::Silent)
        }
    };
    Over::Closed(failed(failure), end)
}
