//! Version 1: what the lines of a recording hold.
//!
//! ```text
//! {"format":"loopwright/1.0","machine":"0.1.0","flags":0,"config":{…},"providers":[…],"check":"…"}
//! {"seq":0,"input":null,"digest":"…","check":"…"}
//! {"seq":1,"input":{"user_said":{"text":"hello"}},"effects":[…],"trail":[…],"digest":"…","check":"…"}
//! {"aside":{"body":{"effect":0,"digest":"…","bytes":612,"end":"ended"}},"check":"…"}
//! ```
//!
//! Frame 0 is the start. A frame whose step neither walked nor emitted carries no digest: most
//! pieces of a stream. Asides tell what is known only later and belongs to no frame; they never
//! influence a run. `check` closes every line and belongs to the chain, not to this module.

use std::collections::BTreeMap;

use machine_spec::config::RunConfig;
use machine_spec::flags::Flags;
use machine_spec::ids::EffectId;
use machine_spec::{Digest, Effect, Input, Passage};
use serde::{Deserialize, Serialize};
use wire::{Dialect, EncodeOptions, Encoder};

use super::Version;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub format: Version,
    /// Version of the machine that ran.
    pub machine: String,
    /// The behaviour flags of the run, as in the configuration: here they can be read before the
    /// rest is understood.
    pub flags: Flags,
    /// Everything that was known before the first input.
    pub config: RunConfig,
    /// How requests were encoded, by candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<Provider>,
    /// Notes for people: when, where, with which command. Never compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub note: BTreeMap<String, String>,
}

impl Header {
    /// The header of a run of this release.
    #[must_use]
    pub fn new(config: RunConfig, providers: Vec<Provider>) -> Header {
        Header {
            format: Version::CURRENT,
            machine: env!("CARGO_PKG_VERSION").into(),
            flags: config.flags,
            config,
            providers,
            note: BTreeMap::new(),
        }
    }
}

/// How the requests of one candidate were encoded. With it a replay can build the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// Name of the endpoint in the configuration.
    pub name: String,
    /// Its dialect, in the word of the configuration.
    pub dialect: String,
    /// Model as the endpoint knows it.
    pub model: String,
    /// What the encoder was told besides.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, serde_json::Value>,
}

impl Provider {
    /// How the requests of this candidate are encoded.
    #[must_use]
    pub fn new(name: &str, dialect: Dialect, model: &str, options: &EncodeOptions) -> Provider {
        let options = match serde_json::to_value(options) {
            Ok(serde_json::Value::Object(options)) => options.into_iter().collect(),
            // Options are a struct, so they are an object.
            Ok(_) | Err(_) => BTreeMap::new(),
        };
        let dialect = dialect.word().to_owned();
        Provider { name: name.to_owned(), dialect, model: model.to_owned(), options }
    }

    /// An encoder that writes the same bytes; `None` if this release does not know the dialect or
    /// an option.
    #[must_use]
    pub fn encoder(&self) -> Option<Encoder> {
        let (dialect, options) = self.speaks()?;
        Some(Encoder::new(dialect, options))
    }

    /// Its dialect and options; `None` if this release does not know the dialect or an option.
    #[must_use]
    pub fn speaks(&self) -> Option<(Dialect, EncodeOptions)> {
        let dialect = self.dialect.parse().ok()?;
        let options = self.options.clone().into_iter().collect();
        let options = serde_json::from_value(serde_json::Value::Object(options)).ok()?;
        Some((dialect, options))
    }
}

/// One input and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its place, from 0.
    pub seq: u64,
    /// What the machine was told; nothing for the start.
    pub input: Option<Input>,
    /// What it ordered.
    pub effects: Vec<Effect>,
    /// The doors it walked.
    pub trail: Vec<Passage>,
    /// Digest of the state after it, where something happened.
    pub digest: Option<Digest>,
    /// What is noted for people and for tools.
    pub note: Note,
}

/// Notes beside a frame. They never influence a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Milliseconds since the start of the run, where they are not those of the frame before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The bytes of the response that this and the following frames were decoded from, noted once
    /// for each piece that came from the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireSpan>,
    /// Content address of the body of the request that this frame ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The faults that were injected here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

impl Note {
    /// Whether nothing is noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at_ms.is_none()
            && self.wire.is_none()
            && self.request.is_none()
            && self.faults.is_empty()
    }

    /// A note of the time alone.
    #[must_use]
    pub fn at(ms: u64) -> Note {
        Note { at_ms: Some(ms), ..Note::default() }
    }
}

/// A range of bytes of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireSpan {
    /// The effect that the response answers.
    pub body: EffectId,
    /// First byte.
    pub from: u64,
    /// First byte after it.
    pub to: u64,
}

/// What is known only later and belongs to no frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// A response body came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyNote>,
    /// The process ended and another one took the run up here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<ResumeNote>,
}

/// A raw response body, as far as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyNote {
    /// The effect it answers.
    pub effect: EffectId,
    /// Content address of its bytes; empty when they were not kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// How many bytes came.
    pub bytes: u64,
    /// How it ended.
    pub end: BodyEnd,
    /// HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether a secret was taken out of it or out of what was decoded from it. Such a body is not
    /// compared with the frames.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// How a response body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyEnd {
    /// The server ended it.
    Ended,
    /// The connection broke.
    Broken,
    /// The server fell silent and was given up.
    Silent,
    /// We closed the connection.
    Cancelled,
}

impl BodyEnd {
    /// The fixed word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            BodyEnd::Ended => "ended",
            BodyEnd::Broken => "broken",
            BodyEnd::Silent => "silent",
            BodyEnd::Cancelled => "cancelled",
        }
    }
}

/// Where a run was taken up again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeNote {
    /// The last frame that the earlier process had finished.
    pub after: u64,
    /// Whether the input of an unfinished frame was found and is told again in the next frame.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_kept: bool,
}

/// Any line after the first, as it is parsed. A frame has a `seq`, an aside an `aside`.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    #[serde(default)]
    pub(crate) seq: Option<u64>,
    #[serde(default)]
    pub(crate) input: Option<Input>,
    #[serde(default)]
    pub(crate) effects: Vec<Effect>,
    #[serde(default)]
    pub(crate) trail: Vec<Passage>,
    #[serde(default)]
    pub(crate) digest: Option<Digest>,
    #[serde(default)]
    pub(crate) note: Note,
    #[serde(default)]
    pub(crate) aside: Option<Aside>,
}

/// The header as far as every version has it.
#[derive(Debug, Deserialize)]
pub(crate) struct AnyHeader {
    pub(crate) format: Version,
}

/// The header as far as it must be understood before the configuration is.
#[derive(Debug, Deserialize)]
pub(crate) struct FlagsOnly {
    pub(crate) flags: Flags,
}
