//! A small provider on loopback for the tests of this crate: it says what it is told and then
//! hangs, ends or resets.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
pub(crate) const BEGIN: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\
    \"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-test-1\",\"content\":[],\
    \"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n";
pub(crate) const TEXT: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
    \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
    event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
    \"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n\
    event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
pub(crate) const STOP: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\
    \"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n\
    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
pub(crate) const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
pub(crate) const ERROR: &str = "event: error\ndata: {\"type\":\"error\",\"error\":\
    {\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";

/// What the double does after it has said its pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Ends the connection.
    End,
    /// Breaks it.
    Reset,
    /// Keeps it open until the client closes it.
    Hang,
    /// Keeps it open and sends keep-alives until the client closes it.
    Repeat,
}

/// Serves one request; gives the request once the connection is done with.
pub(crate) async fn serve(answer: String, then: Then) -> (SocketAddr, JoinHandle<String>) {
    let (address, served) = serve_all(vec![(answer, then)]).await;
    let first = tokio::spawn(async move { served.await.expect("served").remove(0) });
    (address, first)
}

/// Serves requests one after the other, each on a connection of its own; gives them when the last
/// connection is done with.
pub(crate) async fn serve_all(
    answers: Vec<(String, Then)>,
) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    let served = tokio::spawn(async move {
        let mut requests = Vec::new();
        for (answer, then) in answers {
            let (mut socket, _) = listener.accept().await.expect("a client");
            requests.push(request(&mut socket).await);
            socket.write_all(answer.as_bytes()).await.expect("the client listens");
            finish(socket, then).await;
        }
        requests
    });
    (address, served)
}

async fn finish(mut socket: TcpStream, then: Then) {
    match then {
        Then::End => {}
        #[expect(deprecated, reason = "a reset is what this is about")]
        Then::Reset => socket.set_linger(Some(std::time::Duration::ZERO)).expect("linger"),
        Then::Hang => while socket.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {},
        Then::Repeat => {
            while socket.write_all(PING.as_bytes()).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
    }
}

async fn request(socket: &mut TcpStream) -> String {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = socket.read(&mut piece).await.expect("a request");
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0) {
                return text;
            }
        }
    }
}

/// A whole response that calls this tool with these arguments.
pub(crate) fn calling(tool: &str, args: &str) -> String {
    let partial = serde_json::to_string(args).expect("text is JSON");
    format!(
        "{HEAD}{BEGIN}event: content_block_start\ndata: {{\"type\":\"content_block_start\",\
         \"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"toolu_1\",\
         \"name\":\"{tool}\",\"input\":{{}}}}}}\n\n\
         event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":{partial}}}}}\n\n\
         event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
         event: message_delta\ndata: {{\"type\":\"message_delta\",\
         \"delta\":{{\"stop_reason\":\"tool_use\"}},\"usage\":{{\"output_tokens\":2}}}}\n\n\
         event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
    )
}

/// A whole response that says hello.
pub(crate) fn hello() -> String {
    format!("{HEAD}{BEGIN}{TEXT}{STOP}")
}
