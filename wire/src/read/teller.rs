//! A conversation while it is read.

use std::mem::take;
use std::sync::Arc;

use machine_spec::Transcript;
use machine_spec::ids::{AttemptId, CallId};
use machine_spec::message::{
    Block, Call, CallResult, Entry, Image, Origin, Outcome, Reply, Said, Thinking, Wholeness,
};
use machine_spec::model::{CallFacts, Safety, Usage};

use super::{LeftOut, Raw};
use crate::canonical_args;
use crate::encode::NO_OUTPUT;
use crate::images::{self, Images};

/// Takes down what was said, and numbers replies and calls.
#[derive(Debug)]
pub(crate) struct Teller {
    maker: Arc<str>,
    history: Transcript,
    images: Images,
    /// What the user is saying.
    saying: Option<Said>,
    /// The reply that is still being read.
    blocks: Vec<Block>,
    /// The calls of the last reply, to be answered.
    asked: Vec<Call>,
    answers: Vec<CallResult>,
    /// The images of the next result.
    beside: Vec<Image>,
    replies: u32,
    calls: u32,
    left_out: Vec<LeftOut>,
}

impl Teller {
    pub(crate) fn new(maker: String) -> Teller {
        Teller {
            maker: Arc::from(maker),
            history: Transcript::new(),
            images: Images::default(),
            saying: None,
            blocks: Vec::new(),
            asked: Vec::new(),
            answers: Vec::new(),
            beside: Vec::new(),
            replies: 0,
            calls: 0,
            left_out: Vec::new(),
        }
    }

    /// Words in the user's role. Blank ones say nothing.
    pub(crate) fn said(&mut self, origin: Origin, text: &str) {
        if !text.trim().is_empty() {
            self.settle();
            self.saying = Some(Said::words(origin, text));
        }
    }

    /// An image of the user: behind the words that were just said, or alone.
    pub(crate) fn shown(&mut self, image: Image) {
        if self.saying.is_none() {
            self.settle();
        }
        let saying = self.saying.get_or_insert_with(|| Said::words(Origin::User, ""));
        saying.images.push(image);
    }

    /// What was just said carries a mark of the caller's.
    pub(crate) fn marked(&mut self) {
        if let Some(saying) = &mut self.saying {
            saying.marked = true;
        }
    }

    /// An image behind an address, or a part that is none.
    pub(crate) fn shown_at(&mut self, part: &Raw<'_>, url: &str, what: &str) {
        match images::from_url(&mut self.images, url) {
            Some(image) => self.shown(image),
            None => self.leave_out(part, what),
        }
    }

    /// An image whose bytes stand in the body, or a part that is none.
    pub(crate) fn shown_inline(&mut self, part: &Raw<'_>, media: &str, data: &str, what: &str) {
        match images::from_data(&mut self.images, media, data) {
            Some(image) => self.shown(image),
            None => self.leave_out(part, what),
        }
    }

