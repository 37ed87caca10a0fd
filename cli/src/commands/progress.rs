//! What a person sees of a run: the answer on standard output, everything else on standard error.
//!
//! On a terminal the text is shown as it comes; what turns out void is marked so. Into a pipe goes
//! the final answer alone, once it stands: a reader there never sees half of a discarded attempt.

use std::borrow::Cow;
use std::io::Write;

use engine::Event;
use engine::events::{Ending, LongPriceKnown, ModelKnown, PriceKnown};
use machine_spec::Terminal;
use machine_spec::input::{Decision, GrantScope};
use machine_spec::message::Orphan;
use wire::catalogue::PriceSource;

/// What a person sees of a run.
pub(crate) struct Progress {
    live: bool,
    /// Whether the last thing on standard output was unfinished text.
    mid_line: bool,
}

impl Progress {
    pub(crate) fn new(live: bool) -> Progress {
        Progress { live, mid_line: false }
    }

    pub(crate) fn tell(&mut self, event: &Event, out: &mut impl Write) -> std::io::Result<()> {
        if let Event::Terminal(ending) = event {
            return self.end(ending, out);
        }
        if let Event::TextDelta { text, .. } = event {
            return if self.live { self.show(text, out) } else { Ok(()) };
        }
        if let Some(line) = line(event) {
            self.finish_line(out)?;
            eprintln!("· {line}");
        }
        Ok(())
    }

    fn show(&mut self, text: &str, out: &mut impl Write) -> std::io::Result<()> {
        self.mid_line = !text.ends_with('\n');
        write!(out, "{text}")?;
        out.flush()
    }

    fn finish_line(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        if std::mem::take(&mut self.mid_line) {
            writeln!(out)?;
            out.flush()?;
        }
        Ok(())
    }

    fn end(&mut self, ending: &Ending, out: &mut impl Write) -> std::io::Result<()> {
        self.finish_line(out)?;
        match ending {
            Ending::Designed(terminal) => {
                if let Some(text) = terminal.text().filter(|_| !self.live) {
                    writeln!(out, "{text}")?;
                    out.flush()?;
                }
                if !matches!(terminal, Terminal::Answered { .. }) {
                    eprintln!("· ended: {}", told(terminal));
                }
            }
            Ending::Failed(error) => eprintln!("error: {error}"),
        }
        Ok(())
    }
}

/// An ending in one line, with its evidence but without the text of the answer.
fn told(terminal: &Terminal) -> String {
    let mut whole = serde_json::to_value(terminal).unwrap_or_default();
    let kind = terminal.kind();
    let Some(data) = whole.get_mut(kind.word()).and_then(serde_json::Value::as_object_mut) else {
        return kind.to_string();
    };
    data.remove("text");
    let evidence: Vec<String> = data.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{kind} ({})", evidence.join(", "))
}

fn decided(decision: &Decision) -> Cow<'_, str> {
    match decision {
        Decision::Allowed => "allowed".into(),
        Decision::AllowedAlways { scope: GrantScope::Call } => "allowed, always this call".into(),
        Decision::AllowedAlways { scope: GrantScope::Tool } => "allowed, always this tool".into(),
        Decision::Edited { args, .. } => format!("allowed with {args}").into(),
        Decision::Denied { reason } if reason.is_empty() => "denied".into(),
        Decision::Denied { reason } => format!("denied: {reason}").into(),
        Decision::TimedOut => "nobody answered in time".into(),
        Decision::Queued { ticket } => format!("on the list as {ticket}").into(),
        Decision::Deferred => "left for a later run".into(),
        Decision::NoVerdict => "nobody is there to ask".into(),
    }
}

fn left(orphans: &[Orphan]) -> String {
    let list = |orphan: &Orphan| format!("{} ({}) {}", orphan.task, orphan.tool, orphan.fate);
    format!("not waited for: {}", orphans.iter().map(list).collect::<Vec<_>>().join(", "))
}

fn born(agent: &str, recording: Option<&str>) -> String {
    let place = recording.map(|path| format!(", recorded in {path}")).unwrap_or_default();
    format!("{agent} begins a run of its own{place}")
}

/// One line a model.
fn begun(models: &[ModelKnown], catalogue: &str) -> String {
    let lines: Vec<String> = models.iter().map(|one| model(one, catalogue)).collect();
    lines.join("\n· ")
}

