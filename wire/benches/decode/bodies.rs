//! Bodies to decode: our own text, the same everywhere, and what must come out of them.

use std::fmt;

/// Responses of one dialect and the message that each amounts to.
pub(crate) struct Bodies {
    pub(crate) responses: Vec<Vec<u8>>,
    pub(crate) messages: Vec<Vec<Part>>,
}

/// A part of an accumulated message: text, or the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Call { id: String, name: String, args: String },
}

impl Part {
    /// Adds a piece of text.
    pub(crate) fn push(&mut self, piece: &str) {
        match self {
            Part::Text(text) | Part::Call { args: text, .. } => text.push_str(piece),
        }
    }
}

impl Bodies {
    pub(crate) fn bytes(&self) -> usize {
        self.responses.iter().map(Vec::len).sum()
    }

    /// The payloads of all events, without framing.
    pub(crate) fn payloads(&self) -> Vec<&[u8]> {
        let lines = self.responses.iter().flat_map(|body| body.split(|byte| *byte == b'\n'));
        let data = lines.filter_map(|line| line.strip_prefix(b"data:")).map(<[u8]>::trim_ascii);
        data.filter(|data| *data != b"[DONE]" && !data.is_empty()).collect()
    }
}

/// How a body is spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// As the provider does it.
    Plain,
    /// Every text escaped, a member nobody knows in every event, members in another order per
    /// event, CRLF: nothing repeats.
    Adverse,
}

impl Spelling {
    /// How an event ends.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Spelling::Plain => "\n\n",
            Spelling::Adverse => "\r\n\r\n",
        }
    }
}

impl fmt::Display for Spelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Spelling::Plain => "as the provider spells it",
            Spelling::Adverse => "every text escaped, nothing repeats",
        })
    }
}

const WORDS: [&str; 40] = [
    "the",
    "a",
    "run",
    "state",
    "tool",
    "call",
    "loop",
    "read",
    "file",
    "write",
    "test",
    "error",
    "line",
    "value",
    "patch",
    "build",
    "plan",
    "step",
    "agent",
    "model",
    "token",
    "cache",
    "queue",
    "event",
    "stream",
    "record",
    "replay",
    "check",
    "result",
    "branch",
    "commit",
    "path",
    "function",
    "error's",
    "\"quoted\"",
    "café",
    "✓",
    "x=1;",
    "{brace}",
    "\n",
];

struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| format!(" {}", WORDS[self.below(WORDS.len())])).collect()
    }

    fn args(&mut self) -> String {
        let note = self.words(220);
        serde_json::json!({"path": "src/module/file.rs", "line": 12, "note": note}).to_string()
    }
}

