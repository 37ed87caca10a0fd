//! Planted defects: mistakes made on purpose, so that the tester can be tested.
//!
//! Without the feature `planted` none of them exists: [`active`] is a constant. With it one defect
//! at a time can be switched on; a release build refuses the feature.

use crate::model::closed_enum;

#[cfg(all(feature = "planted", not(debug_assertions)))]
compile_error!("planted defects are for tests; a release build cannot contain them");

closed_enum! {
    /// A mistake made on purpose.
    Defect {
        /// A response is asked for again although a call of it left its trace in the world.
        RetryForgetsEffects = "retry_forgets_effects",
        /// A call that was started still counts as waiting for its turn.
        StartsTwice = "starts_twice",
        /// An exclusive call does not wait for those before it.
        IgnoresBarrier = "ignores_barrier",
        /// A call whose arguments are no JSON may run.
        RunsMalformed = "runs_malformed",
        /// What was shown of a discarded response is not retracted.
        ForgetsRetraction = "forgets_retraction",
        /// A repetition is not counted.
        ForgetsToCount = "forgets_to_count",
        /// The wait before a repetition is never ordered.
        ForgetsTimer = "forgets_timer",
        /// Results are filed in the order of completion, not of calls.
        MixesResults = "mixes_results",
        /// A run of which nobody knows what it did counts as a success.
        GuessesOutcome = "guesses_outcome",
        /// Words that were never read are not given back.
        LosesWords = "loses_words",
        /// The end is told twice.
        FinishesTwice = "finishes_twice",
        /// A refusal leaves a trace in the state.
        RefusesWithTrace = "refuses_with_trace",
        /// A resumed run is told that a call that was running has succeeded.
        ResumesWithGuess = "resumes_with_guess",
        /// A resumed run does not begin its waits anew.
        ResumesWithoutTimer = "resumes_without_timer",
        /// The recorder leaves a frame out.
        RecordsWithGap = "records_with_gap",
        /// The recorder writes on after a write that failed.
        RecordsAfterFailure = "records_after_failure",
    }
}

#[cfg(feature = "planted")]
mod switch {
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::Defect;

    /// The place of the defect that is switched on, plus one; 0 for none.
    static ACTIVE: AtomicUsize = AtomicUsize::new(0);

    /// Whether this defect is switched on.
    #[must_use]
    pub fn active(defect: Defect) -> bool {
        ACTIVE.load(Ordering::Relaxed) == defect as usize + 1
    }

    /// Switches one defect on, or all off.
    pub fn plant(defect: Option<Defect>) {
        ACTIVE.store(defect.map_or(0, |defect| defect as usize + 1), Ordering::Relaxed);
    }
}

#[cfg(feature = "planted")]
pub use switch::{active, plant};

/// Whether this defect is switched on: never, in this build.
#[cfg(not(feature = "planted"))]
#[must_use]
#[inline(always)]
pub const fn active(_: Defect) -> bool {
    false
}
