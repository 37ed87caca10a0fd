//! From a sealed request to the bytes of a request body.
//!
//! The same request gives the same bytes, always. A conversation only grows, so what was encoded
//! for one request is the beginning of the next one: an [`Encoder`] keeps those bytes and appends
//! to them, and a round costs what is new in it plus one copy.
//!
//! Nothing is sent here, and nothing is decided: who is asked, and with which tools, is sealed in
//! the request.

mod fit;
mod json;
mod lane;
mod options;
mod output;
mod parts;
mod private;
mod schema;
mod scribe;
mod url;

use std::collections::{BTreeMap, BTreeSet};

use machine_spec::RunConfig;
use machine_spec::config::Candidate;
use machine_spec::effect::SealedRequest;

pub use self::options::{Degradation, EncodeOptions};
pub use self::output::OutputShape;
pub use self::url::url;

pub(crate) use self::fit::{IdShape, fit_id, fit_name};
pub(crate) use self::json::{Members, Out, value};
pub(crate) use self::output::joined;
pub(crate) use self::parts::{
    Ask, For, NO_OUTPUT, list_tools, may_choose, offers_tools, result_in_words, result_text,
    sub_object,
};
pub(crate) use self::private::{Private, has_member, private};
pub(crate) use self::schema::{args, push_schema};

use self::lane::Lane;
use self::scribe::Scribe;
use crate::{Dialect, Images};

/// A request as it goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedRequest {
    /// Path on the provider's own host, for example `/v1/messages`; see [`url`].
    pub path: String,
    /// The JSON body.
    pub body: Vec<u8>,
}

/// Encodes the requests of one endpoint.
#[derive(Debug)]
pub struct Encoder {
    dialect: Dialect,
    options: EncodeOptions,
    images: Images,
    /// One per candidate: what is sent back to its maker alone differs between them.
    lanes: BTreeMap<String, Lane>,
}

impl Encoder {
    /// An encoder for one endpoint.
    #[must_use]
    pub fn new(dialect: Dialect, options: EncodeOptions) -> Encoder {
        Encoder { dialect, options, images: Images::default(), lanes: BTreeMap::new() }
    }

    /// The dialect it writes.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &EncodeOptions {
        &self.options
    }

    /// Takes over the bytes of images, for conversations that show them. An image whose bytes are
    /// not held is told in words.
    pub fn hold(&mut self, images: &Images) {
        if self.images.take_over(images) {
            // What was encoded before may stand for one of them.
            self.lanes.clear();
        }
    }

    /// The body of a request.
    ///
    /// The view must carry its messages. One that was read back from a recording holds a digest
    /// only; replaying the recording gives one with messages.
    pub fn encode(&mut self, config: &RunConfig, request: &SealedRequest) -> EncodedRequest {
        let unknown = Candidate::default();
        let place = usize::from(request.candidate.0);
        let candidate = config.candidates.get(place).unwrap_or(&unknown);
        let maker = format!("{}/{}", candidate.name, candidate.model);
        let lacking = self.lacking(request);
        let start = Scribe::of(self.dialect);
        let lane = self.lanes.entry(maker.clone()).or_insert_with(|| Lane::new(start));
        let ask = Ask { transport: request.transport, max_output: request.max_output };
        let to = For {
            config,
            candidate,
            maker: &maker,
            options: &self.options,
            images: &self.images,
            lacking: &lacking,
            ask,
        };
        lane.follow(request.view.transcript(), &to);
        EncodedRequest {
            path: scribe::path(self.dialect, &candidate.model, request.transport),
            body: lane.body(&to, &request.tools),
        }
    }

    /// What the endpoint does not know: what is known of it, and what the request says. A word of
    /// a newer release means nothing here.
    fn lacking(&self, request: &SealedRequest) -> BTreeSet<Degradation> {
        let found = request.left_out.iter().filter_map(|word| Degradation::of_word(word));
        self.options.degraded.iter().copied().chain(found).collect()
    }
}

#[cfg(test)]
mod tests;
