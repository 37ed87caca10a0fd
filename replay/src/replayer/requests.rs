//! Builds the requests of a run again and compares them with those that were sent.

use machine_spec::RunConfig;
use machine_spec::effect::SealedRequest;
use machine_spec::message::{Image, ImagePlace};
use serde_json::Value;
use wire::{Encoder, Images};

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
    /// Whether the bytes of an image are not there.
    lacks_images: bool,
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
        let encoders = providers.iter().map(Provider::encoder).collect();
        Requests { encoders, lacks_images: false }
    }

    /// Images belong to the conversation from here on; their bytes are kept with the recording.
    pub(super) fn show<'a>(&mut self, images: impl Iterator<Item = &'a Image>, bodies: &Bodies) {
        let mut held = Images::default();
        for image in images {
            let ImagePlace::Held(address) = &image.place else { continue };
            match bodies.get(address) {
                Body::Found(bytes) => {
                    held.hold(&image.media, &bytes);
                }
                Body::Missing | Body::Altered { .. } | Body::Unreadable { .. } => {
                    self.lacks_images = true;
                }
            }
        }
        self.encoders.iter_mut().flatten().for_each(|encoder| encoder.hold(&held));
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
        if self.lacks_images {
            return Compared::NotComparable;
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
