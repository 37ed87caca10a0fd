//! The only file that reads time, and the only source of chance.
//!
//! It gives no time to the machine: the machine orders a timer and is told that it fired. What is
//! read here goes into notes for people, into the judgement of a `retry-after` date, and into the
//! watchdogs of a connection. Chance is jitter of a backoff, upwards only, from a seed that is
//! noted in the recording.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock. Clones show the same time.
#[derive(Clone, Debug)]
pub struct Clock {
    start: Instant,
    face: Face,
}

#[derive(Clone, Debug)]
enum Face {
    System,
    Leaping(Arc<AtomicU64>),
}

impl Clock {
    /// The clock of this machine.
    #[must_use]
    pub fn system() -> Clock {
        Clock { start: now(), face: Face::System }
    }

    /// A clock that shows this time, in milliseconds since 1970, and leaps over every backoff
    /// instead of waiting for it. For tests that want real connections without real patience;
    /// watchdogs and tools keep to real time.
    #[must_use]
    pub fn leaping(unix_ms: u64) -> Clock {
        Clock { start: now(), face: Face::Leaping(Arc::new(AtomicU64::new(unix_ms))) }
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn unix_ms(&self) -> u64 {
        match &self.face {
            Face::System => unix_ms(),
            Face::Leaping(shown) => shown.load(Ordering::Relaxed),
        }
    }

    /// Milliseconds since this clock was made.
    #[must_use]
    pub fn since_start_ms(&self) -> u64 {
        u64::try_from(now().duration_since(self.start).as_millis()).unwrap_or(u64::MAX)
    }

    /// A number that no other run of this machine has, for the name of a session and for a seed.
    #[must_use]
    pub fn fresh(&self) -> u64 {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let nanos = SystemTimeNanos::read().0;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        mix(nanos ^ u64::from(std::process::id()).rotate_left(40) ^ count.rotate_left(20))
    }

    /// Waits for a backoff to be over.
    pub(crate) async fn back_off(&self, ms: u64) {
        match &self.face {
            Face::System => tokio::time::sleep(Duration::from_millis(ms)).await,
            Face::Leaping(shown) => {
                shown.fetch_add(ms, Ordering::Relaxed);
            }
        }
    }
}

/// A point in time that can be moved. It is a future: it is ready once the time has come.
#[derive(Debug)]
pub(crate) struct Deadline {
    after: Duration,
    sleep: Pin<Box<tokio::time::Sleep>>,
}

impl Deadline {
    /// This many milliseconds from now.
    pub(crate) fn after_ms(ms: u64) -> Deadline {
        let after = Duration::from_millis(ms);
        Deadline { after, sleep: Box::pin(tokio::time::sleep(after)) }
    }

    /// Begins again: as far from now as it was at first.
    pub(crate) fn restart(&mut self) {
        self.sleep.as_mut().reset(tokio_now() + self.after);
    }
}

impl Future for Deadline {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().poll(cx)
    }
}

/// Waits for `future`, but not longer than this.
pub(crate) async fn within_ms<F: Future>(ms: u64, future: F) -> Option<F::Output> {
    tokio::time::timeout(Duration::from_millis(ms), future).await.ok()
}

/// Jitter: chance from a seed, upwards only.
#[derive(Clone, Debug)]
pub struct Jitter {
    seed: u64,
    drawn: u64,
}

impl Jitter {
    /// The largest share of a wait that is added to it: a quarter.
    pub const SHARE: u64 = 4;

    /// Jitter from this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Jitter {
        Jitter { seed, drawn: 0 }
    }

    /// The seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// A wait of at least this many milliseconds.
    pub fn stretch(&mut self, ms: u64) -> u64 {
        self.drawn += 1;
        let chance = mix(self.seed ^ self.drawn.rotate_left(32));
        ms.saturating_add(chance % (ms / Jitter::SHARE + 1))
    }
}

/// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

struct SystemTimeNanos(u64);

impl SystemTimeNanos {
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads time")]
    fn read() -> SystemTimeNanos {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SystemTimeNanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

fn unix_ms() -> u64 {
    SystemTimeNanos::read().0 / 1_000_000
}

#[expect(clippy::disallowed_methods, reason = "this is the file that reads time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "this is the file that reads time")]
fn tokio_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

#[cfg(test)]
mod tests {
    use super::{Clock, Jitter};

    #[test]
    fn jitter_is_upwards_bounded_and_repeatable() {
        let (mut first, mut second) = (Jitter::new(7), Jitter::new(7));
        let mut moved = 0;
        for ms in [0, 1, 3, 500, 30_000, 600_000, u64::MAX] {
            let wait = first.stretch(ms);
            assert!(wait >= ms, "{wait} is shorter than {ms}");
            assert!(wait - ms <= ms / Jitter::SHARE, "{wait} is too long for {ms}");
            assert_eq!(wait, second.stretch(ms));
            moved += u32::from(wait > ms);
        }
        assert!(moved >= 3, "there is hardly any jitter");
        assert_ne!(Jitter::new(8).stretch(600_000), Jitter::new(7).stretch(600_000));
    }

    #[tokio::test]
    async fn a_leaping_clock_shows_what_it_leapt_over() {
        let clock = Clock::leaping(1_700_000_000_000);
        clock.clone().back_off(30_000).await;
        assert_eq!(clock.unix_ms(), 1_700_000_030_000);
    }

    #[test]
    fn fresh_numbers_differ() {
        let clock = Clock::system();
        assert_ne!(clock.fresh(), clock.fresh());
    }
}