fn fragments(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// Anthropic messages: per response two texts of 1600 pieces and four calls of 1.5 KB.
pub(crate) fn anthropic(count: usize, spelling: Spelling) -> Bodies {
    let mut rng = Rng(0xD1B5_4A32_D192_ED03);
    let mut bodies = Bodies { responses: Vec::new(), messages: Vec::new() };
    for number in 0..count {
        let mut writer = Writer::new(spelling, true);
        let mut message = Vec::new();
        let start = format!(
            r#""message":{{"id":"msg_{number:06}","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{{"input_tokens":1200,"output_tokens":1}}}}"#
        );
        writer.event("message_start", &[r#""type":"message_start""#, &start]);
        for (index, kind) in ["text", "call", "call", "text", "call", "call"].iter().enumerate() {
            let (block, name, pieces) = if *kind == "text" {
                let pieces: Vec<String> = (0..1600)
                    .map(|_| {
                        let n = 1 + rng.below(4);
                        rng.words(n)
                    })
                    .collect();
                message.push(Part::Text(pieces.concat()));
                (r#"{"type":"text","text":""}"#.to_owned(), ("text_delta", "text"), pieces)
            } else {
                let (id, args) = (format!("toolu_{number:05}_{index}"), rng.args());
                let pieces = fragments(&args, 15);
                let block =
                    format!(r#"{{"type":"tool_use","id":"{id}","name":"lookup","input":{{}}}}"#);
                message.push(Part::Call { id, name: "lookup".to_owned(), args });
                (block, ("input_json_delta", "partial_json"), pieces)
            };
            let (at, block) =
                (format!(r#""index":{index}"#), format!(r#""content_block":{block}"#));
            writer.event("content_block_start", &[r#""type":"content_block_start""#, &at, &block]);
            for piece in pieces {
                let text = writer.string(&piece);
                let (kind, member) = name;
                let delta = format!(r#""delta":{{"type":"{kind}","{member}":{text}}}"#);
                let fields = [r#""type":"content_block_delta""#, &at, &delta];
                writer.event("content_block_delta", &fields);
            }
            writer.event("content_block_stop", &[r#""type":"content_block_stop""#, &at]);
        }
        let delta = r#""delta":{"stop_reason":"tool_use"}"#;
        let usage = r#""usage":{"output_tokens":3600}"#;
        writer.event("message_delta", &[r#""type":"message_delta""#, delta, usage]);
        writer.event("message_stop", &[r#""type":"message_stop""#]);
        bodies.responses.push(writer.body.into_bytes());
        bodies.messages.push(message);
    }
    bodies
}

/// Chat completions: per response a text of 1500 pieces and two calls of 1.5 KB.
pub(crate) fn chat(count: usize, spelling: Spelling) -> Bodies {
    let mut rng = Rng(0xD1B5_4A32_D192_ED03);
    let mut bodies = Bodies { responses: Vec::new(), messages: Vec::new() };
    for number in 0..count {
        let mut writer = Writer::new(spelling, false);
        let chunk = |writer: &mut Writer, delta: &str, finish: &str| {
            let id = format!(r#""id":"chatcmpl-{number:024}""#);
            let head = r#""object":"chat.completion.chunk","created":1760000000,"model":"gpt-4.1-2025-04-14","service_tier":"default","system_fingerprint":"fp_51e1070cf2""#;
            let choices = format!(
                r#""choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}]"#
            );
            writer.event("", &[&id, head, &choices]);
        };
        chunk(&mut writer, r#"{"role":"assistant","content":""}"#, "null");
        let mut text = String::new();
        for _ in 0..1500 {
            let piece = {
                let n = 1 + rng.below(4);
                rng.words(n)
            };
            let delta = format!(r#"{{"content":{}}}"#, writer.string(&piece));
            chunk(&mut writer, &delta, "null");
            text.push_str(&piece);
        }
        let mut message = vec![Part::Text(text)];
        for index in 0..2 {
            let (id, args) = (format!("call_{number:05}_{index}"), rng.args());
            let header = format!(
                r#"{{"tool_calls":[{{"index":{index},"id":"{id}","type":"function","function":{{"name":"lookup","arguments":""}}}}]}}"#
            );
            chunk(&mut writer, &header, "null");
            for piece in fragments(&args, 15) {
                let text = writer.string(&piece);
                let delta = format!(
                    r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{text}}}}}]}}"#
                );
                chunk(&mut writer, &delta, "null");
            }
            message.push(Part::Call { id, name: "lookup".to_owned(), args });
        }
        chunk(&mut writer, "{}", "\"tool_calls\"");
        writer.body.push_str("data: [DONE]\n\n");
        bodies.responses.push(writer.body.into_bytes());
        bodies.messages.push(message);
    }
    bodies
}

/// A message whose text comes in one event of so many bytes.
pub(crate) fn single(is_chat: bool, bytes: usize) -> Bodies {
    let text = "some more words ".repeat(bytes / 16);
    let mut writer = Writer::new(Spelling::Plain, !is_chat);
    if is_chat {
        let head = r#""id":"c","object":"chat.completion.chunk","created":1,"model":"m""#;
        let choices = format!(
            r#""choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]"#
        );
        writer.event("", &[head, &choices]);
        writer.body.push_str("data: [DONE]\n\n");
    } else {
        let (begin, end) = (r#""type":"content_block_start""#, r#""type":"content_block_stop""#);
        let (at, block) = (r#""index":0"#, r#""content_block":{"type":"text","text":""}"#);
        let delta = format!(r#""delta":{{"type":"text_delta","text":"{text}"}}"#);
        writer.event("content_block_start", &[begin, at, block]);
        writer.event("content_block_delta", &[r#""type":"content_block_delta""#, at, &delta]);
        writer.event("content_block_stop", &[end, at]);
    }
    Bodies { responses: vec![writer.body.into_bytes()], messages: vec![vec![Part::Text(text)]] }
}

struct Writer {
    body: String,
    spelling: Spelling,
    named: bool,
    count: usize,
}

impl Writer {
    fn new(spelling: Spelling, named: bool) -> Writer {
        Writer { body: String::new(), spelling, named, count: 0 }
    }

    fn event(&mut self, name: &str, fields: &[&str]) {
        self.count += 1;
        let end = if self.spelling == Spelling::Adverse { "\r\n" } else { "\n" };
        if self.named {
            self.body.push_str(&format!("event: {name}{end}"));
        }
        let count = self.count;
        let mut fields = fields.to_vec();
        if self.spelling == Spelling::Adverse {
            let turns = count % fields.len();
            fields.rotate_left(turns);
        }
        let fields = fields.join(",");
        let data = match (self.spelling, count % 2) {
            (Spelling::Plain, _) => format!("{{{fields}}}"),
            (Spelling::Adverse, 0) => format!("{{\"unknown\":[{count},\"x\"],{fields}}}"),
            (Spelling::Adverse, _) => format!("{{{fields}, \"unknown\" : {{\"n\":{count}}}}}"),
        };
        self.body.push_str(&format!("data: {data}{end}{end}"));
    }

    fn string(&self, text: &str) -> String {
        match self.spelling {
            Spelling::Plain => serde_json::Value::from(text).to_string(),
            Spelling::Adverse => {
                let units: String =
                    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
                format!("\"{units}\"")
            }
        }
    }
}
