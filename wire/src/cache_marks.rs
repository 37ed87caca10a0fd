//! Where the marks of the prompt cache go: they slide with the conversation.
//!
//! A mark asks the provider to keep everything up to it. One stands behind the system prompt (or
//! the tools, where there is no prompt) and never moves; one stands at the end of the last message
//! and moves with it. The provider finds an older entry only if it lies within a number of blocks
//! before a mark, so after a large batch a third mark stays where the last one stood in the
//! request before. A request never has more than [`MOST`] marks, and a mark never touches thinking
//! or any other block that must go back as it came.

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

    /// The places of the marks, in order.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        let far = self.anchor.filter(|_| self.since >= SEARCHED);
        far.filter(|anchor| Some(*anchor) != self.tail).into_iter().chain(self.tail)
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
        trail.places().collect()
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
    }
}