/// A model, as far as it is known, with where that is known from.
fn model(known: &ModelKnown, catalogue: &str) -> String {
    let ModelKnown { candidate, context_window, window_from, price, price_from } = known;
    let window = match context_window {
        0 => "no limit".to_owned(),
        tokens => format!("{tokens} tokens"),
    };
    let price = match price {
        Some(price) => {
            let dated = match price_from {
                PriceSource::Catalogue => format!(" of {catalogue}"),
                PriceSource::Explicit | PriceSource::Unknown => String::new(),
            };
            let PriceKnown { input, output, long, .. } = price;
            let long =
                long.map_or_else(String::new, |LongPriceKnown { above, input, output, .. }| {
                    format!(", above {above} tokens of input ${input} and ${output}")
                });
            format!(
                "${input} in and ${output} out for a million tokens{long} ({price_from}{dated})"
            )
        }
        None => price_from.to_string(),
    };
    format!("{candidate}: context window {window} ({window_from}), price {price}")
}

fn spent(tokens: u64, dollars: Option<f64>) -> String {
    match dollars {
        Some(dollars) => format!("spent {tokens} tokens, ${dollars:.6}"),
        None => format!("spent {tokens} tokens; what they cost is not known"),
    }
}

fn left_out(candidate: &str, what: &str) -> String {
    format!("{candidate} does not know `{what}`; it is left out from now on")
}

/// An event in one line, for those that a person wants to know of while waiting.
fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted { models, catalogue, .. } => begun(models, catalogue),
        Event::Spent { tokens, dollars } => spent(*tokens, *dollars),
        Event::OutputRetracted { attempt } => format!("what {attempt} said is void"),
        Event::ResponseSealed { calls, .. } => {
            format!("the stream broke; {calls} complete calls were kept")
        }
        Event::AttemptFailed { attempt, failure, .. } => {
            format!("{attempt} failed: {} ({})", failure.message, failure.class)
        }
        Event::RetryScheduled { owner, n, wait_ms, .. } => {
            format!("again in {wait_ms} ms ({owner}, {n})")
        }
        Event::FallbackHop { from, to, class } => format!("{from} gives way to {to}: {class}"),
        Event::ToolStarted { tool, args, .. } => format!("{tool} {args}"),
        Event::ToolFinished { tool, status, .. } => format!("{tool} {status}"),
        Event::GuardReminded { tool, n } => format!("reminded of {tool} ({n})"),
        Event::DoomWarned { cycle } => format!("it goes in circles: {}", cycle.join(", ")),
        Event::RepairAsked { fault, n } => format!("asked to mend its output: {fault} ({n})"),
        Event::HookBlocked { hook, n } => format!("{hook} makes it go on ({n})"),
        Event::ApprovalAsked { tool, .. } => format!("{tool} waits for somebody's word"),
        Event::ApprovalGiven { tool, decision, .. } => format!("{tool}: {}", decided(decision)),
        Event::CallGated { call, verdict } => format!("{call} {verdict}"),
        Event::ParameterLeftOut { candidate, what } => left_out(candidate, what),
        Event::OutputShrunk { to } => format!("asks for at most {to} tokens of output"),
        Event::TaskStarted { task, tool, .. } => format!("{tool} runs on as {task}"),
        Event::TaskFinished { task, tool, status, .. } => format!("{task} ({tool}) {status}"),
        Event::ChildStarted { agent, recording, .. } => born(agent, recording.as_deref()),
        Event::ChildEnded { agent, terminal, .. } => format!("{agent} ended with {terminal}"),
        Event::TaskReported { task } => format!("{task} is over"),
        Event::TasksLeft { orphans } => left(orphans),
        Event::CredentialMissing { candidate, problem } => {
            format!("no other key for {candidate}: {problem}")
        }
        Event::MemoryFailed { problem } => format!("memory failed: {problem}"),
        Event::StoreFailed { call, problem } => {
            format!("the result of {call} could not be kept whole: {problem}")
        }
        Event::WrapUpAsked => "asked for a last word".into(),
        Event::HookDisabled { hook } => format!("{hook} is not asked again"),
        Event::Interrupted => "interrupted".into(),
        Event::InputReturned { texts } => format!("{} messages were not read", texts.len()),
        Event::Warning { code, message } => format!("warning {code}: {message}"),
        Event::Compaction { before, after, .. } => {
            format!("compacted from about {before} to {after} tokens")
        }
        Event::CompactionFailed { problem } => format!("could not compact: {problem}"),
        Event::ContextTruncated { dropped } => {
            format!("the {dropped} oldest messages were cut away")
        }
        Event::InputQueued { .. }
        | Event::InputAbsorbed { .. }
        | Event::ModelAttempt { .. }
        | Event::ModelBegan { .. }
        | Event::TextDelta { .. }
        | Event::ThinkingDelta { .. }
        | Event::ToolArgsDelta { .. }
        | Event::BlockCompleted { .. }
        | Event::UsageReported { .. }
        | Event::ModelFinished { .. }
        | Event::ErrorWithheld { .. }
        | Event::Contradiction { .. }
        | Event::HookStarted { .. }
        | Event::HookFinished { .. }
        | Event::InputRefused { .. }
        | Event::Terminal(_) => return None,
    })
}
