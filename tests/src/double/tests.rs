//! The double keeps its promises about delivery, seen by a client that speaks plain TCP.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use super::{Answer, Chunks, Double, End, Fate, Gate, Pause, Script};

fn connect(double: &Double) -> TcpStream {
    TcpStream::connect(double.address).expect("the double listens")
}

fn post(socket: &mut TcpStream, body: &str) {
    let head = format!("POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {}", body.len());
    socket.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).expect("a request is sent");
}

/// Reads until the text ends so.
fn read_until(socket: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut byte = [0];
    while !text.ends_with(end) {
        socket.read_exact(&mut byte).expect("more to read");
        text.push(char::from(byte[0]));
    }
    text
}

#[test]
fn the_nth_request_gets_the_nth_answer_and_everything_is_kept() {
    let first = Answer::stream("a.sse", "data: 1\n\n");
    let second = Answer::response("b.http", "HTTP/1.1 429 Slow\r\ncontent-length: 2\r\n\r\nno");
    let double = Double::serve(Script::list([first, second]));
    let mut socket = connect(&double);
    post(&mut socket, r#"{"n":1}"#);
    let answer = read_until(&mut socket, "0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"));
    assert!(answer.ends_with("\r\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n"), "{answer:?}");
    post(&mut socket, r#"{"n":2}"#);
    assert!(read_until(&mut socket, "\r\n\r\nno").starts_with("HTTP/1.1 429 Slow\r\n"));
    post(&mut socket, r#"{"n":3}"#);
    let answer = read_until(&mut socket, "}}");
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("no answer for request 3"));
    drop(socket);
    post(&mut connect(&double), r#"{"n":4}"#);
    let seen = double.wait_for(|seen| seen.len() == 4);
    let told: Vec<_> = seen.iter().map(|e| (e.json()["n"].as_u64(), e.connection)).collect();
    assert_eq!(told, [(Some(1), 0), (Some(2), 0), (Some(3), 0), (Some(4), 1)]);
    assert_eq!(seen[0].target, "POST /v1/messages");
    assert_eq!(seen[0].header("host"), Some("x"));
    assert_eq!(seen[1].answer, "b.http");
}

#[test]
fn answers_that_fit_come_before_the_list_and_the_last_one_may_stay() {
    let script = Script::list([Answer::stream("one.sse", "data: {\"id\":\"m\"}\n\n")])
        .then_always(Answer::stream("rest.sse", "data: {\"id\":\"r\"}\n\n"))
        .when(|request| request.json()["force"] == true, Answer::stream("forced.sse", "f"));
    let double = Double::serve(script);
    let mut socket = connect(&double);
    let mut answers = String::new();
    for body in ["{}", r#"{"force":true}"#, "{}", "{}"] {
        post(&mut socket, body);
        answers.push_str(&read_until(&mut socket, "0\r\n\r\n"));
    }
    let names: Vec<_> = double.exchanges().into_iter().map(|exchange| exchange.answer).collect();
    assert_eq!(names, ["one.sse", "forced.sse", "rest.sse", "rest.sse"]);
    for id in [r#""id":"m""#, r#""id":"r""#, r#""id":"r_2""#] {
        assert_eq!(answers.matches(id).count(), 1, "{id}");
    }
}

#[test]
fn chunks_pauses_and_a_reset_are_delivered_as_planned() {
    let gate = Gate::new();
    let answer = Answer::stream("x.sse", "abcdef")
        .chunks(Chunks::At(vec![2]))
        .pause(4, Pause::Until(gate.clone()))
        .end(End::Reset);
    let double = Double::serve(Script::always(answer));
    let mut socket = connect(&double);
    post(&mut socket, "{}");
    assert!(read_until(&mut socket, "cd\r\n").ends_with("\r\n\r\n2\r\nab\r\n2\r\ncd\r\n"));
    assert_eq!(double.exchanges()[0].fate, Fate::Pending);
    gate.open();
    assert_eq!(read_until(&mut socket, "ef\r\n"), "2\r\nef\r\n");
    let end = socket.read(&mut [0]).expect_err("a reset is no end");
    assert_eq!(end.kind(), ErrorKind::ConnectionReset);
    double.wait_for(|seen| seen[0].fate == Fate::Reset);
}

#[test]
fn a_client_that_leaves_is_noticed_while_the_answer_hangs_or_waits() {
    let hangs = Answer::stream("hangs.sse", "abc").end(End::Hang);
    let waits = Answer::stream("waits.sse", "abc").pause(1, Pause::Until(Gate::new()));
    let double = Double::serve(Script::list([hangs, waits]));
    for (sent, last) in [(3, "abc\r\n"), (1, "a\r\n")] {
        let mut socket = connect(&double);
        post(&mut socket, "{}");
        read_until(&mut socket, last);
        drop(socket);
        double.wait_for(|seen| seen.last().is_some_and(|e| e.fate == Fate::Abandoned { sent }));
    }
}

#[test]
fn a_pipe_opens_a_gate() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("go");
    let gate = Gate::opened_by_pipe(&pipe).expect("a pipe");
    let answer = Answer::stream("x.sse", "ab").pause(1, Pause::Until(gate));
    let double = Double::serve(Script::always(answer));
    let mut socket = connect(&double);
    post(&mut socket, "{}");
    read_until(&mut socket, "a\r\n");
    std::fs::write(&pipe, "go").expect("the pipe is read");
    read_until(&mut socket, "0\r\n\r\n");
}

#[test]
fn every_file_of_ours_can_be_served() {
    let Some(folder) = crate::house::beside("cases/streams", "serving the wire files of the cases")
    else {
        return;
    };
    let mut served = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|word| word == "sse" || word == "http") {
            assert!(!Answer::file(&path).is_empty(), "{}", path.display());
            served += 1;
        }
    }
    assert!(served > 100, "{served} wire files");
}
