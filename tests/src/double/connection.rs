//! One connection: requests are read, answers are delivered as planned, and the client's close is
//! noticed at any moment.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::Log;
use super::exchange::{Exchange, Fate};
use super::plan::{End, Pause};
use super::script::{Answer, Script, Shape};

/// No request of a test is larger than this.
const MAX_REQUEST: usize = 64 << 20;

/// What follows an exchange.
enum Next {
    /// The next request on the same connection.
    Listen,
    /// The end of the connection.
    Close,
    /// A reset of the connection.
    Reset,
}

pub(super) async fn serve(mut socket: TcpStream, script: Arc<Script>, log: Arc<Log>) {
    // Every chunk of a plan is to leave when it is written.
    if socket.set_nodelay(true).is_err() {
        return;
    }
    let mut pending = Vec::new();
    let mut name = None;
    loop {
        let (mut reader, mut writer) = socket.split();
        let Some(mut request) = read_request(&mut reader, &mut pending).await else { return };
        request.connection = *name.get_or_insert_with(|| next_connection(&log));
        let answer = script.choose(&request);
        request.answer.clone_from(&answer.name);
        let number = log.open(request);
        let mut delivery = Delivery { reader: &mut reader, writer: &mut writer, pending, sent: 0 };
        let (fate, next) = delivery.run(&answer).await;
        pending = delivery.pending;
        if matches!(next, Next::Reset) {
            reset(&socket);
        }
        log.update(number, |exchange| exchange.fate = fate);
        if !matches!(next, Next::Listen) {
            return;
        }
    }
}

fn next_connection(log: &Log) -> u32 {
    log.read().iter().map(|exchange| exchange.connection + 1).max().unwrap_or(0)
}

/// A socket that is dropped without lingering sends a reset in place of an end.
fn reset(socket: &TcpStream) {
    socket.set_zero_linger().expect("a socket can be reset");
}

/// Reads one request; `None` when the client has closed the connection between two of them.
async fn read_request(reader: &mut ReadHalf<'_>, pending: &mut Vec<u8>) -> Option<Exchange> {
    let head_end = loop {
        if let Some(at) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        read_more(reader, pending).await?;
    };
    let mut exchange = read_head(&String::from_utf8_lossy(&pending[..head_end]));
    let length = exchange.header("content-length").map_or(0, |value| {
        value.parse::<usize>().unwrap_or_else(|_| panic!("content-length is `{value}`"))
    });
    assert!(length <= MAX_REQUEST, "a request of {length} bytes");
    assert_eq!(exchange.header("transfer-encoding"), None, "requests have a length");
    while pending.len() < head_end + length {
        read_more(reader, pending).await?;
    }
    exchange.body = pending[head_end..head_end + length].to_vec();
    pending.drain(..head_end + length);
    Some(exchange)
}

async fn read_more(reader: &mut ReadHalf<'_>, pending: &mut Vec<u8>) -> Option<()> {
    match reader.read_buf(pending).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(()),
    }
}

fn read_head(head: &str) -> Exchange {
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    let target = first.rsplit_once(' ').map_or(first, |(target, _version)| target).to_owned();
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let (body, answer) = (Vec::new(), String::new());
    Exchange { target, headers, body, connection: 0, answer, fate: Fate::Pending }
}

/// One answer on its way.
struct Delivery<'a, 'b> {
    reader: &'a mut ReadHalf<'b>,
    writer: &'a mut WriteHalf<'b>,
    /// What the client sent too early.
    pending: Vec<u8>,
    /// Bytes of the answer that were sent.
    sent: usize,
}

/// The client has closed the connection.
struct Gone;

impl Delivery<'_, '_> {
    async fn run(&mut self, answer: &Answer) -> (Fate, Next) {
        match self.deliver(answer).await {
            Ok(next) => match next {
                Next::Listen | Next::Close => (Fate::Answered, next),
                Next::Reset => (Fate::Reset, next),
            },
            Err(Gone) => (Fate::Abandoned { sent: self.sent }, Next::Close),
        }
    }

    async fn deliver(&mut self, answer: &Answer) -> Result<Next, Gone> {
        if answer.shape == Shape::Stream {
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                         cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
            self.write(head).await?;
        }
        for chunk in answer.plan.cut(answer.bytes.len()) {
            if let Some(pause) = answer.plan.pauses.get(&chunk.start) {
                self.wait(pause).await?;
            }
            let bytes = &answer.bytes[chunk];
            match answer.shape {
                Shape::Stream => {
                    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
                    framed.extend_from_slice(bytes);
                    framed.extend_from_slice(b"\r\n");
                    self.write(&framed).await?;
                }
                Shape::Response => self.write(bytes).await?,
            }
            self.sent += bytes.len();
            // Lets a client on this very runtime see the chunk by itself.
            tokio::task::yield_now().await;
        }
        if let Some(pause) = answer.plan.pauses.get(&answer.bytes.len()) {
            self.wait(pause).await?;
        }
        self.finish(answer).await
    }

    async fn finish(&mut self, answer: &Answer) -> Result<Next, Gone> {
        match (answer.plan.end, answer.shape) {
            (End::Eof, Shape::Stream) => {
                self.write(b"0\r\n\r\n").await?;
                Ok(Next::Listen)
            }
            (End::Eof, Shape::Response) => Ok(after_response(&answer.bytes)),
            (End::Reset, Shape::Stream | Shape::Response) => Ok(Next::Reset),
            (End::Hang, Shape::Stream | Shape::Response) => {
                self.closed_by_client().await;
                Err(Gone)
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        self.writer.write_all(bytes).await.map_err(|_| Gone)
    }

    /// Waits as planned, unless the client leaves first.
    async fn wait(&mut self, pause: &Pause) -> Result<(), Gone> {
        let over = async {
            match pause {
                Pause::Time(time) => tokio::time::sleep(*time).await,
                Pause::Until(gate) => gate.passed().await,
            }
        };
        tokio::select! {
            () = over => Ok(()),
            () = self.closed_by_client() => Err(Gone),
        }
    }

    /// Comes back when the client has closed or reset the connection.
    async fn closed_by_client(&mut self) {
        while read_more(self.reader, &mut self.pending).await.is_some() {}
    }
}

/// A response without a length ends with its connection.
fn after_response(bytes: &[u8]) -> Next {
    let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_ascii_lowercase();
    let has = |name: &str| head.lines().any(|line| line.starts_with(name));
    let bounded = has("content-length:") || has("transfer-encoding:");
    if bounded && !has("connection: close") { Next::Listen } else { Next::Close }
}
