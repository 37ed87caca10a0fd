//! Kill after any frame of any fixture, resume from the recording: an end comes, no effect happens
//! twice, and what nobody knows is told as unknown.

use std::collections::BTreeMap;

use machine_spec::ids::{CallId, EffectId};
use machine_spec::message::{Entry, Outcome};
use machine_spec::{Effect, EffectKind};
use replay::arena::{How, Script, play};
use replay::faults::{Fault, Placed, Seam};
use replay::replayer::terminal;
use replay::scenario::{Library, derive};

use crate::fixtures::runs;

#[test]
fn a_run_that_is_killed_after_any_frame_ends_and_tells_the_truth() {
    let (mut points, mut alike, mut unknown) = (0, 0, 0);
    for (name, recording) in runs() {
        let scenario = derive(&recording).expect("a known dialect");
        let script = Script::compile(&scenario, &Library::new()).expect("playable");
        let calls: BTreeMap<EffectId, CallId> = recording
            .frames
            .iter()
            .flat_map(|frame| &frame.effects)
            .filter_map(|effect| match effect {
                Effect::RunTool { id, call, .. } => Some((*id, *call)),
                _ => None,
            })
            .collect();
        for frame in 0..recording.frames.len() as u32 - 1 {
            let killed = [Placed::new(Fault::CrashAt, Seam::Frame(frame))];
            let outcome = play(&script, &killed, How::FULL);
            assert_eq!((&outcome.breach, &outcome.trouble), (&None, &None), "{name} {frame}");
            points += 1;
            // The recorded calls are those of the resumed run as far as both are one.
            let left = recording.state_at(u64::from(frame)).expect("there is a frame");
            let running = left.frame().ledger().iter();
            let running: Vec<CallId> = running
                .filter(|(_, kind)| *kind == EffectKind::RunTool)
                .map(|(id, _)| calls[&id])
                .collect();
            // The results of earlier runs stand in front; their calls have numbers of their own.
            let before = recording.header.config.history.len() as usize;
            let entries = outcome.state.frame().transcript().entries();
            for entry in entries.into_iter().skip(before) {
                let Entry::Results(results) = entry else { continue };
                for result in results.iter().filter(|result| running.contains(&result.call)) {
                    let told = matches!(result.outcome, Outcome::Unknown { .. });
                    assert!(told, "{name} {frame}: {:?}", result.outcome);
                    unknown += 1;
                }
            }
            let kind = outcome.state.terminal().map(|terminal| terminal.kind());
            let same = kind == terminal(&recording).map(|terminal| terminal.kind());
            alike += u32::from(same);
            // With nothing open the process leaves nothing behind that could matter.
            let nothing_open = left.frame().ledger().is_empty();
            assert!(same || !nothing_open, "{name} {frame}: ended as {kind:?}");
        }
    }
    assert!(points > 600 && unknown >= 10, "{points} points, {unknown} unknown");
    // The rest ended otherwise for a reason: a response broke off once more than its budget allows,
    // or an unknown result changed what the run came to.
    assert!(alike * 10 > points * 6, "{alike} of {points} ended as the whole run did");
    println!("{points} crash points, {alike} ended alike, {unknown} unknown outcomes told");
}
