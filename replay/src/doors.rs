//! The declared doors, found by the room they leave: judging a trail must not cost more than
//! walking it.

use std::sync::OnceLock;

use machine_spec::table::EDGES;
use machine_spec::{Effect, Passage, RoomKind};

/// The places of the doors of each room in the table.
fn places() -> &'static [Vec<usize>] {
    static PLACES: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let mut places = vec![Vec::new(); RoomKind::ALL.len()];
        for (at, edge) in EDGES.iter().enumerate() {
            places[edge.from as usize].push(at);
        }
        places
    })
}

/// Judges a trail and the orders that were given on the way.
///
/// # Errors
///
/// What is not declared.
pub(crate) fn judge(trail: &[Passage], effects: &[Effect]) -> Result<(), String> {
    let mut effects = effects.iter();
    for passage in trail {
        let of_room = places().get(passage.from as usize).map_or(&[][..], Vec::as_slice);
        let edge = of_room.iter().map(|at| &EDGES[*at]).find(|edge| {
            (edge.because, edge.to, edge.on) == (passage.because, passage.to, passage.on)
        });
        let Some(edge) = edge else { return Err(format!("{passage:?} is not declared")) };
        for effect in effects.by_ref().take(usize::from(passage.emitted)) {
            if !edge.may_emit(effect.kind()) {
                return Err(format!("{} is not declared on {edge}", effect.kind()));
            }
        }
    }
    Ok(())
}
