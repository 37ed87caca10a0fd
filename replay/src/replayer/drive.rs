//! Ways to drive a whole recording: from memory, from a file, from its bytes.

use std::path::{Path, PathBuf};

use machine_spec::{Effect, Terminal};

use super::{End, Options, Replayer, Report};
use crate::divergence::Divergence;
use crate::format::ReadLimits;
use crate::reader::{Bodies, Frames, Item, ReadError, Recording, Tail, read_file};
use crate::sink::bodies_folder;

/// Replays a recording that is in memory.
#[must_use]
pub fn replay(recording: &Recording, options: Options) -> Report {
    let (path, bodies) = (recording.path.clone(), recording.bodies.clone());
    let mut replayer = Replayer::new(&recording.header, path, bodies, options);
    let end = match drive(recording, &mut replayer) {
        Err(divergence) => End::Diverged(divergence),
        Ok(()) => match &recording.tail {
            Tail::Clean => End::Clean,
            Tail::Torn(torn) => End::Torn(torn.clone()),
            Tail::Damaged { error, suspect } => {
                End::Damaged(error.clone(), suspect.as_deref().cloned())
            }
        },
    };
    replayer.finish(end)
}

fn drive(recording: &Recording, replayer: &mut Replayer) -> Result<(), Box<Divergence>> {
    let mut asides = recording.asides.iter().peekable();
    // The header is line 1, frame 0 is line 2 unless something stands between them.
    let mut line = 2;
    for frame in &recording.frames {
        while let Some((_, aside)) = asides.next_if(|(at, _)| *at <= frame.seq) {
            replayer.aside(aside)?;
            line += 1;
        }
        replayer.frame(frame.clone(), Some(line))?;
        line += 1;
    }
    asides.try_for_each(|(_, aside)| replayer.aside(aside))
}

/// Replays a recording from a file, frame by frame.
///
/// # Errors
///
/// The file cannot be read, or its first line is no header that this release understands.
pub fn replay_file(path: &Path, options: Options) -> Result<Report, Box<ReadError>> {
    let limits = ReadLimits::default();
    let bytes = read_file(path, limits)?;
    let bodies = Bodies::folder(bodies_folder(path), limits);
    let report = replay_bytes(&bytes, limits, Some(path.to_owned()), bodies, options);
    report.map_err(|error| error.in_file(path))
}

/// Replays a recording from its bytes, frame by frame.
///
/// # Errors
///
/// The first line is no header that this release understands.
pub fn replay_bytes(
    bytes: &[u8],
    limits: ReadLimits,
    path: Option<PathBuf>,
    bodies: Bodies,
    options: Options,
) -> Result<Report, Box<ReadError>> {
    let mut lines = Frames::new(bytes, limits)?;
    let mut replayer = Replayer::new(lines.header(), path, bodies, options);
    let mut end = End::Clean;
    while let Some(item) = lines.next_item() {
        let line = lines.line();
        let told = match item {
            Ok(Item::Frame(frame)) => replayer.frame(*frame, Some(line)),
            Ok(Item::Aside(aside)) => replayer.aside(&aside),
            Ok(Item::Torn(torn)) => {
                end = End::Torn(*torn);
                break;
            }
            Err(error) => {
                end = End::Damaged(error, lines.suspect().cloned());
                break;
            }
        };
        if let Err(divergence) = told {
            end = End::Diverged(divergence);
            break;
        }
    }
    Ok(replayer.finish(end))
}

/// How the run of a recording ended, where it is only that which is wanted.
#[must_use]
pub fn terminal(recording: &Recording) -> Option<&Terminal> {
    let mut effects = recording.frames.iter().rev().flat_map(|frame| &frame.effects);
    effects.find_map(|effect| if let Effect::Finish(end) = effect { Some(end) } else { None })
}
