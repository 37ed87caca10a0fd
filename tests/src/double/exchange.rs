//! What was asked, what it was answered with, and what became of the answer.

/// One request and the fate of its answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Method and path, for example `POST /v1/messages`.
    pub target: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// The connection it came on, counted from 0 in the order of first requests.
    pub connection: u32,
    /// The name of the answer; empty until one was chosen.
    pub answer: String,
    /// What became of the answer.
    pub fate: Fate,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is on its way, or the connection hangs as planned.
    Pending,
    /// It was sent whole and ended cleanly.
    Answered,
    /// It was cut by a reset, as planned.
    Reset,
    /// The client closed the connection before the answer was whole.
    Abandoned {
        /// Bytes of the body that were sent before.
        sent: usize,
    },
}

impl Exchange {
    /// The value of a header, if it was sent.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON. Panics when it is none: no request of ours may be.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|problem| panic!("the request body is not JSON: {problem}\n{self:#?}"))
    }

    /// Whether the client gave the answer up.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        matches!(self.fate, Fate::Abandoned { .. })
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange")
            .field("target", &self.target)
            .field("connection", &self.connection)
            .field("body", &String::from_utf8_lossy(&self.body))
            .field("answer", &self.answer)
            .field("fate", &self.fate)
            .finish_non_exhaustive()
    }
}
