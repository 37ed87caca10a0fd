//! The wire files that a scenario answers with.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::BodyPlan;
use crate::code::Code;

/// Wire files by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    files: BTreeMap<String, WireFile>,
}

/// One answer of a provider, as it is on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFile {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Arc<[u8]>,
    /// How the body comes.
    pub plan: BodyPlan,
}

/// A wire file or its plan cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: wire file {}: {}", Code::BadScenario, self.name, self.problem)
    }
}

impl std::error::Error for BadFile {}

impl Library {
    /// A library without files.
    #[must_use]
    pub fn new() -> Library {
        Library::default()
    }

    /// Reads every `.sse` and `.http` file of a folder, with its `.plan.json` if there is one.
    ///
    /// # Errors
    ///
    /// The folder or one of its files cannot be used.
    pub fn load(folder: &Path) -> Result<Library, BadFile> {
        let name = |path: &Path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.to_string_lossy().into_owned()
        };
        let bad = |path: &Path, error: &std::io::Error| BadFile {
            name: name(path),
            problem: error.to_string(),
        };
        let mut library = Library::new();
        for entry in fs::read_dir(folder).map_err(|error| bad(folder, &error))? {
            let path = entry.map_err(|error| bad(folder, &error))?.path();
            let is_wire = path.extension().is_some_and(|kind| kind == "sse" || kind == "http");
            if !is_wire {
                continue;
            }
            let bytes = fs::read(&path).map_err(|error| bad(&path, &error))?;
            let plan_path = path.with_extension("plan.json");
            let plan = match plan_path.exists() {
                true => Some(fs::read(&plan_path).map_err(|error| bad(&plan_path, &error))?),
                false => None,
            };
            library.add(&name(&path), &bytes, plan.as_deref())?;
        }
        Ok(library)
    }

    /// Adds a file. A name that ends in `.http` says that the bytes are a whole HTTP response; any
    /// other is the body of a successful stream.
    ///
    /// # Errors
    ///
    /// The response or the plan cannot be read.
    pub fn add(&mut self, name: &str, bytes: &[u8], plan: Option<&[u8]>) -> Result<(), BadFile> {
        let bad = |problem: String| BadFile { name: name.to_owned(), problem };
        let plan = match plan {
            Some(plan) => serde_json::from_slice(plan)
                .map_err(|error| bad(format!("its plan cannot be read: {error}")))?,
            None => BodyPlan::default(),
        };
        let file = if name.ends_with(".http") {
            WireFile { plan, ..read_response(bytes).map_err(bad)? }
        } else {
            WireFile::stream(bytes, plan)
        };
        self.files.insert(name.to_owned(), file);
        Ok(())
    }

    /// The file of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&WireFile> {
        self.files.get(name)
    }

    /// The names of all files, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl WireFile {
    /// The body of a successful stream.
    #[must_use]
    pub fn stream(body: &[u8], plan: BodyPlan) -> WireFile {
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        WireFile { status: 200, headers, body: Arc::from(body), plan }
    }
}

/// Reads a whole HTTP/1.1 response.
fn read_response(bytes: &[u8]) -> Result<WireFile, String> {
    let mut rest = bytes;
    let mut next = || -> Option<&str> {
        let end = memchr::memchr(b'\n', rest)?;
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        rest = &rest[end + 1..];
        std::str::from_utf8(line).ok()
    };
    let first = next().ok_or("expected a status line, found no line")?;
    let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status =
        status.ok_or_else(|| format!("expected `HTTP/1.1` and a status, found `{first}`"))?;
    let mut headers = Vec::new();
    loop {
        let line = next().ok_or("expected an empty line behind the headers, found none")?;
        if line.is_empty() {
            break;
        }
        let (name, value) =
            line.split_once(':').ok_or_else(|| format!("expected a header, found `{line}`"))?;
        headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
    }
    Ok(WireFile { status, headers, body: Arc::from(rest), plan: BodyPlan::default() })
}

#[cfg(test)]
mod tests {
    use super::Library;
    use crate::scenario::EndOfBody;

    #[test]
    fn streams_and_responses_are_told_by_their_names() {
        let mut library = Library::new();
        let http = b"HTTP/1.1 429 Too Many\r\nRetry-After: 2\r\nx: y\r\n\r\n{\"a\":1}\n";
        library.add("a-1.http", http, None).expect("a response");
        library.add("a-2.sse", b"data: x\n\n", Some(b"{\"end\":\"hang\"}")).expect("a stream");
        let file = library.get("a-1.http").expect("it was added");
        assert_eq!((file.status, &*file.body), (429, &b"{\"a\":1}\n"[..]));
        assert_eq!(file.headers[0], ("retry-after".to_owned(), "2".to_owned()));
        let stream = library.get("a-2.sse").expect("it was added");
        assert_eq!((stream.status, stream.plan.end), (200, EndOfBody::Hang));
        assert_eq!(library.names().collect::<Vec<_>>(), ["a-1.http", "a-2.sse"]);
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (bytes, words) in [
            (&b""[..], "expected a status line"),
            (b"HTTP/2 200\n\n", "found `HTTP/2 200`"),
            (b"HTTP/1.1 2x0 A\n\n", "expected `HTTP/1.1`"),
            (b"HTTP/1.1 200 OK\nno colon\n\n", "expected a header"),
            (b"HTTP/1.1 200 OK\na: b\n", "expected an empty line"),
        ] {
            let error = Library::new().add("x.http", bytes, None).expect_err(words).to_string();
            assert!(error.starts_with("LW1301: wire file x.http: ") && error.contains(words));
        }
        let error = Library::new().add("x.sse", b"", Some(b"{\"end\":\"never\"}"));
        assert!(error.expect_err("a wrong plan").problem.contains("unknown variant `never`"));
    }
}
