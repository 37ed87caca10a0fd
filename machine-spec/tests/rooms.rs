//! Stories: scripts of commands with what must be seen after each, one folder a room.
//!
//! A script is a list of blocks: command lines, `----`, expected lines, an empty line. The first
//! block may set the configuration up. `LOOPWRIGHT_BLESS=1` rewrites the expectations; the diff is
//! then reviewed like any other change. Expectations are states and effects, never log lines.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use machine_spec::config::{
    DeferredCall, HookSpec, LongPrice, Price, Rule, RunConfig, ToolKind, ToolSpec,
};
use machine_spec::effect::{SealedRequest, Transport};
use machine_spec::explore::profiles::{candidate, tool};
use machine_spec::ids::{EffectId, RuleId};
use machine_spec::input::{
    CallEdit, Compaction, Decision, GrantScope, HookAnswer, InterruptedBy, OutputVerdict, Recall,
    Refresh, Stored, ToolReport, ToolStatus,
};
use machine_spec::invariants::{self, Chronicle};
use machine_spec::model::{
    ArgsVerdict, BlockEnd, BlockKind, CallFacts, Closure, ErrorClass, Failure, ModelEvent,
    Permission, Proof, Safety, StopReason, Usage,
};
use machine_spec::view::{Seen, View};
use machine_spec::wording;
use machine_spec::{Effect, EffectKind, Input, State, start, step};

/// The whole of a story: the run, and what is judged on the way.
struct Story {
    config: RunConfig,
    state: Option<State>,
    chronicle: Chronicle,
    blocks: u32,
}

impl Story {
    fn new() -> Story {
        let config = RunConfig { candidates: vec![candidate("a")], ..RunConfig::default() };
        Story { config, state: None, chronicle: Chronicle::default(), blocks: 0 }
    }

