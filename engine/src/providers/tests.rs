//! One connection against a small double on loopback that says what it is told and then hangs,
//! ends or resets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use machine_spec::config::{Candidate, RunConfig};
use machine_spec::effect::{SealedRequest, ToolChoice, Transport};
use machine_spec::ids::{AttemptId, CandidateId, EffectId};
use machine_spec::message::{Entry, Origin, Said};
use machine_spec::model::{Closure, ErrorClass, Failure, ModelEvent};
use machine_spec::view::View;
use machine_spec::{Input, Transcript, because::Owner};
use reqwest::Url;
use rstest::rstest;
use secrecy::SecretString;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use wire::Dialect;
use wire::catalogue::{PriceSource, WindowSource};
use wire::encode::EncodeOptions;

use super::{Call, Connection};
use crate::assess::Assessor;
use crate::clock::Clock;
use crate::credentials::KeySource;
use crate::double::{BEGIN, ERROR, HEAD, STOP, TEXT, Then, serve};
use crate::inbox::{Line, What};
use crate::setup::{Auth, Patience, Provider};

fn provider(base_url: &str) -> Provider {
    Provider {
        name: "a".into(),
        dialect: Dialect::Anthropic,
        model: "claude-test-1".into(),
        base_url: Url::parse(base_url).expect("a URL"),
        auth: Auth::ApiKey(SecretString::from("key-1")),
        key: KeySource::Fixed,
        headers: BTreeMap::from([("x-team".to_owned(), SecretString::from("house"))]),
        patience: Patience { idle_ms: 20_000, ..Patience::default() },
        options: EncodeOptions::default(),
        window_from: WindowSource::Assumed,
        price_from: PriceSource::Unknown,
    }
}

fn call(
    provider: Provider,
    clock: &Clock,
) -> (Call, tokio::sync::mpsc::UnboundedReceiver<crate::inbox::Message>) {
    let config = RunConfig {
        candidates: vec![Candidate {
            name: "a".into(),
            model: "claude-test-1".into(),
            context_window: 0,
            max_output: 100,
            ..Candidate::default()
        }],
        ..RunConfig::default()
    };
    let said = Said::words(Origin::User, "hi");
    let request = SealedRequest {
        attempt: AttemptId(1),
        candidate: CandidateId(0),
        owner: Owner::Step,
        view: View::of(&Transcript::from_iter([Entry::Said(said)])),
        tools: ToolChoice::None,
        transport: Transport::Stream,
        max_output: None,
        left_out: Vec::new(),
    };
    let (_, outgoing) = Connection::to(provider).prepare(&config, &request);
    let (line, heard) = Line::private(EffectId(0));
    let outgoing = outgoing.expect("a request that can be sent");
    let assessor = Arc::new(Assessor::default());
    (Call { outgoing, line, assessor, clock: clock.clone() }, heard)
}

/// Asks and gives what was said, and how the response was closed if the call says so itself.
async fn ask(provider: Provider, clock: &Clock) -> (Vec<ModelEvent>, Option<Closure>) {
    let (call, mut heard) = call(provider, clock);
    let running = tokio::spawn(call.run());
    let (mut events, mut closure) = (Vec::new(), None);
    // The line ends when the call has let go of it.
    while let Some(message) = heard.recv().await {
        match message.what {
            What::Answer(Input::ModelSaid { event, .. }) => events.push(event),
            What::Answer(Input::ModelClosed { closure: how, .. }) => closure = Some(how),
            What::Bytes(..) | What::BodyOver(..) => {}
            other => panic!("nobody asked for {other:?}"),
        }
    }
    running.await.expect("the call ends");
    (events, closure)
}

async fn failure(provider: Provider, clock: &Clock) -> Failure {
    match ask(provider, clock).await {
        (_, Some(Closure::Failed(failure))) => failure,
        other => panic!("no failure: {other:?}"),
    }
}

fn at(address: SocketAddr) -> Provider {
    provider(&format!("http://{address}"))
}

#[tokio::test]
async fn a_request_carries_what_the_provider_wants_and_the_answer_comes_back() {
    let (address, served) = serve(format!("{HEAD}{BEGIN}{TEXT}{STOP}"), Then::Hang).await;
    let (events, closure) = ask(at(address), &Clock::system()).await;
    // The wire said its end, so an open socket is not waited for (and is closed: it was served).
    assert_eq!(closure, Some(Closure::Ended));
    assert!(matches!(events.last(), Some(ModelEvent::Finished { .. })), "{events:?}");
    let request = served.await.expect("served").to_lowercase();
    for line in [
        "post /v1/messages http/1.1",
        "x-api-key: key-1",
        "anthropic-version: 2023-06-01",
        "content-type: application/json",
        "accept: text/event-stream",
        "x-team: house",
        "\"stream\":true",
    ] {
        assert!(request.contains(line), "{line} is missing in {request}");
    }
}

#[rstest]
#[case::silence(Then::Hang, 60, 60_000, "the stream was silent for 60 ms")]
#[case::keep_alives(Then::Repeat, 60_000, 60, "the stream said nothing but keep-alives for 60 ms")]
#[tokio::test]
async fn watchdogs_tell_silence_from_mere_life(
    #[case] then: Then,
    #[case] idle_ms: u64,
    #[case] progress_ms: u64,
    #[case] told: &str,
) {
    let (address, served) = serve(format!("{HEAD}{BEGIN}"), then).await;
    let mut provider = at(address);
    provider.patience = Patience { idle_ms, progress_ms, ..Patience::default() };
    let failure = failure(provider, &Clock::system()).await;
    assert_eq!((failure.class, failure.message.as_str()), (ErrorClass::IdleTimeout, told));
    served.await.expect("the connection was closed");
}

