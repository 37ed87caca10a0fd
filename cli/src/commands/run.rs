//! `loopwright run`: a prompt goes through the loop, recorded while it runs.

use std::fs;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::replay::Recording;
use engine::approve::{Standing, Terminal};
use engine::config::{Overrides, process_environment};
use engine::error::Code;
use engine::{
    Approvals, EngineError, Event, Events, Handle, Observer, Pictures, Setup, Signals, Stage,
};
use machine_spec::State;
use wire::Dialect;

use crate::commands::progress::Progress;
use crate::fault::Fault;

/// The configuration that is used when none is named.
const DEFAULT_CONFIG: &str = "loopwright.toml";

/// Where runs are recorded when no file is named.
const DEFAULT_RECORDINGS: &str = ".loopwright/runs";

/// Arguments of `run`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to say; without it, or with `-`, standard input is read to its end.
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// Show this image behind the prompt: PNG, JPEG, GIF or WebP; may be given more than once.
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// The configuration; without it `loopwright.toml`, if there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Record to this file; without it the next free `.loopwright/runs/run-N.jsonl`.
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    record: Option<PathBuf>,
    /// Do not record.
    #[arg(long)]
    no_record: bool,
    /// One event object a line on standard output; the last one is the terminal.
    #[arg(long)]
    json: bool,
    /// While the run goes on, every line of standard input is said to the model; nobody is asked
    /// about calls then.
    #[arg(long)]
    listen: bool,
    /// Go on with the conversation of this recording.
    #[arg(long, value_name = "RECORDING")]
    resume: Option<PathBuf>,
    /// What the provider speaks: anthropic, openai-chat, openai-responses, gemini or ollama.
    #[arg(long, value_name = "DIALECT")]
    provider: Option<Dialect>,
    /// The model.
    #[arg(long)]
    model: Option<String>,
    /// Where the provider is, with or without a version at the end.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The environment variable that holds the key.
    #[arg(long, value_name = "NAME")]
    api_key_env: Option<String>,
    /// What becomes of calls that need approval, without asking: deny, allow, queue or defer.
    /// Otherwise somebody is asked at a terminal, and elsewhere the configuration decides.
    #[arg(long, value_name = "WORD")]
    on_approval: Option<Standing>,
    /// The system prompt.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
}

/// Whatever happens, with `--json` the last line is a terminal event, exactly one.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let prepared = prepare(args);
    if let (true, Err(fault)) = (args.json, &prepared) {
        writeln!(out, "{}", fault.as_terminal())?;
    }
    match prepared? {
        Prepared::Ready(ready) => play(*ready, args.json, out),
        Prepared::Refused(error) => refused(error, args.json, out),
    }
}

/// What is known before a run begins.
enum Prepared {
    /// Everything is there.
    Ready(Box<Ready>),
    /// The configuration cannot be used.
    Refused(EngineError),
}

struct Ready {
    setup: Setup,
    prompt: String,
    listen: bool,
    pictures: Pictures,
    recording: Option<PathBuf>,
    approvals: Option<Approvals>,
}

fn prepare(args: &Args) -> Result<Prepared, Fault> {
    let mut prompt = prompt(args)?;
    let pictures = pictures(args)?;
    let earlier = args.resume.as_deref().map(earlier).transpose()?;
    let mut setup = match setup(args) {
        Ok(setup) => setup,
        Err(error) => return Ok(Prepared::Refused(error)),
    };
    if let Some(Earlier { state, recording }) = earlier {
        setup.go_on_from(&state);
        setup.hold_images_of(&recording);
        let mut said = engine::resume::unread(&recording);
        said.push(prompt);
        prompt = said.join("\n\n");
    }
    let approvals = approvals(args, &mut setup);
    let recording = recording(args)?;
    let listen = args.listen;
    let ready = Ready { setup, prompt, listen, pictures, recording, approvals };
    Ok(Prepared::Ready(Box::new(ready)))
}

fn play(ready: Ready, json: bool, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let Ready { setup, prompt, listen, pictures, recording, approvals } = ready;
    let stage = match &recording {
        Some(path) => Stage::recorded(path),
        None => Stage::default(),
    };
    let stage = Stage { approvals, ..stage };
    let (handle, inputs) = engine::inputs();
    handle.show(prompt, pictures).map_err(Fault::usage)?;
    if listen {
        listen_to_lines(handle.clone());
    }
    let (observer, events) = Observer::new();
    let ended = engine::block_on(async {
        let signals = Signals::interrupt(handle.clone());
        let run = engine::run(setup, inputs, observer, stage);
        let watch = watch(events, json, out, &handle);
        let (ended, watched) = run_beside(run, watch).await;
        drop(signals);
        watched.map(|()| ended)
    })??;
    if let Some(path) = recording.filter(|_| !json) {
        eprintln!("recorded to {}", path.display());
    }
    Ok(ExitCode::from(match ended {
        Ok(ended) => ended.exit_code(),
        Err(error) => error.exit_code(),
    }))
}

/// Says every line of standard input, on a thread of its own that ends with the process: reading
/// cannot be broken off.
fn listen_to_lines(handle: Handle) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if line.trim().is_empty() {
                continue;
            }
            if let Err(refused) = handle.say(line) {
                eprintln!("error: {refused}");
            }
        }
    });
}

