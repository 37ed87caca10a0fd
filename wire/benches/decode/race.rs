//! Rows of one workload against each other: in turns, so that a busy machine is busy for all of
//! them, by the processor time of this thread, and by the fastest round of each: a processor that is
//! shared runs at one speed now and at half of it then, for everybody.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// What is measured, row by row.
pub(crate) struct Race<'a> {
    title: String,
    bytes: usize,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    name: String,
    run: Box<dyn FnMut() + 'a>,
    times: Vec<Duration>,
}

/// What was measured.
pub(crate) struct Table {
    title: String,
    bytes: usize,
    /// Name, fastest round and how much the slowest exceeds it.
    rows: Vec<(String, Duration, f64)>,
}

impl<'a> Race<'a> {
    /// A race over so many bytes.
    pub(crate) fn new(title: impl Into<String>, bytes: usize) -> Race<'a> {
        Race { title: title.into(), bytes, rows: Vec::new() }
    }

    /// One more row: `run` works through all the bytes once.
    pub(crate) fn row(&mut self, name: impl Into<String>, run: impl FnMut() + 'a) {
        let (name, run) = (name.into(), Box::new(run));
        self.rows.push(Row { name, run, times: Vec::new() });
    }

    /// Runs all rows, once to warm up and then so many rounds.
    pub(crate) fn run(mut self, rounds: usize) -> Table {
        let count = self.rows.len();
        for round in 0..=rounds {
            // Each round begins elsewhere, so that no row always meets the same beat of the machine.
            for at in 0..count {
                let row = &mut self.rows[(at + 7 * round) % count];
                let began = now();
                (row.run)();
                let took = now() - began;
                if round > 0 {
                    row.times.push(took);
                }
            }
        }
        let rows = self.rows.into_iter().map(|mut row| {
            row.times.sort();
            let (fastest, slowest) = (row.times[0], row.times[row.times.len() - 1]);
            (row.name, fastest, slowest.as_secs_f64() / fastest.as_secs_f64())
        });
        let table = Table { title: self.title, bytes: self.bytes, rows: rows.collect() };
        table.print();
        table
    }
}

impl Table {
    fn print(&self) {
        let ours = self.first().as_secs_f64();
        println!("\n{} ({:.1} MB, MB per CPU-second)", self.title, self.bytes as f64 / 1e6);
        println!("{:<52} {:>8} {:>7} {:>14}", "", "MB/s", "spread", "first row is");
        for (name, took, spread) in &self.rows {
            let (rate, times) = (self.rate(*took), took.as_secs_f64() / ours);
            println!("{name:<52} {rate:>8.0} {spread:>7.2} {times:>8.2} times");
        }
    }

    /// What the first row took.
    pub(crate) fn first(&self) -> Duration {
        self.rows[0].1
    }

    fn rate(&self, took: Duration) -> f64 {
        self.bytes as f64 / 1e6 / took.as_secs_f64()
    }

    /// How many times as fast one row is as another.
    pub(crate) fn ratio(&self, ours: &str, theirs: &str) -> f64 {
        let took = |wanted: &str| {
            let row = self.rows.iter().find(|(name, ..)| name == wanted);
            row.expect("a row of this name").1.as_secs_f64()
        };
        took(theirs) / took(ours)
    }

    /// Says whether one row is as fast as it must be beside another.
    pub(crate) fn demand(&self, ours: &str, least: f64, theirs: &str) -> bool {
        let ratio = self.ratio(ours, theirs);
        let met = ratio >= least;
        let verdict = if met { "met" } else { "MISSED" };
        println!("{verdict}: `{ours}` at least {least} of `{theirs}`: {ratio:.2}");
        met
    }
}

/// The processor time of this thread.
fn now() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock of this thread");
    Duration::from(time)
}