#[tokio::test]
async fn a_reported_error_is_acted_upon_while_the_socket_stays_open() {
    // B021 (a), (c) on this wire.
    let (address, served) = serve(format!("{HEAD}{BEGIN}{ERROR}"), Then::Hang).await;
    let (events, closure) = ask(at(address), &Clock::system()).await;
    let Some(ModelEvent::Failed(failure)) = events.last() else { panic!("{events:?}") };
    assert_eq!((failure.class, failure.message.as_str()), (ErrorClass::Overloaded, "busy"));
    assert_eq!(closure, None, "the machine has heard it and closes");
    served.await.expect("the connection was closed");
}

#[tokio::test]
async fn a_complete_message_is_not_waited_for_behind_an_open_socket() {
    // A chat endpoint that says why it stopped, and then neither usage nor [DONE] nor goodbye.
    let chunk = |choice: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\
                 \"model\":\"gpt-test-1\",\"choices\":[{{\"index\":0,{choice}}}]}}\n\n"
        )
    };
    let said = chunk(r#""delta":{"role":"assistant","content":"hello"},"finish_reason":null"#)
        + &chunk(r#""delta":{},"finish_reason":"stop""#);
    let (address, served) = serve(format!("{HEAD}{said}"), Then::Hang).await;
    let mut provider = at(address);
    provider.dialect = Dialect::OpenAiChat;
    provider.patience.linger_ms = 60;
    let (events, closure) = ask(provider, &Clock::system()).await;
    assert_eq!(closure, Some(Closure::Ended));
    assert!(matches!(events.last(), Some(ModelEvent::Finished { .. })), "{events:?}");
    served.await.expect("the connection was closed");
}

#[tokio::test]
async fn a_stream_that_ends_early_or_breaks_is_told_apart() {
    let (address, _served) = serve(format!("{HEAD}{BEGIN}{TEXT}"), Then::End).await;
    assert_eq!(ask(at(address), &Clock::system()).await.1, Some(Closure::Ended));
    let (address, _served) = serve(format!("{HEAD}{BEGIN}{TEXT}"), Then::Reset).await;
    let failure = failure(at(address), &Clock::system()).await;
    assert_eq!(failure.class, ErrorClass::Transport);
    assert!(failure.message.contains("in the middle of the response"), "{}", failure.message);
}

#[rstest]
#[case::seconds("retry-after: 30", Some(30_000))]
#[case::milliseconds("retry-after-ms: 1500", Some(1_500))]
#[case::date("retry-after: Tue, 14 Nov 2023 22:14:05 GMT", Some(45_000))]
#[case::nonsense("retry-after: soon", None)]
#[tokio::test]
async fn a_wait_is_read_as_the_server_means_it(#[case] header: &str, #[case] wait: Option<u64>) {
    // B024; the virtual now is Tue, 14 Nov 2023 22:13:20 GMT.
    let clock = Clock::leaping(1_700_000_000_000);
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    let answer = format!(
        "HTTP/1.1 429 Too Many Requests\r\n{header}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (address, _served) = serve(answer, Then::End).await;
    let failure = failure(at(address), &clock).await;
    assert_eq!(failure.class, ErrorClass::Throttled);
    assert_eq!((failure.status, failure.retry_after_ms), (Some(429), wait));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let answer = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/x\r\n\
                  content-length: 0\r\n\r\n";
    let (address, _served) = serve(answer.into(), Then::End).await;
    assert_eq!(failure(at(address), &Clock::system()).await.status, Some(307));
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let (address, served) = serve(String::new(), Then::Hang).await;
    let mut provider = at(address);
    provider.patience.request_ms = 60;
    let failure = failure(provider, &Clock::system()).await;
    assert_eq!(failure.class, ErrorClass::RequestTimeout);
    served.await.expect("the connection was closed");
}

#[tokio::test]
async fn an_unreachable_host_shows_no_secret_of_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let provider = provider(&format!("http://user:pass-word@{address}/x?key=key-in-query"));
    let failure = failure(provider, &Clock::system()).await;
    assert_eq!(failure.class, ErrorClass::Transport);
    assert!(failure.message.starts_with("no connection: "), "{}", failure.message);
    for secret in ["pass-word", "key-in-query", "key-1"] {
        assert!(!failure.message.contains(secret), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_connection_that_is_not_safe_is_not_used() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let plain = listener.local_addr().expect("an address");
    let _answering = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a client");
        // Long enough to be read as the head of a record, and no record of TLS.
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.expect("the client listens");
    });
    let failure = failure(provider(&format!("https://{plain}")), &Clock::system()).await;
    assert_eq!(failure.class, ErrorClass::Tls, "{}", failure.message);
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    let (address, served) = serve(format!("{HEAD}{BEGIN}{TEXT}"), Then::Hang).await;
    let (call, mut heard) = call(at(address), &Clock::system());
    let task = tokio::spawn(call.run());
    while !matches!(
        heard.recv().await.expect("events come").what,
        What::Answer(Input::ModelSaid { event: ModelEvent::Delta { .. }, .. })
    ) {}
    task.abort();
    served.await.expect("the connection was closed");
}

#[test]
fn this_machine_is_told_from_others() {
    for (url, here) in [
        ("http://127.0.0.1:9000", true),
        ("http://127.9.9.9/v1", true),
        ("http://[::1]:1", true),
        ("http://localhost", true),
        ("https://api.anthropic.com", false),
        ("http://10.0.0.1", false),
        ("http://localhost.example.org", false),
    ] {
        assert_eq!(super::is_here(&Url::parse(url).expect("a URL")), here, "{url}");
    }
}
