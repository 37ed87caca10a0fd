//! Builds the requests of a run again and compares them with those that were sent.

use machine_spec::RunConfig;
use machine_spec::effect::SealedRequest;
use serde_json::Value;
use wire::Encoder;

use crate::divergence::{Difference, first_difference};
use crate::format::address;
use crate::format::v1::Provider;
use crate::reader::{Bodies, Body};

/// The path of a difference whose place cannot be told.
pub(super) const WHOLE: &str = "request";

/// The encoders of a run, by candidate.
#[derive(Debug, Default)]
pub(super) struct Requests {
    encoders: Vec<Option<Encoder>>,
}

/// What a comparison of a request came to.
#[derive(Debug)]
pub(super) enum Compared {
    /// The same bytes would be sent.
    Same,
    /// Other bytes would be sent.
    Differs(Difference),
    /// The recording does not tell how it was encoded.
    NotComparable,
}

impl Requests {
    /// The encoders that the header tells of.
    pub(super) fn of(providers: &[Provider]) -> Requests {
        Requests { encoders: providers.iter().map(Provider::encoder).collect() }
    }

    /// Builds a request and compares it with the one that had this address.
    pub(super) fn compare(
        &mut self,
        config: &RunConfig,
        request: &SealedRequest,
        recorded: &str,
        bodies: &Bodies,
    ) -> Compared {
        let encoder = self.encoders.get_mut(usize::from(request.candidate.0));
        let Some(encoder) = encoder.and_then(Option::as_mut) else {
            return Compared::NotComparable;
        };
        let replayed = encoder.encode(config, request).body;
        let found = address(&replayed);
        if found == recorded {
            return Compared::Same;
        }
        let whole = || Difference {
            path: WHOLE.into(),
            left: format!("{recorded} (the body was not kept, so the place cannot be told)"),
            right: format!("{found} ({} bytes)", replayed.len()),
        };
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
        let within = match bodies.get(recorded) {
            Body::Found(sent) => match (json(&sent), json(&replayed)) {
                (Some(sent), Some(replayed)) => first_difference(WHOLE, &sent, &replayed),
                (_, _) => None,
            },
            Body::Missing | Body::Altered { .. } | Body::Unreadable { .. } => None,
        };
        Compared::Differs(within.unwrap_or_else(whole))
    }
}
