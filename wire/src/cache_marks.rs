//! Where the marks of the prompt cache go: they slide with the conversation.
//!
//! A mark asks the provider to keep everything up to it. One stands behind the system prompt (or
//! the tools, where there is no prompt) and never moves; one stands at the end of the last message
//! and moves with it. The provider finds an older entry only if it lies within a number of blocks
//! before a mark, so after a large batch a third mark stays where the last one stood in the
//! request before. What callers marked themselves stays marked (B040). A request never has more
//! than [`MOST`] marks: where room is short, ours go, the cheapest first. A mark never touches
//! thinking or any other block that must go back as it came.

/// A mark, as the last member of the block it stands on.
pub(crate) const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// How many marks a provider accepts in one request.
pub const MOST: usize = 4;

/// How many blocks before a mark the provider searches for an older entry.
const SEARCHED: u32 = 20;

/// What the placement of marks needs to know of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trail {
    /// Where the end of the last block stands that can carry a mark.
    tail: Option<usize>,
    /// The same at the end of the request before the last reply.
    anchor: Option<usize>,
    /// Blocks since `anchor`.
    since: u32,
    /// Where callers marked, the newest last. More than a request may have are no use.
    pins: [Option<usize>; MOST],
}

/// Where the marks of one request stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Whether one stands before the messages.
    pub(crate) head: bool,
    /// The places in the messages, in order.
    places: [Option<usize>; MOST],
}

impl Trail {
    /// A block was written; `inside` is the place of its closing brace if it can carry a mark.
    pub(crate) fn block(&mut self, inside: Option<usize>) {
        self.tail = inside.or(self.tail);
        self.since = self.since.saturating_add(1);
    }

    /// A reply begins: everything before it was the request it answers.
    pub(crate) fn reply(&mut self) {
        self.anchor = self.tail;
        self.since = 0;
    }

    /// The caller marked the last block.
    pub(crate) fn pin(&mut self) {
        if self.tail.is_some() && self.pins[MOST - 1] != self.tail {
            self.pins.rotate_left(1);
            self.pins[MOST - 1] = self.tail;
        }
    }

    /// The marks of a request in which `given` stand already, outside of the messages. The last
    /// message is worth more than the head, which every mark behind it covers too; the third mark
    /// of ours only spares a search.
    pub(crate) fn marks(&self, given: usize) -> Marks {
        let mut room = MOST.saturating_sub(given);
        let mut places = [None; MOST];
        let mut place = |at: Option<usize>| {
            let free = at.filter(|at| !places.contains(&Some(*at)));
            if let (Some(at), Some(left)) = (free, room.checked_sub(1)) {
                places[left] = Some(at);
                room = left;
            }
        };
        self.pins.iter().rev().for_each(|pin| place(*pin));
        place(self.tail);
        let head = room > 0;
        room = room.saturating_sub(1);
        let far = self.anchor.filter(|_| self.since >= SEARCHED);
        if let (Some(far), true) = (far.filter(|far| !places.contains(&Some(*far))), room > 0) {
            places[room - 1] = Some(far);
        }
        places.sort_unstable();
        Marks { head, places }
    }
}

impl Marks {
    /// The places in the messages, in order.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.places.into_iter().flatten()
    }
}

/// Appends `bytes` with a mark at every place.
pub(crate) fn copy_marked(body: &mut Vec<u8>, bytes: &[u8], places: impl Iterator<Item = usize>) {
    let mut from = 0;
    for place in places {
        body.extend_from_slice(&bytes[from..place]);
        body.extend_from_slice(MARK.as_bytes());
        from = place;
    }
    body.extend_from_slice(&bytes[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(trail: &Trail) -> Vec<usize> {
        trail.marks(0).places().collect()
    }

    #[test]
    fn the_mark_slides_with_the_last_block_that_can_carry_it() {
        let mut trail = Trail::default();
        assert_eq!(places(&trail), Vec::<usize>::new());
        trail.block(Some(10));
        assert_eq!(places(&trail), [10]);
        trail.reply();
        trail.block(None);
        assert_eq!(places(&trail), [10]);
        trail.block(Some(30));
        assert_eq!(places(&trail), [30]);
    }

    #[test]
    fn a_large_batch_leaves_a_mark_where_the_search_would_not_reach() {
        let mut trail = Trail::default();
        trail.block(Some(10));
        trail.reply();
        for block in 1..SEARCHED as usize {
            trail.block(Some(10 + block * 10));
        }
        assert_eq!(places(&trail).len(), 1);
        trail.block(Some(1_000));
        assert_eq!(places(&trail), [10, 1_000]);
        assert_eq!(trail.marks(1).places().collect::<Vec<_>>(), [10, 1_000]);
        assert_eq!(trail.marks(2).places().collect::<Vec<_>>(), [1_000]);
    }

    #[test]
    fn what_callers_marked_stays_and_ours_make_room() {
        let marks = |blocks: usize, pinned: usize| {
            let mut trail = Trail::default();
            for block in 1..=blocks {
                trail.block(Some(block * 10));
                if block <= pinned {
                    trail.pin();
                }
            }
            assert_eq!(trail.marks(MOST).places().count(), 0);
            let marks = trail.marks(0);
            (marks.head, marks.places().collect::<Vec<_>>())
        };
        assert_eq!(marks(1, 0), (true, vec![10]));
        assert_eq!(marks(1, 1), (true, vec![10]));
        assert_eq!(marks(4, 1), (true, vec![10, 40]));
        assert_eq!(marks(4, 2), (true, vec![10, 20, 40]));
        assert_eq!(marks(5, 3), (false, vec![10, 20, 30, 50]));
        assert_eq!(marks(5, 4), (false, vec![10, 20, 30, 40]));
        assert_eq!(marks(5, 5), (false, vec![20, 30, 40, 50]));
    }
}