    /// Carries out a command and gives what is seen of it.
    fn command(&mut self, line: &str) -> Result<String, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let input = match word {
            "candidate" | "window" | "output" | "tool" | "hook-named" | "tool-hook"
            | "batch-hook" | "compact-hook" | "rule" | "ordered" | "limit" | "policy" | "force"
            | "schema" | "price" | "refreshable" | "deferred" => {
                return self.configure(word, rest).map(|()| String::new());
            }
            "show" => return self.show(rest),
            "user" => {
                let (rules, text) = rules_of(rest)?;
                Input::UserSaid { text, images: vec![], rules }
            }
            "interrupt" => Input::Interrupted { by: InterruptedBy::User },
            "model" => return self.model(rest),
            "close" => {
                let closure = match rest {
                    "" => Closure::Ended,
                    failure => Closure::Failed(failure_of(failure)?),
                };
                Input::ModelClosed { id: self.open(EffectKind::CallModel, 0)?, closure }
            }
            "tool-returns" => self.tool(rest)?,
            "compacted" => {
                let result = match rest.split_once(' ') {
                    Some(("failed", problem)) => Compaction::Failed { problem: problem.into() },
                    Some(("too-long", problem)) => Compaction::TooLong { problem: problem.into() },
                    Some(_) | None => {
                        Compaction::Summarised { text: rest.into(), archive: String::new() }
                    }
                };
                Input::Compacted { id: self.open(EffectKind::Compact, 0)?, result }
            }
            "hook" => self.hook(rest)?,
            "time-is-up" => Input::TimerFired { id: self.open(EffectKind::SetTimer, 0)? },
            "timer" => {
                let deadline = usize::from(self.config.limits.wall_ms > 0);
                Input::TimerFired { id: self.open(EffectKind::SetTimer, deadline)? }
            }
            other => self.guest(other, rest)?,
        };
        self.take(input)
    }

    /// What those say who work beside the loop.
    fn guest(&self, word: &str, rest: &str) -> Result<Input, String> {
        Ok(match word {
            "task-ends" => {
                let (nth, report) = report_of(rest)?;
                Input::TaskEnded { id: self.open(EffectKind::StartTask, nth)?, report }
            }
            "approval" => self.approval(rest)?,
            "stored" => {
                let id = self.open(EffectKind::StoreResult, 0)?;
                Input::ResultStored { id, result: stored_of(rest) }
            }
            "flushed" => {
                let id = self.open(EffectKind::FlushMemory, 0)?;
                Input::MemoryFlushed { id, result: stored_of(rest) }
            }
            "recalled" => {
                let result = match rest {
                    "" => Recall::Nothing,
                    text => Recall::Found { text: text.into() },
                };
                Input::MemoryRecalled { id: self.open(EffectKind::RecallMemory, 0)?, result }
            }
            "refreshed" => {
                let result = match rest {
                    "" => Refresh::Refreshed,
                    problem => Refresh::Failed { problem: problem.into() },
                };
                let id = self.open(EffectKind::RefreshCredential, 0)?;
                Input::CredentialRefreshed { id, result }
            }
            "judged" => {
                let verdict = match rest.split_once(' ') {
                    Some(("misfits", problem)) => {
                        OutputVerdict::Misfits { path: "/x".into(), problem: problem.into() }
                    }
                    Some(_) | None => OutputVerdict::Fits,
                };
                Input::OutputChecked { id: self.open(EffectKind::CheckOutput, 0)?, verdict }
            }
            other => return Err(format!("unknown command {other:?}")),
        })
    }

    fn configure(&mut self, word: &str, rest: &str) -> Result<(), String> {
        if self.state.is_some() {
            return Err(format!("{word:?} comes before the first input"));
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        match word {
            "candidate" => self.config.candidates.push(candidate(rest)),
            "window" => {
                let window = words[0].parse().map_err(|_| "window TOKENS")?;
                self.config.candidates[0].context_window = window;
            }
            "tool" => {
                let read_only = words.get(1) == Some(&"read-only");
                let kind = words.get(1).and_then(|word| {
                    ToolKind::ALL.iter().copied().find(|kind| kind.word() == *word)
                });
                let kind = kind.unwrap_or_default();
                self.config.tools.push(ToolSpec { kind, ..tool(words[0], read_only) });
            }
            "output" => {
                let tokens = words[0].parse().map_err(|_| "output TOKENS")?;
                self.config.candidates[0].max_output = tokens;
            }
            "price" => {
                let price: Result<Vec<u64>, _> = words.iter().map(|word| word.parse()).collect();
                let (price, long) = match price.as_deref() {
                    Ok([price]) => (*price, None),
                    Ok([price, above, input]) => (*price, Some((*above, *input))),
                    _ => return Err("price NANOS [ABOVE NANOS]".into()),
                };
                let long = long.map(|(above, price)| LongPrice {
                    above,
                    input: price,
                    output: price,
                    ..LongPrice::default()
                });
                let price = Price { input: price, output: price, long, ..Price::default() };
                self.config.candidates[0].price = Some(price);
            }
            "deferred" => {
                let (name, args) = rest.split_once(' ').ok_or("deferred NAME ARGS")?;
                let facts = CallFacts { permission: Permission::Ask, ..edited(args) };
                let (name, args) = (name.into(), args.into());
                self.config.deferred = Some(DeferredCall { name, args, facts });
            }
            "refreshable" => self.config.candidates[0].refreshable = true,
            "schema" => self.config.output_schema = rest.into(),
            "hook-named" => self.config.stop_hooks.push(HookSpec::new(rest)),
            "tool-hook" => self.config.tool_hooks.push(HookSpec::new(rest)),
            "batch-hook" => self.config.batch_hooks.push(HookSpec::new(rest)),
            "compact-hook" => self.config.compact_hooks.push(HookSpec::new(rest)),
            "rule" => {
                self.config.rules.push(Rule::new("any", &words));
            }
            "ordered" => {
                self.config.rules.push(Rule { ordered: true, ..Rule::new("any", &words) });
            }
            "force" => self.config.force_tool = rest.into(),
            _ => self.set(word, &words)?,
        }
        Ok(())
    }

    /// `limit NAME N` and `policy NAME WORD`, by the names of the configuration file.
    fn set(&mut self, word: &str, words: &[&str]) -> Result<(), String> {
        let [name, value] = words else { return Err(format!("{word} NAME VALUE")) };
        let mut config = serde_json::to_value(&self.config).map_err(|e| e.to_string())?;
        let table = if word == "limit" { "limits" } else { "policy" };
        let table = config[table].as_object_mut().ok_or("a table")?;
        let given = match *value {
            "true" | "false" => (*value == "true").into(),
            word => word.parse::<u64>().map_or_else(|_| word.into(), Into::into),
        };
        table.insert((*name).into(), given);
        self.config = serde_json::from_value(config).map_err(|e| e.to_string())?;
        Ok(())
    }

    fn open(&self, kind: EffectKind, nth: usize) -> Result<EffectId, String> {
        let state = self.state.as_ref().ok_or("nothing has begun")?;
        let mut open = state.frame().ledger().iter().filter(|(_, open)| *open == kind);
        open.nth(nth).map(|(id, _)| id).ok_or(format!("no {kind} is open"))
    }

    /// `model text WORDS`, `model thinking WORDS`, `model call NAME ARGS [concurrent|malformed]`,
    /// `model begin text|call NAME`, `model stop REASON`, `model error CLASS`.
    fn model(&mut self, rest: &str) -> Result<String, String> {
        let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let block = self.blocks;
        let events = match word {
            "text" => whole(block, BlockKind::Text, rest, BlockEnd::Text),
            "thinking" => {
                let end = BlockEnd::Thinking { seal: format!("sealed {rest}") };
                whole(block, BlockKind::Thinking, rest, end)
            }
            "call" => call(block, rest)?,
            "begin" => {
                let kind = match rest.split_once(' ') {
                    Some(("call", name)) => call_kind(block, name),
                    Some(_) | None => BlockKind::Text,
                };
                let delta = ModelEvent::Delta { block, text: "{\"cut".into() };
                vec![ModelEvent::BlockBegan { block, kind }, delta]
            }
            "stop" => {
                let reason = StopReason::ALL.iter().copied().find(|r| r.word() == rest);
                let reason = reason.ok_or(format!("no stop reason {rest:?}"))?;
                vec![ModelEvent::finished(reason, rest)]
            }
            "usage" => {
                let mut counts = rest.split_whitespace().map(|n| n.parse().ok());
                let (input, output) = (counts.next().flatten(), counts.next().flatten());
                vec![ModelEvent::Usage(Usage { input, output, ..Usage::default() })]
            }
            "error" => vec![ModelEvent::Failed(failure_of(rest)?)],
            other => return Err(format!("the model cannot {other:?}")),
        };
        let id = self.open(EffectKind::CallModel, 0)?;
        let mut seen = String::new();
        for event in events {
            if matches!(event, ModelEvent::BlockBegan { .. }) {
                self.blocks += 1;
            }
            seen += &self.take(Input::ModelSaid { id, event })?;
        }
        Ok(seen)
    }

    /// `tool-returns [#N] STATUS WORDS`: the N-th running call, from 0.
    fn tool(&self, rest: &str) -> Result<Input, String> {
        let (nth, report) = report_of(rest)?;
        Ok(Input::ToolReturned { id: self.open(EffectKind::RunTool, nth)?, report })
    }

    /// `approval [#N] DECISION WORDS`: about the N-th call that is asked about, from 0.
    fn approval(&self, rest: &str) -> Result<Input, String> {
        let (nth, rest) = numbered(rest)?;
        let (word, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let decision = match word {
            "allowed" => Decision::Allowed,
            "always" => Decision::AllowedAlways { scope: GrantScope::Tool },
            "denied" => Decision::Denied { reason: text.into() },
            "timed-out" => Decision::TimedOut,
            "queued" => Decision::Queued { ticket: text.into() },
            "deferred" => Decision::Deferred,
            "nobody" => Decision::NoVerdict,
            "edited" => Decision::Edited { args: text.into(), facts: edited(text) },
            other => return Err(format!("nobody decides {other:?}")),
        };
        Ok(Input::ApprovalGiven { id: self.open(EffectKind::AskApproval, nth)?, decision })
    }

    fn hook(&self, rest: &str) -> Result<Input, String> {
        let (word, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let text = String::from(text);
        let answer = match word {
            "allowed" => HookAnswer::Allowed,
            "blocked" => HookAnswer::Blocked { reason: text },
            "continued" => HookAnswer::Continued { context: text },
            "halted" => HookAnswer::Halted { reason: text },
            "failed" => HookAnswer::Failed { problem: text },
            "denied" => HookAnswer::Denied { reason: text },
            "asked" => HookAnswer::Asked { reason: text, edit: None },
            "asked-about" => {
                let edit = Box::new(CallEdit { facts: edited(&text), args: text });
                HookAnswer::Asked { reason: String::from("sure?"), edit: Some(edit) }
            }
            "deferred" => HookAnswer::Deferred,
            "edited" => HookAnswer::Edited { facts: edited(&text), args: text },
            other => return Err(format!("a hook cannot answer {other:?}")),
        };
        Ok(Input::HookAnswered { id: self.open(EffectKind::AskHook, 0)?, answer })
    }

    fn take(&mut self, input: Input) -> Result<String, String> {
        let state = match self.state.take() {
            Some(state) => state,
            None => start(self.config.clone()).state,
        };
        let after = step(state.clone(), input.clone());
        invariants::check(&state, &input, &after).map_err(|v| v.to_string())?;
        self.chronicle.note(&input, &after).map_err(|v| v.to_string())?;
        let mut seen = String::new();
        if !after.trail.is_empty() {
            let doors: Vec<String> =
                after.trail.iter().map(|door| format!("{} ({})", door.to, door.because)).collect();
            let _ = writeln!(seen, "{} -> {}", after.trail[0].from, doors.join(" -> "));
        }
        for effect in &after.effects {
            if matches!(effect, Effect::CallModel { .. }) {
                self.blocks = 0;
            }
            let _ = writeln!(seen, "{}", rendered(effect));
        }
        self.state = Some(after.state);
        Ok(seen)
    }

    fn show(&self, what: &str) -> Result<String, String> {
        let state = self.state.as_ref().ok_or("nothing has begun")?;
        Ok(match what {
            "room" => format!("{}\n", state.room()),
            "ledger" => {
                let open = state.frame().ledger().iter();
                open.map(|(id, kind)| format!("{id} {kind}\n")).collect()
            }
            "view" => shown(&View::of(state.frame().transcript())),
            "history" => shown(&View::of(&state.frame().transcript().settled())),
            "terminal" => match state.terminal() {
                Some(terminal) => format!("{}\n", plain(terminal)),
                None => "none yet\n".into(),
            },
            other => return Err(format!("cannot show {other:?}")),
        })
    }
}

fn rules_of(rest: &str) -> Result<(Vec<RuleId>, String), String> {
    let Some(ruled) = rest.strip_prefix('[') else { return Ok((vec![], rest.into())) };
    let (rules, text) = ruled.split_once("] ").ok_or("user [rules] words")?;
    let rules = rules.split(',').map(|n| n.parse().map(RuleId).map_err(|_| "rules are numbers"));
    Ok((rules.collect::<Result<_, _>>()?, text.into()))
}

fn numbered(rest: &str) -> Result<(usize, &str), String> {
    let Some(numbered) = rest.strip_prefix('#') else { return Ok((0, rest)) };
    let (n, rest) = numbered.split_once(' ').ok_or("#N WORDS")?;
    Ok((n.parse().map_err(|_| "N is a number")?, rest))
}

/// `[#N] STATUS WORDS`.
fn report_of(rest: &str) -> Result<(usize, ToolReport), String> {
    let (nth, rest) = numbered(rest)?;
    let (word, output) = rest.split_once(' ').unwrap_or((rest, ""));
    let status = ToolStatus::ALL.iter().copied().find(|s| s.word() == word);
    Ok((nth, ToolReport::new(status.ok_or(format!("no tool status {word:?}"))?, output)))
}

/// `kept REFERENCE` or `failed PROBLEM`.
fn stored_of(rest: &str) -> Stored {
    match rest.split_once(' ') {
        Some(("failed", problem)) => Stored::Failed { problem: problem.into() },
        Some((_, reference)) => Stored::Kept { reference: reference.into() },
        None => Stored::Kept { reference: rest.into() },
    }
}

fn edited(args: &str) -> CallFacts {
    let canonical = machine_spec::Digest::of(args).0;
    CallFacts::new(ArgsVerdict::Valid { canonical }, Safety::Exclusive)
}

fn failure_of(words: &str) -> Result<Failure, String> {
    let (words, remedy) = words.split_once(" remedy ").unwrap_or((words, ""));
    let (word, after) = words.split_once(" after ").unwrap_or((words, ""));
    let class = ErrorClass::ALL.iter().copied().find(|class| class.word() == word);
    let mut failure = Failure::new(class.ok_or(format!("no error class {word:?}"))?, word);
    failure.retry_after_ms = after.parse().ok();
    failure.remedy = remedy.into();
    Ok(failure)
}

fn whole(block: u32, kind: BlockKind, text: &str, done: BlockEnd) -> Vec<ModelEvent> {
    vec![
        ModelEvent::BlockBegan { block, kind },
        ModelEvent::Delta { block, text: text.into() },
        ModelEvent::BlockDone { block, proof: Proof::BlockStop, done },
    ]
}

fn call_kind(block: u32, name: &str) -> BlockKind {
    BlockKind::Call { wire_id: format!("w{block}"), name: name.into() }
}

fn call(block: u32, rest: &str) -> Result<Vec<ModelEvent>, String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [name, args, how @ ..] = words.as_slice() else { return Err("call NAME ARGS".into()) };
    let verdict = match how {
        ["malformed"] => ArgsVerdict::Malformed { at: 3, problem: "expected value".into() },
        ["invalid"] => ArgsVerdict::Invalid { path: "/x".into(), problem: "missing".into() },
        _ => ArgsVerdict::Valid { canonical: machine_spec::Digest::of(*args).0 },
    };
    let safety = if how.contains(&"concurrent") { Safety::Concurrent } else { Safety::Exclusive };
    let permission = match how.iter().find(|word| ["ask", "deny", "nowhere"].contains(*word)) {
        Some(&"ask") => Permission::Ask,
        Some(&"deny") => Permission::Deny { reason: "not here".into() },
        Some(_) => Permission::OutOfScope,
        None => Permission::Allow,
    };
    let facts = CallFacts { permission, ..CallFacts::new(verdict, safety) };
    Ok(whole(block, call_kind(block, name), args, BlockEnd::Call(facts)))
}

fn rendered(effect: &Effect) -> String {
    match effect {
        Effect::CallModel { id, request } => format!(
            "! {id} call_model {} {} owner={} entries={} tools={}{}",
            request.attempt,
            request.candidate,
            request.owner,
            request.view.entries,
            plain(&request.tools),
            special(request)
        ),
        Effect::RunTool { id, call, name, args, allowance } => {
            let allowance = allowance.map(|given| format!(" with {}", plain(&given)));
            format!("! {id} run_tool {call} {name} {args}{}", allowance.unwrap_or_default())
        }
        Effect::StartTask { id, task, call, name, args, .. } => {
            format!("! {id} start_task {task} {call} {name} {args}")
        }
        Effect::AskApproval { id, call, name, args, reason, .. } => {
            format!("! {id} ask_approval {call} {name} {args} {reason}").trim_end().to_owned()
        }
        Effect::StoreResult { id, of, call, bytes } => {
            format!("! {id} store_result of {of} {call} {bytes} bytes")
        }
        Effect::RecallMemory { id, query } => format!("! {id} recall_memory {query}"),
        Effect::FlushMemory { id, head } => format!("! {id} flush_memory {} entries", head.entries),
        Effect::RefreshCredential { id, candidate } => {
            format!("! {id} refresh_credential {candidate}")
        }
        Effect::CheckOutput { id, text } => format!("! {id} check_output {text}"),
        Effect::Detach { id } => format!("! detach {id}"),
        Effect::Compact { id, head, by } => {
            format!("! {id} compact {} entries by {by}", head.entries)
        }
        Effect::AskHook { id, hook, question } => {
            format!("! {id} ask_hook {hook} {}", plain(question))
        }
        Effect::SetTimer { id, after_ms, because } => {
            format!("! {id} set_timer {after_ms} ms for {because}")
        }
        Effect::Cancel { id } => format!("! cancel {id}"),
        Effect::Notify(notice) => format!("- {}", plain(notice)),
        Effect::Reject(refusal) => format!("x refused: {} in {}", refusal.cause, refusal.room),
        Effect::Finish(terminal) => format!("# {}", plain(terminal)),
    }
}

/// What is not usual about a request.
fn special(request: &SealedRequest) -> String {
    let mut text = String::new();
    if request.transport == Transport::Whole {
        text += " in one piece";
    }
    if let Some(tokens) = request.max_output {
        let _ = write!(text, " at most {tokens} tokens");
    }
    for what in &request.left_out {
        let _ = write!(text, " without {what}");
    }
    text
}

/// A value in the words of the recording, without the marks of JSON: `kind name=value`.
fn plain(value: &impl serde::Serialize) -> String {
    words(&serde_json::to_value(value).expect("it is serialisable"))
}

fn words(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(members) => {
            let tagged = members.len() == 1 && members.values().all(Value::is_object);
            let member = |(name, value): (&String, &Value)| match value {
                inside if tagged => format!("{name} {}", words(inside)).trim_end().to_owned(),
                other => format!("{name}={}", words(other)),
            };
            members.iter().map(member).collect::<Vec<_>>().join(" ")
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(words).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => text.replace('\n', " / "),
        Value::Null => "none".into(),
        other => other.to_string(),
    }
}

fn shown(view: &View) -> String {
    let mut text = String::new();
    for (n, message) in view.messages().iter().enumerate() {
        match message {
            Seen::Said(said) => {
                let _ = writeln!(text, "{n} {}: {}", said.origin, said.text);
            }
            Seen::Reply(reply) => {
                let calls: Vec<String> =
                    reply.calls().map(|call| format!("{}({})", call.name, call.args)).collect();
                let calls = calls.join(" ");
                let _ = writeln!(text, "{n} reply [{}]: {} {calls}", reply.wholeness, reply.text());
            }
            Seen::Results(results) => {
                for result in *results {
                    let (said, error) = wording::result(result);
                    let mark = if error { "error" } else { "ok" };
                    let _ = writeln!(text, "{n} {} {mark}: {said}", result.call);
                }
            }
        }
    }
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn scripts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scripts");
    let mut found = Vec::new();
    for room in std::fs::read_dir(root).expect("fixtures/scripts exists") {
        let room = room.expect("a folder").path();
        for script in std::fs::read_dir(room).expect("a folder a room") {
            found.push(script.expect("a file").path());
        }
    }
    found.sort();
    found
}

/// Plays a script and gives it back with what was seen.
fn played(text: &str) -> String {
    let mut story = Story::new();
    let mut out = String::new();
    for block in text.trim_end().split("\n\n") {
        let commands = block.split("----").next().unwrap_or_default();
        let mut seen = String::new();
        for line in commands.lines() {
            let _ = writeln!(out, "{line}");
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            seen += &story.command(line).unwrap_or_else(|fault| format!("cannot: {fault}\n"));
        }
        if !seen.is_empty() {
            let _ = write!(out, "----\n{seen}");
        }
        out.push('\n');
    }
    out.pop();
    out
}

#[test]
fn the_stories_are_as_told() {
    let bless = std::env::var_os("LOOPWRIGHT_BLESS").is_some();
    let scripts = scripts();
    assert!(scripts.len() >= 12, "the stories are there: {}", scripts.len());
    for script in scripts {
        let told = std::fs::read_to_string(&script).expect("a script is text");
        let played = played(&told);
        if bless {
            std::fs::write(&script, &played).expect("a script can be written");
        } else {
            assert_eq!(played, told, "{}", script.display());
        }
        assert!(!played.contains("cannot: "), "{}: {played}", script.display());
    }
}
