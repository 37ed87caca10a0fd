//! What is answered to whom: a list of files, the last one for ever, or whatever fits a request.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use super::exchange::Exchange;
use super::plan::{Chunks, End, Pause, Plan};
use super::rename::rename;

/// An answer: bytes and how they are delivered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) shape: Shape,
    pub(super) plan: Plan,
}

/// What the bytes of an answer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The body of an event stream with status 200.
    Stream,
    /// A complete HTTP response.
    Response,
}

impl Answer {
    /// An answer from a file: `.sse` is a body, `.http` a complete response. A `.plan.json` beside
    /// it is honoured. Panics when the file cannot be used: a test without its file proves nothing.
    #[must_use]
    pub fn file(path: &Path) -> Answer {
        let tell = |problem: String| -> ! { panic!("{}: {problem}", path.display()) };
        let bytes = fs::read(path).unwrap_or_else(|problem| tell(problem.to_string()));
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let shape = match path.extension().and_then(|word| word.to_str()) {
            Some("sse") => Shape::Stream,
            Some("http") => Shape::Response,
            Some(_) | None => tell("neither .sse nor .http".into()),
        };
        let plan = match fs::read_to_string(path.with_extension("plan.json")) {
            Ok(text) => Plan::read(&text).unwrap_or_else(|problem| tell(problem)),
            Err(_) => Plan::default(),
        };
        Answer { name: name.unwrap_or_default(), bytes, shape, plan }
    }

    /// A stream body that stands in no file, for small tests.
    #[must_use]
    pub fn stream(name: &str, body: impl Into<Vec<u8>>) -> Answer {
        let plan = Plan::default();
        Answer { name: name.into(), bytes: body.into(), shape: Shape::Stream, plan }
    }

    /// A complete response that stands in no file, for small tests.
    #[must_use]
    pub fn response(name: &str, response: impl Into<Vec<u8>>) -> Answer {
        Answer { shape: Shape::Response, ..Answer::stream(name, response) }
    }

    /// Cuts it elsewhere.
    #[must_use]
    pub fn chunks(mut self, chunks: Chunks) -> Answer {
        self.plan.chunks = chunks;
        self
    }

    /// Waits before the byte at this offset, in place of any pause that was planned there.
    #[must_use]
    pub fn pause(mut self, before: usize, pause: Pause) -> Answer {
        self.plan.pauses.insert(before, pause);
        self
    }

    /// Ends it otherwise.
    #[must_use]
    pub fn end(mut self, end: End) -> Answer {
        self.plan.end = end;
        self
    }

    /// The first bytes of it alone.
    #[must_use]
    pub fn cut(mut self, length: usize) -> Answer {
        self.bytes.truncate(length);
        self
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn with_new_ids(self, n: usize) -> Answer {
        let renamed = rename(&self.bytes, n);
        let plan = self.plan.moved(|at| renamed.shift(at));
        Answer { bytes: renamed.bytes, plan, ..self }
    }
}

type Fits = Box<dyn Fn(&Exchange) -> bool + Send + Sync>;

/// What is answered to whom. An answer that fits a request comes before the list.
#[derive(Default)]
pub struct Script {
    fitting: Vec<(Fits, Answer)>,
    list: Vec<Answer>,
    for_ever: Option<Answer>,
    same_ids: bool,
    served: Mutex<Served>,
}

#[derive(Default)]
struct Served {
    /// Answers taken from the list.
    from_list: usize,
    /// The names of all answers, in order.
    names: Vec<String>,
}

impl Script {
    /// The n-th request is answered with the n-th answer. A request too many is told so with status
    /// 400, which nobody repeats.
    #[must_use]
    pub fn list(answers: impl IntoIterator<Item = Answer>) -> Script {
        Script { list: answers.into_iter().collect(), ..Script::default() }
    }

    /// Every request gets the same answer.
    #[must_use]
    pub fn always(answer: Answer) -> Script {
        Script::list([]).then_always(answer)
    }

    /// When the list is used up, every further request gets this answer.
    #[must_use]
    pub fn then_always(mut self, answer: Answer) -> Script {
        self.for_ever = Some(answer);
        self
    }

    /// Requests that fit get this answer and use nothing up.
    #[must_use]
    pub fn when(
        mut self,
        fits: impl Fn(&Exchange) -> bool + Send + Sync + 'static,
        answer: Answer,
    ) -> Script {
        self.fitting.push((Box::new(fits), answer));
        self
    }

    /// Serves an answer with the same ids again: for cases about repeated ids.
    #[must_use]
    pub fn with_same_ids(mut self) -> Script {
        self.same_ids = true;
        self
    }

    pub(super) fn choose(&self, request: &Exchange) -> Answer {
        let mut served = self.served.lock().expect("no answer panics");
        let fitting = self.fitting.iter().find(|(fits, _)| fits(request));
        let answer = match fitting {
            Some((_, answer)) => Some(answer),
            None => {
                let next = self.list.get(served.from_list);
                served.from_list += 1;
                next.or(self.for_ever.as_ref())
            }
        };
        let Some(answer) = answer.cloned() else { return nothing_left(served.from_list) };
        let before = served.names.iter().filter(|name| **name == answer.name).count();
        served.names.push(answer.name.clone());
        if before == 0 || self.same_ids { answer } else { answer.with_new_ids(before + 1) }
    }
}

fn nothing_left(n: usize) -> Answer {
    let body = format!(
        r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"the script has no answer for request {n}"}}}}"#
    );
    let response = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Answer::response("nothing-left", response)
}
