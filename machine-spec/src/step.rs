//! The corridor: accept an input, walk rooms until one waits.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::because::{Because, Owner, Passage, Trigger};
use crate::config::RunConfig;
use crate::effect::{Effect, Notice};
use crate::frame::{Frame, Task, Waiting};
use crate::ids::EffectId;
use crate::input::{Input, InterruptedBy, ToolReport};
use crate::ledger::Standing;
use crate::message::Origin;
use crate::planted::{Defect, active};
use crate::rejection::{Cause, Rejection};
use crate::rooms::{Answer, Done, Idle, Next, Out, Refused, Room, RoomKind};
use crate::state::{State, Step};
use crate::terminal::Terminal;

/// The most doors that one input may open (I09): from Parse through Recover, Gate and the other
/// passing rooms back to Parse.
pub(crate) const MAX_PASSAGES: usize = 9;

/// Begins a run. A configuration that cannot work ends it at once, with all its faults.
pub fn start(config: RunConfig) -> Step {
    let faults = config.faults();
    let frame = Box::new(Frame::new(config));
    if faults.is_empty() {
        return Step {
            state: State { frame, room: Room::Idle(Idle {}) },
            effects: vec![],
            trail: vec![],
        };
    }
    let terminal = Terminal::ConfigRefused { faults };
    let effects = vec![Effect::Finish(terminal.clone())];
    Step {
        state: State { frame, room: Room::Done(Box::new(Done { terminal })) },
        effects,
        trail: vec![],
    }
}

/// Takes one input. Total: any input in any state yields a passage, a stay or a refusal that leaves
/// the state untouched.
pub fn step(mut state: State, input: Input) -> Step {
    if let Input::ModelSaid { id, event } = &input
        && state.take_down(*id, event)
    {
        return Step { state, effects: vec![], trail: vec![] };
    }
    let State { mut frame, room } = state;
    let (from, on, id) = (room.kind(), input.kind(), input.answers());
    let mut out = Out::default();
    let misfit = match frame.ledger.standing(on, id) {
        Standing::Closed => Some(Cause::EffectClosed),
        Standing::Unknown => Some(Cause::EffectUnknown),
        Standing::Free | Standing::Live => None,
    };
    let misfit = if from == RoomKind::Done { Some(Cause::AfterTerminal) } else { misfit };
    let accepted = match misfit {
        Some(cause) => Err(Refused { room, cause }),
        None => accept(room, input, &mut frame, &mut out),
    };
    match accepted {
        Ok(next) => walk(from, Trigger::On(on), next, frame, out),
        Err(Refused { room, cause }) => {
            if active(Defect::RefusesWithTrace) {
                frame.counters.pauses += 1;
            }
            let expected = from.welcomes().to_vec();
            let refusal = Rejection { room: from, input: on, effect: id, expected, cause };
            let effects = vec![Effect::Reject(refusal)];
            Step { state: State { frame, room }, effects, trail: vec![] }
        }
    }
}

fn accept(room: Room, input: Input, frame: &mut Frame, out: &mut Out) -> Result<Next, Refused> {
    let answer = match input {
        Input::UserSaid { text, images, rules } => {
            let said = Waiting { origin: Origin::User, text, images, rules };
            return hear_user(room, said, frame, out);
        }
        Input::Interrupted { by } => return Ok(room.interrupt(by, frame, out)),
        Input::ModelSaid { event, .. } => Answer::ModelSaid(event),
        Input::ModelClosed { closure, .. } => Answer::ModelClosed(closure),
        Input::ToolReturned { id, report } => Answer::ToolReturned(id, report),
        Input::Compacted { result, .. } => Answer::Compacted(result),
        Input::HookAnswered { id, answer } => Answer::HookAnswered(id, answer),
        Input::MemoryRecalled { result, .. } => Answer::MemoryRecalled(result),
        Input::MemoryFlushed { result, .. } => Answer::MemoryFlushed(result),
        Input::CredentialRefreshed { result, .. } => Answer::CredentialRefreshed(result),
        Input::ApprovalGiven { id, decision } => Answer::ApprovalGiven(id, decision),
        Input::ResultStored { id, result } => Answer::ResultStored(id, result),
        Input::OutputChecked { verdict, .. } => Answer::OutputChecked(verdict),
        Input::TaskEnded { id, report } => return Ok(hear_task(room, id, report, frame, out)),
        Input::TimerFired { id } if frame.deadline == Some(id) => {
            return Ok(time_is_up(room, id, frame, out));
        }
        Input::TimerFired { .. } => Answer::TimerFired,
    };
    room.answer(answer, frame, out)
}