/// Two futures side by side on one thread.
async fn run_beside<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    std::future::poll_fn(|context| {
        if of_a.is_none()
            && let std::task::Poll::Ready(output) = a.as_mut().poll(context)
        {
            of_a = Some(output);
        }
        if of_b.is_none()
            && let std::task::Poll::Ready(output) = b.as_mut().poll(context)
        {
            of_b = Some(output);
        }
        match (of_a.take(), of_b.take()) {
            (Some(a), Some(b)) => std::task::Poll::Ready((a, b)),
            (a, b) => {
                (of_a, of_b) = (a, b);
                std::task::Poll::Pending
            }
        }
    })
    .await
}

/// Tells events until there are none. Whoever reads them and goes away ends the run: nobody wants
/// its answer any more.
async fn watch(
    mut events: Events,
    json: bool,
    out: &mut impl Write,
    handle: &Handle,
) -> Result<(), Fault> {
    let live = !json && std::io::stdout().is_terminal();
    let mut progress = Progress::new(live);
    let mut trouble = None;
    while let Some(event) = events.recv().await {
        if trouble.is_some() {
            continue;
        }
        let told = if json { tell_json(&event, out) } else { progress.tell(&event, out) };
        if let Err(error) = told {
            handle.interrupt(machine_spec::input::InterruptedBy::Parent);
            trouble = Some(error);
        }
    }
    trouble.map_or(Ok(()), |error| Err(error.into()))
}

fn tell_json(event: &Event, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{}", event.to_json())?;
    out.flush()
}

/// A configuration that cannot be used still ends with exactly one terminal event.
fn refused(error: EngineError, json: bool, out: &mut impl Write) -> Result<ExitCode, Fault> {
    let exit = error.exit_code();
    if json {
        writeln!(out, "{}", Event::failed(error).to_json())?;
    } else {
        eprintln!("error: {error}");
    }
    Ok(ExitCode::from(exit))
}

fn prompt(args: &Args) -> Result<String, Fault> {
    let given = args.prompt.as_deref().filter(|prompt| *prompt != "-");
    if let Some(prompt) = given {
        return Ok(prompt.to_owned());
    }
    if args.listen {
        let problem = "LW5007: with --listen, expected the prompt as an argument";
        return Err(Fault::usage(problem));
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    read.map_err(|error| Fault::unreadable(format!("LW5006: cannot read the prompt: {error}")))?;
    let prompt = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    if prompt.is_empty() {
        return Err(Fault::usage("LW5007: expected a prompt, as an argument or on standard input"));
    }
    Ok(prompt)
}

fn setup(args: &Args) -> Result<Setup, EngineError> {
    let overrides = Overrides {
        dialect: args.provider,
        model: args.model.clone(),
        base_url: args.base_url.clone(),
        api_key_env: args.api_key_env.clone(),
        system: args.system.clone(),
    };
    let default = Path::new(DEFAULT_CONFIG);
    let config = args.config.as_deref().or_else(|| default.exists().then_some(default));
    let Some(path) = config else {
        return Ok(Setup::without_file(&overrides, &process_environment)?);
    };
    let error = match Setup::load(path, &overrides, &process_environment) {
        Ok(setup) => return Ok(setup),
        Err(error) => error,
    };
    // What only the machine objects to is told with its place, and the run that ends as refused is
    // recorded like any other.
    if error.problems.iter().all(|problem| problem.code == Code::ConfigFault) {
        eprintln!("error: {error}");
        return Ok(Setup::load_refused(path, &overrides, &process_environment)?);
    }
    Err(error.into())
}

/// Who is asked about calls that need somebody's word; nobody unless a person can read the question
/// and answer it.
fn approvals(args: &Args, setup: &mut Setup) -> Option<Approvals> {
    if let Some(standing) = args.on_approval {
        setup.approvals.absent = standing;
        return None;
    }
    let readable = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let somebody = readable && !args.listen;
    somebody.then(|| Approvals::by(Terminal::of_this_process()))
}

/// An earlier run of the session.
struct Earlier {
    /// How it ended, as the next run goes on from it.
    state: State,
    recording: Recording,
}

fn earlier(path: &Path) -> Result<Earlier, Fault> {
    let recording = Recording::read(path).map_err(Fault::unreadable)?;
    let state = engine::resume::last_state(&recording).ok_or_else(|| {
        let path = path.display();
        Fault::unreadable(format!("LW5008: {path} holds no frame to go on from"))
    })?;
    Ok(Earlier { state, recording })
}

fn pictures(args: &Args) -> Result<Pictures, Fault> {
    let mut pictures = Pictures::none();
    for path in &args.image {
        pictures.add_file(path).map_err(|problem| {
            let path = path.display();
            Fault::usage(format!("LW5010: cannot show {path}: {problem}"))
        })?;
    }
    Ok(pictures)
}

/// The file to record to. The name of a new one is the next free number: no clock is asked.
fn recording(args: &Args) -> Result<Option<PathBuf>, Fault> {
    if args.no_record {
        return Ok(None);
    }
    if let Some(path) = &args.record {
        return Ok(Some(path.clone()));
    }
    let folder = Path::new(DEFAULT_RECORDINGS);
    fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        Fault::usage(format!("LW5009: cannot make {folder}: {error}; name a file with --record"))
    })?;
    let taken = |n: &u32| folder.join(format!("run-{n}.jsonl")).exists();
    let free = (1..=u32::MAX).find(|n| !taken(n)).unwrap_or(u32::MAX);
    Ok(Some(folder.join(format!("run-{free}.jsonl"))))
}
