//! A scripted provider on `127.0.0.1`: a small HTTP/1.1 server whose only interest is delivery. It
//! decides where a chunk ends, when it comes and how the connection dies, and it keeps every byte it
//! was sent.
//!
//! It is not a mock of any API: it never looks into the JSON of a request. It lives on a thread and a
//! runtime of its own, so that synchronous callers (a recorder that starts a process) and tests on a
//! single-threaded runtime use it alike.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

mod connection;
mod exchange;
mod gate;
mod plan;
mod rename;
mod script;
#[cfg(test)]
mod tests;

pub use exchange::{Exchange, Fate};
pub use gate::{Gate, make_pipe};
pub use plan::{Chunks, End, Pause, Plan};
pub use script::{Answer, Script};

/// How long a test waits for something that never comes before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running double. It stops, and closes every connection, when it is dropped.
pub struct Double {
    address: SocketAddr,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Double {
    /// Starts a double that answers as the script says.
    #[must_use]
    pub fn serve(script: Script) -> Double {
        let log = Arc::new(Log::default());
        let (stop, stopped) = oneshot::channel();
        let (ready, address) = std::sync::mpsc::channel();
        let kept = Arc::clone(&log);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime for the double").block_on(async {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port");
                ready.send(listener.local_addr().expect("an address")).expect("a waiting caller");
                tokio::select! {
                    () = accept(listener, Arc::new(script), kept) => {}
                    _ = stopped => {}
                }
            });
        });
        let address = address.recv().expect("the double listens");
        Double { address, log, stop: Some(stop), thread: Some(thread) }
    }

    /// The base URL, without a path.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every exchange so far, in the order in which the requests were complete.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.log.read().clone()
    }

    /// The JSON bodies of all requests so far.
    #[must_use]
    pub fn bodies(&self) -> Vec<serde_json::Value> {
        self.exchanges().iter().map(Exchange::json).collect()
    }

    /// Waits until the exchanges are as wanted and returns them. Panics when that never happens.
    ///
    /// It blocks: on a runtime that must go on working meanwhile, use [`Double::until`].
    pub fn wait_for(&self, wanted: impl Fn(&[Exchange]) -> bool) -> Vec<Exchange> {
        self.log.wait_for(wanted)
    }

    /// Waits like [`Double::wait_for`] without holding up the runtime of the caller.
    pub async fn until(
        &self,
        wanted: impl Fn(&[Exchange]) -> bool + Send + 'static,
    ) -> Vec<Exchange> {
        let log = Arc::clone(&self.log);
        tokio::task::spawn_blocking(move || log.wait_for(wanted)).await.expect("the wait ends")
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the double already failed whatever waited for it.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, script: Arc<Script>, log: Arc<Log>) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                tokio::spawn(connection::serve(socket, script, log));
            }
            Err(problem) => panic!("the double cannot accept: {problem}"),
        }
    }
}

/// The exchanges, and a bell that rings at every change of them.
#[derive(Default)]
struct Log {
    exchanges: Mutex<Vec<Exchange>>,
    changed: Condvar,
}

impl Log {
    fn read(&self) -> std::sync::MutexGuard<'_, Vec<Exchange>> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Files a request and tells its number, from 0.
    fn open(&self, exchange: Exchange) -> usize {
        let mut exchanges = self.read();
        exchanges.push(exchange);
        self.changed.notify_all();
        exchanges.len() - 1
    }

    fn update(&self, number: usize, change: impl FnOnce(&mut Exchange)) {
        change(&mut self.read()[number]);
        self.changed.notify_all();
    }

    fn wait_for(&self, wanted: impl Fn(&[Exchange]) -> bool) -> Vec<Exchange> {
        let waited = self.changed.wait_timeout_while(self.read(), PATIENCE, |seen| !wanted(seen));
        let (seen, patience) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!patience.timed_out(), "waited in vain; the double saw {seen:#?}");
        seen.clone()
    }
}