/// The user is welcome in every room: the first words begin the run, later ones join the inbox.
fn hear_user(room: Room, said: Waiting, frame: &mut Frame, out: &mut Out) -> Result<Next, Refused> {
    if let Room::Idle(idle) = room {
        return Ok(idle.begin(said, frame, out));
    }
    let limits = &frame.config.limits;
    let queued = frame.inbox.iter().filter(|waiting| waiting.origin.is_user()).count();
    let full =
        queued >= limits.inbox as usize || frame.counters.user_messages >= limits.user_messages;
    if full {
        return Err(Refused { room, cause: Cause::OverLimit });
    }
    frame.counters.user_messages += 1;
    frame.inbox.push(said);
    Ok(wake(room, Because::Steered, Owner::UserInput, frame, out))
}

/// A run that waits for nothing else goes on when there is something to hear.
fn wake(room: Room, because: Because, owner: Owner, frame: &mut Frame, out: &mut Out) -> Next {
    if let Room::Awaiting(room) = room {
        return room.wake(because, owner, frame, out);
    }
    Next::stay(room)
}

/// A background task may end at any time. Its report joins the inbox behind the user's words and is
/// absorbed once, between rounds; it wakes a run that waits for nothing else (B036).
fn hear_task(
    room: Room,
    id: EffectId,
    report: ToolReport,
    frame: &mut Frame,
    out: &mut Out,
) -> Next {
    frame.close(id);
    frame.spend(report.spent);
    let Some(at) = frame.tasks.iter().position(|task| task.effect == id) else {
        return Next::stay(room);
    };
    let Task { task, tool, lacks, .. } = frame.tasks.remove(at);
    let outcome = crate::board::ended(report);
    if outcome.is_success() {
        frame.note_success(&tool, &lacks);
    }
    let text = crate::wording::task_report(task, &tool, &outcome);
    frame.inbox.push(Waiting::words(Origin::Notification, text));
    out.emit(Effect::Notify(Notice::TaskReported { task }));
    wake(room, Because::TaskReported, Owner::Supervisor, frame, out)
}

/// The time budget is spent: what runs is stopped and settles, like after an interrupt.
fn time_is_up(room: Room, id: EffectId, frame: &mut Frame, out: &mut Out) -> Next {
    frame.close(id);
    frame.deadline = None;
    room.interrupt(InterruptedBy::TimeLimit, frame, out)
}

fn walk(from: RoomKind, on: Trigger, first: Next, mut frame: Box<Frame>, mut out: Out) -> Step {
    // Most inputs open no door, the others a few.
    let mut trail = Vec::with_capacity(if first.door.is_some() { MAX_PASSAGES } else { 0 });
    let (mut from, mut on, mut next, mut emitted) = (from, on, first, 0);
    while let Some(because) = next.door {
        let to = next.room.kind();
        let so_far = out.effects.len();
        let passage = Passage { from, on, because, to, emitted: (so_far - emitted) as u16 };
        debug_assert!(crate::table::declares(&passage), "I11: {passage:?} is not declared");
        debug_assert!(trail.len() < MAX_PASSAGES, "I09: more than {MAX_PASSAGES} doors: {trail:?}");
        trail.push(passage);
        (from, on, emitted) = (to, Trigger::Onward, so_far);
        next = next.room.pass(&mut frame, &mut out);
    }
    Step { state: State { frame, room: next.room }, effects: out.effects, trail }
}