    /// Text of the model.
    pub(crate) fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.block(Block::Text(text.to_owned()));
        }
    }

    /// Thinking, with the JSON in which it goes back.
    pub(crate) fn thinking(&mut self, text: String, seal: &str) {
        self.block(Block::Thinking(Thinking { text, seal: seal.to_owned() }));
    }

    /// Something only the provider understands.
    pub(crate) fn opaque(&mut self, payload: &str) {
        self.block(Block::Opaque(payload.to_owned()));
    }

    /// Private members of the next block; see the encoders.
    pub(crate) fn adorns_next(&mut self, members: &[(String, Raw<'_>)]) {
        if !members.is_empty() {
            self.opaque(&format!("{{\"adorns_next\":{}}}", object(members)));
        }
    }

    /// A call. Where the wire gives no id, one is minted from its place.
    pub(crate) fn call(&mut self, wire_id: &str, name: &str, args: &str) {
        self.end_saying();
        self.file_answers();
        let id = CallId(self.calls);
        self.calls += 1;
        let minted = format!("lw_{id}");
        let wire_id = if wire_id.is_empty() { &minted } else { wire_id };
        let args = if args.trim().is_empty() { "{}" } else { args };
        let call = Call {
            id,
            wire_id: Arc::from(wire_id),
            name: Arc::from(name),
            args: Arc::from(args),
            facts: CallFacts::new(canonical_args(args), Safety::Exclusive),
        };
        self.asked.push(call.clone());
        self.block(Block::Call(call));
    }

    fn block(&mut self, block: Block) {
        self.end_saying();
        self.file_answers();
        self.blocks.push(block);
    }

    /// The reply is complete.
    pub(crate) fn end_reply(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        self.history.append(Entry::Reply(Reply {
            by: self.maker.clone(),
            attempt: AttemptId(self.replies),
            blocks: take(&mut self.blocks),
            wholeness: Wholeness::Whole,
            stop: None,
            usage: Usage::default(),
        }));
        self.replies += 1;
    }

    /// The result of a call: of the one with this id, else of the next one of this name that has
    /// none. A result without a call keeps a number of its own.
    pub(crate) fn result(&mut self, wire_id: &str, name: &str, outcome: Outcome) {
        self.end_saying();
        self.end_reply();
        let by_id = self.asked.iter().position(|call| &*call.wire_id == wire_id);
        let by_name = || {
            let unnamed = |call: &Call| name.is_empty() || &*call.name == name;
            self.asked.iter().position(|call| unnamed(call) && !self.has_answer(call.id))
        };
        let at = if wire_id.is_empty() { by_name() } else { by_id };
        let (call, wire_id, name) = match at.and_then(|at| self.asked.get(at)) {
            Some(call) => (call.id, call.wire_id.clone(), call.name.clone()),
            None => {
                self.calls += 1;
                (CallId(self.calls - 1), Arc::from(wire_id), Arc::from(name))
            }
        };
        let images = take(&mut self.beside);
        self.answers.push(CallResult { call, wire_id, name, outcome, edited: None, images });
    }

    /// An image that stands in the next result, its bytes in the body; or a part that is none.
    pub(crate) fn beside_inline(&mut self, part: &Raw<'_>, media: &str, data: &str, what: &str) {
        match images::from_data(&mut self.images, media, data) {
            Some(image) => self.beside.push(image),
            None => self.leave_out(part, what),
        }
    }

    /// The same behind an address.
    pub(crate) fn beside_at(&mut self, part: &Raw<'_>, url: &str, what: &str) {
        match images::from_url(&mut self.images, url) {
            Some(image) => self.beside.push(image),
            None => self.leave_out(part, what),
        }
    }

    fn has_answer(&self, id: CallId) -> bool {
        self.answers.iter().any(|answer| answer.call == id)
    }

    /// Results stand in call order, whatever order the body has them in.
    fn file_answers(&mut self) {
        if !self.answers.is_empty() {
            let mut answers = take(&mut self.answers);
            answers.sort_by_key(|answer| answer.call);
            self.history.append(Entry::Results(answers));
            self.asked.clear();
        }
    }

    fn end_saying(&mut self) {
        if let Some(said) = self.saying.take() {
            self.history.append(Entry::Said(said));
        }
    }

    fn settle(&mut self) {
        self.end_saying();
        self.end_reply();
        self.file_answers();
    }

    /// A part that our words have no place for.
    pub(crate) fn leave_out(&mut self, part: &Raw<'_>, what: &str) {
        self.left_out.push(LeftOut { at: part.at().to_owned(), what: what.to_owned() });
    }

    pub(crate) fn finish(mut self) -> (Transcript, Images, Vec<LeftOut>) {
        self.settle();
        (self.history, self.images, self.left_out)
    }
}

/// The text of a result on a wire that has no flag for errors.
pub(crate) fn outcome_of_text(text: &str) -> Outcome {
    match text.strip_prefix("error: ") {
        Some(output) => outcome(output, true),
        None => outcome(text, false),
    }
}

/// A result with its flag.
pub(crate) fn outcome(text: &str, is_error: bool) -> Outcome {
    let output = if text == NO_OUTPUT { String::new() } else { text.to_owned() };
    if is_error { Outcome::Failed { output } } else { Outcome::Succeeded { output } }
}

/// An object of members, their values byte for byte.
pub(crate) fn object(members: &[(String, Raw<'_>)]) -> String {
    let mut json = String::from("{");
    for (index, (key, member)) in members.iter().enumerate() {
        json.push_str(if index > 0 { "," } else { "" });
        json.push_str(&serde_json::Value::from(key.as_str()).to_string());
        json.push(':');
        json.push_str(member.text());
    }
    json.push('}');
    json
}
