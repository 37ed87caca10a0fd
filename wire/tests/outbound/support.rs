//! What the tests of this crate share: where the data lie, and how recorded answers are read.

use std::path::{Path, PathBuf};

use wire::Dialect;

/// A folder of recorded data that is never committed. Says so visibly where it is absent.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let path = workspace().join("../shared").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    println!("SKIPPED: ../shared/{folder} is not here, so nothing was compared");
    None
}

/// The root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A complete HTTP answer as our own cases hold it.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Reads a case file `fixtures/wire/cases/<name>.http`.
pub(crate) fn case(name: &str) -> Answer {
    let path = workspace().join("fixtures/wire/cases").join(format!("{name}.http"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text = String::from_utf8(bytes).expect("a case is text");
    let text = text.replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").expect("a blank line ends the head");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
    let headers = lines.filter_map(|line| line.split_once(": "));
    Answer {
        status: status.parse().expect("a number"),
        headers: headers.map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
        body: body.as_bytes().to_vec(),
    }
}

/// The dialect of a wire as the manifest of the recorded streams names it.
pub(crate) fn dialect_of(wire: &str) -> Dialect {
    match wire {
        "anthropic-messages" => Dialect::Anthropic,
        "openai-chat" => Dialect::OpenAiChat,
        "openai-responses" => Dialect::OpenAiResponses,
        "gemini" => Dialect::Gemini,
        "ollama" => Dialect::Ollama,
        other => panic!("no dialect for {other}"),
    }
}
